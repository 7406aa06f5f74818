/* SPDX-License-Identifier: MIT */
/*
 * hooks_test.c - system calls, unwinder entries and r_brk: what the hooked code does, and its bytes afterwards
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/patch/kit.h"

static uint8_t *page, *copy;

static void page_make(void)
{
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	memset(page, 0xcc, 8192);
	copy = malloc(8192);
}

static void page_seal(void)
{
	memcpy(copy, page, 8192);
	CHECK(!mprotect(page, 8192, kit_prot()));
}

static void page_free(void)
{
	munmap(page, 8192);
	free(copy);
}

/* A word in the red zone, carry set; mov $nr,%eax; syscall; both must be as they were, else a trap. */
#define BEFORE	10
static struct uft_hook put_syscall(size_t at, uint32_t nr)
{
	static const uint8_t before[BEFORE] = { 0x48, 0xc7, 0x44, 0x24, 0xf8, 0x2a, 0, 0, 0,	/* movq $42,-8(%rsp) */
						0xf9 };						/* stc */
	/* jnc; cmpl $42,-8(%rsp) */
	static const uint8_t after[] = { 0x0f, 0x05, 0x73, 0x08, 0x83, 0x7c, 0x24, 0xf8, 0x2a,
					 0x75, 0x01, 0xc3, 0x0f, 0x0b };			/* jne; ret; ud2 */
	struct uft_hook h = { .kind = UFT_HOOK_SYSCALL, .nr = nr, .len = 5 };
	uint8_t *p = page + at - BEFORE;

	memcpy(p, before, BEFORE);
	p += BEFORE;
	h.addr = (uint64_t)p;
	uft_insn_mov_eax(p, nr);
	memcpy(p + 5, after, sizeof(after));
	memcpy(h.bytes, p, 16);
	return h;
}

static long call_at(uint64_t addr, long a)
{
	return ((long (*)(long))(addr - BEFORE))(a);
}

/* At every offset of a line, while nobody runs: hooks, does its work, is put back. */
static void test_syscall(void)
{
	struct uft_hook h[64];
	unsigned i;

	page_make();
	for (i = 0; i < 64; i++)
		h[i] = put_syscall(64 * (i + 1) + i, i & 1 ? SYS_getpid : SYS_execve);
	page_seal();
	CHECK(!patch_hooks(h, 64));
	for (i = 0; i < 64; i++) {
		uint64_t pre = kit_hook_pre, post = kit_hook_post;
		long ret = call_at(h[i].addr, 0);

		CHECK(h[i].result == 0);
		CHECK(*(uint8_t *)h[i].addr == UFT_OP_JMP);
		CHECK(kit_hook_pre - pre == 1 && kit_hook_post - post == !(i & 1));
		CHECK(ret == (i & 1 ? getpid() : -EFAULT), "%u: %ld", i, ret);
	}
	CHECK(!patch_hooks(h, 64));		/* again: nothing changes */
	patch_disarm();
	CHECK(!memcmp(page, copy, 8192));
	CHECK(call_at(h[1].addr, 0) == getpid());
	CHECK(!patch_hooks(h, 64) && *(uint8_t *)h[0].addr == UFT_OP_JMP);
	patch_disarm();
	CHECK(!memcmp(page, copy, 8192));
}

static volatile int stop;
static void *spin(void *arg)
{
	while (!stop)
		__asm__ volatile("pause");
	return arg;
}

/*
 * The end of syscall(): movq $42,-8(%rsp); mov %rdi,%rax; stc; mov 8(%rsp),%r9; syscall; the red zone must be
 * as it was, else a trap.
 */
#define ANY_BEFORE	13
static struct uft_hook put_any(size_t at)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0x44, 0x24, 0xf8, 0x2a, 0, 0, 0, 0x48, 0x89, 0xf8, 0xf9, 0x4c, 0x8b,
		0x4c, 0x24,
					0x08, 0x0f, 0x05, 0x83, 0x7c, 0x24, 0xf8, 0x2a, 0x75, 0x01, 0xc3, 0x0f, 0x0b };
	struct uft_hook h = { .kind = UFT_HOOK_SYSCALL, .nr = UFT_HOOK_ANY, .len = 5, .addr = (uint64_t)page + at };

	memcpy(page + at - ANY_BEFORE, code, sizeof(code));
	memcpy(h.bytes, page + at, 16);
	return h;
}

static void check_any(const struct uft_hook *h, uint64_t count)
{
	long (*call)(long) = (long (*)(long))(h->addr - ANY_BEFORE);
	uint64_t n = kit_hook_any;

	CHECK(call(SYS_getpid) == getpid());		/* odd: made by the handler, and not again */
	CHECK(call(SYS_gettid) == gettid());
	CHECK(call(SYS_dup3) == -EBADF || call(SYS_dup3) == -EINVAL);
	CHECK(kit_hook_any - n >= 3 * count && (count || kit_hook_any == n));
}

static void test_any(void)
{
	struct uft_hook h[64], wrong;
	pthread_t th;
	unsigned i;

	page_free();
	page_make();
	for (i = 0; i < 64; i++)
		h[i] = put_any(64 * (i + 1) + i);
	page_seal();
	CHECK(!patch_hooks(h, 64));
	for (i = 0; i < 64; i++) {
		CHECK(h[i].result == 0 && *(uint8_t *)h[i].addr == UFT_OP_JMP);
		check_any(&h[i], 1);
	}
	patch_disarm();
	CHECK(!memcmp(page, copy, 8192));
	check_any(&h[0], 0);
	/* Another instruction there, or no system call behind it. */
	wrong = h[1];
	wrong.addr -= 3;
	memcpy(wrong.bytes, (void *)wrong.addr, 16);
	CHECK(patch_hooks(&wrong, 1) == -EILSEQ);
	CHECK(!patch_hooks(h, 64));
	for (i = 0; i < 64; i++)
		check_any(&h[i], 1);
	/* What stays in place while somebody runs leads nowhere, and the call is made. */
	stop = 0;
	pthread_create(&th, NULL, spin, NULL);
	patch_disarm();
	CHECK(memcmp(page, copy, 8192));
	for (i = 0; i < 64; i++)
		check_any(&h[i], 0);
	stop = 1;
	pthread_join(th, NULL);
	patch_disarm();
	CHECK(!memcmp(page, copy, 8192));
}

/* With a thread running: at once or not at all; what stays in place leads nowhere. */
static void test_running(void)
{
	struct uft_hook h[64], armed[64];
	pthread_t th;
	unsigned i, refused = 0;

	page_free();
	page_make();
	for (i = 0; i < 64; i++)
		h[i] = put_syscall(64 * (i + 1) + i, SYS_getpid);
	page_seal();
	memcpy(armed, h, sizeof(h));
	stop = 0;
	pthread_create(&th, NULL, spin, NULL);
	patch_hooks(h, 64);
	for (i = 0; i < 64; i++) {
		int one_block = h[i].addr / 16 == (h[i].addr + 4) / 16;

		if (h[i].result) {
			CHECK(h[i].result == -EBUSY && !one_block, "%u: %d", i, h[i].result);
			CHECK(!memcmp((void *)h[i].addr, copy + (h[i].addr - (uint64_t)page), 8));
			refused++;
			continue;
		}
		CHECK(call_at(h[i].addr, 0) == getpid());
	}
	CHECK(refused && refused <= 16);
	stop = 1;
	pthread_join(th, NULL);
	/* No thread runs now: the other hooks are armed as well. Then a disarm cannot take these out. */
	CHECK(!patch_hooks(armed, 64));
	stop = 0;
	pthread_create(&th, NULL, spin, NULL);
	patch_disarm();
	for (i = 0; i < 64; i++) {
		uint64_t pre = kit_hook_pre;

		CHECK(call_at(h[i].addr, 0) == getpid() && kit_hook_pre == pre);
		if (h[i].addr / 16 == (h[i].addr + 4) / 16)
			CHECK(!memcmp((void *)h[i].addr, copy + (h[i].addr - (uint64_t)page), 8), "%u", i);
	}
	CHECK(!patch_hooks(armed, 1));
	patch_disarm();
	stop = 1;
	pthread_join(th, NULL);
	page_free();
}

/* Three whole instructions move: push %rbp; mov %rsp,%rbp; mov %rdi,%rax. */
static void test_unwind(void)
{
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc0, 0x5d, 0xc3 };
	struct uft_hook h = { .kind = UFT_HOOK_UNWIND, .len = 7 };
	uint64_t n = kit_hook_unwind;

	page_make();
	h.addr = (uint64_t)page + 61;
	memcpy(page + 61, code, sizeof(code));
	memcpy(h.bytes, page + 61, 16);
	page_seal();
	CHECK(!patch_hooks(&h, 1));
	CHECK(((long (*)(long))h.addr)(8) == 9 && kit_hook_unwind - n == 1);
	h.len = 4;				/* no room for a jump */
	h.addr += 64;
	CHECK(patch_hooks(&h, 1) != 0);
	h = (struct uft_hook){ .kind = UFT_HOOK_UNWIND, .len = 7, .addr = (uint64_t)page + 256 };
	CHECK(patch_hooks(&h, 1) == -EILSEQ && h.result == -EILSEQ);	/* not the bytes that it should be */
	patch_disarm();
	CHECK(!memcmp(page, copy, 8192));
	page_free();
}

static void test_rbrk(void)
{
	static const struct { const char *bytes; unsigned n; int ok; } body[] = {
		{ "\xc3\x66\x90\x66\x90\x90\x90", 7, 1 },
		{ "\xf3\x0f\x1e\xfa\xc3\xcc\xcc\xcc\xcc\xcc", 10, 1 },
		{ "\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0\x90", 12, 1 },
		{ "\xc3\x90\x55\x48\x89\xe5", 6, 0 },	/* a function follows at once */
		{ "\x55\xc3", 2, 0 },
	};
	struct uft_hook h;
	unsigned i;

	page_make();
	for (i = 0; i < 5; i++)
		memcpy(page + 63 + i * 64, body[i].bytes, body[i].n);
	page_seal();
	for (i = 0; i < 5; i++) {
		uint64_t n = kit_hook_rbrk;
		uint8_t *at = page + 63 + i * 64;

		h = (struct uft_hook){ .kind = UFT_HOOK_RBRK, .addr = (uint64_t)at };
		memcpy(h.bytes, at, 16);
		CHECK((patch_hooks(&h, 1) == 0) == body[i].ok, "%u: %d", i, h.result);
		if (!body[i].ok)
			continue;
		((void (*)(void))at)();
		CHECK(kit_hook_rbrk - n == 1);
	}
	patch_disarm();
	CHECK(!memcmp(page, copy, 8192));
	page_free();
}

/* One that lies in the bytes of another of the same order finds the jump there, as if it had come alone. */
static void test_beside(void)
{
	struct uft_hook h[3];

	page_make();
	h[0] = put_syscall(BEFORE, SYS_getpid);
	h[2] = put_syscall(128, SYS_getppid);
	h[1] = (struct uft_hook){ .kind = UFT_HOOK_UNWIND, .len = 7, .addr = h[0].addr + 3 };
	memcpy(h[1].bytes, (void *)h[1].addr, 16);
	page_seal();
	CHECK(patch_hooks(h, 3) == -EILSEQ);
	CHECK(!h[0].result && h[1].result == -EILSEQ && !h[2].result);
	CHECK(call_at(h[0].addr, 0) == getpid() && call_at(h[2].addr, 0) == getppid());
	patch_disarm();
	CHECK(!memcmp(page, copy, 8192));
	page_free();
}

int main(void)
{
	kit_thread_init();
	CHECK(!patch_init());
	test_syscall();
	test_any();
	test_running();
	test_unwind();
	test_rbrk();
	test_beside();
	return 0;
}
