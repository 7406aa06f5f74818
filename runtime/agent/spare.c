/* SPDX-License-Identifier: MIT */
/*
 * spare.c - memory for the next fork child
 *
 * A fork child must not share its parent's memory with the session, because it may give up rights that the parent has,
 * and another program may take it over later. So the family's mapping is not inherited (MADV_DONTFORK). The agent keeps
 * some spare families mapped, which are not inherited either. The hook of fork, clone and clone3 (trace/hooks/hook.c)
 * makes the system call itself, with signals blocked and under a lock; meanwhile one spare is inherited (MADV_DOFORK).
 * Then the parent unmaps it: the child alone has it, and needs no right, descriptor or path to get memory of its own.
 *
 *	parent: READY -lock- TAKEN, DOFORK - fork - unmapped - NONE		agent: NONE -> READY
 *	child:	DONTFORK, no memory at the parent's family's address -> FAMILY_HEIR -> PRIVATE (hooks/fork_child.c)
 *
 * The spare's slice is HELD until the child has its first event, or executes a program. The child asks for that in the
 * spare's mail, because the parent's mail is not there.
 *
 * At the address of the parent's family the child gets private memory that reads as zeros (FAMILY_NONE). The reason: a
 * signal handler may interrupt the runtime and fork, and the interrupted code goes on in the child with the addresses
 * it has. Without that memory a slow path would fault, and the program could map memory of its own there. Words that
 * fast paths read before they look at a key (which a fork wipes) lie on the board.
 *
 * A process that was launched or attached has a spare from the beginning; a fork child gets one when it forks. If forks
 * come faster than spares, they wait for one for a while. A child that gets none is not followed, which is counted.
 *
 * A fork that is not hooked (a system call in the program's own code, or with a new stack) gives no spare, and the hole
 * is filled at the child's first event or hooked call (spare_leave_family()). Then the child's agent opens a spare by
 * its path; a child whose agent may not do that is not followed.
 *
 * An emulator ignores such advice, so a child unmaps what it must not have. On arm64 and riscv64 fast paths read in the
 * family before they look at a key, so the family is inherited, and the child replaces it by private memory: in the
 * hook or, after a fork that is not hooked, at its first event.
 *
 * A fork of another thread that is not hooked inherits a spare that is being given to another child. The same
 * spare_leave_family() unmaps it there; until then it is mapped.
 *
 * Two threads write states: the agent turns NONE into READY, and the thread that holds the lock turns READY into TAKEN
 * and TAKEN into NONE. A fork wipes the lock word. A thread may be stopped in the middle of a fork, by SIGSTOP or a
 * debugger, so the agent waits for the lock for AGENT_LOCK_MS only: it has commands to carry out.
 */
#include "runtime/agent/agent.h"

#include "runtime/arch/arch.h"
#include "runtime/base/sys.h"
#include "runtime/platform/linux/own.h"
#include "runtime/platform/platform.h"
#include "runtime/ring/ring.h"

#define STOCK		4u	/* at most; one while no fork needed more */
#define FORK_LOCK	1u	/* ring_lock_word(): 1 while a thread forks, or the agent maps a spare */
#define LEFT_WORD	2u	/* enum left_state */
#define WAIT_NS		1000000u
#define AGENT_LOCK_MS	20u	/* how long the agent waits for the lock */
#define WAIT_MS		2000	/* how long a fork waits for a spare */
#define FULL_MS		50	/* the same while the session has no more */

enum left_state { LEFT_NOT, LEFT_BEGUN, LEFT_DONE };	/* of a fork child, its parent's family */
enum spare_state { SPARE_NONE, SPARE_READY, SPARE_TAKEN };

static struct {
	uint64_t at;
	uint32_t number;	/* of the family */
	uint32_t state;
} spares[STOCK];

static struct {
	uint32_t wanted;	/* how many spares to keep */
	uint32_t waiters;	/* threads that wait for the lock; a fork child's copy may be too high */
	uint32_t looks;		/* counts the agent's looks for spares; a futex for threads that wait for one */
	uint32_t is_barred;	/* the agent cannot get any */
	int sock;		/* the agent's descriptor of its socket, plus one; 0: none */
	uint32_t is_void;	/* this process has none because its parent had none to give; the parent counted that */
	uint32_t is_copied;	/* a fork copies the family's mapping in spite of the advice */
	/* Under the lock. */
	int given;		/* index of the spare for the child; -1: none */
	int more;		/* index of another one, for a child of the child */
	uint64_t mask;
} stock;

/* Stands in for a family whose address cannot be filled. Requests there are not answered. */
static struct {
	struct uft_mail mail;
	struct uft_slice slice;
} nowhere;

static uint64_t family_bytes(void)
{
	return uft_boot.arena_bytes - UFT_BOARD_BYTES;
}

static void use_family(uint64_t at)
{
	uft_rt.mail = (struct uft_mail *)at;
	uft_rt.slice = rt_slice(0);
}

/*
 * Excludes the family from forks, except where fast paths read there before they look at a key (ring/thread_rings.c).
 */
void boot_keep_private(uint64_t at)
{
	stock.is_copied = ARCH_HAS_OWN || uft_rt.is_emulated || sys_madvise(at, family_bytes(), MADV_DONTFORK);
	uft_rt.family = FAMILY_PRIVATE;
}

/* Takes the lock. 0: not within @waits of 1 ms. */
static int lock_within(uint32_t waits)
{
	uint32_t *word = ring_lock_word(FORK_LOCK);

	for (; !uft_cas(word, 0, 1); waits--) {
		if (!waits)
			return 0;
		__atomic_add_fetch(&stock.waiters, 1, __ATOMIC_SEQ_CST);
		plat_wait(word, 1, WAIT_NS);
		__atomic_sub_fetch(&stock.waiters, 1, __ATOMIC_SEQ_CST);
	}
	return 1;
}

static void lock(void)
{
	while (!lock_within(UINT32_MAX))
		;
}

static void unlock(void)
{
	uint32_t *word = ring_lock_word(FORK_LOCK);

	__atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&stock.waiters, __ATOMIC_SEQ_CST))
		plat_wake(word, 1);
}

/* ---- The agent ----------------------------------------------------------------------------- */

/*
 * An agent that may not open spares by path asks the session for descriptors. An agent that is a thread of the program
 * has no descriptors of its own. Returns the family's number; -EAGAIN: one may come later; another -errno.
 */
static int hold_sent(uint64_t *at)
{
	int fd[UFT_BOOT_NFDS], pair[2], ret;
	uint32_t number;

	if (!stock.sock) {
		ret = agent_has_files() ? agent_socket(pair) : -EPERM;
		if (ret)
			return ret;
		stock.sock = pair[0] + 1;
		uft_store_release(&uft_rt.slice->spare_fd, (uint32_t)pair[1] + 1);
		plat_wake((uint32_t *)&uft_rt.arena->bell, 0x7fffffff);
	}
	ret = agent_receive(stock.sock - 1, &number, sizeof(number), fd);
	if (ret < 0)
		return ret;
	for (int i = 1; i < ret; i++)
		sys_close(fd[i]);
	ret = boot_hold_family(fd[0], at);
	plat_wake((uint32_t *)&uft_rt.arena->bell, 0x7fffffff);		/* asks for another one */
	return ret ? ret : (int)number;
}

static int hold(uint64_t *at)
{
	int number = stock.sock ? -EPERM : boot_hold_spare(at);

	return number >= 0 || number == -EAGAIN ? number : hold_sent(at);
}

/*
 * Gets a spare. Context: under the lock, so that no fork comes between its mapping and MADV_DONTFORK. 0, or as hold().
 */
static int fill(unsigned i)
{
	int number = hold(&spares[i].at);

	if (number < 0)
		return number;
	spares[i].number = (uint32_t)number;
	uft_store_release(&spares[i].state, SPARE_READY);
	return 0;
}

void spare_stock(void)
{
	int is_news = 0;

	if (uft_rt.family != FAMILY_PRIVATE || !uft_load(&uft_rt.arena->children) || agent_session_is_gone())
		return;
	for (uint32_t i = 0; i < uft_load(&stock.wanted); i++) {
		int ret;

		if (uft_load_acquire(&spares[i].state) != SPARE_NONE)
			continue;
		if (!lock_within(AGENT_LOCK_MS))
			break;
		ret = fill(i);
		unlock();
		if (ret) {
			uft_store(&stock.is_barred, (uint32_t)(ret != -EAGAIN));
			break;
		}
		is_news = 1;
	}
	if (is_news) {
		uft_add(&stock.looks, 1u);
		plat_wake(&stock.looks, 0x7fffffff);
	}
}

/*
 * An agent that is a thread of the program has the program's rights, and a child of an emulated program has no agent:
 * if such a child gives up rights, it could get no spare for its own children. So it gets one more at its birth.
 */
void spare_begin(void)
{
	stock.wanted = agent_has_files() ? 1 : 2;
	spare_stock();
}

/* ---- The thread that forks ------------------------------------------------------------------- */

static void wake_agent(void)
{
	plat_wake(&uft_rt.slice->cmd_seq, 1);
}

static int take_ready(void)
{
	for (uint32_t i = 0; i < STOCK; i++)
		if (uft_load_acquire(&spares[i].state) == SPARE_READY &&
		    !sys_madvise(spares[i].at, family_bytes(), MADV_DOFORK)) {
			spares[i].state = SPARE_TAKEN;
			return (int)i;
		}
	return -1;
}

static int may_wait(int ms)
{
	return ms < (uft_load(&uft_rt.arena->is_full) ? FULL_MS : WAIT_MS) && uft_load(&uft_rt.slice->agent_tid) &&
	       !uft_load(&stock.is_barred) && !agent_session_is_gone();
}

/* A fork child under an emulator has no agent (trace/hooks/fork_child.c). */
static int has_no_agent(void)
{
	return uft_rt.is_emulated && !uft_load(&uft_rt.slice->agent_tid);
}

/* Takes a spare, under the lock. The agent needs the lock as well, so it is released during a wait. */
static int take(void)
{
	int i = take_ready();

	if (i < 0 && has_no_agent() && !fill(0))
		i = take_ready();
	if (i < 0 && uft_load(&stock.wanted) < STOCK)
		uft_add(&stock.wanted, 1u);
	for (int ms = 0; i < 0 && may_wait(ms); ms++) {
		uint32_t looks = uft_load(&stock.looks);

		unlock();
		wake_agent();
		plat_wait(&stock.looks, looks, WAIT_NS);
		lock();
		i = take_ready();
	}
	return i;
}

int spare_fork_begin(void)
{
	const uint32_t children = uft_load(&uft_rt.arena->children);
	uint64_t mask;
	int given = -1;

	if (plat_is_denied(UFT_DENIED_MEMORY | UFT_DENIED_CHILDREN | UFT_DENIED_ASK))
		return 0;
	if (uft_load_acquire(ring_state()) == RING_FRESH && children & UFT_CHILDREN_FOLLOW)
		trace_adopt_child();		/* the child's own children need memory as well */
	if (uft_rt.family != FAMILY_PRIVATE || uft_load(ring_state()) != RING_LIVE)
		return 0;
	plat_signals_block(&mask);
	lock();
	if (children && !agent_session_is_gone()) {
		/* a child that is not followed asks in the spare's mail before it executes a program */
		given = take();
		if (given < 0 && children & UFT_CHILDREN_FOLLOW)
			trace_count(UFT_CNT_NO_SLICE, 1);
	} else {
		given = take_ready();	/* the child is not followed, but the session may have to detach from it */
	}
	stock.given = given;
	stock.more = given >= 0 && children && !agent_has_files() ? take_ready() : -1;
	stock.mask = mask;
	return 1;
}

/* Puts a spare back into stock if the fork failed. Else the child has it, and it is unmapped here. */
static void give(int i, int is_born)
{
	if (i >= 0 && !is_born && !sys_madvise(spares[i].at, family_bytes(), MADV_DONTFORK)) {
		uft_store_release(&spares[i].state, SPARE_READY);
	} else if (i >= 0) {
		mem_unmap(spares[i].at, family_bytes());
		uft_store_release(&spares[i].state, SPARE_NONE);
	}
}

static void end_parent(int64_t result)
{
	const uint64_t mask = stock.mask;

	give(stock.given, result > 0);
	give(stock.more, result > 0);
	unlock();
	wake_agent();
	plat_signals_restore(&mask);
}

/* ---- The child ------------------------------------------------------------------------------- */

/*
 * Maps memory at the address of the family that the child does not have, or over a copy of it. Code that the forking
 * handler interrupted inside a fast path goes on there.
 */
static int fill_hole(uint64_t at)
{
	const int fixed = stock.is_copied ? MAP_FIXED : MAP_FIXED_NOREPLACE;
	long got;

	if (plat_is_denied(UFT_DENIED_MEMORY))
		return -EPERM;
	got = sys_mmap(at, family_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed,
		       -1, 0);
	if (!sys_is_error(got) && (uint64_t)got != at)		/* before Linux 4.17 */
		sys_munmap((uint64_t)got, family_bytes());
	return (uint64_t)got == at ? 0 : -ENOMEM;
}

/*
 * Leaves the parent's family. Signals are blocked. The child keeps the spares @its and @more; others can have been
 * inherited only by mistake.
 */
static void leave(int its, int more)
{
	const uint64_t at = (uint64_t)uft_rt.mail;

	limit_fork();
	if (stock.is_copied && uft_rt.family == FAMILY_PRIVATE)
		trace_note_libc();
	for (int i = 0; i < (int)STOCK; i++) {
		if (spares[i].state != SPARE_NONE && i != its && i != more) {
			if (spares[i].state == SPARE_TAKEN || uft_rt.is_emulated)
				sys_munmap(spares[i].at, family_bytes());
			mem_disown(spares[i].at);
		}
		spares[i].state = SPARE_NONE;
	}
	stock.wanted = stock.is_void = stock.is_barred = 0;
	stock.sock = 0;
	if (!fill_hole(at)) {
		uft_rt.mail->closed = 1;
	} else {
		mem_disown(at);
		nowhere.mail.closed = 1;
		uft_rt.mail = &nowhere.mail;
		uft_rt.slice = &nowhere.slice;
		uft_ring_fast.ring_flags = &nowhere.slice.ring_flags;
	}
	uft_store_release(&uft_rt.family, FAMILY_NONE);
}

void spare_leave_family(void)
{
	uint64_t mask;

	if (uft_load_acquire(ring_state()) != RING_FRESH || uft_load(ring_lock_word(LEFT_WORD)) == LEFT_DONE)
		return;
	plat_signals_block(&mask);
	if (uft_cas(ring_lock_word(LEFT_WORD), LEFT_NOT, LEFT_BEGUN)) {
		if (uft_rt.family == FAMILY_PRIVATE || uft_rt.family == FAMILY_HEIR)
			leave(-1, -1);
		uft_store_release(ring_lock_word(LEFT_WORD), (uint32_t)LEFT_DONE);
	}
	while (uft_load_acquire(ring_lock_word(LEFT_WORD)) != LEFT_DONE)
		plat_nap(WAIT_NS / 20);
	plat_signals_restore(&mask);
}

int spare_is_void(void)
{
	return (int)stock.is_void;
}

uint64_t spare_place(void)
{
	return uft_rt.mail == &nowhere.mail || stock.is_copied ? 0 : (uint64_t)uft_rt.mail;
}

static void end_child(void)
{
	const int given = stock.given;
	const uint64_t mask = stock.mask;

	if (uft_rt.is_emulated)
		ring_notice_fork();
	leave(given, stock.more);
	stock.is_void = given < 0;
	if (given >= 0) {
		if (!stock.is_copied)
			sys_madvise(spares[given].at, family_bytes(), MADV_DONTFORK);
		if (stock.more >= 0) {
			sys_madvise(spares[stock.more].at, family_bytes(), MADV_DONTFORK);
			uft_store_release(&spares[stock.more].state, SPARE_READY);
		}
		use_family(spares[given].at);
		uft_rt.slice_index = spares[given].number;
		agent_note_slice();
		trace_note_heir();
		uft_store_release(&uft_rt.family, FAMILY_HEIR);
	}
	uft_store_release(ring_lock_word(LEFT_WORD), (uint32_t)LEFT_DONE);
	plat_signals_restore(&mask);
}

void spare_fork_end(int64_t result)
{
	if (result)
		end_parent(result);
	else
		end_child();
}

int spare_next(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	int found = 0;

	for (uint32_t i = 0; i < STOCK; i++) {
		uintptr_t from = spares[i].at;

		if (uft_load(&spares[i].state) == SPARE_NONE || from + family_bytes() <= at || from >= *lo)
			continue;
		*lo = from;
		*hi = from + family_bytes();
		found = 1;
	}
	return found;
}
