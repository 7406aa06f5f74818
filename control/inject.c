// SPDX-License-Identifier: MIT
/*
 * inject.c - the runtime into a fresh image, before its first instruction
 *
 * The task stands in its PTRACE_EVENT_EXEC stop. From there:
 *	1. on to the exit of its execve: from now on registers can be set freely;
 *	2. block its signals (they stay pending, SIGSTOP is kept and given back), so that only our stops happen;
 *	3. map the blob by system calls made at a `syscall` instruction of the vdso: no page of the program
 *	   is written, no signal is needed (syscall stops), segments get their final protection at once (W^X);
 *	4. write the image, relocated, and the boot block through /proc/PID/mem;
 *	5. run uft_blob_start below the program's stack pointer up to its breakpoint;
 *	6. arm everything through the agent, which runs by now;
 *	7. registers and mask back, detach.
 * Until 7 the task dies with us (PTRACE_O_EXITKILL): a half-prepared image must not run.
 *
 * The breakpoint's SIGTRAP is forced by the kernel: an inherited SIG_IGN for it would be reset, so it is put back.
 *
 * rseq. The runtime needs the offset of libc's rseq area, which libc computes at run time and publishes as
 * __rseq_offset. A dynamic program is asked when its loader first reports a consistent list. In a static one a
 * hardware watchpoint on the variable stops the task right after libc has written it.
 */
#include "control/internal.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYSCALL_STOP	(SIGTRAP | 0x80)
#define STACK_GAP	256		/* more than the red zone */
#define RSEQ_REACH	(32 << 10)	/* of a thread pointer: what the blob's stand-in area offers */
#define PR_GET_MDWE_	66

struct remote {
	pid_t tid;
	int mem;
	struct user_regs_struct regs;	/* of the program */
	uint64_t sigmask, insn;
	int pending_signal;		/* SIGSTOP that came meanwhile */
	int trap_ignored;
	uint64_t base;			/* of the blob; 0 not mapped */
};

/* Resumes by @request until a stop of the wanted kind. -ESRCH: the task is gone. */
static int run_to(struct remote *r, int request, int wanted)
{
	for (;;) {
		int status;

		if (ptrace(request, r->tid, 0, 0) < 0)
			return -errno;
		while (waitpid(r->tid, &status, __WALL) < 0)
			if (errno != EINTR)
				return -errno;
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (WSTOPSIG(status) == wanted && status >> 16 == 0)
			return 0;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP)
			r->pending_signal = SIGSTOP;
		else if (status >> 16 == 0)
			return -EFAULT;		/* a fault in the blob */
	}
}

static int write_mem(struct remote *r, uint64_t addr, const void *buf, size_t len)
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

static uint64_t find_syscall(struct remote *r, const struct auxv *av)
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

static int64_t remote_syscall(struct remote *r, long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
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
	if (ptrace(PTRACE_SETREGS, r->tid, 0, &regs) < 0)
		return -errno;
	ret = run_to(r, PTRACE_SYSCALL, SYSCALL_STOP);		/* in */
	if (!ret)
		ret = run_to(r, PTRACE_SYSCALL, SYSCALL_STOP);	/* out */
	if (ret)
		return ret;
	if (ptrace(PTRACE_GETREGS, r->tid, 0, &regs) < 0)
		return -errno;
	return (int64_t)regs.rax;
}

/* Steps 1 and 2. */
static int remote_begin(struct remote *r, const struct auxv *av)
{
	uint64_t all = ~0ull;
	long ignored = peek_status(r->tid, "SigIgn", 16);
	char path[64];
	int ret;

	r->trap_ignored = ignored > 0 && ignored >> (SIGTRAP - 1) & 1;
	snprintf(path, sizeof(path), "/proc/%d/mem", r->tid);
	r->mem = open(path, O_RDWR | O_CLOEXEC);
	if (r->mem < 0)
		return -errno;
	if (ptrace(PTRACE_SETOPTIONS, r->tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0)
		return -errno;
	ret = run_to(r, PTRACE_SYSCALL, SYSCALL_STOP);
	if (ret)
		return ret;
	if (ptrace(PTRACE_GETREGS, r->tid, 0, &r->regs) < 0 ||
	    ptrace(PTRACE_GETSIGMASK, r->tid, sizeof(r->sigmask), &r->sigmask) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, r->tid, sizeof(all), &all) < 0)
		return -errno;
	r->insn = find_syscall(r, av);
	return r->insn ? 0 : -ENOTSUP;
}

/* Step 3. */
static int map_blob(struct remote *r, const struct blob *b)
{
	int64_t base = remote_syscall(r, SYS_mmap, 0, b->span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1ull);

	if (base < 0)
		return (int)base;
	r->base = (uint64_t)base;
	for (unsigned i = 0; i < b->nseg; i++) {
		int64_t at = remote_syscall(r, SYS_mmap, r->base + b->seg[i].addr, b->seg[i].end - b->seg[i].addr,
					    (uint64_t)b->seg[i].prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1ull);

		if (at != (int64_t)(r->base + b->seg[i].addr))
			return at < 0 ? (int)at : -ENOMEM;
	}
	return 0;
}

/* Step 4. */
static int write_blob(struct remote *r, const struct blob *b, struct uft_boot *boot)
{
	uint8_t *image = malloc(b->span);
	const Elf64_Rela *rela = b->rela;
	int ret = 0;

	if (!image)
		return -ENOMEM;
	memcpy(image, b->image, b->span);
	for (size_t i = 0; i < b->nrela; i++) {
		uint64_t value = r->base + (uint64_t)rela[i].r_addend;

		memcpy(image + rela[i].r_offset, &value, sizeof(value));
	}
	boot->blob_at = r->base;
	boot->blob_bytes = b->span;
	memcpy(image + b->boot, boot, sizeof(*boot));
	for (unsigned i = 0; i < b->nseg && !ret; i++) {
		uint64_t from = b->seg[i].addr, to = b->seg[i].end;

		while (to > from && !image[to - 1])	/* zero memory need not be touched */
			to--;
		if (to > from)
			ret = write_mem(r, r->base + from, image + from, to - from);
	}
	free(image);
	return ret;
}

/* Step 5. The boot block comes back in @boot. */
static int run_blob(struct remote *r, const struct blob *b, struct uft_boot *boot)
{
	struct user_regs_struct regs = r->regs;
	int ret;

	regs.rip = r->base + b->start;
	regs.rsp = (regs.rsp - STACK_GAP) & ~15ull;
	regs.orig_rax = (uint64_t)-1;
	if (ptrace(PTRACE_SETREGS, r->tid, 0, &regs) < 0)
		return -errno;
	ret = run_to(r, PTRACE_CONT, SIGTRAP);
	if (ret)
		return ret;
	if (ptrace(PTRACE_GETREGS, r->tid, 0, &regs) < 0)
		return -errno;
	if (regs.rip < r->base || regs.rip >= r->base + b->span)
		return -EFAULT;
	r->regs.fs_base = regs.fs_base;		/* the stand-in thread pointer stays */
	if (pread(r->mem, boot, sizeof(*boot), (off_t)(r->base + b->boot)) != (ssize_t)sizeof(*boot))
		return -EFAULT;
	if (r->trap_ignored) {
		const uint64_t ignore[4] = { 1 /* SIG_IGN */ };
		uint64_t at = (r->regs.rsp - STACK_GAP) & ~15ull;

		if (!write_mem(r, at, ignore, sizeof(ignore)))
			remote_syscall(r, SYS_rt_sigaction, SIGTRAP, at, 0, 8, 0);
	}
	return boot->result;
}

/* AMD documents that an aligned 8-byte store over live code is seen whole or not at all (design: patching). */
static uint32_t vendor_ok(void)
{
	unsigned int a, b = 0, c = 0, d = 0;

	return __get_cpuid(0, &a, &b, &c, &d) && b == 0x68747541 /* "Auth" */ && d == 0x69746e65 /* "enti" */ &&
	       c == 0x444d4163 /* "cAMD" */;
}

static void remote_close(struct remote *r)
{
	if (r->mem >= 0)
		close(r->mem);
	free(r);
}

/* Gives up: the image as exec made it. */
static void remote_undo(struct remote *r, const struct blob *b)
{
	if (r->base)
		remote_syscall(r, SYS_munmap, r->base, b->span, 0, 0, 0);
	r->regs.orig_rax = (uint64_t)-1;
	ptrace(PTRACE_SETREGS, r->tid, 0, &r->regs);
	ptrace(PTRACE_SETSIGMASK, r->tid, sizeof(r->sigmask), &r->sigmask);
}

/* Steps 1 to 5 for a slice that is claimed. */
static int inject_blob(struct uft_session *s, struct space *sp, uint32_t slice, pid_t tid, struct remote **out)
{
	struct uft_boot boot = {
		.version = UFT_ABI_VERSION, .slice = slice, .arena_bytes = s->arena.bytes, .cpu_vendor_ok = vendor_ok(),
	};
	struct remote *r = calloc(1, sizeof(*r));
	const struct blob *b = NULL;
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv av;
	size_t bytes;
	int ret;

	if (!r)
		return -ENOMEM;
	*r = (struct remote){ .tid = tid, .mem = -1 };
	snprintf(boot.arena_path, sizeof(boot.arena_path), "%s", s->arena.path);
	ret = blob_get(&b);
	if (!ret)
		ret = auxv_read(tid, raw, &bytes, &av);
	if (!ret)
		ret = remote_begin(r, &av);
	if (ret) {
		remote_close(r);
		return ret;
	}
	boot.no_mprotect = remote_syscall(r, SYS_prctl, PR_GET_MDWE_, 0, 0, 0, 0) > 0;
	ret = map_blob(r, b);
	if (!ret)
		ret = write_blob(r, b, &boot);
	if (!ret)
		ret = run_blob(r, b, &boot);
	if (ret) {
		remote_undo(r, b);
		remote_close(r);
		return ret;
	}
	sp->boot = r->base + b->boot;
	*out = r;
	return 0;
}

int inject_exec(struct uft_session *s, pid_t tid, pid_t ppid, struct target **out, struct uft_error *err)
{
	struct space *sp;
	struct remote *r = NULL;
	struct target *t;
	uint32_t slice;
	int ret;

	if (!s->arena.is_linked)
		return uft_fail(err, -ENOENT, "the session is over");
	ret = space_create(s, tid, &sp, err);
	if (ret)
		return ret;
	slice = arena_claim(&s->arena, peek_own_pid(tid), ppid);
	if (slice == UFT_NO_SLICE)
		return uft_fail(err, -EAGAIN, "too many processes are traced at once (%u)", s->arena.map->nslices);
	ret = inject_blob(s, sp, slice, tid, &r);
	if (ret) {
		arena_release(&s->arena, slice);
		return uft_fail(err, ret, "the runtime cannot be put into %s: %s", sp->img->exe, strerror(-ret));
	}
	t = target_create(s, slice, tid, ppid, sp);
	if (!t) {
		/* Its agent runs already; it ends with the process, which must not go on half-known. */
		remote_close(r);
		return uft_fail(err, -ENOMEM, "no memory for %s", sp->img->exe);
	}
	t->remote = r;
	target_open_agent(s, t);
	for (uint32_t i = 0; i < t->nobj; i++)
		t->obj[i].is_mapped = 1;
	target_announce(s, t);
	if (s->spec) {
		ret = target_arm(s, t, 0);
		sp->spec_sent = s->spec->generation;
		if (ret < 0 && ret != -ESRCH)
			session_warn(s, "%s: not everything could be armed: %s", sp->img->exe, strerror(-ret));
	}
	if (!sp->rbrk && !sp->started) {	/* nobody will tell of libraries: do not wait for it, arm what has waited */
		sp->started = 1;
		if (s->spec)
			target_arm(s, t, 0);
	}
	*out = t;
	return 0;
}

/* Watches the 8 bytes of __rseq_offset for a write: debug register 0. */
static int set_watch(struct remote *r, uint64_t addr)
{
	const size_t dr = offsetof(struct user, u_debugreg);
	const uint64_t local0_write_8bytes = 1 | 1 << 16 | 2 << 18;

	if (ptrace(PTRACE_POKEUSER, r->tid, dr, addr) < 0 ||
	    ptrace(PTRACE_POKEUSER, r->tid, dr + 7 * sizeof(uint64_t), local0_write_8bytes) < 0)
		return -errno;
	return 0;
}

int inject_release(struct uft_session *s, struct target *t)
{
	struct remote *r = t->remote;
	int watch = !t->space->is_dynamic && t->space->rseq_symbol && !r->trap_ignored && t->has_agent;
	int ret = 0;

	t->remote = NULL;
	r->regs.orig_rax = (uint64_t)-1;
	if (ptrace(PTRACE_SETREGS, r->tid, 0, &r->regs) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, r->tid, sizeof(r->sigmask), &r->sigmask) < 0)
		ret = -errno;
	if (!ret && watch && !set_watch(r, t->space->rseq_symbol) &&
	    ptrace(PTRACE_SETOPTIONS, r->tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) == 0 &&
	    ptrace(PTRACE_CONT, r->tid, 0, r->pending_signal) == 0)
		ptask_watch_rseq(s, r->tid, t->slice);
	else if (!ret && ptrace(PTRACE_DETACH, r->tid, 0, r->pending_signal) < 0)
		ret = -errno;
	remote_close(r);
	return ret;
}

int inject_rseq(struct uft_session *s, struct target *t)
{
	struct space *sp = t->space;
	int64_t offset;
	struct iovec mine = { &offset, sizeof(offset) };
	struct iovec its = { (void *)(uintptr_t)(sp->boot + offsetof(struct uft_boot, rseq_offset)), sizeof(offset) };

	if (sp->rseq_known || !sp->rseq_symbol || !sp->boot)
		return 0;
	if (peek_mem(t->pid, sp->rseq_symbol, &offset, sizeof(offset)))
		return -EFAULT;
	if (!offset || offset > RSEQ_REACH || offset < -RSEQ_REACH)
		return -ERANGE;
	if (process_vm_writev(t->pid, &mine, 1, &its, 1, 0) != (ssize_t)sizeof(offset))
		return -EFAULT;
	sp->rseq_known = 1;
	return command_run(s, t, UFT_CMD_NOP);	/* the agent looks at the boot block with every command */
}
