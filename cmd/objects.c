/* SPDX-License-Identifier: MIT */
/*
 * objects.c - see objects.h
 *
 * A process's objects are the files of its executable mappings, opened through /proc/PID/root so that a process in
 * another mount namespace gets its own files. A mapping whose file is gone is left out with a warning.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/objects.h"
#include "cmd/program.h"
#include "control/proc/proc.h"
#include "control/session.h"
#include "symbol/array.h"
#include "symbol/names.h"

const char *cmd_object_base(const struct uft_object *obj)
{
	return uft_base_name(obj->path);
}

/* Takes over the caller's reference. */
static int objects_add(struct cmd_objects *o, struct uft_object *obj, uint64_t bias, struct uft_error *err)
{
	if (array_resize(o->item, o->n + 1)) {
		uft_object_put(obj);
		return uft_fail(err, -ENOMEM, "no memory");
	}
	o->item[o->n++] = (struct cmd_object){ obj, bias };
	return uft_object_sites(obj, err);
}

struct objects_member { struct cmd_objects *o; struct uft_error *err; };

static int objects_add_member(void *arg, struct uft_object *obj)
{
	struct objects_member *m = arg;

	return objects_add(m->o, uft_object_get(obj), 0, m->err);
}

static int objects_open_file(const char *path, struct cmd_objects *o, struct uft_error *err)
{
	struct objects_member m = { o, err };
	struct uft_object *obj;
	char magic[8] = "";
	/* O_NONBLOCK: do not wait for the writer of a fifo; uft_object_open() refuses it with a message. */
	int ret, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (f) {
		if (fread(magic, 1, sizeof(magic), f) != sizeof(magic))
			magic[0] = 0;
		fclose(f);
	}
	if (!memcmp(magic, "!<arch>\n", 8))
		return uft_archive_each(path, objects_add_member, &m, err);
	ret = uft_object_open(path, &obj, err);
	return ret ? ret : objects_add(o, obj, 0, err);
}

/* One line of /proc/PID/maps: adds the object of an executable file mapping, once. */
static int objects_add_mapping(const char *line, struct cmd_objects *o, struct uft_error *err)
{
	unsigned long long start, end, offset;
	struct uft_object *obj;
	char perms[8], path[PATH_MAX + 16];
	int at = 0, ret;
	size_t i;

	if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, perms, &offset, &at) < 4 || !at ||
	    perms[2] != 'x' || line[at] != '/')
		return 0;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(line + at, "\n"), line + at);
	ret = uft_process_file(o->pid, start, end, path, &obj, err);
	if (ret) {
		fprintf(stderr, "uft: not looked at: %s\n", err->text);
		return 0;
	}
	for (i = 0; i < obj->ntext; i++) {
		uint64_t bias = start - offset - obj->text[i].addr + obj->text[i].offset;
		size_t k;

		if (offset + (end - start) <= obj->text[i].offset || offset > obj->text[i].offset)
			continue;
		for (k = 0; k < o->n && (o->item[k].obj != obj || o->item[k].bias != bias); k++)
			;
		if (k == o->n)
			return objects_add(o, obj, bias, err);
	}
	uft_object_put(obj);
	return 0;
}

static int objects_open_process(pid_t pid, struct cmd_objects *o, struct uft_error *err)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;
	int ret = 0;

	o->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	o->mem = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	maps = o->mem < 0 ? NULL : proc_fopen(pid, "maps");
	if (!maps)
		return uft_fail(err, -errno, errno == ENOENT ? "no file and no process %d" : errno == EAGAIN ?
				"process %d cannot be read: it has a lease on its own files in /proc" :
				"process %d cannot be read: only its user or root may", (int)pid);
	while (!ret && getline(&line, &room, maps) > 0)
		ret = objects_add_mapping(line, o, err);
	free(line);
	fclose(maps);
	if (!ret && !o->n)
		ret = uft_fail(err, -ESRCH, "process %d has no executable file mapped: a kernel thread or a zombie",
			       (int)pid);
	return ret;
}

int cmd_objects_open(const char *operand, struct cmd_objects *out, struct uft_error *err)
{
	size_t digits = strspn(operand, "0123456789");
	char path[PATH_MAX];
	int ret;

	memset(out, 0, sizeof(*out));
	out->mem = -1;
	if (digits && digits < 10 && !operand[digits] && access(operand, F_OK) < 0)
		ret = objects_open_process(atoi(operand), out, err);
	else if (!strchr(operand, '/') && access(operand, F_OK) < 0 &&
		 cmd_find_program(operand, path, sizeof(path)) == 0)
		ret = objects_open_file(path, out, err);
	else
		ret = objects_open_file(operand, out, err);
	if (ret)
		cmd_objects_close(out);
	return ret;
}

void cmd_objects_close(struct cmd_objects *o)
{
	size_t i;

	for (i = 0; i < o->n; i++)
		uft_object_put(o->item[i].obj);
	free(o->item);
	if (o->mem >= 0)
		close(o->mem);
	memset(o, 0, sizeof(*o));
	o->mem = -1;
}

size_t cmd_objects_read(const struct cmd_objects *o, uint64_t addr, void *buf, size_t len)
{
	ssize_t n = o->mem >= 0 ? pread(o->mem, buf, len, (off_t)addr) : 0;

	return n > 0 ? (size_t)n : 0;
}
