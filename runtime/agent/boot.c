// SPDX-License-Identifier: MIT
/*
 * boot.c - the blob's first steps in a fresh image
 *
 * Runs on the program's stack before the program does, entered by ptrace (entry.S). The process has no thread pointer
 * and no libc yet. A stand-in area gives %fs:0 its own address, as the ABI wants, and reads as "no CPU number" wherever
 * an rseq area may be expected; libc replaces it when it starts.
 */
#include "runtime/agent/agent.h"
#include "runtime/agent/layout.h"

#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/base/sys.h"
#include "runtime/platform/linux/own.h"
#include "runtime/platform/platform.h"

/* on either side of the thread pointer; control/start/exec_inject.c has the same size: REMOTE_RSEQ_REACH */
#define STAND_IN_BYTES	(64u << 10)
#define STAND_IN_FILLED	4096u
#define ASK_MS		1000	/* wait for an answer of the session that detaches */

#define BOOT_OFFSET(member, n) _Static_assert(offsetof(struct uft_boot, member) == (n), "layout.h")
BOOT_OFFSET(is_rejoining, BOOT_IS_REJOINING);
BOOT_OFFSET(resume, BOOT_RESUME);
BOOT_OFFSET(back.reg, BOOT_BACK);
BOOT_OFFSET(back.flags, BOOT_BACK_FLAGS);
BOOT_OFFSET(back.pc, BOOT_BACK_PC);
BOOT_OFFSET(back.mask, BOOT_BACK_MASK);

struct uft_boot uft_boot = { .version = UFT_ABI_VERSION };
struct uft_rt uft_rt;

static int set_thread_pointer(void)
{
	uint8_t *tp;
	long at;

	if (arch_get_thread_pointer())
		return 0;
	at = sys_mmap(0, STAND_IN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_is_error(at))
		return (int)at;
	tp = (uint8_t *)at + STAND_IN_BYTES / 2;
	memset(tp - STAND_IN_FILLED, 0xff, 2 * STAND_IN_FILLED);
	*(uint64_t *)tp = (uint64_t)tp;
	mem_own((uint64_t)at, STAND_IN_BYTES | UFT_OWNED_TP);
	return (int)arch_set_thread_pointer((uint64_t)tp);
}

/* Maps a file. If new mappings come locked, a plain mapping would make every page of the sparse file. */
static long map_shared(uint64_t bytes, int prot, int fd)
{
	const int flags = MAP_SHARED | MAP_NORESERVE;
	long at = mem_map_apart(bytes, uft_boot.is_locked ? PROT_NONE : prot, flags, fd);
	int ret;

	if (sys_is_error(at) || !uft_boot.is_locked)
		return at;
	sys_call3(__NR_munlock, at, bytes, 0);
	ret = sys_mprotect((uint64_t)at, bytes, prot);
	if (!ret)
		return at;
	mem_unmap((uint64_t)at, bytes);
	return ret;
}

/* Maps the board read-only from a descriptor that cannot write, so mprotect() cannot make it writable either. */
static int map_board(int fd)
{
	const struct uft_arena *a;
	long at = uft_boot.arena_bytes <= UFT_BOARD_BYTES ? -EINVAL : map_shared(UFT_BOARD_BYTES, PROT_READ, fd);

	if (sys_is_error(at))
		return (int)at;
	a = (const struct uft_arena *)at;
	if (a->magic != UFT_ABI_MAGIC || a->version != UFT_ABI_VERSION || uft_boot.slice >= a->nslices ||
	    !a->per_file) {
		mem_unmap((uint64_t)at, UFT_BOARD_BYTES);
		return -EPROTO;
	}
	uft_boot.board_addr = (uint64_t)at;
	uft_rt.arena = a;
	return 0;
}

static uint64_t family_bytes(void)
{
	return uft_boot.arena_bytes - UFT_BOARD_BYTES;
}

static int map_family(int fd)
{
	long at = map_shared(family_bytes(), PROT_READ | PROT_WRITE, fd);

	if (sys_is_error(at))
		return (int)at;
	uft_rt.mail = (struct uft_mail *)at;
	uft_rt.slice_index = uft_boot.slice;
	uft_rt.slice = rt_slice(uft_boot.slice % uft_rt.arena->per_file);
	boot_keep_private((uint64_t)at);
	return 0;
}

int boot_map_arena(int board, int fd)
{
	int ret = board < 0 ? board : fd < 0 ? fd : map_board(board);

	if (!ret) {
		ret = map_family(fd);
		if (ret)
			mem_unmap(uft_boot.board_addr, UFT_BOARD_BYTES);
	}
	if (board >= 0)
		sys_close(board);
	if (fd >= 0)
		sys_close(fd); /* GUARD(boot_closes) */
	return ret;
}

static int open_family(const char *path, uint32_t number)
{
	char name[sizeof(uft_boot.arena_path) + sizeof(UFT_FAMILY_SUFFIX) + 10];

	mem_put_dec(mem_put(mem_put(name, path), UFT_FAMILY_SUFFIX), number);
	return sys_open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

static int open_board(const char *path)
{
	char board[sizeof(uft_boot.arena_path) + sizeof(UFT_BOARD_SUFFIX)];

	if (mem_strlen(path) >= sizeof(uft_boot.arena_path))
		return -ENAMETOOLONG;
	mem_put(mem_put(board, path), UFT_BOARD_SUFFIX);
	return sys_open(board, O_RDONLY | O_CLOEXEC |
			O_NOFOLLOW /* GUARD(board_is_read, O_RDWR | O_CLOEXEC | O_NOFOLLOW) */);
}

int boot_map_board(const char *path)
{
	int fd = open_board(path), ret = fd < 0 ? fd : map_board(fd);

	if (fd >= 0)
		sys_close(fd); /* GUARD(boot_closes) */
	return ret;
}

/* Maps the board first, because it has the number of a family's slices. */
static int boot_map_path(const char *path)
{
	int ret = boot_map_board(path), fd;

	if (ret)
		return ret;
	fd = open_family(path, uft_boot.slice / uft_rt.arena->per_file);
	ret = fd < 0 ? fd : map_family(fd);
	if (fd >= 0)
		sys_close(fd); /* GUARD(boot_closes) */
	if (ret)
		mem_unmap(uft_boot.board_addr, UFT_BOARD_BYTES);
	return ret;
}

/*
 * Maps a family over the parent's, in one step, because other threads may read there, and code that the forking handler
 * interrupted goes on with addresses in it. A plain mapping may come locked (see map_shared()), so the family is first
 * mapped elsewhere.
 */
static int map_over(uint64_t at, int fd)
{
	long from = sys_mmap(0, family_bytes(), PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0), ret;

	if (sys_is_error(from))
		return (int)from;
	sys_call3(__NR_munlock, from, family_bytes(), 0);
	ret = sys_mprotect((uint64_t)from, family_bytes(), PROT_READ | PROT_WRITE);
	if (!ret)
		ret = sys_call6(__NR_mremap, from, family_bytes(), family_bytes(), 3 /* MAYMOVE, FIXED */, at, 0);
	if (!sys_is_error(ret))
		return 0;
	sys_munmap((uint64_t)from, family_bytes());
	return (int)ret;
}

static uint64_t first_bytes(void)
{
	return uft_rt.arena->slice_offset - UFT_BOARD_BYTES + UFT_PAGE;
}

/*
 * Claims the slice of a mapped family. 1: it was free and has @state now; 0: not free, or the file is another
 * session's, which may have a file of that name here.
 */
static int claim_mapped(uint64_t family, uint32_t state)
{
	const struct uft_arena *a = uft_rt.arena;
	struct uft_mail *m = (struct uft_mail *)family;
	struct uft_slice *slice = (struct uft_slice *)(family + a->slice_offset - UFT_BOARD_BYTES);

	return m->cookie == a->cookie && !uft_load(&m->closed) && uft_cas(&slice->state, UFT_SLICE_FREE, state);
}

static int is_family(int fd)
{
	return (uint64_t)sys_call3(__NR_lseek, fd, 0, 2 /* SEEK_END */) == family_bytes();
}

/*
 * 1: its first pages are mapped at @first until end_claim(), because the session drops a held family that no process
 * has mapped; 0 or -errno: not claimed.
 */
static int claim_first(int fd, uint32_t state, uint64_t *first)
{
	long at = is_family(fd) ? sys_mmap(0, first_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : 0;

	if (!at || sys_is_error(at))
		return (int)at;
	*first = (uint64_t)at;
	if (claim_mapped(*first, state))
		return 1;
	sys_munmap(*first, first_bytes());
	return 0;
}

/* 1: the family is mapped at @at, and no fork child inherits it; 0 or -errno: not claimed. */
static int claim_whole(int fd, uint32_t state, uint64_t *at)
{
	long m = is_family(fd) ? map_shared(family_bytes(), PROT_READ | PROT_WRITE, fd) : 0;
	int ret = 0;

	if (!m || sys_is_error(m))
		return (int)m;
	*at = (uint64_t)m;
	if (sys_madvise(*at, family_bytes(), MADV_DONTFORK) && !uft_rt.is_emulated)
		ret = -ENOSYS;
	else if (claim_mapped(*at, state))
		return 1;
	mem_unmap(*at, family_bytes());
	return ret;
}

/* Ends a claim: the family is mapped as a whole, or could not be. */
static void end_claim(int fd, uint64_t first)
{
	sys_munmap(first, first_bytes());
	sys_close(fd);
}

/*
 * Claims a spare family: returns its number, its slice has @state, *@out is its descriptor, and @claim sets *@at; or
 * -errno.
 */
static int claim_any(int (*claim)(int fd, uint32_t state, uint64_t *at), uint32_t state, int *out, uint64_t *at)
{
	const struct uft_arena *a = uft_rt.arena;
	uint32_t first = (uint32_t)arch_clock() >> 4;
	int ret = -ENOENT;

	for (uint32_t i = 0; i < UFT_NSPARES; i++) {
		uint32_t number = uft_load(&a->spare[(first + i) % UFT_NSPARES]);
		int fd = number && number <= a->nslices / a->per_file ? open_family(a->path, number - 1) : -EAGAIN, got;

		if (fd < 0) {
			ret = ret == -ENOENT ? fd : ret;
			continue;
		}
		got = claim(fd, state, at);
		if (got > 0) {
			*out = fd;
			plat_wake((uint32_t *)&a->bell, 0x7fffffff);	/* asks for another one */
			return (int)(number - 1);
		}
		sys_close(fd); /* GUARD(boot_closes) */
		if (got < 0)
			return got;
		ret = -EAGAIN;
	}
	return ret;
}

int boot_take_spare(uint64_t at)
{
	uint64_t first;
	int fd, number = claim_any(claim_first, UFT_SLICE_LIVE, &fd, &first), ret;

	if (number < 0)
		return number;
	uft_boot.slice = (uint32_t)number * uft_rt.arena->per_file;
	ret = at ? map_over(at, fd) : map_family(fd);
	end_claim(fd, first);
	if (!ret && at)
		boot_keep_private(at);
	return ret ? ret : number;
}

int boot_ask_family(uint64_t at)
{
	int pair[2], fd[UFT_BOOT_NFDS], ret = agent_socket(pair);
	uint32_t number = 0;
	uint64_t first;

	if (ret)
		return ret;
	uft_boot.fd = pair[1];
	uft_store_release(&uft_boot.stage, UFT_BOOT_SOCKET);
	ret = sys_poll(pair[0], 1 /* POLLIN */, ASK_MS) > 0 ? agent_receive(pair[0], &number, sizeof(number), fd) :
		-ETIMEDOUT;
	sys_close(pair[0]);
	sys_close(pair[1]);
	if (ret < 0)
		return ret;
	for (int i = 1; i < ret; i++)
		sys_close(fd[i]);
	if (claim_first(fd[0], UFT_SLICE_LIVE, &first) <= 0) {
		sys_close(fd[0]);
		return -EPROTO;
	}
	uft_boot.slice = number * uft_rt.arena->per_file;
	ret = at ? map_over(at, fd[0]) : map_family(fd[0]);
	end_claim(fd[0], first);
	if (!ret && at)
		boot_keep_private(at);
	return ret ? ret : (int)number;
}

int boot_hold_spare(uint64_t *at)
{
	int fd, number = claim_any(claim_whole, UFT_SLICE_HELD, &fd, at);

	if (number >= 0)
		sys_close(fd);
	return number;
}

int boot_hold_family(int fd, uint64_t *at)
{
	int got = claim_whole(fd, UFT_SLICE_HELD, at);

	sys_close(fd);
	return got > 0 ? 0 : got ? got : -EPROTO;
}

int boot_own_blob(void)
{
	return mem_own(uft_boot.blob_at, uft_boot.blob_bytes);
}

int boot_finish(void)
{
	int ret;

	limit_begin(&uft_boot.space, &uft_boot.stack);
	uft_rt.rseq_offset = uft_boot.rseq_offset;
	uft_rt.st8_ok = uft_boot.cpu_vendor_ok;
	uft_rt.no_mprotect = uft_boot.no_mprotect;
	plat_deny(uft_boot.denied); /* GUARD(boot_denied) */
	uft_rt.rdebug = uft_boot.rdebug;
	uft_rt.slice->clock_start = arch_clock();
	ret = trace_init();
	if (!ret)
		ret = patch_init();
	return ret;
}

static int boot(void)
{
	int ret;

	if (uft_boot.version != UFT_ABI_VERSION)
		return -EPROTO;
	ret = set_thread_pointer(); /* GUARD(thread_pointer_set, 0) */
	if (!ret)
		ret = boot_map_path(uft_boot.arena_path);
	if (!ret)
		ret = boot_own_blob();
	if (!ret)
		ret = boot_finish();
	return ret ? ret : agent_start();
}

/* Called by uft_blob_start only. */
void agent_boot(void);
void agent_boot(void)
{
	uft_boot.result = boot();
}
