// SPDX-License-Identifier: MIT
/*
 * remote_call.c - making a stopped task of another process do system calls; see remote_call.h
 */
#include "control/ptrace/remote_call.h"

#include "control/ptrace/task_stop.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int remote_run_to(struct remote *r, int request, int wanted)
{
	for (;;) {
		int status, ret = task_request(request, r->tid, 0, NULL);

		if (ret)
			return ret;
		if (task_wait_status(r->tid, &status) < 0)
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
	return ret ? ret : (int64_t)regs.rax;
}

/* May the thread execute rdtsc? Its execs and children may as little. @scratch: memory that it can write. */
static int reads_clock(struct remote *r, uint64_t scratch)
{
	uint32_t mode = PR_TSC_ENABLE;

	if (remote_syscall(r, SYS_prctl, PR_GET_TSC, scratch, 0, 0, 0) ||
	    pread(r->mem, &mode, sizeof(mode), (off_t)scratch) != (ssize_t)sizeof(mode))
		return 1;		/* before it was known to the kernel */
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

int remote_write_blob(struct remote *r, const struct blob *b, struct uft_boot *boot, uint64_t extra)
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
	boot->blob_bytes = b->span + extra;
	memcpy(image + b->boot, boot, sizeof(*boot));
	for (unsigned i = 0; i < b->nseg && !ret; i++) {
		uint64_t from = b->seg[i].addr, to = b->seg[i].used;

		if (to > from)			/* zero memory need not be touched */
			ret = remote_write(r, r->base + from, image + from, to - from);
	}
	free(image);
	return ret;
}

void remote_to_restart_stop(struct remote *r)
{
	int status;

	/* One that was not interrupted would run on, and no stop come to wait for. */
	if (task_request(PTRACE_INTERRUPT, r->tid, 0, NULL))
		return;
	for (;;) {
		if (task_request(PTRACE_CONT, r->tid, 0, NULL) || task_wait_status(r->tid, &status) != r->tid ||
		    !WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_STOP)
			return;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP)
			r->pending_signal = SIGSTOP;
	}
}

/* AMD documents that an aligned 8-byte store over live code is seen whole or not at all (design: patching). */
uint32_t remote_cpu_vendor_ok(void)
{
	unsigned int a, b = 0, c = 0, d = 0;

	return __get_cpuid(0, &a, &b, &c, &d) && b == 0x68747541 /* "Auth" */ && d == 0x69746e65 /* "enti" */ &&
	       c == 0x444d4163 /* "cAMD" */;
}

void remote_close(struct remote *r)
{
	if (r->mem >= 0)
		close(r->mem);
	free(r);
}
