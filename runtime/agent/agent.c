// SPDX-License-Identifier: MIT
/*
 * agent.c - the task inside a target that carries out the session's commands
 *
 * What it is. One task per target, made by clone(CLONE_VM) with nothing else shared: its own thread group,
 * descriptors, working directory, signal handlers and credentials, and exit signal 0. To the program it is a
 * child that wait() does not see; being no thread, it does not stand in the way of unshare(CLONE_NEWUSER), TSYNC
 * seccomp filters, a program that ends with SYS_exit in its last thread, or close_range().
 *
 * Life.	agent_start() -> ready -> commands -> exit
 * It ends when the target has ended (pidfd), runs another image (kcmp), its slice is no longer live, by AGENT_EXIT, or
 * by a detach: the session stops it, has it unmap all memory of the runtime, its own included, and exit, all by
 * system calls made at an instruction of the vdso (control/detach/detach.c). If the session is gone (pidfd,
 * arena.closed) and the target stays, it first puts the original code back and switches recording off; then it
 * serves the guard in the same way, or ends if there is none. The loss of a session does not wake the agent, so it
 * checks every TICK_MS.
 *
 * Parents. A child that ended would stay the target's zombie, as the target does not wait for it. So a task in between
 * makes the agent and ends, and the starting thread waits for that one at once: the agent is init's (or that of the
 * nearest subreaper) and the target has no child of ours. If the target is a subreaper itself, or the init of
 * its pid namespace, it is the parent after all.
 *
 * Concurrency. The agent is the only caller of patch_*() and trace_set_params() while it lives; before it is ready
 * the starting thread is (init). In a fork child the parent's agent does not exist; the state here was copied by
 * the fork and is set up anew by agent_start(), on the same stack: its memory was copied as well and is unused.
 *
 * Invariants.
 *  1. The program runs only while the agent is ready or there is none: agent_start() waits (tests/func/session).
 *  2. The agent holds no descriptor of the target (close_range first thing): pipes see their end of file.
 *  3. No signal reaches it: all are blocked before the clone, so a kill of the process group ends the target only.
 *     It leaves the target's process group and session too, so that a wait for these does not wait for the agent.
 *  4. It never has more rights than the target (creds.c), or ends.
 *
 * Failure. Whatever it cannot do it reports in cmd_result and leaves alone. It never logs, never ends the target.
 */
#include "runtime/agent/agent.h"

#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/base/sys.h"
#include "runtime/platform/linux/own.h"
#include "runtime/platform/platform.h"
#include "runtime/ring/ring.h"

#define TICK_MS		100
#define TEND_LOOKS	10	/* each that many looks rings give memory back */
#define PARTS		16	/* waits of a tick in which the program forks */
#define START_MS	2000
#define STACK_BYTES	UFT_AGENT_STACK

#define CLONE_VM_	0x00000100ul
#define CLONE_UNTRACED_	0x00800000ul	/* a debugger that follows forks shall not stop us */
#define CLONE_THREAD_	0x00050f00ul	/* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM: all that a thread shares */
#define KCMP_VM_	1
#define PR_SET_NAME_	15
#define PR_SET_PTRACER_	0x59616d61
#define PR_GET_CHILD_SUBREAPER_ 37
#define SA_SIGINFO_	4ull
#define WALL_		0x40000000
#define BETWEEN_BYTES	4096u		/* of the stack: for the task that makes the agent */
#define POLLIN_		1

/* Written by agent_start() before the clone and by the agent after it; see the theory for fork. */
static struct {
	uint64_t stack;			/* lowest address; 0 none yet */
	uint32_t started;		/* futex: 0 starting, 1 ready or failed */
	int result;			/* of the start */
	int pid;			/* the target */
	int tid;			/* its own */
	int coming;			/* the one that was started last, ready or late */
	int target_fd, session_fd, guard_fd;	/* -1: none, or not to be seen from this pid namespace */
	uint32_t is_watching;		/* the two latter are open, or need not be; */
	uint32_t is_alone;		/* neither could be opened: both are gone */
	uint32_t must_claim;		/* a fork child's: it has no memory of its own yet */
	uint32_t is_thread;		/* preload.c: of the target's thread group, without descriptors */
	struct agent_creds creds;
} agent;

/* Is the process behind the pidfd over? */
static int pidfd_is_over(int fd)
{
	return sys_poll(fd, POLLIN_, 0) > 0;
}

/* The session may have learnt meanwhile where libc keeps its rseq area. */
static void take_rseq_offset(void)
{
	int64_t offset = uft_load(&uft_boot.rseq_offset);

	if (offset && offset != uft_rt.rseq_offset) {
		uft_rt.rseq_offset = offset;
		trace_rseq_changed();
		patch_retarget();
	}
}

/* ---- Whether to go on ---------------------------------------------------------------------- */

static int target_is_gone(void)
{
	if (agent.is_thread)
		return uft_load(&uft_rt.slice->state) != UFT_SLICE_LIVE;
	if (pidfd_is_over(agent.target_fd) || uft_load(&uft_rt.slice->state) != UFT_SLICE_LIVE)
		return 1;
	/* After exec its memory is another one. Without the right to ask (it made itself undumpable) we hope for the
	 * pidfd and the slice's state. */
	return sys_call6(__NR_kcmp, agent.pid, sys_getpid(), KCMP_VM_, 0, 0, 0) > 0;
}

/*
 * Opened at the first look, TICK_MS after the start: most fork children live shorter, and their first event waits for
 * the agent.
 */
static void watch_session(void)
{
	agent.is_watching = 1;
	/* In a pid namespace of its own only arena.closed tells that the session has gone. */
	if (agent.is_thread || trace_other_ns())
		return;
	agent.session_fd = (int)sys_call3(__NR_pidfd_open, uft_load(&uft_rt.arena->session_pid), 0, 0);
	if (uft_load(&uft_rt.arena->guard_pid))
		agent.guard_fd = (int)sys_call3(__NR_pidfd_open, uft_load(&uft_rt.arena->guard_pid), 0, 0);
	agent.is_alone = agent.session_fd < 0 && agent.guard_fd < 0;
	if (agent.session_fd < 0)		/* the guard wants it */
		agent.session_fd = agent.guard_fd;
}

static int session_is_gone(void)
{
	if (!agent.is_watching)
		watch_session();
	if (agent.is_thread && sys_call3(__NR_kill, uft_load(&uft_rt.arena->session_pid), 0, 0) == -ESRCH)
		return 1;
	return uft_load(&uft_rt.arena->closed) || agent.is_alone ||
	       (agent.session_fd >= 0 && pidfd_is_over(agent.session_fd));
}

/* The session will not come back. 1: nor does anybody else, end. */
static int is_orphaned(void)
{
	if (!command_has_left())
		command_leave(0);
	if (!agent.is_thread && agent.guard_fd >= 0 && !pidfd_is_over(agent.guard_fd) &&
	    !uft_load(&uft_rt.arena->closed))
		return 0;
	uft_store(&uft_rt.slice->agent_tid, 0u);
	return 1;
}

/*
 * Is it time to look whether to go on, after a wait that ended by @ret? Each fork of the program wakes the agent for a
 * spare, and a look takes longer than that. A clock would be one more call that filters have to permit: so short waits
 * follow such a wake, of which PARTS make a tick.
 */
static int is_look_due(int ret, uint32_t *parts)
{
	if ((ret != -ETIMEDOUT || *parts) && ++*parts < PARTS)
		return 0;
	*parts = 0;
	return 1;
}

static void agent_loop(void)
{
	struct uft_slice *slice = uft_rt.slice;
	uint32_t done = uft_load(&slice->cmd_done), parts = 0, looks = 0;

	for (;;) {
		uint32_t seq = uft_load_acquire(&slice->cmd_seq);
		int ret;

		if (seq != done) {
			if (target_is_gone())
				return;
			take_rseq_offset();
			if (command_serve(seq))
				return;
			done = seq;
			continue;
		}
		spare_stock();
		ret = plat_wait(&slice->cmd_seq, seq, TICK_MS * 1000000ull / (parts ? PARTS : 1));
		if (uft_load(&slice->cmd_seq) != seq || !is_look_due(ret, &parts))
			continue;
		if (target_is_gone())
			return;
		if (!agent.is_thread && creds_follow(&agent.creds)) { /* GUARD(agent_loop_is_thread) */
			command_leave(0);
			uft_store(&uft_rt.slice->agent_tid, 0u);
			return;
		}
		if (session_is_gone() && is_orphaned())
			return;
		if (++looks % TEND_LOOKS == 0)
			ring_tend();
	}
}

/* ---- Start --------------------------------------------------------------------------------- */

static void report_start(int result)
{
	agent.result = result;
	uft_store_release(&agent.started, 1u);
	plat_wake(&agent.started, 1);
}

static void close_all(void)
{
	if (sys_call3(__NR_close_range, 0, ~0u, 0) == -ENOSYS)
		for (int fd = 0; fd < 65536; fd++)	/* before Linux 5.9 */
			sys_close(fd);
}

/* For uft_asm_swap8(). */
static void catch_faults(void)
{
#ifdef SA_RESTORER
	const struct { const void *handler; uint64_t flags; const void *restorer; uint64_t mask; } action = {
		uft_asm_on_fault, SA_RESTORER | SA_SIGINFO_, uft_asm_sigreturn, 0
	};
#else	/* riscv64: the kernel has its own */
	const struct { const void *handler; uint64_t flags, mask; } action = { uft_asm_on_fault, SA_SIGINFO_, 0 };
#endif
	uint64_t faults = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);

	sys_call4(__NR_rt_sigaction, SIGSEGV, &action, 0, 8);
	sys_call4(__NR_rt_sigaction, SIGBUS, &action, 0, 8);
	sys_sigprocmask(SIG_UNBLOCK, &faults, NULL);
}

static void name_agent(void)
{
	sys_call6(__NR_prctl, PR_SET_NAME_, "uft-agent", 0, 0, 0, 0);
}

static void watch_later(void)
{
	agent.session_fd = agent.guard_fd = -1;
	agent.is_watching = agent.is_alone = 0;
}

void agent_isolate(void)
{
	uint64_t all = ~0ull;

	sys_sigprocmask(SIG_SETMASK, &all, NULL);
	close_all(); /* GUARD(agent_isolate_close_all) */
	name_agent();
	sys_call6(__NR_prctl, PR_SET_PTRACER_, -1l, 0, 0, 0, 0);	/* Yama: the session is no ancestor of ours */
	sys_call3(__NR_setsid, 0, 0, 0);
	sys_call3(__NR_chdir, "/", 0, 0);		/* keeps no directory busy */
}

static int agent_setup(void)
{
	agent_isolate();
	limit_raise_agent();
	if (agent.must_claim && trace_claim_own())
		return -ENOSPC;
	agent.target_fd = (int)sys_call3(__NR_pidfd_open, agent.pid, 0, 0);
	if (agent.target_fd < 0)
		return agent.target_fd;
	watch_later();
	catch_faults();
	plat_text_keep();			/* while /proc/self/mem may still be opened */
	creds_begin(&agent.creds, agent.pid);
	if (!agent.must_claim)
		spare_begin();
	return 0;
}

static void agent_main(void)
{
	int ret = agent_setup(), ms = 0;

	if (!ret)		/* also if the session waits no longer */
		uft_store(&uft_rt.slice->agent_tid, (uint32_t)sys_gettid());
	report_start(ret);
	/* A fork child first ends what its parent's agent was doing. */
	while (uft_load_acquire(ring_state()) == RING_ADOPTING && ms++ < START_MS)
		plat_wait(ring_state(), RING_ADOPTING, 1000000);
	if (!ret)
		agent_loop();
}

/*
 * The agent is no child that wait() could find (no exit signal); no thread of the program, which may make itself a user
 * namespace, filter all threads or end with its last thread; and has descriptors of its own.
 */
#define AGENT_TASK	(CLONE_UNTRACED_ | \
		CLONE_VM_ /* GUARD(agent_signal, 0x111) GUARD(agent_thread, 0x10900) GUARD(agent_files, 0x500) */)

/*
 * Its name first: who is told of all tasks knows by it that this is none of the program's, and the agent
 * inherits it.
 */
static void between_main(void)
{
	name_agent();
	agent.tid = (int)uft_asm_clone(AGENT_TASK, (void *)(agent.stack + STACK_BYTES - BETWEEN_BYTES),
				       agent_main);
}

/* Its tid, or -errno. See "Parents" above. */
static int make_agent(void)
{
	uint64_t top = agent.stack + STACK_BYTES;
	int is_subreaper = 0;
	long tid;

	sys_call6(__NR_prctl, PR_GET_CHILD_SUBREAPER_, &is_subreaper, 0, 0, 0, 0);
	if (is_subreaper || agent.pid == 1) /* GUARD(make_agent_is_subreaper, 1) */
		return (int)uft_asm_clone(AGENT_TASK, (void *)top, agent_main);
	agent.tid = -EAGAIN;
	tid = uft_asm_clone(AGENT_TASK, (void *)top, between_main);
	if (tid < 0)
		return (int)tid;
	sys_call4(__NR_wait4, tid, 0, WALL_, 0);	/* or another thread's wait for anybody took it: it has ended */
	return uft_load(&agent.tid);
}

/* In place of make_agent() and agent_start(): here the session waits for the task in between. */
void agent_spawn(void (*main)(void))
{
	agent.stack = uft_boot.stack;
	uft_boot.agent_tid = (int)uft_asm_clone(AGENT_TASK,
						(void *)(agent.stack + STACK_BYTES - BETWEEN_BYTES), main);
}

void agent_serve(const int *fd, uint32_t nfds)
{
	agent.pid = (int)uft_boot.pid;
	agent.session_fd = fd[UFT_BOOT_SESSION];
	agent.target_fd = fd[UFT_BOOT_TARGET];
	agent.guard_fd = nfds > UFT_BOOT_GUARD ? fd[UFT_BOOT_GUARD] : -1;
	agent.is_watching = 1;
	agent.is_alone = 0;
	command_begin();
	agent.started = 1;
	agent.coming = sys_gettid();
	limit_raise_agent();
	catch_faults();
	plat_text_keep();
	creds_begin(&agent.creds, agent.pid);
	spare_begin();
	uft_store(&uft_rt.slice->agent_tid, (uint32_t)agent.coming);
	uft_store_release(&uft_boot.stage, UFT_BOOT_DONE);
	agent_loop();
}

static void thread_main(void)
{
	uint64_t all = ~0ull;
	int ret;

	sys_sigprocmask(SIG_SETMASK, &all, NULL);
	name_agent();
	agent.target_fd = -1;
	watch_later();
	ret = agent.must_claim ? trace_claim_own() : 0;
	if (!agent.must_claim)
		spare_begin();
	report_start(ret);
	if (!ret)
		agent_loop();
}

static int make_stack(void)
{
	long at;

	if (agent.stack)
		return 0;
	at = mem_map(0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (sys_is_error(at))
		return (int)at;
	sys_mprotect((uint64_t)at, UFT_PAGE, PROT_NONE);
	agent.stack = uft_boot.stack = (uint64_t)at;
	return 0;
}

/*
 * Two would share the stack. In a fork child the parent's has other memory, which its number tells: its filter may kill
 * for kcmp(). Where that may not be asked, one that has not reported and is not known to have ended is on its way.
 */
static int is_coming(void)
{
	long ret;

	if (agent.coming <= 0 || agent.pid != sys_getpid())
		return 0;
	ret = sys_call6(__NR_kcmp, agent.pid, agent.coming, KCMP_VM_, 0, 0, 0);
	return ret < 0 ? ret != -ESRCH && !uft_load(&agent.started) : ret == 0;
}

static int make_anew(void)
{
	agent.pid = sys_getpid();
	agent.started = 0;
	agent.coming = 0;
	command_begin();
	agent.coming = agent.is_thread ? (int)uft_asm_clone(CLONE_THREAD_, (void *)(agent.stack + STACK_BYTES),
							    thread_main) :
		       make_agent();
	return agent.coming;
}

int agent_has_files(void)
{
	return !agent.is_thread;
}

void agent_note_slice(void)
{
	uft_boot.slice = uft_rt.slice_index;
}

int agent_start(void)
{
	uint64_t all = ~0ull, mask;
	int ret = make_stack(), left_ms = START_MS, tid;

	if (ret)
		return ret;
	if (!agent.must_claim)
		agent_note_slice();	/* where the session looks */
	sys_sigprocmask(SIG_SETMASK, &all, &mask);
	tid = is_coming() ? agent.coming : make_anew();
	while (tid > 0 && !uft_load_acquire(&agent.started) && left_ms > 0)
		if (plat_wait(&agent.started, 0, 100000000) == -ETIMEDOUT)
			left_ms -= 100;
	sys_sigprocmask(SIG_SETMASK, &mask, NULL);
	if (tid < 0)
		return tid;
	if (!uft_load_acquire(&agent.started))
		return -ETIMEDOUT;
	if (agent.result)
		return agent.result;
	uft_store(&uft_rt.slice->agent_tid, (uint32_t)tid);
	return 0;
}

int agent_start_child(void)
{
	int ret;

	agent.must_claim = 1;
	ret = agent_start();
	agent.must_claim = 0;
	return ret;
}

int agent_start_thread(void)
{
	agent.is_thread = 1;
	return agent_start();
}

/* Called by uft_blob_rejoin only. */
void agent_rejoin(void);
void agent_rejoin(void)
{
	uint64_t all = ~0ull;

	sys_sigprocmask(SIG_SETMASK, &all, NULL);	/* the way back sets the program's */
	uft_boot.result = trace_rejoin();
	uft_store_release(&uft_boot.stage, UFT_BOOT_DONE);
}
