// SPDX-License-Identifier: MIT
/*
 * int3.c - the watchdog serves int3s: functions at whose entry no jump fits (opts.int3)
 *
 * The kernel's way with a trap is to force its signal: if that is blocked or ignored the program dies, unless a tracer
 * takes it before it is delivered. The watchdog (watchdog.c) is one. A task that stands behind an int3 of ours is put
 * into the function's slot, as if a jump had led there, and the signal is dropped: no handler is needed, nor a stack,
 * and no other thread waits.
 *
 *	int3 at the site -> SIGTRAP -> we: pc = slot, no signal -> slot -> code or a tracer (patch/bytes/unprepared.c)
 *
 * Objects. A table of all places where an int3 may be. A fork child has its parent's, and may be the only one left, so
 * a place stays in the table while any process has the session's code for it. When a target ends, executes another
 * program or unmaps a library, its places are marked; once many are marked, those that no process has are dropped
 * (int3_tend()). At most TRAPS_MAX are noted: further functions are left alone. Whether an int3 is ours in a certain
 * memory is seen there: at the place that its target told stands the code that the session made for it, with the
 * site's address and a slot behind it. A target told the place, and the trap may be another target's: an address alone
 * stands in many tables of a program, and would lead the task into them.
 *
 * Invariants:
 *   1. An int3 is written only where every task that shares the memory is our tracee (may_arm(), seize.c).
 *	Threads and children, vfork's as well, are tracees from before their first instruction
 *	(PTRACE_O_TRACECLONE, FORK, VFORK), followed or not.
 *   2. A memory's int3s are removed before the first of its tasks is detached (int3_take_out(), watchdog_release()).
 *   3. A trap that was taken before and is seen behind that leads to the site itself, whose instruction is
 *	back. One that waits behind another stop is waited for (watchdog.c).
 * If we are killed, no tracer serves the traps: the agents notice that within a tenth of a second and restore the code,
 * but a task that takes a trap before then dies of it. A child without an agent keeps its int3s until it is detached
 * (agentless.c), which may be later. So int3 is an option, never the default (doc/design/decisions.md).
 *
 * What force_sig() does to the program is undone as far as can be seen: it unblocks SIGTRAP, which is blocked again
 * where all other signals are, as in libc's own sections. If the program had blocked SIGTRAP alone, nothing shows that
 * afterwards. It takes a handler of such a thread away, and SIG_IGN of any: processes that have either are left alone.
 */
#include "control/ptrace/task_stop.h"
#include "control/watchdog/int3.h"

#include "control/arm/arm.h"
#include "control/plan/unprepared.h"
#include "control/watchdog/watchdog.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#include "runtime/arch/x86_64/encode.h"
#include "symbol/array.h"
#include "symbol/sorted.h"

#define TRAPS_MAX	(1u << 20)
#define TEND_LEAST	1024u	/* marked places, before processes are asked for them */
/* the code, the site's address, and the jump of the slot without its operand */
#define MADE_BYTES	(UFT_CODE_SLOT + 2)

struct int3_traps {
	struct trap {
		uint64_t site, code;
		uint32_t slice;			/* of the target that told last; */
		uint8_t is_marked;		/* it has it no more, perhaps */
		uint8_t orig;
		uint8_t made[MADE_BYTES];	/* what stands at @code */
	} *trap;				/* by site */
	size_t n, room;
	size_t nmarked, tend_at;		/* the table is looked through when so many are marked */
};

/* ---- The table -------------------------------------------------------------------------------- */

/* The first entry of the table at @site or behind it. */
static size_t place_of(const struct int3_traps *tr, uint64_t site)
{
	return SORTED_FIRST(i, tr->n, tr->trap[i].site >= site);
}

/* As the runtime lays it out (runtime/patch/bytes/unprepared.c). */
static void lay_out(const struct uft_code *c, uint8_t *made)
{
	uint8_t jump[8];

	memset(made, UFT_OP_INT3, MADE_BYTES);
	memcpy(made, c->code, c->ncode);
	memcpy(made + UFT_CODE_ADDR, &c->addr, sizeof(c->addr));
	uft_insn_jmp_indirect(jump, 0, 0);
	memcpy(made + UFT_CODE_SLOT, jump, MADE_BYTES - UFT_CODE_SLOT);
}

static void mark(struct int3_traps *tr, struct trap *p)
{
	tr->nmarked += !p->is_marked;
	p->is_marked = 1;
}

static int note(struct uft_session *s, uint32_t slice, const struct uft_code *c, uint64_t at)
{
	struct trap new = { .site = c->addr, .code = at, .slice = slice, .orig = c->orig[0] };
	struct int3_traps *tr = s->traps;
	size_t i;

	if (!tr)
		tr = s->traps = calloc(1, sizeof(*tr));
	if (!tr)
		return -ENOMEM;
	lay_out(c, new.made);
	for (i = place_of(tr, new.site); i < tr->n && tr->trap[i].site == new.site; i++)
		if (tr->trap[i].code == at && !memcmp(tr->trap[i].made, new.made, MADE_BYTES)) {
			tr->nmarked -= tr->trap[i].is_marked;
			tr->trap[i].is_marked = 0;
			tr->trap[i].slice = slice;
			return 0;
		}
	if (tr->n == TRAPS_MAX)
		return -ENOSPC;
	if (array_reserve(tr->trap, tr->room, tr->n + 1))
		return -ENOMEM;
	memmove(tr->trap + i + 1, tr->trap + i, (tr->n++ - i) * sizeof(*tr->trap));
	tr->trap[i] = new;
	return 0;
}

void int3_free(struct uft_session *s)
{
	if (s->traps)
		free(s->traps->trap);
	free(s->traps);
	s->traps = NULL;
}

size_t int3_count(const struct uft_session *s)
{
	return s->traps ? s->traps->n : 0;
}

/* Returns 1 if the int3 is in the memory of @tid. */
static int is_there(const struct trap *p, pid_t tid)
{
	uint8_t now[MADE_BYTES];

	return !proc_read_memory(tid, p->code, now, sizeof(now)) &&
	       !memcmp(now, p->made, sizeof(now)) /* GUARD(trap_code) */;
}

/* The target unmapped an object. */
static void gone(struct uft_session *s, uint64_t from, uint64_t to)
{
	struct int3_traps *tr = s->traps;

	for (size_t i = tr ? place_of(tr, from) : 0; tr && i < tr->n && tr->trap[i].site < to; i++)
		mark(tr, &tr->trap[i]);
}

void int3_target_ends(struct uft_session *s, struct target *t)
{
	struct int3_traps *tr = s->traps;

	for (size_t i = 0; tr && i < tr->n; i++)
		if (tr->trap[i].slice == t->slice)
			mark(tr, &tr->trap[i]);
}

/* A target whose agent does not answer may be about to write it. */
static int may_come(const struct uft_session *s, const struct trap *p)
{
	for (const struct target *t = s->targets; t; t = t->next)
		for (uint32_t i = 0; t->is_stuck && i < t->space->nobj; i++)
			if (p->site >= t->space->img->obj[i].text_start && p->site < t->space->img->obj[i].text_end)
				return 1;
	return 0;
}

void int3_drop(struct uft_session *s, const pid_t *pid, size_t n)
{
	struct int3_traps *tr = s->traps;
	size_t kept = 0;

	for (size_t i = 0; tr && i < tr->n; i++) {
		struct trap *p = &tr->trap[i];
		int is_had = !p->is_marked || may_come(s, p); /* GUARD(trap_marked, 1) */

		for (size_t k = 0; k < n && !is_had; k++)
			is_had = is_there(p, pid[k]); /* GUARD(trap_is_there, 0) */
		tr->nmarked -= !is_had;
		if (is_had)
			tr->trap[kept++] = *p;
	}
	if (tr) {
		tr->n = kept;
		tr->tend_at = 2 * tr->nmarked > TEND_LEAST ? 2 * tr->nmarked : TEND_LEAST;
	}
}

void int3_tend(struct uft_session *s)
{
	const struct int3_traps *tr = s->traps;
	pid_t *pid;
	size_t n;

	/* which have no tracer for a moment */
	if (!tr || tr->nmarked < (tr->tend_at ? tr->tend_at : TEND_LEAST) || s->exec_tasks)
		return;
	pid = watchdog_processes(s, &n);
	if (pid)
		int3_drop(s, pid, n);
	free(pid);
}

/* ---- Arming ----------------------------------------------------------------------------------- */

/* The program uses SIGTRAP itself: a debugger, a runtime that makes code, or a check for debuggers. */
static int minds_sigtrap(struct uft_session *s, const struct target *t)
{
	const uint64_t bit = 1ull << (SIGTRAP - 1);
	long caught = proc_status_number(t->pid, "SigCgt", 16), ignored = proc_status_number(t->pid, "SigIgn", 16);

	if (caught == -ESRCH || ignored == -ESRCH)
		return 1;		/* it has just ended (no mask has SIGKILL, so it is none) */
	if (!((uint64_t)caught & bit) && !((uint64_t)ignored & bit))
		return 0;
	session_warn_of(s, t->slice,
			"process %d handles or ignores SIGTRAP: functions that need an int3 are left alone in it",
			t->pid);
	return 1;
}

static int may_arm(struct uft_session *s, struct target *t)
{
	if (!t->is_watched) {		/* an attach holds them first, which it could not if they were ours */
		t->waits_for_traps = 1;
		return 0;
	}
	if (!t->looked_at_sigtrap)
		t->looked_at_sigtrap = minds_sigtrap(s, t) ? -1 : 1;
	return t->looked_at_sigtrap > 0;
}

void int3_arm_waiting(struct uft_session *s)
{
	for (struct target *t = s->opts.int3 ? s->targets : NULL; t; t = t->next) {
		if (!t->waits_for_traps || !t->is_watched || t->remote || t->is_over)
			continue;
		t->waits_for_traps = 0;
		for (uint32_t i = 0; i < t->nobj; i++)
			if (command_patch(s, t, i, 0))
				break;
	}
}

const struct int3_ops trap_ops = { .may_arm = may_arm, .note = note, .gone = gone };

/* ---- Traps ------------------------------------------------------------------------------------ */

/* Where all is blocked that can be, as by libc around the making of threads and children, SIGTRAP was as well. */
static void block_again(pid_t tid)
{
	const uint64_t bit = 1ull << (SIGTRAP - 1);
	const uint64_t others = 0x7fffffff & ~(bit | 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1));
	uint64_t mask;

	if (task_request(PTRACE_GETSIGMASK, tid, sizeof(mask), &mask) || (mask & others) != others || mask & bit)
		return;
	mask |= bit;
	task_request(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask);
}

int int3_serve(struct uft_session *s, pid_t tid)
{
	const struct int3_traps *tr = s->traps;
	struct user_regs_struct regs;
	siginfo_t info;
	uint8_t now;

	if (!tr || task_request(PTRACE_GETSIGINFO, tid, 0, &info) || info.si_code != SI_KERNEL ||
	    task_request(PTRACE_GETREGS, tid, 0, &regs))
		return 0;
	regs.rip--;
	for (size_t i = place_of(tr, regs.rip); i < tr->n && tr->trap[i].site == regs.rip; i++) {
		if (!is_there(&tr->trap[i], tid) || proc_read_memory(tid, regs.rip, &now, 1))
			continue;
		if (now == UFT_OP_INT3)
			regs.rip = tr->trap[i].code + UFT_CODE_SLOT;
		if (task_request(PTRACE_SETREGS, tid, 0, &regs))
			return 0;
		block_again(tid);
		return 1;
	}
	return 0;
}

void int3_take_out(struct uft_session *s, pid_t tid)
{
	const struct int3_traps *tr = s->traps;
	uint8_t now;
	int fd;

	if (!tr || !tr->n)
		return;
	fd = proc_open_memory(tid);
	for (size_t i = 0; fd >= 0 && i < tr->n; i++) {
		const struct trap *p = &tr->trap[i];

		if (!proc_read_memory(tid, p->site, &now, 1) && now == UFT_OP_INT3 && is_there(p, tid) &&
		    pwrite(fd, &p->orig, 1, (off_t)p->site) != 1) {
			const char *why = strerror(errno);

			session_warn_left(s, target_slice_of(s, tid),
					  "process %d: the int3 at 0x%llx could not be taken out: %s", tid,
					  (unsigned long long)p->site, why);
		}
	}
	if (fd >= 0)
		close(fd);
}
