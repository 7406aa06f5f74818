/* SPDX-License-Identifier: MIT */
/*
 * families.c - make, map, close and drop the files that a session shares with one process each
 *
 * A family is a file session.PID.fN (arena.c): mail, and the slices of a process and of its fork children. The session
 * maps its slices at the place that the number says, and its mail apart. A spare is a family that is made before a
 * process needs one. What a family's processes write decides about nothing but them (doc/design/trust.md).
 */
#include "control/arena/families.h"

#include "symbol/guard_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MADV_POPULATE_WRITE_	23	/* Linux 5.14 */

void *arena_map_part(void *at, uint64_t bytes, int flags, int fd, uint64_t offset)
{
	return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | flags, fd, (off_t)offset);
}

static uint64_t arena_mail_bytes(const struct uft_arena *l)
{
	return l->slice_offset - UFT_BOARD_BYTES;
}

uint64_t arena_family_bytes(const struct uft_arena *l)
{
	return arena_mail_bytes(l) + l->slice_bytes * l->per_file;
}

void arena_unmap_mail(const struct arena *a, struct uft_mail uft_shared *mail)
{
	guard_drop(shared_address(mail));
	munmap(shared_address(mail), arena_mail_bytes(a->map));
}

static void family_path(const struct arena *a, uint32_t family, char *path, size_t size)
{
	snprintf(path, size, "%s" UFT_FAMILY_SUFFIX "%u", a->path, family);
}

static uint8_t *family_slices(const struct arena *a, uint32_t family)
{
	return (uint8_t *)a->map + a->map->slice_offset + a->map->slice_bytes * a->map->per_file * family;
}

int arena_open_family(const struct arena *a, uint32_t family)
{
	char path[sizeof(a->path) + 32];
	int fd;

	family_path(a, family, path, sizeof(path));
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int arena_stat_family(const struct arena *a, uint32_t family, struct stat *st)
{
	if (family >= a->nfamilies || !a->mail[family])
		return -ENOENT;
	*st = (struct stat){ .st_dev = a->file[family].dev, .st_ino = a->file[family].ino };
	return 0;
}

/* Without that advice each page is made by an access of the kernel's, as the runtime does it (plat_reserve()). */
static int touch_pages(char *at, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += UFT_PAGE)
		if (syscall(SYS_futex, at + i, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL, at + i,
			    FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) < 0 && errno != ENOSYS)
			return -ENOMEM;
	return 0;
}

int arena_reserve(void *at, uint64_t bytes)
{
	if (!madvise(at, bytes, MADV_POPULATE_WRITE_))
		return 0;
	return errno == EINVAL ? touch_pages(at, bytes) : -ENOMEM;
}

static int map_family(struct arena *a, uint32_t family, int fd, int is_new)
{
	const struct uft_arena *l = a->map;
	const uint64_t bytes = l->slice_bytes * l->per_file;
	struct stat st;
	void *mail;
	int ret;

	if (fstat(fd, &st) < 0)
		return -errno;
	mail = arena_map_part(NULL, arena_mail_bytes(l), 0, fd, 0);
	if (mail == MAP_FAILED)
		return -errno;
	/* A target can make its file shorter: its pages become zeros. Slices are guarded as a whole: arena_map(). */
	ret = guard_add(mail, arena_mail_bytes(l));
	if (!ret && arena_map_part(family_slices(a, family), bytes, MAP_FIXED, fd, arena_mail_bytes(l)) == MAP_FAILED)
		ret = -errno;
	if (!ret && is_new) { /* GUARD(map_family_is_new) */
		ret = arena_reserve(mail, arena_mail_bytes(l));
		if (!ret)
			ret = arena_reserve(family_slices(a, family), l->cmd_offset + UFT_CMD_PAYLOAD + CMD_ROOM);
	}
	if (ret) {
		arena_unmap_mail(a, (struct uft_mail uft_shared *)mail);
		if (a->void_fd >= 0)
			arena_map_part(family_slices(a, family), bytes, MAP_FIXED, a->void_fd, 0);
		return ret;
	}
	madvise(mail, arena_mail_bytes(l), MADV_DONTFORK);
	madvise(family_slices(a, family), bytes, MADV_DONTFORK);
	madvise(family_slices(a, family), bytes, MADV_DONTDUMP);
	a->file[family] = (struct file_id){ st.st_dev, st.st_ino };
	a->mail[family] = (struct uft_mail uft_shared *)mail;
	a->used[a->nused++] = family;
	return 0;
}

/*
 * Of all its slices. Only the first of a new one is written: the others are claimed by children that take their
 * parent's, and each is a page.
 */
static void set_family(const struct arena *a, uint32_t family)
{
	arena_set_slice(a, family * a->map->per_file);
	for (uint32_t i = 1; i < a->map->per_file; i++)
		__atomic_store_n(uft_on_cpus(a->board, family * a->map->per_file + i), a->on_cpus << UFT_ON_CPUS_SHIFT,
				 __ATOMIC_RELAXED);
}

void arena_set_slice(const struct arena *a, uint32_t index)
{
	struct uft_slice uft_shared *sl = arena_slice(a, index);

	SHARED_STORE(&sl->ring_flags, a->ring_flags);
	SHARED_STORE(&sl->on_cpus, a->on_cpus);
	if (index < a->map->nslices)
		__atomic_store_n(uft_on_cpus(a->board, index), a->on_cpus << UFT_ON_CPUS_SHIFT, __ATOMIC_RELAXED);
}

void arena_set_flags(struct arena *a, uint32_t ring_flags, uint32_t on_cpus)
{
	a->ring_flags = ring_flags;
	a->on_cpus = on_cpus;
	for (uint32_t i = 0; i < a->nused; i++)
		set_family(a, a->used[i]);
}

/* Makes a file. Numbers are reused as late as possible: a slice that has ended may still be drained. */
int64_t arena_make_family(struct arena *a)
{
	char path[sizeof(a->path) + 32];
	uint32_t family = a->next_family;
	int fd, ret;

	for (uint32_t i = 0; a->mail[family % a->nfamilies]; i++, family++)
		if (i == a->nfamilies)
			return -EAGAIN;
	family %= a->nfamilies;
	family_path(a, family, path, sizeof(path));
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = ftruncate(fd, (off_t)arena_family_bytes(a->map)) < 0 ? -errno : map_family(a, family, fd, 1);
	close(fd);
	if (ret) {
		unlink(path);
		return ret;
	}
	SHARED_STORE(&a->mail[family]->cookie, a->map->cookie);
	set_family(a, family);
	a->next_family = (family + 1) % a->nfamilies;
	return family;
}

/* Only the first slice is read: a read of the others would allocate a page of each. */
static uint32_t claimed(const struct arena *a, uint32_t family)
{
	uint32_t n = SHARED_LOAD_ACQUIRE(&a->mail[family]->claimed);

	return n < 1 ? 1 : n < a->map->per_file ? n : a->map->per_file;
}

int arena_is_unclaimed(const struct arena *a, uint32_t family)
{
	for (uint32_t i = 0; i < claimed(a, family); i++) {
		uint32_t state = SHARED_LOAD_ACQUIRE(&arena_slice(a, family * a->map->per_file + i)->state);

		if (state != UFT_SLICE_FREE && state != UFT_SLICE_HELD && state != UFT_SLICE_SPENT)
			return 0;
	}
	return 1;
}

int arena_is_spare(const struct arena *a, uint32_t family)
{
	for (uint32_t i = 0; i < UFT_NSPARES; i++)
		if (a->spare[i] == family + 1)
			return 1;
	return 0;
}

void arena_keep_spares(struct arena *a)
{
	for (uint32_t i = 0; i < a->nspares; i++) {
		int64_t family;

		if (a->spare[i] && SHARED_LOAD_ACQUIRE(&arena_slice(a, (a->spare[i] - 1) * a->map->per_file)->state) ==
				   UFT_SLICE_FREE)
			continue;
		family = arena_make_family(a);
		a->spare[i] = family < 0 ? 0 : (uint32_t)family + 1;
		__atomic_store_n(&a->board->spare[i], a->spare[i], __ATOMIC_RELEASE);
	}
}

/*
 * A process of it may be claiming a slice: it looks at `closed` behind that, and we look at the slices behind
 * `closed`.
 */
int arena_close_family(struct arena *a, uint32_t family)
{
	if (!arena_is_unclaimed(a, family))
		return 0;
	SHARED_STORE_ORDERED(&a->mail[family]->closed, 1);
	if (arena_is_unclaimed(a, family))
		return 1;
	SHARED_STORE_RELEASE(&a->mail[family]->closed, 0);
	return 0;
}

static void forget(struct arena *a, uint32_t family)
{
	uint32_t i = 0;

	while (a->used[i] != family)
		i++;
	a->used[i] = a->used[--a->nused];
}

void arena_drop_family(struct arena *a, uint32_t family)
{
	const uint64_t bytes = a->map->slice_bytes * a->map->per_file;
	char path[sizeof(a->path) + 32];
	void *at = family_slices(a, family);

	/* A drain of one of its slices may still read there, and note how far it read. */
	if (a->void_fd >= 0 ? arena_map_part(at, bytes, MAP_FIXED, a->void_fd, 0) == MAP_FAILED :
	    mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return;
	madvise(at, bytes, MADV_DONTFORK);
	arena_unmap_mail(a, a->mail[family]);
	a->mail[family] = NULL;
	a->given[family] = 0;
	forget(a, family);
	family_path(a, family, path, sizeof(path));
	unlink(path);
}

/* A spare that a process keeps for its next child, none of which has it yet: it says in the slice whose child it is. */
static int is_stock(const struct arena *a, uint32_t family)
{
	const struct uft_slice uft_shared *sl = arena_slice(a, family * a->map->per_file);

	return SHARED_LOAD_ACQUIRE(&sl->state) == UFT_SLICE_HELD && !SHARED_LOAD(&sl->ppid);
}

/* Into @family: those in which no process has a slice, with their files' @st; stock goes at once. Returns how many. */
static size_t take_unclaimed(void *arg, uint32_t *family, struct stat *st)
{
	struct arena *a = arg;
	size_t n = 0;

	for (uint32_t i = 0; i < a->nfamilies; i++) {
		if (!a->mail[i] || !arena_is_unclaimed(a, i))
			continue;
		if (is_stock(a, i))
			arena_drop_family(a, i);
		else if (!arena_stat_family(a, i, &st[n]))
			family[n++] = i;
	}
	return n;
}

size_t arena_drop_unmapped(struct arena *a, size_t (*take)(void *arg, uint32_t *family, struct stat *st),
			   void (*drop)(void *arg, uint32_t family), void *arg)
{
	uint32_t *family = calloc(a->nfamilies, sizeof(*family));
	struct stat *st = calloc(a->nfamilies, sizeof(*st));
	uint8_t *mapped = calloc(a->nfamilies, 1);
	size_t n = family && st && mapped ? take(arg, family, st) : 0, dropped = 0;

	for (int look = 0; n && look < 2; look++)	/* proc_find_mapping() says why */
		arena_find_mapped_files(a, st, n, mapped);
	for (size_t i = 0; i < n; i++)
		if (!mapped[i]) {
			drop(arg, family[i]);
			dropped++;
		}
	free(family);
	free(st);
	free(mapped);
	return dropped;
}

static void drop_one(void *a, uint32_t family)
{
	arena_drop_family(a, family);
}

void arena_drop_unused(struct arena *a)
{
	arena_drop_unmapped(a, take_unclaimed, drop_one, a);
}

static void map_file(struct arena *a, uint32_t family)
{
	int fd = a->mail[family] ? -1 : arena_open_family(a, family);
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == arena_family_bytes(a->map))
		map_family(a, family, fd, 0);
	close(fd);
}

/* There are thousands of numbers, and few files. */
void arena_map_families(struct arena *a)
{
	const char *slash = strrchr(a->path, '/');
	char name[sizeof(a->path) + sizeof(UFT_FAMILY_SUFFIX)];
	DIR *d = NULL;
	struct dirent *e;

	if (slash) {
		snprintf(name, sizeof(name), "%.*s", (int)(slash - a->path + 1), a->path);
		d = opendir(name);
		snprintf(name, sizeof(name), "%s%s", slash + 1, UFT_FAMILY_SUFFIX);
	}
	while (d && (e = readdir(d))) {
		const char *number = e->d_name + strlen(name);
		char *end;
		unsigned long family;

		if (strncmp(e->d_name, name, strlen(name)) || *number < '0' || *number > '9')
			continue;
		family = strtoul(number, &end, 10);
		if (!*end && family < a->nfamilies)
			map_file(a, (uint32_t)family);
	}
	if (d)
		closedir(d);
}

int arena_has(const struct arena *a, uint32_t index)
{
	uint32_t family = index / a->map->per_file;

	if (index >= a->map->nslices)
		return index < a->map->nslices + a->map->nown;
	return a->mail[family] && index % a->map->per_file < claimed(a, family);
}
