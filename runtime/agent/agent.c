// SPDX-License-Identifier: MIT
/*
 * agent.c - the task inside a target that carries out the session's commands
 *
 * One task per target, made by clone(CLONE_VM) with nothing else shared: it has its own thread group, descriptors,
 * working directory, signal handlers and credentials, and exit signal 0. To the program it is a child that wait() does
 * not see. Because it is no thread of the program, it does not prevent unshare(CLONE_NEWUSER), TSYNC seccomp filters,
 * the end of the program by SYS_exit in its last thread, or close_range().
 *
 * Life.	agent_start() -> ready -> commands -> exit
 * The agent ends when the target has ended (pidfd), when the target runs another image (kcmp), when its slice is no
 * longer live, by AGENT_EXIT, or by a detach: the session stops the agent, makes it unmap all memory of the runtime,
 * its own included, and exit, all by system calls made at an instruction of the vdso (control/detach/detach.c). If the
 * session is gone (pidfd, arena.closed) and the target stays, the agent first restores the original code and switches
 * recording off. Then it serves the guard in the same way, or ends if there is no guard. The loss of a session does not
 * wake the agent, so the agent checks every TICK_MS.
 *
 * Parents. A child that ended would stay the target's zombie, because the target does not wait for it. So a task in
 * between makes the agent and ends, and the starting thread waits for that task at once. The agent then is a child of
 * init (or of the nearest subreaper), and the target has no child of ours. If the target is a subreaper itself, or the
 * init of its pid namespace, it is the parent all the same.
 *
 * Concurrency. While the agent lives, it alone calls patch_*() and trace_set_params(); before it is ready, the starting
 * thread does (init). In a fork child the parent's agent does not exist. The fork has copied the state here, and
 * agent_start() sets it up again, on the same stack, whose memory was copied as well and is unused.
 *
 * Invariants.
 *  1. The program runs only while the agent is ready or there is no agent: agent_start() waits (tests/func/session).
 *  2. The agent holds no descriptor of the target (close_range first thing): pipes see their end of file.
 *  3. No signal reaches it: all signals are blocked before the clone, so a kill of the process group ends the target
 *     only. It leaves the target's process group and session too, so that a wait for these does not wait for the agent.
 *  4. It never has more rights than the target (creds.c), or ends.
 *
 * Failure. The agent reports in cmd_result what it cannot do, and changes nothing there. It never logs, and never ends
 * the target.
 */
#include "runtime/agent/agent.h"

#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/base/sys.h"
#include "runtime/platform/linux/own.h"
#include "runtime/platform/platform.h"
#include "runtime/ring/ring.h"

#define TICK_MS		100
#define TEND_LOOKS	10	/* in each TEND_LOOKS-th look rings give memory back */
#define PARTS		16	/* waits of a tick in which the program forks */
#define START_MS	2000
#define STACK_BYTES	UFT_AGENT_STACK

#define CLONE_VM_	0x00000100ul
#define CLONE_UNTRACED_	0x00800000ul	/* so that a debugger that follows forks does not stop the agent */
#define CLONE_THREAD_	0x00050f00ul	/* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM: as for a thread */
#define KCMP_VM_	1
#define PR_SET_NAME_	15
#define PR_SET_PTRACER_	0x59616d61
#define PR_GET_CHILD_SUBREAPER_ 37
#define SA_SIGINFO_	4ull
#define WALL_		0x40000000
#define BETWEEN_BYTES	4096u		/* of the stack: for the task in between */
#define POLLIN_		1

/* Written by agent_start() before the clone and by the agent after it; see the theory for fork. */
static struct {
	uint64_t stack;			/* lowest address; 0: none yet */
	uint32_t started;		/* futex: 0 starting, 1 ready or failed */
	int result;			/* result of the start */
	int pid;			/* the target */
	int tid;			/* the agent's own */
	int coming;			/* the agent that was started last, ready or late */
	int target_fd, session_fd, guard_fd;	/* -1: none, or not visible from this pid namespace */
	uint32_t is_watching;		/* the last two are open, or need not be */
	uint32_t is_alone;		/* neither of them could be opened: both processes are gone */
	uint32_t must_claim;		/* in a fork child: it has no memory of its own yet */
	uint32_t is_thread;		/* preload.c: a thread of the target, without descriptors */
	struct agent_creds creds;
} agent;

/* Has the process behind the pidfd ended? */
static int pidfd_is_over(int fd)
{
	return sys_poll(fd, POLLIN_, 0) > 0;
}

/* The session may have learned meanwhile where libc keeps its rseq area. */
static void take_rseq_offset(void)
{
	int64_t offset = uft_load(&uft_boot.rseq_offset);

	if (offset && offset != uft_rt.rseq_offset) {
		uft_rt.rseq_offset = offset;
		trace_rseq_changed();
		patch_retarget();
	}
}

/* ---- Reasons to end ---------------------------------------------------------------------- */

static int target_is_gone(void)
{
	if (agent.is_thread)
		return uft_load(&uft_rt.slice->state) != UFT_SLICE_LIVE;
	if (pidfd_is_over(agent.target_fd) || uft_load(&uft_rt.slice->state) != UFT_SLICE_LIVE)
		return 1;
	/*
	 * After an exec the target's memory is another one. If the agent may not ask (the target made itself
	 * undumpable), only the pidfd and the slice's state tell.
	 */
	return sys_call6(__NR_kcmp, agent.pid, sys_getpid(), KCMP_VM_, 0, 0, 0) > 0;
}

/*
 * Opens the pidfds at the first look, TICK_MS after the start, because most fork children live shorter than that, and
 * their first event waits for the agent.
 */
static void watch_session(void)
{
	agent.is_watching = 1;
	/* In a pid namespace of its own only arena.closed tells that the session is gone. */
	if (agent.is_thread || trace_other_ns())
		return;
	agent.session_fd = (int)sys_call3(__NR_pidfd_open, uft_load(&uft_rt.arena->session_pid), 0, 0);
	if (uft_load(&uft_rt.arena->guard_pid))
		agent.guard_fd = (int)sys_call3(__NR_pidfd_open, uft_load(&uft_rt.arena->guard_pid), 0, 0);
	agent.is_alone = agent.session_fd < 0 && agent.guard_fd < 0;
	if (agent.session_fd < 0)		/* only the guard is left */
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

/* The session will not come back. 1: there is no guard either, so the agent ends. */
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
 * Is it time to look whether to end, after a wait that ended by @ret? Each fork of the program wakes the agent for a
 * spare, and a look takes longer than a spare. A clock would be one more call that seccomp filters have to permit. So
 * short waits follow such a wake, and PARTS of them make a tick.
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
#else		/* riscv64: the kernel brings its own restorer */
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
	/* Yama: the session is no ancestor of the agent */
	sys_call6(__NR_prctl, PR_SET_PTRACER_, -1l, 0, 0, 0, 0);
	sys_call3(__NR_setsid, 0, 0, 0);
	sys_call3(__NR_chdir, "/", 0, 0);		/* so that no directory is busy */
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

	if (!ret)		/* also if the session does not wait any more */
		uft_store(&uft_rt.slice->agent_tid, (uint32_t)sys_gettid());
	report_start(ret);
	/* A fork child's agent first ends what the parent's agent was doing. */
	while (uft_load_acquire(ring_state()) == RING_ADOPTING && ms++ < START_MS)
		plat_wait(ring_state(), RING_ADOPTING, 1000000);
	if (!ret)
		agent_loop();
}

/*
 * A task made with these flags is no child that wait() could find (no exit signal) and no thread of the program (which
 * may make itself a user namespace, filter all threads or end with its last thread), and has descriptors of its own.
 */
#define AGENT_TASK	(CLONE_UNTRACED_ | \
		CLONE_VM_ /* GUARD(agent_signal, 0x111) GUARD(agent_thread, 0x10900) GUARD(agent_files, 0x500) */)

/*
 * Sets the name first: a program that lists all tasks knows by it that the task is not the program's, and the agent
 * inherits it.
 */
static void between_main(void)
{
	name_agent();
	agent.tid = (int)uft_asm_clone(AGENT_TASK, (void *)(agent.stack + STACK_BYTES - BETWEEN_BYTES),
				       agent_main);
}

/* Returns the agent's tid, or -errno. See "Parents" above. */
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
	/* fails if another thread's wait took the task: then it has ended */
	sys_call4(__NR_wait4, tid, 0, WALL_, 0);
	return uft_load(&agent.tid);
}

/* Used in place of make_agent() and agent_start(): here the session waits for the task in between. */
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
 * Is an agent on its way? Two agents would share the stack. In a fork child the parent's agent has other memory;
 * agent.pid tells, because a filter may kill for kcmp(). If kcmp() is not permitted, an agent that has not reported and
 * is not known to have ended counts as on its way.
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
		agent_note_slice();	/* for the session */
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

	sys_sigprocmask(SIG_SETMASK, &all, NULL);	/* the way back sets the program's mask */
	uft_boot.result = trace_rejoin();
	uft_store_release(&uft_boot.stage, UFT_BOOT_DONE);
}
