// SPDX-License-Identifier: MIT
/*
 * thread_makers.c - find out whether a target may make tasks whose numbers libc does not keep
 */
#include "control/arm/arm.h"

#include <elf.h>
#include <string.h>

static const char *const makers[] = { "vfork", "__vfork", "clone", "__clone", "syscall" };

/* The child of these calls only libc functions before it executes, so it makes events only if libc is traced. */
static const char *const spawners[] = { "posix_spawn", "posix_spawnp", "pidfd_spawn", "pidfd_spawnp", "system", "popen",
	"wordexp" };

/* libstdc++ and libc++ use syscall() only to wait, not to make tasks. */
static int only_waits(const struct uft_object *obj)
{
	const char *name = uft_base_name(obj->path);

	return !strncmp(name, "libstdc++.so", 12) || !strncmp(name, "libc++.so", 9);
}

static int imports_any(struct uft_object *obj, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (uft_object_imports(obj, names[i]) && !(!strcmp(names[i], "syscall") && only_waits(obj)))
			return 1;
	return 0;
}

/* Returns 1 if the program may make tasks that share their parent's thread pointer. */
static int has_sharers(const struct uft_image *img)
{
	for (uint32_t i = 0; i < img->nobj; i++)
		if (imports_any(img->obj[i].obj, makers, sizeof(makers) / sizeof(makers[0])) ||
		    imports_any(img->obj[i].obj, spawners, sizeof(spawners) / sizeof(spawners[0])))
			return 1;
	return 0;
}

/*
 * Returns the offset from the thread pointer at which libc keeps a thread's number, from the symbols that glibc has for
 * debuggers. 0: it is not known, or an object may make tasks without such a number. (The runtime's sources.c compares
 * before it uses the number.)
 */
static int32_t tid_offset(const struct uft_image *img)
{
	uint32_t tid[3], size;
	int32_t offset = 0;

	for (uint32_t i = 0; i < img->nobj; i++) {
		struct uft_object *obj = img->obj[i].obj;
		uint64_t at = uft_object_symbol(obj, "_thread_db_pthread_tid", NULL);
		uint64_t size_at = uft_object_symbol(obj, "_thread_db_sizeof_pthread", NULL);

		if (imports_any(obj, makers, sizeof(makers) / sizeof(makers[0])))
			return 0;
		if (at && size_at && uft_object_read(obj, at, tid, sizeof(tid)) == sizeof(tid) &&
		    uft_object_read(obj, size_at, &size, sizeof(size)) == sizeof(size) && size < 65536 && tid[2] < size)
			offset = (int32_t)tid[2] - (int32_t)size - (obj->machine == EM_RISCV ? 32 : 0);
	}
	return offset;
}

/*
 * Thunks read the number at this offset, so the offset is set before they are made. It changes at most once, to 0, when
 * a library is loaded that makes such tasks. From then on no thread gets a ring of its own, and the new parameters are
 * a new generation, which closes the threads' rings.
 */
void preload_note_makers(struct uft_session *s, struct target *t)
{
	struct uft_slice uft_shared *slice = arena_slice(&s->arena, t->slice);
	int32_t offset = tid_offset(t->space->img);

	SHARED_STORE(&slice->no_sharers, !has_sharers(t->space->img));
	if (t->is_held_back) {
		SHARED_STORE(&slice->tid_offset, offset);
	} else if (SHARED_LOAD(&slice->tid_offset) && !offset) {
		SHARED_STORE(&slice->tid_offset, 0);
		if (s->spec)
			command_params(s, t);
	}
}
