// SPDX-License-Identifier: MIT
/*
 * test_tasks.c - graph calls of tasks that begin and end: fork, vfork, clone, threads
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "graph_sites.h"

/* ---- Processes ---------------------------------------------------------------------------- */

static uint32_t forked_tid;
static void fork_inside(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		mid(1);
		return;		/* through the parent's hooked frames */
	}
	forked_tid = (uint32_t)pid;
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

static void fork_case(struct lab_config c, int followed)
{
	struct lab_events *ev;
	struct lab_replay r;
	uint32_t me;

	start(c);
	lab_arena()->children = followed;
	me = self();
	in_outer = fork_inside;
	CHECK_EQ(outer(5), 18);
	if (self() != me) {
		/* The child: its own slice from the first event on. */
		CHECK_EQ(uft_rt.slice_index, followed ? 1 : 0);
		rec(3);
		_exit(0);
	}
	ev = finish();
	CHECK_REPLAY(ev, me, &r);
	CHECK_EQ(r.calls[OUTER], 1);
	CHECK_EQ(r.calls[MID], 1);
	CHECK_EQ(r.open, 0);
	CHECK_REPLAY(ev, forked_tid, &r);
	CHECK_EQ(r.calls[MID], followed ? 1 : 0);
	CHECK_EQ(r.calls[LEAF], followed ? 3 : 0);
	CHECK_EQ(r.calls[REC], followed ? 4 : 0);
	CHECK_EQ(r.calls[OUTER], 0);		/* entered by the parent */
	CHECK_EQ(r.open, 0);
	for (size_t i = 0; i < ev->n; i++) {
		CHECK_EQ(ev->e[i].pid, ev->e[i].tid);
		CHECK_EQ(ev->e[i].slice, ev->e[i].tid == me ? 0 : 1);
	}
	lab_free(ev);
}

static void test_fork(void)
{
	fork_case((struct lab_config){ .nslices = 3 }, 1);
}

static void test_fork_exchange(void)
{
	fork_case((struct lab_config){ .nslices = 3, .no_rseq = 1 }, 1);
}

static void test_fork_unfollowed(void)
{
	fork_case((struct lab_config){ .nslices = 3 }, 0);
	CHECK_EQ(lab_counter(UFT_CNT_NO_SLICE), 0);
}

static void test_fork_no_slice(void)
{
	struct lab_events *ev;
	pid_t pid;
	int status;

	start((struct lab_config){ .nslices = 1 });
	outer(1);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 10; i++)
			outer(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	ev = finish();
	CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, OUTER), 1);
	CHECK_EQ(lab_counter(UFT_CNT_NO_SLICE), 1);
	lab_free(ev);
}

/* The lock is held by another thread, which does not exist in the child. */
static void test_fork_locked(void)
{
	extern uint32_t *ring_lock_word(unsigned i);
	struct lab_events *ev;
	pid_t pid;
	int status;

	start((struct lab_config){ .nslices = 2 });
	outer(1);
	*ring_lock_word(0) = (uint32_t)getppid();
	pid = fork();
	if (!pid) {
		alarm(60);
		if (!sigsetjmp(env, 0))
			jumper(3);
		mid(1);			/* takes the lock */
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	ev = finish();
	CHECK_EQ(lab_count(ev, 0, UFT_REC_UNWIND, 4), 1);
	lab_free(ev);
}

/* A holder that was killed: found out by whoever waits. */
static void test_lock_dead(void)
{
	extern uint32_t *ring_lock_word(unsigned i);
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	start((struct lab_config){ 0 });
	outer(1);
	*ring_lock_word(0) = (uint32_t)pid;
	alarm(60);
	if (!sigsetjmp(env, 0))
		jumper(3);
	mid(1);
	CHECK_EQ(*ring_lock_word(0), 0);
	lab_free(finish());
}

/* vfork: child and parent on one thread pointer. */
static void vfork_hook(uint32_t nr, uint64_t flags)
{
	uint64_t regs[6] = { flags };

	trace_hook_syscall_pre(nr, regs);
}

LAB_SITE void exiter(int status);
LAB_SITE void exiter(int status)
{
	_exit(status);
}

LAB_SITE int spawner(void);
LAB_SITE int spawner(void)
{
	int status;
	pid_t pid;

	vfork_hook(SYS_vfork, 0);
	pid = vfork();
	if (!pid) {
		mid(1);
		mid(1);
		if (!sigsetjmp(env, 0))
			jumper(2);
		mid(1);
		leaf(1);
		exiter(7);	/* leaves its own frame open */
	}
	forked_tid = (uint32_t)pid;
	CHECK(waitpid(pid, &status, 0) == pid);
	leaf(1);
	return WEXITSTATUS(status);
}

static void vfork_case(struct lab_config c)
{
	struct lab_events *ev;
	struct lab_replay r;

	start(c);
	lab_arm(spawner, PROBE, LAB_GRAPH, 0);
	lab_arm(exiter, CO, LAB_GRAPH, 0);
	for (int i = 1; i <= 5; i++) {
		CHECK_EQ(spawner(), 7);
		mid(1);
		ev = finish();
		CHECK_REPLAY(ev, self(), &r);
		CHECK_EQ(r.calls[PROBE], i);
		CHECK_EQ(r.calls[MID], i);
		CHECK_EQ(r.calls[LEAF], 3 * i);
		CHECK_EQ(r.open, 0);
		CHECK_REPLAY(ev, forked_tid, &r);
		CHECK_EQ(r.calls[MID], 3);
		CHECK_EQ(r.calls[LEAF], 7);
		CHECK_EQ(r.left[JUMPER], 3);
		CHECK_EQ(r.open, 1);
		for (size_t k = 0; k < ev->n; k++)
			CHECK(ev->e[k].tid == self() || ev->e[k].ring >= uft_rt.arena->ncpus);
		lab_free(ev);
	}
	/* Healed: the parent is on the fast rings again. */
	lab_clear();
	for (int i = 0; i < 10; i++)
		leaf(1);
	ev = finish();
	for (size_t k = 0; k < ev->n && !c.no_rseq; k++)
		CHECK(ev->e[k].ring < uft_rt.arena->ncpus);
	CHECK_EQ(ev->n, 20);
	lab_free(ev);
}

static void test_vfork(void)
{
	vfork_case((struct lab_config){ 0 });
}

static void test_vfork_exchange(void)
{
	vfork_case((struct lab_config){ .no_rseq = 1 });
}

/* A traced handler between the hook and the vfork must not heal the poison. */
static void test_vfork_signal(void)
{
	struct lab_events *ev;

	start((struct lab_config){ 0 });
	on_signal_stack(NULL, 0);
	leaf(1);
	lab_clear();
	leaf(1);
	leaf(1);
	vfork_hook(SYS_vfork, 0);
	for (uint32_t i = 0; i < uft_rt.arena->ncpus; i++)
		lab_ring(0, i)->commit = 0;
	raise(SIGUSR1);
	ev = finish();
	CHECK_EQ(ev->n, 8);
	for (size_t k = 0; k < ev->n; k++)
		CHECK(ev->e[k].ring >= uft_rt.arena->ncpus);
	lab_free(ev);
}

/* CLONE_VM without a thread pointer of its own: two tasks at the same time. */
static char clone_stack[65536];
static int clone_task(void *unused)
{
	(void)unused;
	for (int i = 0; i < 1000; i++)
		outer(1);
	return 0;
}

static int in_exch_rings(const struct lab_events *ev, size_t from, size_t to)
{
	for (size_t k = from; k < to; k++)
		if (ev->e[k].ring < uft_rt.arena->ncpus)
			return 0;
	return 1;
}

/* Each has a shadow stack of its own; the owner is fast again when the other is gone. */
static void test_clone_shared(void)
{
	struct lab_events *ev;
	struct lab_replay r;
	int pid, status;

	start((struct lab_config){ 0 });
	outer(1);
	lab_clear();
	for (int round = 0; round < 3; round++) {
		vfork_hook(SYS_clone, CLONE_VM | SIGCHLD);
		pid = clone(clone_task, clone_stack + sizeof(clone_stack), CLONE_VM | SIGCHLD, NULL);
		CHECK(pid > 0);
		for (int i = 0; i < 1000; i++)
			outer(1);
		waitpid(pid, &status, __WALL);
		CHECK_EQ(status, 0);
		ev = finish();
		CHECK(in_exch_rings(ev, 0, ev->n));
		CHECK_REPLAY(ev, self(), &r);
		CHECK_EQ(r.calls[OUTER], 1000);
		CHECK_REPLAY(ev, (uint32_t)pid, &r);
		CHECK_EQ(r.calls[OUTER], 1000);
		CHECK_EQ(ev->n, 20000);
		CHECK_EQ(lab_counter(UFT_CNT_SHARED_TP), 0);
		lab_free(ev);
		lab_clear();
		usleep(20000);
		outer(1);	/* heals */
		lab_clear();
		outer(1);
		ev = finish();
		CHECK_EQ(ev->n, 10);
		for (size_t k = 0; k < ev->n; k++)
			CHECK(ev->e[k].ring < uft_rt.arena->ncpus);
		lab_free(ev);
		lab_clear();
	}
}

/* One that never has an event may still be there. */
static void test_clone_silent(void)
{
	struct lab_events *ev;

	start((struct lab_config){ 0 });
	outer(1);
	vfork_hook(SYS_clone, CLONE_VM | SIGCHLD);
	lab_clear();
	for (int i = 0; i < 100; i++) {
		usleep(100);
		outer(1);
	}
	ev = finish();
	CHECK(in_exch_rings(ev, 0, ev->n));
	CHECK_EQ(ev->n, 1000);
	lab_free(ev);
}

/* ---- Threads ------------------------------------------------------------------------------ */

static void *short_life(void *unused)
{
	(void)unused;
	mid(1);
	return (void *)(uintptr_t)self();
}

/* A thousand threads, on recycled and on new thread pointers: each has its own records. */
static void test_threads(void)
{
	struct lab_events *ev;
	struct lab_replay r;

	start((struct lab_config){ .ring_bytes = 4 << 20 });
	for (int i = 0; i < 300; i++) {
		pthread_attr_t a;
		pthread_t th[3];
		void *tid[3];

		for (int k = 0; k < 3; k++) {
			/* Sizes that libc does not find in its cache. */
			pthread_attr_init(&a);
			pthread_attr_setstacksize(&a, 65536 + 4096 * (size_t)((i * 3 + k) % 200));
			CHECK(!pthread_create(&th[k], &a, short_life, NULL));
		}
		for (int k = 0; k < 3; k++)
			pthread_join(th[k], &tid[k]);
		(void)tid;
	}
	ev = finish();
	CHECK_EQ(lab_count(ev, 0, UFT_REC_EXIT, MID), 900);
	CHECK_EQ(lab_count(ev, 0, UFT_REC_EXIT, LEAF), 1800);
	(void)r;
	lab_free(ev);
}

static const struct lab_case cases[] = {
	{ "fork", test_fork }, { "fork_exchange", test_fork_exchange }, { "fork_unfollowed", test_fork_unfollowed },
	{ "fork_no_slice", test_fork_no_slice }, { "fork_locked", test_fork_locked }, { "lock_dead", test_lock_dead },
	{ "vfork", test_vfork }, { "vfork_exchange", test_vfork_exchange }, { "vfork_signal", test_vfork_signal },
	{ "clone_shared", test_clone_shared }, { "clone_silent", test_clone_silent }, { "threads", test_threads },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
