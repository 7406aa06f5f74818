// SPDX-License-Identifier: MIT
/*
 * arena.c - the files that a session and its targets share
 *
 * They lie in $XDG_RUNTIME_DIR/uft when that is on tmpfs, else in /dev/shm/uft-UID (or, if a stranger has
 * that name, uft-UID.XXXXXX). The folder must be ours, a real directory and closed to everybody else; the
 * files are 0600 and sparse:
 *
 *	session.PID	empty. The session holds a flock on it for as long as it lives, whatever happens to it:
 *			that, not a pid that may be used again, tells a later session that the files are stale
 *	session.PID.b	the board: the layout, and what is told to all targets, which can only read it
 *	session.PID.fN	family N: mail and the slice of one process. No other one maps it, and no later one: with
 *			its process the file goes. Where forks are not hooked fork children have slices there, too
 *
 * The next session removes stale files at once, but for those whose board a process still maps: uft could not detach
 * from it, and needs what is in the files to do so later (guard.c). Records that neither recorder nor guard had saved
 * are lost.
 *
 * Pages of rings are asked for before they are written (runtime/ring/memory.c): on a full tmpfs records are lost, which
 * is counted. Rings are made smaller until those of one process fit into half of the free space; of a size that the
 * user asked for one has to fit. What a ring may grow to beyond that while it is not read in time (abi.h) are
 * addresses at first: as many as leave room for all families, and of free memory as much as fits likewise.
 *
 * A family's processes can write to every word of its file. The session finds nothing by these words: its
 * mapping begins with a private read-only copy of the layout (arena.map), with the slices of all families behind it,
 * each at the place that its number says. Where there is no family lies empty memory of the session alone, so what it
 * still looks at there reads as FREE. Board and mail are mapped apart. doc/design/trust.md has the rules.
 */
#include "control/proc/proc.h"
#include "control/arena/families.h"

#include "symbol/guard_map.h"
#include "symbol/host.h"
#include "symbol/rundir.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define TMPFS_MAGIC	0x01021994
#define NAME_PREFIX	"session."

#define PROCESSES	1024		/* that are followed at once */
#define ROOM_MAX	(1ull << 44)	/* addresses for families, at most; */
#define ROOM_OTHER	(1ull << 39)	/* of other machines: an emulator that runs the recorder keeps books of them */
#define FAMILIES_MIN	4u
#define NEXCH		6
#define NEXCH_OWN	16		/* without rseq, at least: half of them can be single threads' */
#define NEXCH_OWN_CPU	2		/* for each CPU: one kept by a thread, and one for threads without */
#define RING_BYTES	(16u << 20)
#define RING_GROWN	(128u << 20)	/* and what it may grow to */
/* than others is what an emulator's programs map: it keeps books of each page */
#define SMALLER		16u
#define RING_BYTES_MIN	(64u << 10)
#define SUB_BYTES	(64u << 10)
#define CMD_SITES	(1u << 20)
#define PROFILE_IDS	(1u << 20)
#define HIST_BYTES	(32u << 20)	/* sparse: a map of the usual size takes 80 KB */
#define BYTES_MAX	(1ull << 46)
#define CPUS_MAX	(1u << 16)
#define SUB_BYTES_MIN	1024u

static uint64_t page_up(uint64_t n)
{
	return (n + UFT_PAGE - 1) & ~(uint64_t)(UFT_PAGE - 1);
}

/* Highest possible CPU number + 1: cpu_id may be any of them, holes included. */
static uint32_t possible_cpus(void)
{
	char buf[256] = "";
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	uint32_t high = 0;
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	for (char *p = buf; n > 0 && *p;) {
		if (*p >= '0' && *p <= '9') {
			unsigned long v = strtoul(p, &p, 10);

			if (v > high)
				high = (uint32_t)v;
		} else {
			p++;
		}
	}
	if (n <= 0) {
		long conf = sysconf(_SC_NPROCESSORS_CONF);

		return conf > 0 ? (uint32_t)conf : 1;
	}
	return high + 1;
}

/* Makes and checks the folder: another user may have prepared one for us. */
static int open_dir(const char *path, struct uft_error *err)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return uft_fail(err, -errno, "cannot make the run directory %s: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return uft_fail(err, -errno, "cannot open the run directory %s: %s", path,
				errno == ELOOP || errno == ENOTDIR ? "it is not a directory" : strerror(errno));
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 077) {
		close(fd);
		return uft_fail(err, -EPERM,
				"the run directory %s is not private: it must belong to uid %u and have mode 0700",
				path, geteuid());
	}
	return fd;
}

/* The folder's path into a->path; returns its descriptor. */
static int find_dir(struct arena *a, struct uft_error *err)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	struct statfs fs;
	struct stat st;
	int ret;

	if (run && run[0] == '/' && strlen(run) < sizeof(a->path) - 64 && statfs(run, &fs) == 0 &&
	    fs.f_type == TMPFS_MAGIC && stat(run, &st) == 0 && st.st_uid == geteuid()) {
		int fd;

		snprintf(a->path, sizeof(a->path), "%s/uft", run);
		fd = open_dir(a->path, NULL);
		if (fd >= 0)
			return fd;
	}
	ret = uft_rundir("/dev/shm", a->path, sizeof(a->path) - 64);
	if (ret)
		return uft_fail(err, ret, "cannot make the run directory %s: %s", a->path, strerror(-ret));
	return open_dir(a->path, err);
}

/* The name of a session's file that has the lock: a number follows, or two with a point between? */
static int is_session(const char *name)
{
	const char *end = name + strlen(NAME_PREFIX);

	return !strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) && *end && !end[strspn(end, "0123456789.")];
}

/* All files of the session whose first one has @name. */
static void unlink_all(int dirfd, const char *name)
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	char part[NAME_MAX + sizeof(UFT_FAMILY_SUFFIX)];
	struct dirent *e;

	snprintf(part, sizeof(part), "%s%s", name, UFT_FAMILY_SUFFIX);
	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, part, strlen(part)))
			unlinkat(dirfd, e->d_name, 0);
	if (d)
		closedir(d);
	else if (copy >= 0)
		close(copy);
	snprintf(part, sizeof(part), "%s%s", name, UFT_BOARD_SUFFIX);
	unlinkat(dirfd, part, 0);
	unlinkat(dirfd, name, 0);
}

/*
 * Of the session whose file is @name. 0 or -1 with errno. A name of this file that was left behind is
 * stale: its session has no such file.
 */
static int open_board(struct arena *a, int dirfd, const char *name, int flags)
{
	char board[NAME_MAX + sizeof(UFT_BOARD_SUFFIX)];

	snprintf(board, sizeof(board), "%s%s", name, UFT_BOARD_SUFFIX);
	if (flags & O_CREAT)
		unlinkat(dirfd, board, 0);
	a->board_fd = openat(dirfd, board, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0600);
	return a->board_fd < 0 ? -1 : 0;
}

int arena_lock_dead(int fd)
{
	struct stat st;

	return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Files whose session is gone: their lock is free. */
static void remove_stale(int dirfd)
{
	int copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!d) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while ((e = readdir(d))) {
		int fd;

		if (!is_session(e->d_name))
			continue;
		fd = openat(dirfd, e->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (arena_lock_dead(fd)) {
			struct arena stale = { .fd = fd, .board_fd = -1, .own_fd = -1, .void_fd = -1 };

			if (open_board(&stale, dirfd, e->d_name, 0) || !arena_is_mapped(&stale))
				unlink_all(dirfd, e->d_name);
			if (stale.board_fd >= 0)
				close(stale.board_fd);
		}
		close(fd);
	}
	closedir(d);
}

/* Our file, locked. A session of the same process may exist already: then a number follows the pid. */
static int open_file(struct arena *a, int dirfd, struct uft_error *err)
{
	size_t dir_len = strlen(a->path);

	for (int i = 0; i < 1000; i++) {
		if (i)
			snprintf(a->path + dir_len, sizeof(a->path) - dir_len, "/" NAME_PREFIX "%d.%d", getpid(), i);
		else
			snprintf(a->path + dir_len, sizeof(a->path) - dir_len, "/" NAME_PREFIX "%d", getpid());
		a->fd = openat(dirfd, a->path + dir_len + 1, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (a->fd < 0 && errno == EEXIST)
			continue;
		if (a->fd < 0)
			break;
		/* Another session's clean-up may have had the file for dead before we locked it. */
		if (arena_lock_dead(a->fd)) {
			a->is_linked = 1;
			return open_board(a, dirfd, a->path + dir_len + 1, O_CREAT | O_EXCL) ? uft_fail(err, -errno,
				"cannot make the session's file %s%s: %s", a->path, UFT_BOARD_SUFFIX,
				strerror(errno)) : 0;
		}
		close(a->fd);
		a->fd = -1;
	}
	return uft_fail(err, -errno, "cannot make the session's file %s: %s", a->path, strerror(errno));
}

static int is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/*
 * Where fast paths write rings of their threads these are for that, half of them, natively as many as there
 * are CPUs.
 */
static uint32_t exchange_rings(const struct uft_session_opts *opts, uint32_t ncpus)
{
	const int has_own = HOST_MACHINE != EM_X86_64 || opts->emulator;
	uint32_t n = opts->nexch ? opts->nexch : has_own ? NEXCH_OWN : NEXCH;

	return !has_own || opts->emulator || n >= NEXCH_OWN_CPU * ncpus ? n : NEXCH_OWN_CPU * ncpus;
}

/* Also children that are not followed need one to ask before they execute a program, where the session is asked. */
static uint32_t spares_of(const struct uft_session_opts *opts)
{
	return opts->no_children && !opts->preload && !opts->emulator && !opts->watchdog ? 0 : UFT_NSPARES;
}

/*
 * One for each process that is followed, as many that have ended and are not dropped yet, as many that wait in a
 * process for its next child, and spares.
 */
static uint32_t families(const struct uft_arena *l, const struct uft_session_opts *opts)
{
	uint64_t n = 3 * (uint64_t)l->nprocesses + spares_of(opts);
	uint64_t room = (HOST_MACHINE == EM_X86_64 ? ROOM_MAX : ROOM_OTHER) / l->slice_bytes;
	uint64_t max = room < UFT_SLICES_MAX ? room : UFT_SLICES_MAX;

	return (uint32_t)(n <= max ? n : max < FAMILIES_MIN ? FAMILIES_MIN : max);
}

/*
 * The size of rings, with @avail bytes of memory. They get it as they are written (runtime/ring/memory.c), so this is
 * what the busiest process may take: one ring for each CPU that it runs on. No more than half of what is there, unless
 * the user asked for the size; then one ring has to fit.
 */
static int fit(const struct uft_session_opts *opts, const struct uft_arena *l, uint64_t avail, uint32_t *ring)
{
	*ring = opts->ring_bytes ? opts->ring_bytes : opts->emulator ? RING_BYTES / SMALLER : RING_BYTES;
	if (opts->ring_bytes)
		return *ring <= avail ? 0 : -ENOSPC;
	while ((uint64_t)*ring * l->ncpus > avail / 2)
		if ((*ring /= 2) < RING_BYTES_MIN)
			return -ENOSPC;
	return 0;
}

/*
 * What rings may grow to: the default only where the user asked for no size, a flight recorder's keep theirs, and an
 * emulator keeps books of addresses.
 */
static uint32_t grown(const struct uft_session_opts *opts, const struct uft_arena *l, uint64_t avail)
{
	const uint64_t room = (HOST_MACHINE == EM_X86_64 ? ROOM_MAX : ROOM_OTHER) / (3u * l->nprocesses + UFT_NSPARES);
	uint64_t max = opts->ring_max ? opts->ring_max : opts->ring_bytes ? 0 : RING_GROWN;

	if (opts->overwrite || opts->emulator || max <= l->ring_usual)
		return l->ring_usual;
	while (max > l->ring_usual && (max * l->ncpus > avail / 2 || max * (l->ncpus + l->nexch) > room / 2))
		max /= 2;
	return (uint32_t)max;
}

static int layout(struct uft_arena *l, const struct uft_session_opts *opts, uint64_t avail, const char *path,
		  struct uft_error *err)
{
	const uint32_t part = opts->emulator ? SMALLER : 1;
	const struct blob *blob;
	struct stat ns;
	uint64_t at;

	l->magic = UFT_ABI_MAGIC;
	l->version = UFT_ABI_VERSION;
	l->ncpus = possible_cpus();
	l->nexch = exchange_rings(opts, l->ncpus);
	l->nprocesses = opts->no_children ? 2 : PROCESSES;
	if (fit(opts, l, avail, &l->ring_usual))
		return uft_fail(err, -ENOSPC,
				"the rings do not fit: %llu MB are free for %s; ask for smaller ones (--buffer)",
				(unsigned long long)(avail >> 20), path);
	l->ring_bytes = grown(opts, l, avail);
	l->sub_bytes = opts->sub_bytes ? opts->sub_bytes : SUB_BYTES;
	while (!opts->sub_bytes && l->sub_bytes > UFT_PAGE && l->ring_usual / l->sub_bytes < 4)
		l->sub_bytes /= 2;
	if (!is_power_of_two(l->ring_bytes) || !is_power_of_two(l->ring_usual) || !is_power_of_two(l->sub_bytes) ||
	    l->ring_usual % UFT_PAGE || l->sub_bytes < SUB_BYTES_MIN || l->ring_usual / l->sub_bytes < 4)
		return uft_fail(err, -EINVAL,
				"ring of %u bytes in parts of %u: both must be powers of two, at least four parts a ring",
				l->ring_usual, l->sub_bytes);
	l->per_file = 1;
	l->slice_offset = UFT_BOARD_BYTES + page_up(sizeof(struct uft_mail));
	at = page_up(sizeof(struct uft_slice));
	l->cmd_offset = at;
	l->cmd_bytes = page_up(UFT_CMD_PAYLOAD + (uint64_t)CMD_SITES / part * sizeof(struct uft_patch));
	at += l->cmd_bytes;
	l->ring_offset = at;
	l->ring_stride = UFT_PAGE + (uint64_t)l->ring_bytes;
	at += l->ring_stride * (l->ncpus + l->nexch);
	l->profile_offset = at;
	l->profile_ids = PROFILE_IDS / part;
	at += l->profile_ids * sizeof(struct uft_profile) * UFT_PROFILE_BLOCKS(l->ncpus);
	l->hist_offset = page_up(at);
	l->hist_bytes = HIST_BYTES / part;
	l->slice_bytes = l->hist_offset + l->hist_bytes;
	l->nown = l->nprocesses + 4;	/* one for each target; for hwlat, osnoise, histograms and programs' events */
	l->nslices = l->per_file * families(l, opts);
	if (getrandom(&l->cookie, sizeof(l->cookie), GRND_NONBLOCK) != (ssize_t)sizeof(l->cookie))
		l->cookie = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	l->session_pid = (uint32_t)getpid();
	l->pid_ns = stat("/proc/self/ns/pid", &ns) ? 0 : ns.st_ino;
	l->children = (opts->no_children ? 0 : UFT_CHILDREN_FOLLOW) | (opts->watchdog ? UFT_CHILDREN_ASK : 0);
	l->build = blob_get(&blob) ? 0 : blob->build;
	if (readlink("/proc/self/exe", l->exe, sizeof(l->exe) - 1) < 0)
		l->exe[0] = '\0';
	return 0;
}

static void free_lists(struct arena *a)
{
	free(a->mail);
	free(a->file);
	free(a->used);
	free(a->given);
	a->mail = NULL;
	a->file = NULL;
	a->used = a->given = NULL;
}

/*
 * Maps the board and the session's own slices, whose layout is @l, behind a copy of that which nobody else
 * can change. There is no family. 0 or -errno; then nothing is mapped.
 */
int arena_map(struct arena *a, const struct uft_arena *l)
{
	const uint64_t own = l->slice_bytes * l->nown, head = l->slice_offset, targets = l->slice_bytes * l->nslices;
	void *map = mmap(NULL, a->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *board;
	int ret;

	a->map = NULL;
	a->board = NULL;
	a->nfamilies = l->nslices / l->per_file;
	a->mail = calloc(a->nfamilies, sizeof(*a->mail));
	a->file = calloc(a->nfamilies, sizeof(*a->file));
	a->used = calloc(a->nfamilies, sizeof(*a->used));
	a->given = calloc(a->nfamilies, sizeof(*a->given));
	a->nused = 0;
	if (map == MAP_FAILED || !a->mail || !a->file || !a->used || !a->given) {
		ret = map == MAP_FAILED ? -errno : -ENOMEM;
		if (map != MAP_FAILED)
			munmap(map, a->bytes);
		free_lists(a);
		return ret;
	}
	board = arena_map_part(NULL, UFT_BOARD_BYTES, 0, a->board_fd, 0);
	if (board == MAP_FAILED ||
	    mmap(map, head, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
	    mmap((uint8_t *)map + head, targets, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		 0) == MAP_FAILED ||
	    (own && arena_map_part((uint8_t *)map + head + targets, own, MAP_FIXED, a->own_fd, 0) == MAP_FAILED))
		ret = -errno;
	else
		ret = guard_add((uint8_t *)map + head, targets);
	if (ret) {
		if (board != MAP_FAILED)
			munmap(board, UFT_BOARD_BYTES);
		munmap(map, a->bytes);
		free_lists(a);
		return ret;
	}
	memcpy(map, l, sizeof(*l));
	mprotect(map, head, PROT_READ);
	/*
	 * A process that maps the board is a target: our own children must not. And no core file shall hold 10 GB
	 * of rings.
	 */
	madvise(board, UFT_BOARD_BYTES, MADV_DONTFORK);
	madvise((uint8_t *)map + head, a->bytes - head, MADV_DONTFORK);
	madvise(map, a->bytes, MADV_DONTDUMP);
	a->map = map;
	a->board = board;
	return 0;
}

static void unmap(struct arena *a)
{
	for (uint32_t i = 0; i < a->nfamilies; i++)
		if (a->mail[i])
			arena_unmap_mail(a, a->mail[i]);
	guard_drop((const uint8_t *)a->map + a->map->slice_offset);
	free_lists(a);
	munmap(a->board, UFT_BOARD_BYTES);
	munmap((void *)a->map, a->bytes);
}

/* ---- A session's ------------------------------------------------------------------------------- */

static uint64_t longest_file(const struct uft_arena *l)
{
	uint64_t own = l->slice_bytes * l->nown, family = arena_family_bytes(l);

	return own > family ? own : family;
}

int arena_create(struct arena *a, const struct uft_session_opts *opts, struct uft_error *err)
{
	struct uft_arena l = { 0 };
	struct statfs fs;
	char why[300];
	int dirfd, ret;

	*a = (struct arena){
		.fd = -1, .board_fd = -1, .own_fd = -1, .void_fd = -1, .since = proc_start_ticks(getpid())
	};
	dirfd = find_dir(a, err);
	if (dirfd < 0)
		return dirfd;
	remove_stale(dirfd);
	if (fstatfs(dirfd, &fs) < 0)
		memset(&fs, 0, sizeof(fs));
	ret = layout(&l, opts, (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize, a->path, err);
	if (!ret)
		ret = open_file(a, dirfd, err);
	close(dirfd);
	if (ret)
		return ret;
	a->target_bytes = UFT_BOARD_BYTES + arena_family_bytes(&l);
	a->bytes = l.slice_offset + l.slice_bytes * (l.nslices + l.nown);
	a->nspares = spares_of(opts);
	if (a->nspares > l.nslices / l.per_file / 2)
		a->nspares = l.nslices / l.per_file / 2;
	snprintf(l.path, sizeof(l.path), "%s", a->path);
	a->own_fd = memfd_create("uft-own", MFD_CLOEXEC);
	a->void_fd = memfd_create("uft-void", MFD_CLOEXEC);
	if (a->own_fd < 0 || a->void_fd < 0 || ftruncate(a->void_fd, (off_t)(l.slice_bytes * l.per_file)) < 0 ||
	    ftruncate(a->own_fd, (off_t)(l.slice_bytes * l.nown)) < 0) {
		ret = -errno;
		if (!rlimits_explain(0, ret, longest_file(&l), why, sizeof(why)))
			snprintf(why, sizeof(why), "%s", strerror(-ret));
		uft_fail(err, ret, "cannot make the ring of the session's own events: %s", why);
		goto undo;
	}
	if (ftruncate(a->board_fd, UFT_BOARD_BYTES) < 0) {
		ret = uft_fail(err, -errno, "cannot size the session's file %s: %s", a->path, strerror(errno));
		goto undo;
	}
	ret = arena_map(a, &l);
	if (ret) {
		if (!rlimits_explain(0, ret, a->bytes, why, sizeof(why)))
			snprintf(why, sizeof(why), "%s", strerror(-ret));
		uft_fail(err, ret, "cannot map the session's file: %s", why);
		goto undo;
	}
	memcpy(a->board, &l, sizeof(l));
	a->next_family = a->nfamilies - a->nspares;	/* the program that is launched has slice 0 */
	arena_keep_spares(a);
	return 0;
undo:
	arena_destroy(a);
	return ret;
}

void arena_unlink(const struct arena *a)
{
	char path[sizeof(a->path)], *name;
	int dirfd;

	snprintf(path, sizeof(path), "%s", a->path);
	name = strrchr(path, '/');
	if (!name)
		return;
	*name++ = '\0';
	dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return;
	unlink_all(dirfd, name);
	close(dirfd);
}

void arena_destroy(struct arena *a)
{
	if (a->map && a->is_linked && a->is_kept)
		arena_drop_unused(a);
	if (a->map)
		unmap(a);
	if (a->is_linked && !a->is_kept)
		arena_unlink(a);
	if (a->fd >= 0)
		close(a->fd);
	if (a->board_fd >= 0)
		close(a->board_fd);
	if (a->own_fd >= 0)
		close(a->own_fd);
	if (a->void_fd >= 0)
		close(a->void_fd);
	*a = (struct arena){ .fd = -1, .board_fd = -1, .own_fd = -1, .void_fd = -1 };
}

/* Do the numbers of a header that anybody may have written make sense? Each part lies behind the one before. */
static int is_sound(const struct uft_arena *l)
{
	const uint64_t nrings = (uint64_t)l->ncpus + l->nexch;

	if (l->magic != UFT_ABI_MAGIC || l->version != UFT_ABI_VERSION || !l->nslices || l->nslices > UFT_SLICES_MAX ||
	    !l->per_file || l->nslices % l->per_file ||
	    !l->ncpus || l->ncpus > CPUS_MAX || l->nexch > CPUS_MAX || !is_power_of_two(l->ring_bytes) ||
	    !is_power_of_two(l->sub_bytes) || l->sub_bytes < SUB_BYTES_MIN || l->ring_bytes % UFT_PAGE ||
	    l->ring_usual < l->sub_bytes ||
	    l->ring_usual > l->ring_bytes || l->ring_usual % l->sub_bytes)
		return 0;
	return l->slice_bytes && l->slice_bytes <= BYTES_MAX / l->nslices && l->slice_bytes % UFT_PAGE == 0 &&
	       l->slice_offset == UFT_BOARD_BYTES + page_up(sizeof(struct uft_mail)) &&
	       l->cmd_offset == page_up(sizeof(struct uft_slice)) &&
	       l->cmd_bytes > UFT_CMD_PAYLOAD && l->cmd_bytes <= l->slice_bytes &&
	       l->ring_offset == l->cmd_offset + l->cmd_bytes && l->ring_stride == UFT_PAGE + (uint64_t)l->ring_bytes &&
	       l->ring_stride * nrings <= l->slice_bytes &&
	       l->profile_offset == l->ring_offset + l->ring_stride * nrings && l->profile_offset <= l->slice_bytes &&
	       l->profile_ids <= l->slice_bytes / sizeof(struct uft_profile) / UFT_PROFILE_BLOCKS(l->ncpus) &&
	       l->profile_offset +
	       l->profile_ids * sizeof(struct uft_profile) * UFT_PROFILE_BLOCKS(l->ncpus) <= l->hist_offset &&
	       l->hist_offset % UFT_PAGE == 0 && l->hist_offset <= l->slice_bytes &&
	       l->hist_bytes == l->slice_bytes - l->hist_offset;
}

/*
 * The files of the session whose first one is @dir/@name, mapped; checked. With @dead the lock is taken, before
 * anything is mapped: a living session may have a thousand files. 0 or -errno.
 */
static int open_existing(struct arena *a, int dirfd, const char *dir, const char *name, int dead)
{
	struct uft_arena head;
	int ret;

	*a = (struct arena){ .own_fd = -1, .void_fd = -1, .board_fd = -1,
		.fd = openat(dirfd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) };
	if (a->fd < 0)
		return -errno;
	snprintf(a->path, sizeof(a->path), "%.*s/%.*s", (int)sizeof(a->path) - 66, dir, 64, name);
	ret = dead && !arena_lock_dead(a->fd) ? -EBUSY : open_board(a, dirfd, name, 0) ? -errno : 0;
	if (!ret && (pread(a->board_fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || !is_sound(&head)))
		ret = -EPROTO;
	if (!ret) {
		head.nown = 0;
		a->target_bytes = UFT_BOARD_BYTES + arena_family_bytes(&head);
		a->bytes = head.slice_offset + head.slice_bytes * head.nslices;
		ret = arena_map(a, &head);
	}
	if (ret)
		arena_destroy(a);	/* it is not linked: nothing is removed */
	else
		arena_map_families(a);
	return ret;
}

int arena_each(int dead, void (*fn)(struct arena *a, void *arg), void *arg)
{
	struct arena dir = { .fd = -1, .board_fd = -1, .own_fd = -1, .void_fd = -1 }, a;
	int dirfd = find_dir(&dir, NULL);
	DIR *d = dirfd < 0 ? NULL : fdopendir(dirfd);
	struct dirent *e;

	if (!d)
		return dirfd < 0 ? dirfd : -errno;
	while ((e = readdir(d)))
		if (is_session(e->d_name) && !open_existing(&a, dirfd, dir.path, e->d_name, dead)) {
			fn(&a, arg);
			arena_destroy(&a);
		}
	closedir(d);
	return 0;
}

struct uft_slice uft_shared *arena_slice(const struct arena *a, uint32_t index)
{
	const uint32_t n = a->map->nslices + a->map->nown;

	/* No caller asks for another; one that did would get the session's own last slice, which is no target's. */
	if (index >= n)
		index = n - 1;
	return (struct uft_slice uft_shared *)((uint8_t *)a->map + a->map->slice_offset + a->map->slice_bytes * index);
}

struct uft_cmd uft_shared *arena_cmd(const struct arena *a, uint32_t index)
{
	return (struct uft_cmd uft_shared *)((uint8_t uft_shared *)arena_slice(a, index) + a->map->cmd_offset);
}

/* One of [@from, @to). */
static uint32_t claim(struct arena *a, uint32_t from, uint32_t to, pid_t pid, pid_t ppid, uint32_t flags)
{
	for (uint32_t i = from; i < to; i++) {
		struct uft_slice uft_shared *sl = arena_slice(a, i);
		uint32_t is_free = UFT_SLICE_FREE;

		if (!SHARED_SWAP(&sl->state, &is_free, UFT_SLICE_LIVE))
			continue;
		SHARED_STORE(&sl->pid, (uint32_t)pid);
		SHARED_STORE(&sl->ppid, (uint32_t)ppid);
		SHARED_STORE(&sl->parent_slice, UFT_NO_SLICE);
		SHARED_STORE(&sl->flags, flags);
		SHARED_STORE(&sl->agent_tid, 0);
		return i;
	}
	return UFT_NO_SLICE;
}

uint32_t arena_claim(struct arena *a, pid_t pid, pid_t ppid, uint32_t flags)
{
	int64_t family = arena_make_family(a);

	if (family < 0) {
		errno = (int)-family;
		return UFT_NO_SLICE;
	}
	errno = EAGAIN;
	return claim(a, (uint32_t)family * a->map->per_file, (uint32_t)family * a->map->per_file + 1, pid, ppid,
		     flags);
}

uint32_t arena_claim_own(struct arena *a, pid_t pid, pid_t ppid)
{
	return claim(a, a->map->nslices, a->map->nslices + a->map->nown, pid, ppid, 0);
}

static int clear_rings(const struct arena *a, uint32_t index)
{
	uint64_t from = a->map->ring_offset;

	return madvise((uint8_t *)shared_address(arena_slice(a, index)) + from, a->map->slice_bytes - from,
		       MADV_REMOVE);
}

void arena_empty(const struct arena *a, uint32_t index)
{
	clear_rings(a, index);
}

void arena_release(struct arena *a, uint32_t index)
{
	struct uft_slice uft_shared *sl = arena_slice(a, index);

	SHARED_STORE(&sl->pid, 0);
	SHARED_STORE(&sl->ppid, 0);
	SHARED_STORE(&sl->agent_tid, 0);
	SHARED_STORE(&sl->spare_fd, 0);
	SHARED_STORE(&sl->clock_start, 0);
	shared_clear(sl->counter, sizeof(sl->counter));
	shared_clear(sl->used, sizeof(sl->used));
	SHARED_STORE_RELEASE(&sl->state, clear_rings(a, index) < 0 ? UFT_SLICE_SPENT : UFT_SLICE_FREE);
}
