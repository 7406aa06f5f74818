// SPDX-License-Identifier: MIT
/*
 * perf_map.c - names of our code for other profilers: perf's /tmp/perf-PID.map
 *
 * For our memory on a stack, a profiler shows only addresses. With opts.perf_map, each stub and the moved instructions
 * of each unprepared function get the name of their function. The return slot of a traced call has the address of the
 * call's own stub, so a walk by frame pointers finds a name for each traced caller. It does not find callers that are
 * not traced: their addresses are on the shadow stack. (Calls that are traced by mcount, behind the prologue, all
 * return through one place, uft:runtime: they have no names.)
 *
 * The file follows perf's convention and outlives the process, because perf reads it for its report. It is in the
 * session's /tmp, with the number in the session's pid namespace. Lines are appended when sites become known, at most
 * one scan later, and at the end of the process.
 *
 * Ownership. A just-in-time compiler writes at its own offset, and may begin its file again: its lines and ours would
 * overwrite each other. So a map that is not ours stays as it is, with a warning. Our map begins with
 * uft:runtime@SESSION; a map of an earlier session is truncated, since its addresses may be in use again.
 * Any user can write to /tmp: no link is followed, and only a file of our own user is written to.
 */
#include "control/arm/arm.h"
#include "control/plan/unprepared.h"
#include "symbol/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK	"uft:runtime@"

/* Returns 1 if the open file is a map of ours, or empty. *session: 1 if this session wrote it. */
static int is_ours(int fd, int *session)
{
	char line[128] = "", *name;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return 0;
	if (!st.st_size)
		return 1;
	if (pread(fd, line, sizeof(line) - 1, 0) < 0)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	name = strstr(line, " " MARK);
	if (!name)
		return 0;
	*session = atoi(name + strlen(" " MARK)) == getpid();
	return 1;
}

static int open_own(const char *path)
{
	int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, session = 0, fd;

	fd = open(path, flags | O_CREAT | O_EXCL, 0644);
	if (fd >= 0 || errno != EEXIST)
		return fd < 0 ? -errno : fd;
	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	if (is_ours(fd, &session) && (session || !ftruncate(fd, 0)))
		return fd;
	close(fd);
	return -EEXIST;
}

static void put_name(FILE *f, struct uft_mapped *m, uint32_t stub)
{
	uint64_t addr = m->stub_addr[stub] - m->bias;
	const struct uft_func *fn = uft_object_names(m->obj, NULL) ? NULL : uft_object_func(m->obj, addr);
	char *plain, *text;

	if (!fn || !fn->name) {
		fprintf(f, "%s+0x%llx\n", uft_base_name(m->obj->path), (unsigned long long)addr);
		return;
	}
	plain = uft_demangle(fn->name);
	text = plain ? plain : strdup(fn->name);
	if (text)
		uft_name_clean(text);
	fprintf(f, "%s\n", text ? text : "?");
	free(text);
}

/* The marks of named sites are apart from the sites' states, because states change. 0 or -ENOMEM. */
static int grow(struct target_obj *o)
{
	if (o->nnamed >= o->nstate)
		return 0;
	if (array_resize(o->named, o->nstate))
		return -ENOMEM;
	memset(o->named + o->nnamed, 0, o->nstate - o->nnamed);
	o->nnamed = o->nstate;
	return 0;
}

enum { NAMED = 1, NAMED_PLACE = 2 /* of a jump that ends in bytes of the program, once it is armed */ };

static void put_stub(FILE *f, const struct space_obj *so, struct uft_mapped *m, uint32_t i)
{
	fprintf(f, "%llx %x ", (unsigned long long)(so->stub_base + (uint64_t)i * UFT_STUB_BYTES), UFT_STUB_BYTES);
	put_name(f, m, i);
	if (i < m->obj->nsite)
		return;
	fprintf(f, "%llx %x ", (unsigned long long)(so->code_base + (uint64_t)i * UFT_CODE_STRIDE), UFT_CODE_STRIDE);
	put_name(f, m, i);
}

static void put_object(FILE *f, struct target *t, uint32_t object)
{
	struct uft_mapped *m = &t->space->img->obj[object];
	const struct space_obj *so = &t->space->obj[object];
	struct target_obj *o = &t->obj[object];
	uint64_t place;

	if (!so->stub_base || grow(o))
		return;
	for (uint32_t i = 0; i < o->nstate && i < m->nstubs; i++) {
		if (o->state[i] == WANT_NOT)
			continue;
		if (!(o->named[i] & NAMED))
			put_stub(f, so, m, i);
		if (!(o->named[i] & NAMED_PLACE) && (place = unprepared_pun_place(t, object, i))) {
			fprintf(f, "%llx %x ", (unsigned long long)place, UFT_PUN_BYTES);
			put_name(f, m, i);
			o->named[i] |= NAMED_PLACE;
		}
		o->named[i] |= NAMED;
	}
}

static void put_runtime(FILE *f, const struct space *sp)
{
	const struct blob *b;

	if (!sp->boot || blob_get(&b))
		return;
	for (unsigned i = 0; i < b->nseg; i++)
		if (b->seg[i].prot & PROT_EXEC)
			fprintf(f, "%llx %llx %s%d\n", (unsigned long long)(sp->boot - b->boot + b->seg[i].addr),
				(unsigned long long)(b->seg[i].end - b->seg[i].addr), MARK, getpid());
}

static int append(const struct target *t, const char *text, size_t len)
{
	char path[64];
	ssize_t n;
	int fd, ret;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", t->pid);
	fd = open_own(path);
	if (fd < 0)
		return fd;
	n = write(fd, text, len);
	ret = n < 0 ? -errno : (size_t)n < len ? -ENOSPC : 0;
	close(fd);
	return ret;
}

void perfmap_write(struct uft_session *s, struct target *t)
{
	char *text = NULL;
	size_t len = 0, begin;
	FILE *f;
	int ret;

	if (!s->opts.perf_map || t->is_map_left || !t->pid)
		return;
	f = open_memstream(&text, &len);
	if (!f)
		return;
	if (!t->is_map_begun)
		put_runtime(f, t->space);
	begin = (size_t)ftell(f);
	for (uint32_t i = 0; i < t->nobj; i++)
		put_object(f, t, i);
	if (!fclose(f) && len > begin) {
		ret = append(t, text, len);
		t->is_map_begun = 1;
		t->is_map_left = ret != 0;
		if (ret == -EEXIST)
			session_warn_of(s, t->slice,
					"/tmp/perf-%d.map was not written by uft: it is not changed, and perf sees no names of traced functions",
				     t->pid);
		else if (ret)
			session_warn_of(s, t->slice, "cannot write /tmp/perf-%d.map: %s", t->pid, strerror(-ret));
	}
	free(text);
}
