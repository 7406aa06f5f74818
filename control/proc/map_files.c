// SPDX-License-Identifier: MIT
/*
 * map_files.c - the files that a process has mapped, as it has them
 *
 * A path of the process is looked up under its root. What stands there now may be another file than the one
 * that is mapped: packages are upgraded under running servers. Then /proc/PID/maps says `(deleted)`, and the
 * file is still there by way of /proc/PID/exe and /proc/PID/map_files, the latter for who has
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. It goes by its old name.
 *
 * A recorder without these capabilities, as root in a container, opens the file by its name. Another user may have put
 * a link there by then, to a file that the recorder can read and that user cannot. So of another user's process the
 * file must be the one that is mapped, and that user must have the right to read it.
 */
#include "control/proc/map_files.h"

#include "symbol/array.h"
#include "symbol/open_regular.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_MAPS	65536
#define DELETED		" (deleted)"

/* The name alone; 1: another file, or none, has it by now. */
static int strip(char *path)
{
	size_t n = strlen(path), end = strlen(DELETED);

	if (n <= end || strcmp(path + n - end, DELETED))
		return 0;
	path[n - end] = '\0';
	return 1;
}

static int same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_ino == sb.st_ino && sa.st_dev == sb.st_dev;
}

int map_files_open(pid_t pid, const char *path, struct uft_object **out, struct uft_error *err)
{
	char theirs[4200];

	if (path[0] != '/')
		return uft_object_open(path, out, err);
	/* In a mount namespace of its own the root may be ours and the file another. */
	snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", pid, path);
	return uft_object_open_as(theirs, same_file(theirs, path) ? path : theirs, out, err);
}

int map_files_open_exe(pid_t pid, char *path, size_t size, struct uft_object **out, struct uft_error *err)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, path, size - 1);
	if (n < 0)
		return uft_fail(err, -errno, "cannot find the program of process %d: %s", pid, strerror(errno));
	path[n] = '\0';
	if (!same_file(link, path))
		strip(path);
	return uft_object_open_as(link, path, out, err);
}

int map_files_are_mapped(pid_t pid, struct uft_object *obj, uint64_t bias)
{
	uint8_t file[1024], mem[1024];
	uint64_t at = (obj->type == ET_DYN ||
		       bias ? obj->start /* GUARD(map_first_page, obj->type == ET_DYN ? 0 : obj->text[0].addr) */ :
		       obj->text[0].addr) & ~(uint64_t)(UFT_PAGE - 1);
	size_t n = uft_object_read(obj, at, file, sizeof(file));

	return n >= 64 && !proc_read_memory(pid, at + bias, mem, n) && !memcmp(file, mem, n);
}

/* File mappings by address. */
static void read_maps(struct map_files *files)
{
	struct files_map *map = NULL;
	char *line = NULL, buffer[8192];
	size_t size = 0, n = 0, room = 0;
	FILE *f = proc_fopen(files->pid, "maps");

	if (f)		/* the kernel gives a page at once, stdio would take a quarter */
		setvbuf(f, buffer, _IOFBF, sizeof(buffer));
	while (f && n < MAX_MAPS && getline(&line, &size, f) > 0) {
		unsigned long long start, end, inode;
		int at = 0;

		if (sscanf(line, "%llx-%llx %*s %*x %*x:%*x %llu %n", &start, &end, &inode, &at) != 3 || !at)
			continue;
		if (!inode) {
			if (!strcmp(line + at, "[vdso]\n")) {
				files->vdso = start;
				files->vdso_end = end;
			}
			continue;
		}
		if (array_reserve(map, room, n + 1))
			break;
		line[strcspn(line, "\n")] = '\0';
		map[n].start = start;
		map[n].end = end;
		map[n].path = strdup(line + at);
		if (!map[n].path)
			break;
		n++;
	}
	if (f)
		fclose(f);
	free(line);
	files->map = map;
	files->n = n;
}

static const struct files_map *find_read(const struct map_files *files, uint64_t addr)
{
	for (size_t i = 0; i < files->n; i++)
		if (addr >= files->map[i].start && addr < files->map[i].end)
			return &files->map[i];
	return NULL;
}

/* A place that is not there is looked for once more: proc_find_mapping() says why. The vdso has no file. */
static const struct files_map *find(struct map_files *files, uint64_t addr)
{
	const struct files_map *m;

	if (!files->map)
		read_maps(files);
	m = find_read(files, addr);
	if (!m && !files->is_read_again && (addr < files->vdso || addr >= files->vdso_end)) {
		map_files_close(files);
		read_maps(files);
		files->is_read_again = 1;
		m = find_read(files, addr);
	}
	return m;
}

const char *map_files_name_at(struct map_files *files, uint64_t addr)
{
	const struct files_map *m = find(files, addr);

	return m ? m->path : "?";
}

struct mapped {
	uint64_t start;
	unsigned long long inode;
};

static int find_inode(void *arg, char *line)
{
	struct mapped *m = arg;
	unsigned long long start, inode;

	if (sscanf(line, "%llx-%*x %*s %*x %*x:%*x %llu", &start, &inode) == 2 && start == m->start)
		m->inode = inode;
	return m->inode != 0;
}

/* Devices are not compared: maps has another one than stat() in some file systems (overlayfs, btrfs). */
static int is_theirs(pid_t pid, uint64_t start, const struct stat *st)
{
	struct mapped m = { .start = start };

	return proc_find_mapping(pid, find_inode, &m) && m.inode == st->st_ino &&
	       st->st_mode & (st->st_uid == proc_effective_user(pid) ? S_IRUSR : S_IROTH);
}

/* By its name, of a process of another user. */
static int open_theirs(pid_t pid, uint64_t start, const char *name, struct uft_object **out, struct uft_error *err)
{
	char theirs[4300], again[64];
	struct stat st;
	int place, ret;

	snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", pid, name);
	place = name[0] == '/' ? open_place(theirs, OPEN_FOLLOW) : -ENOENT;
	if (place < 0)
		return uft_fail(err, place, "%s: %s", name, strerror(-place));
	if (!fstat(place, &st) && is_theirs(pid, start, &st)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		ret = uft_object_open_as(again, same_file(theirs, name) ? name : theirs, out, err);
	} else {
		ret = uft_fail(err, -ENOENT, "%s: not the file that process %d has mapped, or its user cannot read it",
			       name, pid);
	}
	close(place);
	return ret;
}

int uft_process_file(pid_t pid, uint64_t start, uint64_t end, const char *path, struct uft_object **out,
		     struct uft_error *err)
{
	char link[100], name[4200], theirs[4300];
	int is_gone, ret;

	snprintf(name, sizeof(name), "%s", path);
	is_gone = strip(name);
	snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", pid, name);
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)end);
	/* The very file that is mapped: its name may by now lead to one that the process cannot read, and we can. */
	ret = uft_object_open_as(link, is_gone || same_file(theirs, name) ? name : theirs, out, err);
	if (ret != -EPERM && ret != -EACCES && ret != -ENOENT) /* GUARD(uft_process_file) */
		return ret;
	if (is_gone)
		return uft_fail(
			err, -ENOENT,
			"%s: it was replaced or deleted since the process started: as root uft reads the old one",
			name);
	return proc_is_of_our_user(pid) /* GUARD(map_files_ours, 1) */ ? map_files_open(pid, name, out, err) :
		open_theirs(pid, start, name, out, err);
}

int map_files_open_at(struct map_files *files, uint64_t addr, struct uft_object **out, struct uft_error *err)
{
	const struct files_map *m = find(files, addr);

	return m ? uft_process_file(files->pid, m->start, m->end, m->path, out, err) :
		   uft_fail(err, -ENXIO, "no file is mapped at %#llx", (unsigned long long)addr);
}

void map_files_close(struct map_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->map[i].path);
	free(files->map);
	files->map = NULL;
	files->n = 0;
}
