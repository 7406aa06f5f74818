// SPDX-License-Identifier: MIT
/*
 * jit_names.c - names of code that a process generates: perf's /tmp/perf-PID.map
 *
 * Just-in-time compilers can append a line for each function to that file. The session opens the file while the process
 * lives, by the number and in the file system that the process itself sees, and reads it when tracing ends. The names
 * become an object of the image without sites. Fork children share their parent's image, so if two of them have
 * different code at one address, the name of the later file is shown.
 *
 * Any user may have written a file of that name: it is read only if it belongs to the process's user, to root or to our
 * user. Such files are never removed, and process numbers are used again: a file that was last written before the
 * process began is of an earlier process.
 */
#include "control/arm/arm.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbol/array.h"
#include "symbol/namefile.h"
#include "symbol/open_regular.h"

/* A file's time is rounded, and the clock may be adjusted: seconds do not matter. */
#define MAP_SLACK_S	2
/* Names need nine times the memory of their text, and a process and its children may write any number of them. */
#define MAP_MAX_BYTES	(32ull << 20)	/* of text in one read, */
#define MAPS_MAX_BYTES	(64ull << 20)	/* and of all: one read gets at most half of the rest */

/* Returns 1 if the file is older than a process. @start: its start by proc_start_ticks(). */
static int is_of_earlier(const struct stat *st, uint64_t start)
{
	struct timespec now, up;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return st->st_mtime + MAP_SLACK_S < now.tv_sec - up.tv_sec + (time_t)(start / (uint64_t)sysconf(_SC_CLK_TCK));
}

static int open_map(const char *path, const struct target *t)
{
	struct stat st, proc;
	char dir[32];
	int fd = open_regular(path, OPEN_NOFOLLOW, &st);

	if (fd < 0)
		return -1;
	snprintf(dir, sizeof(dir), "/proc/%d", t->pid);
	if (!is_of_earlier(&st, t->start) &&
	    (!st.st_uid || st.st_uid == geteuid() || (!stat(dir, &proc) && st.st_uid == proc.st_uid)))
		return fd;
	close(fd);
	return -1;
}

void jitmap_look(struct uft_session *s, struct target *t)
{
	char path[96];

	if (t->jit_fd > 0 || !s->spec || !spec_has_func(s->spec))
		return;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", t->pid, proc_namespace_pid(t->pid));
	t->jit_fd = open_map(path, t);
}

static int add_object(struct target *t, const struct uft_names *names)
{
	struct space *sp = t->space;
	char path[64];
	struct uft_object *obj;
	struct uft_mapped *m;
	uint64_t lo = UINT64_MAX, hi = 0;
	int ret = 0;

	if (array_resize(sp->obj, sp->nobj + 1))
		return -ENOMEM;
	if (sp->nobj >= UFT_MAX_OBJECTS)
		return -E2BIG;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", t->pid);
	/* The number of lines read so far is used as a build-id: it distinguishes the parts of the map. */
	obj = uft_object_make(path, (const uint8_t *)&t->jit_lines, sizeof(t->jit_lines));
	if (!obj)
		return -ENOMEM;
	obj->type = ET_NONE;
	/* backwards: of two names at one address the later one is valid, and must come first */
	for (size_t i = names->n; i-- > 0 && !ret;) {
		const struct uft_name *n = &names->item[i];
		uint64_t end = n->addr + (n->size ? n->size : 1);

		if (end < n->addr)
			continue;
		ret = uft_object_make_func(obj, n->addr, n->size, n->name, 0);
		lo = n->addr < lo ? n->addr : lo;
		hi = end > hi ? end : hi;
	}
	uft_object_sort(obj);
	m = ret || !hi ? NULL : uft_image_add(sp->img, obj, 0);
	uft_object_put(obj);
	if (!m)
		return ret ? ret : hi ? -ENOMEM : 0;
	m->text_start = lo;
	m->text_end = hi;
	sp->obj[sp->nobj++] = (struct space_obj){ 0 };
	return target_grow(t, sp->nobj);
}

static uint64_t max_bytes(const struct uft_session *s)
{
	uint64_t left = MAPS_MAX_BYTES;

	for (const struct space *sp = s->spaces; sp; sp = sp->next)
		left -= sp->jit_bytes < left ? sp->jit_bytes : left; /* GUARD(jit_bytes_left) */
	return left / 2 < MAP_MAX_BYTES ? left / 2 : MAP_MAX_BYTES;
}

/* Reads names that were appended since the last call. 0 or -errno; *cut: bytes left out, because of *max. */
static int read_names(const struct uft_session *s, struct target *t, uint64_t *max, uint64_t *cut,
		      struct uft_names *names)
{
	const off_t from = lseek(t->jit_fd, 0, SEEK_CUR);
	off_t to;
	int ret;

	*max = max_bytes(s);
	ret = uft_names_read(t->jit_fd, UFT_NAMES_PERF, *max, cut, names);
	to = lseek(t->jit_fd, 0, SEEK_CUR);
	if (!ret && to > from && (uint64_t)(to - from) > *cut)
		t->space->jit_bytes += (uint64_t)(to - from) - *cut;
	return ret;
}

void jitmap_read(struct uft_session *s, struct target *t)
{
	struct uft_names names;
	uint64_t cut = 0, max;
	char path[64];
	int ret;

	if (!t->pid)
		return;
	jitmap_look(s, t);
	if (t->jit_fd <= 0 && s->spec && spec_has_func(s->spec)) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", t->pid);	/* the process has ended already */
		t->jit_fd = open_map(path, t);
	}
	if (t->jit_fd <= 0)
		return;
	ret = read_names(s, t, &max, &cut, &names);
	if (!ret) {
		t->jit_lines += names.n;
		ret = names.n ? add_object(t, &names) : 0;
		uft_names_free(&names);
	}
	if (cut)
		session_warn_of(s, t->slice,
				"process %d: only the first %llu MB of its perf-%d.map were read; the names in the other %llu MB are missing",
			     t->pid, (unsigned long long)max >> 20, t->pid, ((unsigned long long)cut >> 20) + 1);
	if (ret)
		session_warn_of(s, t->slice, "the names in /tmp/perf-%d.map cannot be read: %s", t->pid,
				strerror(-ret));
}
