// SPDX-License-Identifier: MIT
/*
 * remote_call.c - make a stopped task of another process do system calls; see remote_call.h
 */
#include "control/ptrace/remote_call.h"

#include "control/ptrace/task_stop.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL_MS		5000
#define STARVED_MS	20000	/* more for a thread that waits for a CPU */
#define CANCEL_MS	500	/* for one that is interrupted to stop */

/*
 * Waits for the stop that @r was sent to. A call that takes too long is interrupted: 1 if the thread stops then,
 * wherever that is. Otherwise the thread is late and goes back by itself: -ETIMEDOUT, for every later request as well.
 */
static int await_stop(struct remote *r, int *status)
{
	const uint64_t since = now_ns();
	int ret = task_wait_until(r->tid, status, since + patience_ns(CALL_MS));

	for (int ms = 0; ret == -EAGAIN && ms < STARVED_MS && proc_is_runnable(r->tid); ms += CANCEL_MS)
		ret = task_wait_until(r->tid, status, now_ns() + CANCEL_MS * 1000000ull);
	patience_use(since, ret == -EAGAIN);
	if (ret != -EAGAIN)
		return ret;
	ret = ptrace(PTRACE_INTERRUPT, r->tid, 0, 0) < 0 ? -ESRCH :
	      task_wait_until(r->tid, status, now_ns() + CANCEL_MS * 1000000ull);
	if (ret != -EAGAIN)
		return ret ? ret : 1;
	r->is_late = 1;
	late_call_add(r);
	return -ETIMEDOUT;
}

int remote_run_to(struct remote *r, int request, int wanted)
{
	for (;;) {
		int status, ret = r->is_late ? -ETIMEDOUT : task_request(request, r->tid, 0, NULL);

		if (!ret)
			ret = await_stop(r, &status);
		if (ret < 0)
			return ret;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP && wanted != SIGSTOP)
			r->pending_signal = SIGSTOP;
		if (ret)
			return -ETIMEDOUT;
		if (WSTOPSIG(status) == wanted && status >> 16 == 0)
			return 0;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP)
			continue;
		if (status >> 16 == 0)
			return -EFAULT;		/* a fault in the blob */
	}
}

int remote_write(struct remote *r, uint64_t addr, const void *buf, size_t len)
{
	return pwrite(r->mem, buf, len, (off_t)addr) == (ssize_t)len ? 0 : -EFAULT;
}

/* A `syscall` instruction in @len bytes of the vdso or of the loader. */
static uint64_t scan_syscall(struct remote *r, uint64_t start, size_t len)
{
	uint8_t buf[4096 + 1];

	for (size_t at = 0; at < len; at += sizeof(buf) - 1) {
		ssize_t n = pread(r->mem, buf, sizeof(buf), (off_t)(start + at));

		for (ssize_t i = 0; i + 1 < n; i++)
			if (buf[i] == 0x0f && buf[i + 1] == 0x05)
				return start + at + (size_t)i;
		if (n < (ssize_t)sizeof(buf) - 1)
			break;
	}
	return 0;
}

uint64_t remote_find_syscall(struct remote *r, const struct auxv *av)
{
	static uint64_t offset;		/* in the vdso: the same in every process; session's thread only */
	uint8_t insn[2] = { 0 };

	if (av->vdso && offset && pread(r->mem, insn, 2, (off_t)(av->vdso + offset)) == 2 && insn[0] == 0x0f &&
	    insn[1] == 0x05)
		return av->vdso + offset;
	if (av->vdso) {
		uint64_t at = scan_syscall(r, av->vdso, 4 * UFT_PAGE);

		offset = at ? at - av->vdso : 0;
		if (at)
			return at;
	}
	return scan_syscall(r, (av->base ? av->base : av->entry) & ~(uint64_t)(UFT_PAGE - 1), 512 << 10);
}

/*
 * Drops the SIGSYS of a seccomp filter that refused the call (SECCOMP_RET_TRAP), and blocks it again, since the kernel
 * has unblocked it. 0: there was none; -ENOSYS: dropped; or another -errno.
 */
static int drop_trap(struct remote *r)
{
	struct __ptrace_peeksiginfo_args some = { .nr = 16 };
	const uint64_t all = ~0ull;
	siginfo_t info[16];
	long n = ptrace(PTRACE_PEEKSIGINFO, r->tid, &some, info);
	int is_there = 0, ret;

	if (n < 0)
		return -errno;
	for (long i = 0; i < n; i++)
		is_there |= info[i].si_signo == SIGSYS;
	if (!is_there)
		return 0;
	ret = remote_run_to(r, PTRACE_SYSCALL, SIGSYS);
	if (!ret)
		ret = task_request(PTRACE_SETSIGMASK, r->tid, sizeof(all), (void *)&all);
	return ret ? ret : -ENOSYS;
}

int64_t remote_syscall(struct remote *r, long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	struct user_regs_struct regs = r->regs;
	int ret;

	regs.rip = r->insn;
	regs.rax = (uint64_t)nr;
	regs.orig_rax = (uint64_t)-1;
	regs.rdi = a;
	regs.rsi = b;
	regs.rdx = c;
	regs.r10 = d;
	regs.r8 = e;
	regs.r9 = 0;
	ret = task_request(PTRACE_SETREGS, r->tid, 0, &regs);
	if (!ret)
		ret = remote_run_to(r, PTRACE_SYSCALL, REMOTE_SYSCALL_STOP);	/* in */
	if (!ret)
		ret = remote_run_to(r, PTRACE_SYSCALL, REMOTE_SYSCALL_STOP);	/* out */
	if (!ret)
		ret = task_request(PTRACE_GETREGS, r->tid, 0, &regs);
	if (!ret && regs.rax == (uint64_t)nr)		/* as after a call that a filter refused */
		ret = drop_trap(r); /* GUARD(trapped_call, 0) */
	return ret ? ret : (int64_t)regs.rax;
}

/* Returns 1 if the thread may execute rdtsc. Its children inherit that. @scratch: memory that the thread can write. */
static int reads_clock(struct remote *r, uint64_t scratch)
{
	uint32_t mode = PR_TSC_ENABLE;

	if (remote_syscall(r, SYS_prctl, PR_GET_TSC, scratch, 0, 0, 0) ||
	    pread(r->mem, &mode, sizeof(mode), (off_t)scratch) != (ssize_t)sizeof(mode))
		return 1;		/* this kernel has no PR_GET_TSC */
	return mode != PR_TSC_SIGSEGV;
}

int remote_map_blob(struct remote *r, const struct blob *b, uint64_t extra)
{
	int64_t base = remote_syscall(r, SYS_mmap, 0, b->span + extra, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1ull);

	if (base < 0)
		return (int)base;
	r->base = (uint64_t)base;
	if (r->base_note)
		*r->base_note = r->base;
	for (unsigned i = 0; i < b->nseg; i++) {
		int64_t at = remote_syscall(r, SYS_mmap, r->base + b->seg[i].addr, b->seg[i].end - b->seg[i].addr,
					    (uint64_t)b->seg[i].prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1ull);

		if (at != (int64_t)(r->base + b->seg[i].addr))
			return at < 0 ? (int)at : -ENOMEM;
	}
	return reads_clock(r, r->base + b->boot) ? 0 : -ENODEV;
}

int remote_unmap_blob(struct remote *r, const struct blob *b, uint64_t extra, int has_run)
{
	const unsigned max = sizeof(((struct uft_own_chunk *)0)->range) / sizeof(struct uft_owned);
	const uint64_t until = now_ns() + patience_ns(UNMAP_MS);
	struct uft_own_chunk own;
	long ret = 0;

	if (!has_run /* GUARD(unmap_owned, 1) */ ||
	    pread(r->mem, &own, sizeof(own), (off_t)(r->base + b->own)) != (ssize_t)sizeof(own))
		has_run = 0;
	for (unsigned i = 0; has_run && i < max && ret != -ESRCH && ret != -ETIMEDOUT && now_ns() < until; i++)
		if (own.range[i].at >= UFT_OWNED_LEAST && own.range[i].at != r->base &&
		    !(own.range[i].bytes & UFT_OWNED_TP))
			ret = remote_syscall(r, SYS_munmap, own.range[i].at, own.range[i].bytes & ~UFT_OWNED_NEEDED,
					     0, 0, 0);
	return (int)remote_syscall(r, SYS_munmap, r->base, b->span + extra, 0, 0, 0);
}

/* ---- Several calls at once ----------------------------------------------------------------- */

struct call {
	uint64_t nr;		/* then its result */
	uint64_t arg[5];
};

/* Makes %ebp calls, the first at %rbx, and stops. */
static const uint8_t batch_code[] = {
	0x48, 0x8b, 0x03,		/* 1: mov (%rbx), %rax */
	0x48, 0x8b, 0x7b, 0x08,		/* mov 8(%rbx), %rdi */
	0x48, 0x8b, 0x73, 0x10,		/* mov 16(%rbx), %rsi */
	0x48, 0x8b, 0x53, 0x18,		/* mov 24(%rbx), %rdx */
	0x4c, 0x8b, 0x53, 0x20,		/* mov 32(%rbx), %r10 */
	0x4c, 0x8b, 0x43, 0x28,		/* mov 40(%rbx), %r8 */
	0x45, 0x31, 0xc9,		/* xor %r9d, %r9d */
	0x0f, 0x05,			/* syscall */
	0x48, 0x89, 0x03,		/* mov %rax, (%rbx) */
	0x48, 0x83, 0xc3, 0x30,		/* add $48, %rbx */
	0xff, 0xcd,			/* dec %ebp */
	0x75, 0xd9,			/* jnz 1b */
	0xcc,				/* int3 */
};

/* Runs @n calls by batch_code, written to @code. Arguments and results lie at @scratch, which the task can write. */
static int run_batch(struct remote *r, uint64_t code, uint64_t scratch, struct call *call, size_t n)
{
	struct user_regs_struct regs = r->regs;
	uint64_t all = ~0ull;
	int ret = remote_write(r, code, batch_code, sizeof(batch_code));

	if (!ret)
		ret = remote_write(r, scratch, call, n * sizeof(*call));
	if (ret)
		return ret;
	regs.rip = code;
	regs.orig_rax = (uint64_t)-1;
	regs.rbx = scratch;
	regs.rbp = n;
	ret = task_request(PTRACE_SETREGS, r->tid, 0, &regs);
	if (!ret)
		ret = remote_run_to(r, PTRACE_CONT, SIGTRAP);
	if (!ret)
		ret = task_request(PTRACE_GETREGS, r->tid, 0, &regs);
	/* The breakpoint has unblocked SIGTRAP. Block it again: a sent SIGTRAP must not look like a breakpoint's. */
	if (!ret)
		ret = task_request(PTRACE_SETSIGMASK /* GUARD(batch_mask, PTRACE_GETSIGMASK) */, r->tid, sizeof(all),
				   &all);
	if (!ret && (regs.rip != code + sizeof(batch_code) || regs.rbx != scratch + n * sizeof(*call)))
		ret = -EFAULT;
	if (!ret && pread(r->mem, call, n * sizeof(*call), (off_t)scratch) != (ssize_t)(n * sizeof(*call)))
		ret = -EFAULT;
	return ret;
}

/* Index of the executable segment, if there is one and no gap between segments; else ->nseg. */
static unsigned text_segment(const struct blob *b)
{
	unsigned text = b->nseg;

	for (unsigned i = 0; i < b->nseg; i++) {
		if (i && b->seg[i].addr != b->seg[i - 1].end)
			return b->nseg;
		if (b->seg[i].prot & PROT_EXEC)
			text = text == b->nseg ? i : text;
	}
	return text;
}

int remote_map_blob_fresh(struct remote *r, const struct blob *b, int *no_gain)
{
	enum { MDWE, TSC, FIRST };
	struct call call[FIRST + sizeof(b->seg) / sizeof(b->seg[0])] = {
		[MDWE] = { SYS_prctl, { PR_GET_MDWE } },
	};
	const unsigned text = text_segment(b);
	uint64_t scratch = (r->regs.rsp - REMOTE_STACK_GAP - sizeof(call) - sizeof(uint64_t)) & ~15ull;
	uint32_t mode = PR_TSC_ENABLE;
	size_t n = FIRST;
	int64_t base;
	int ret;

	if (text == b->nseg)
		return -ENOEXEC;
	base = remote_syscall(r, SYS_mmap, 0, b->span, (uint64_t)b->seg[text].prot, MAP_PRIVATE | MAP_ANONYMOUS, -1ull);
	if (base < 0)
		return (int)base;
	r->base = (uint64_t)base;
	call[TSC] = (struct call){ SYS_prctl, { PR_GET_TSC, scratch + sizeof(call) } };
	for (unsigned i = 0; i < b->nseg; i++)
		if (i != text)
			call[n++] = (struct call){ SYS_mmap, { r->base + b->seg[i].addr, b->seg[i].end - b->seg[i].addr,
							       (uint64_t)b->seg[i].prot,
							       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1ull } };
	ret = run_batch(r, r->base + b->seg[text].addr, scratch, call, n);
	n = FIRST;
	for (unsigned i = 0; i < b->nseg && !ret; i++)
		if (i != text && call[n++].nr != r->base + b->seg[i].addr)
			ret = (int64_t)call[n - 1].nr < 0 ? (int)call[n - 1].nr : -ENOMEM;
	if (ret) {
		if (ret != -ESRCH) /* GUARD(fresh_unmapped) */
			remote_syscall(r, SYS_munmap, r->base, b->span, 0, 0, 0);
		r->base = 0;
		return ret;
	}
	*no_gain = (int64_t)call[MDWE].nr > 0;
	/* A kernel without PR_GET_TSC lets every task read the clock. */
	if (!call[TSC].nr && pread(r->mem, &mode, sizeof(mode), (off_t)(scratch + sizeof(call))) != sizeof(mode))
		mode = PR_TSC_ENABLE;
	return mode == PR_TSC_SIGSEGV ? -ENODEV : 0;
}

/* Returns 1 if the segment differs between processes. */
static int is_relocated(const struct blob *b, unsigned segment)
{
	const Elf64_Rela *rela = b->rela;
	const uint64_t from = b->seg[segment].addr, to = b->seg[segment].end;

	for (size_t i = 0; i < b->nrela; i++)
		if (rela[i].r_offset >= from && rela[i].r_offset < to)
			return 1;
	return b->boot >= from && b->boot < to;
}

/* Makes a segment for @r in @image, which has room for the blob up to its end. */
static void relocate(const struct remote *r, const struct blob *b, unsigned segment, const struct uft_boot *boot,
		     uint8_t *image)
{
	const Elf64_Rela *rela = b->rela;
	const uint64_t from = b->seg[segment].addr, to = b->seg[segment].end;

	memcpy(image + from, b->image + from, b->seg[segment].used - from);
	for (size_t i = 0; i < b->nrela; i++) {
		uint64_t value = r->base + (uint64_t)rela[i].r_addend;

		if (rela[i].r_offset >= from && rela[i].r_offset < to)
			memcpy(image + rela[i].r_offset, &value, sizeof(value));
	}
	if (b->boot >= from && b->boot < to)
		memcpy(image + b->boot, boot, sizeof(*boot));
}

/* Only segments that differ between processes are copied and relocated; the others are written from the blob. */
int remote_write_blob(struct remote *r, const struct blob *b, struct uft_boot *boot, uint64_t extra)
{
	uint8_t *image = malloc(b->span);
	int ret = 0;

	if (!image)
		return -ENOMEM;
	boot->blob_at = r->base;
	boot->blob_bytes = b->span + extra;
	for (unsigned i = 0; i < b->nseg && !ret; i++) {
		const uint64_t from = b->seg[i].addr, to = b->seg[i].used;
		const uint8_t *source = b->image;

		if (to <= from)			/* zero memory need not be touched */
			continue;
		if (is_relocated(b, i)) {
			relocate(r, b, i, boot, image);
			source = image;
		}
		ret = remote_write(r, r->base + from, source + from, to - from);
	}
	free(image);
	return ret;
}

void remote_to_restart_stop(struct remote *r)
{
	int status;

	/* Without the interrupt, the task would run on, and the wait below would not end. */
	if (r->is_late || task_request(PTRACE_INTERRUPT, r->tid, 0, NULL))
		return;
	for (;;) {
		if (task_request(PTRACE_CONT, r->tid, 0, NULL) || await_stop(r, &status) < 0 ||
		    status >> 16 == PTRACE_EVENT_STOP)
			return;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP)
			r->pending_signal = SIGSTOP;
	}
}

/* AMD documents that an aligned 8-byte store over live code is seen whole or not at all (design: patching). */
uint32_t remote_cpu_vendor_ok(void)
{
	static int is_amd = -1;		/* kept, since cpuid traps in a virtual machine; session's thread only */
	unsigned int a, b = 0, c = 0, d = 0;

	if (is_amd < 0)
		is_amd = __get_cpuid(0, &a, &b, &c, &d) && b == 0x68747541 /* "Auth" */ &&
			 d == 0x69746e65 /* "enti" */ && c == 0x444d4163 /* "cAMD" */;
	return (uint32_t)is_amd;
}

void remote_close(struct remote *r)
{
	if (r->mem >= 0)
		close(r->mem);
	free(r);
}
