// SPDX-License-Identifier: MIT
/*
 * boot.c - the blob's first steps in a fresh image
 *
 * Runs on the program's stack before the program does, entered by ptrace (entry.S). Nothing of the process is set up:
 * no thread pointer, no libc. A stand-in area gives %fs:0 its own address, as the ABI wants, and reads as "no
 * CPU number" wherever an rseq area may be expected; libc replaces it when it starts.
 */
#include "runtime/agent/agent.h"

#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/base/sys.h"
#include "runtime/platform/linux/own.h"

#define STAND_IN_BYTES	(64u << 10)	/* either side of the thread pointer; control/start/exec_inject.c knows: REMOTE_RSEQ_REACH */
#define STAND_IN_FILLED	4096u

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

/* Where new mappings come locked a plain one would make every page of the sparse file. */
static long map_shared(uint64_t bytes, int prot, int fd)
{
	const int flags = MAP_SHARED | MAP_NORESERVE;
	long at = mem_map(0, bytes, uft_boot.is_locked ? PROT_NONE : prot, flags, fd);
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

/* The board read-only, of a descriptor that cannot write: mprotect() will not make it writable either. */
static int map_both(int board, int fd)
{
	const uint64_t bytes = uft_boot.arena_bytes - UFT_BOARD_BYTES;
	const struct uft_arena *a;
	long at, mail;

	if (uft_boot.arena_bytes <= UFT_BOARD_BYTES)
		return -EINVAL;
	at = map_shared(UFT_BOARD_BYTES, PROT_READ, board);
	if (sys_is_error(at))
		return (int)at;
	a = (const struct uft_arena *)at;
	mail = a->magic != UFT_ABI_MAGIC || a->version != UFT_ABI_VERSION || uft_boot.slice >= a->nslices ? -EPROTO :
	       map_shared(bytes, PROT_READ | PROT_WRITE, fd);
	if (sys_is_error(mail)) {
		mem_unmap((uint64_t)at, UFT_BOARD_BYTES);
		return (int)mail;
	}
	uft_boot.arena_addr = (uint64_t)mail;
	uft_boot.board_addr = (uint64_t)at;
	uft_rt.arena = a;
	uft_rt.mail = (struct uft_mail *)mail;
	uft_rt.slice_index = uft_boot.slice;
	uft_rt.slice = rt_slice(uft_boot.slice);
	return 0;
}

int boot_map_arena(int board, int fd)
{
	int ret = board < 0 ? board : fd < 0 ? fd : map_both(board, fd);

	if (board >= 0)
		sys_close(board);
	if (fd >= 0)
		sys_close(fd);
	return ret;
}

int boot_map_path(const char *path)
{
	char board[sizeof(uft_boot.arena_path) + sizeof(UFT_BOARD_SUFFIX)];
	int fd;

	if (mem_strlen(path) >= sizeof(uft_boot.arena_path))
		return -ENAMETOOLONG;
	mem_put(mem_put(board, path), UFT_BOARD_SUFFIX);
	fd = sys_open(board, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? fd : boot_map_arena(fd, sys_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
}

int boot_finish(void)
{
	int ret = mem_own(uft_boot.blob_at, uft_boot.blob_bytes);

	if (ret)
		return ret;
	uft_rt.rseq_offset = uft_boot.rseq_offset;
	uft_rt.st8_ok = uft_boot.cpu_vendor_ok;
	uft_rt.no_mprotect = uft_boot.no_mprotect;
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
	ret = set_thread_pointer();
	if (!ret)
		ret = boot_map_path(uft_boot.arena_path);
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
