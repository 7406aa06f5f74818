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
static long map_unlocked(int fd)
{
	long at = mem_map(0, uft_boot.arena_bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd);
	int ret;

	if (sys_is_error(at))
		return at;
	sys_call3(__NR_munlock, at, uft_boot.arena_bytes, 0);
	ret = sys_mprotect((uint64_t)at, uft_boot.arena_bytes, PROT_READ | PROT_WRITE);
	if (!ret)
		return at;
	mem_unmap((uint64_t)at, uft_boot.arena_bytes);
	return ret;
}

int boot_map_arena(int fd)
{
	struct uft_arena *a;
	long at;

	if (fd < 0)
		return fd;
	at = uft_boot.is_locked ? map_unlocked(fd) :
	     mem_map(0, uft_boot.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd);
	sys_close(fd);
	if (sys_is_error(at))
		return (int)at;
	a = (struct uft_arena *)at;
	if (a->magic != UFT_ABI_MAGIC || a->version != UFT_ABI_VERSION || uft_boot.slice >= a->nslices)
		return -EPROTO;
	uft_boot.arena_addr = (uint64_t)at;
	uft_rt.arena = a;
	uft_rt.slice_index = uft_boot.slice;
	uft_rt.slice = (struct uft_slice *)((uint8_t *)a + a->slice_offset + a->slice_bytes * uft_boot.slice);
	return 0;
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
		ret = boot_map_arena(sys_open(uft_boot.arena_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
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
