// SPDX-License-Identifier: MIT
/*
 * escape_code.c - code by which a borrowed thread restores itself if its tracer is killed
 *
 * A thread that makes system calls for us (remote_call.h) has our register values and our signal mask. When its tracer
 * dies, the kernel lets the thread run from its current pc. So the thread makes our calls at a `syscall` instruction
 * that is followed by code which restores the thread:
 *
 *	guard:	syscall
 *	resume:	flags and stack pointer; rt_sigprocmask(the mask); all registers; jmp to the old pc
 *
 * The values follow the code. While the tracer lives, nothing behind the syscall runs, because the thread stops at the
 * exit of the call. The values are those with which the kernel would have resumed the thread: an interrupted system
 * call is restarted.
 *
 * Place: the unused end of the vdso's last page. It is the only memory that is executable and unused before any call is
 * made. The write gives the process its own copy of the page, and the bytes are zeroed afterwards. A killed session
 * leaves its bytes there; the next session uses those behind them. Without room, the thread has no such protection.
 *
 * Order. The stack pointer is restored before the mask, because unblocked signals may be delivered at once. The mask is
 * restored before the registers, because a system call changes some of them. mov, lea and syscall keep the flags.
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
#define PARK_NUMBER	3	/* offset of the second call's number in the code of remote_park() */

struct emit {
	uint8_t code[256];
	size_t n, values;	/* bytes so far; offset of the values */
};

static void put(struct emit *e, const void *bytes, size_t n)
{
	memcpy(e->code + e->n, bytes, n);
	e->n += n;
}

/* Adds an instruction that ends with the distance to a value. */
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

void remote_as_resumed(struct user_regs_struct *regs)
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

/* The vdso is the same in every process, and our own maps are short. The thread is stopped while we read them. */
static size_t vdso_bytes(void)
{
	static size_t bytes;

	if (!bytes)
		bytes = mapping_bytes(getpid(), getauxval(AT_SYSINFO_EHDR));
	return bytes;
}

/* Address of @bytes of zeros behind everything else in the vdso; 0: none. */
static uint64_t find_room(struct remote *r, uint64_t vdso, size_t bytes)
{
	uint8_t image[VDSO_MAX];
	size_t size = vdso ? vdso_bytes() : 0, used = size;

	if (!size || size > sizeof(image) || pread(r->mem, image, size, (off_t)vdso) != (ssize_t)size)
		return 0;
	while (used && !image[used - 1])
		used--;
	used = (used + 31) & ~(size_t)15;	/* the used part may end with zeros */
	return used + bytes <= size ? vdso + used : 0;
}

void remote_wipe_guard(struct remote *r)
{
	static const uint8_t zero[1024];

	if (r->guard && r->guard_bytes <= sizeof(zero))
		remote_write(r, r->guard, zero, r->guard_bytes);
}

void remote_unguard(struct remote *r)
{
	remote_wipe_guard(r);
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
	/* The note comes first: the guard could not remove bytes that it does not know of. */
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
