// SPDX-License-Identifier: MIT
/*
 * escape_code.c - a thread that we use goes on by itself if we are killed
 *
 * A thread that makes system calls for us (remote_call.h) has our registers and a signal mask of ours. When
 * its tracer dies the kernel lets it run, from where it is. So it makes them at a `syscall` behind which code
 * stands that puts everything back:
 *
 *	guard:	syscall
 *	resume:	flags and stack pointer; rt_sigprocmask(the mask); all registers; jmp where it was
 *
 * with the values behind it. As long as we live nothing behind the syscall runs: the thread stops at its
 * exit. The values are those with which the kernel would have let the thread go on: an interrupted system
 * call is made again.
 *
 * Where: the unused end of the vdso's last page, the only place that is executable, there before any call is made, and
 * unused. Its page becomes the process's own copy; the bytes are zero again when we are done. A session that was
 * killed leaves its bytes there, and the next one takes those behind them. Without room the thread is as unprotected
 * as the first call would be elsewhere.
 *
 * Order. The stack pointer is the thread's own before the mask is, since a signal may come with that; the
 * mask is set before the registers that a system call destroys. mov, lea and syscall leave the flags alone.
 */
#include "control/arena/journal.h"
#include "control/ptrace/remote_call.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VDSO_MAX	(8 * UFT_PAGE)
#define RESTART_MIN	512		/* ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND */
#define RESTART_MAX	514
#define RESTART_BLOCK	516
#define SYSCALL_BYTES	2
#define PARK_NUMBER	3	/* where remote_park()'s code has that of its second call */

struct emit {
	uint8_t code[256];
	size_t n, values;	/* @values: where they will be, from the first byte on */
};

static void put(struct emit *e, const void *bytes, size_t n)
{
	memcpy(e->code + e->n, bytes, n);
	e->n += n;
}

/* An instruction that ends with the distance to a value. */
static void put_rip(struct emit *e, const void *bytes, size_t n, size_t value)
{
	int32_t distance;

	put(e, bytes, n);
	distance = (int32_t)(e->values + value - (e->n + sizeof(distance)));
	put(e, &distance, sizeof(distance));
}

static void put_load(struct emit *e, unsigned reg)
{
	const uint8_t mov[] = { (uint8_t)(reg < 8 ? 0x48 : 0x4c), 0x8b, (uint8_t)(0x05 | (reg & 7) << 3) };

	put_rip(e, mov, sizeof(mov), offsetof(struct uft_way_back, reg) + reg * 8);
}

static void make_code(struct emit *e)
{
	enum { RSP = 4 };

	put(e, "\x0f\x05", 2);						/* syscall */
	put_rip(e, "\x48\x8d\x25", 3, offsetof(struct uft_way_back, flags));	/* lea flags(%rip),%rsp */
	put(e, "\x9d", 1);						/* popfq */
	put_load(e, RSP);
	put(e, "\xb8\x0e\x00\x00\x00", 5);				/* mov $14 (rt_sigprocmask),%eax */
	put(e, "\xbf\x02\x00\x00\x00", 5);				/* mov $2 (SIG_SETMASK),%edi */
	put_rip(e, "\x48\x8d\x35", 3, offsetof(struct uft_way_back, mask));	/* lea mask(%rip),%rsi */
	put(e, "\xba\x00\x00\x00\x00", 5);				/* mov $0,%edx */
	put(e, "\x41\xba\x08\x00\x00\x00", 6);				/* mov $8,%r10d */
	put(e, "\x0f\x05", 2);						/* syscall */
	for (unsigned reg = 0; reg < 16; reg++)
		if (reg != RSP)
			put_load(e, reg);
	put_rip(e, "\xff\x25", 2, offsetof(struct uft_way_back, pc));	/* jmp *rip(%rip) */
}

/* What the kernel makes of the registers of a task that it lets go on. */
static void remote_as_resumed(struct user_regs_struct *regs)
{
	int64_t error = -(int64_t)regs->rax;

	if ((int64_t)regs->orig_rax < 0)
		return;
	if (error >= RESTART_MIN && error <= RESTART_MAX)
		regs->rax = regs->orig_rax;
	else if (error == RESTART_BLOCK)
		regs->rax = SYS_restart_syscall;
	else
		return;
	regs->rip -= SYSCALL_BYTES;
}

struct uft_way_back remote_way_back(const struct remote *r)
{
	struct user_regs_struct g = r->regs;

	remote_as_resumed(&g);
	return (struct uft_way_back){
		{ g.rax, g.rcx, g.rdx, g.rbx, g.rsp, g.rbp, g.rsi, g.rdi, g.r8, g.r9, g.r10, g.r11, g.r12, g.r13, g.r14,
			g.r15 },
		g.eflags, g.rip, r->sigmask,
	};
}

static size_t mapping_bytes(pid_t pid, uint64_t at)
{
	char line[256];
	unsigned long long lo, hi;
	size_t bytes = 0;
	FILE *f = proc_fopen(pid, "maps");

	while (f && !bytes && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx-%llx", &lo, &hi) == 2 && lo == at)
			bytes = (size_t)(hi - lo);
	if (f)
		fclose(f);
	return bytes;
}

/* Every process has the same one, and our own list is short: a thread stands meanwhile. */
static size_t vdso_bytes(void)
{
	static size_t bytes;

	if (!bytes)
		bytes = mapping_bytes(getpid(), getauxval(AT_SYSINFO_EHDR));
	return bytes;
}

/* @bytes of zeros behind everything else; 0: none. */
static uint64_t find_room(struct remote *r, uint64_t vdso, size_t bytes)
{
	uint8_t image[VDSO_MAX];
	size_t size = vdso ? vdso_bytes() : 0, used = size;

	if (!size || size > sizeof(image) || pread(r->mem, image, size, (off_t)vdso) != (ssize_t)size)
		return 0;
	while (used && !image[used - 1])
		used--;
	used = (used + 31) & ~(size_t)15;	/* the last of what is used may be zeros */
	return used + bytes <= size ? vdso + used : 0;
}

void remote_unguard(struct remote *r)
{
	static const uint8_t zero[1024];

	if (r->guard && r->guard_bytes <= sizeof(zero))
		remote_write(r, r->guard, zero, r->guard_bytes);
	r->guard = guard_notes()->way_back = 0;
}

void remote_guard(struct remote *r, const struct auxv *av)
{
	struct uft_way_back values = remote_way_back(r);
	struct user_regs_struct regs = r->regs;
	struct emit e = { .values = 192 };
	uint64_t at;

	r->guard = 0;
	make_code(&e);
	if (e.n > e.values)
		return;
	r->guard_bytes = e.values + sizeof(values);
	at = find_room(r, av->vdso, r->guard_bytes);
	/* First the note: bytes that nobody knows of would stay. */
	guard_notes()->way_back_bytes = r->guard_bytes;
	guard_notes()->way_back = at; /* GUARD(remote_guard_guard_notes) */
	if (!at)
		return;
	r->guard = at;
	regs.rip = at + REMOTE_RESUME;
	regs.orig_rax = (uint64_t)-1;
	if (remote_write(r, at + e.values, &values, sizeof(values)) || remote_write(r, at, e.code, e.n) ||
	    ptrace(PTRACE_SETREGS, r->tid, 0, &regs) < 0)
		remote_unguard(r);
	else
		r->insn = at;
}

uint64_t remote_park(struct remote *r, const struct auxv *av, uint64_t *note)
{
	static const uint8_t code[REMOTE_PARK_BYTES] = { 0x0f, 0x05,			/* syscall */
					0xb8, 0x22, 0, 0, 0, 0x0f, 0x05,	/* 1: pause() */
					0xeb, 0xf7 };				/* jmp 1b */

	r->guard_bytes = sizeof(code);
	*note = r->guard = find_room(r, av->vdso, sizeof(code));
	if (r->guard && remote_write(r, r->guard, code, sizeof(code)))
		r->guard = 0;
	return r->guard;
}

void remote_park_ends(struct remote *r)
{
	static const uint8_t number = SYS_exit;

	remote_write(r, r->guard + PARK_NUMBER, &number, sizeof(number));
}
