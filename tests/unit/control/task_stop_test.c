/* SPDX-License-Identifier: MIT */
/*
 * task_stop_test.c - the agent belongs to the target; all tasks are stopped, for as long as is reported; and a task that
 * stops too late, or whose stop fails, runs on
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "control/base/base.h"
#include "control/proc/proc.h"
#include "control/ptrace/task_stop.h"
#include "tests/lib/ptrace_args.h"

#define STOP_MS	60000	/* not how long it takes, but when a machine is no excuse any more */

static void nap_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static int go[2];	/* a pipe that the vfork child reads from */

/* A process that sleeps so that no signal wakes it: for its vfork child, until let_go(). Then it exits with 7. */
static pid_t start_uninterruptible(void)
{
	struct asleep a;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!vfork()) {
			char c;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(read(go[0], &c, 1) != 1);
		}
		_exit(7);
	}
	for (int ms = 0; ms < STOP_MS && (task_read_asleep(pid, pid, &a) <= 0 || !task_is_vfork_wait(pid, &a));
	     ms += 10)
		nap_ms(10);
	return pid;
}

static void let_go(void)
{
	assert_int_equal(write(go[1], "x", 1), 1);
	close(go[0]);
	close(go[1]);
}

/* Its end, without looking at stops: those of a task that we forgot would stay. */
static int exit_status(pid_t pid)
{
	siginfo_t info = { 0 };

	for (int ms = 0; ms < STOP_MS && !info.si_pid; ms += 10) {
		nap_ms(10);
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | __WALL);
	}
	if (!info.si_pid)
		kill(pid, SIGKILL);
	return info.si_pid ? info.si_status : -1;
}

static void test_reaped(void **state)
{
	pid_t pid = start_uninterruptible();
	int sig = 0;

	(void)state;
	assert_int_equal(task_stop(pid, &sig), -EAGAIN);
	assert_int_equal(tasks_reap_late(), 1);
	let_go();
	for (int ms = 0; ms < STOP_MS && tasks_reap_late(); ms += 10)
		nap_ms(10);
	assert_int_equal(tasks_reap_late(), 0);
	assert_int_equal(exit_status(pid), 7);
}

static void test_tried_again(void **state)
{
	pid_t pid = start_uninterruptible();
	int sig = 0, ret = task_stop(pid, &sig);

	(void)state;
	assert_int_equal(ret, -EAGAIN);
	let_go();
	for (int i = 0; i < STOP_MS / TASK_STOP_MS && ret == -EAGAIN; i++)
		ret = task_stop(pid, &sig);
	assert_int_equal(ret, 0);
	assert_int_equal(tasks_reap_late(), 0);
	task_resume(pid, sig);
	assert_int_equal(exit_status(pid), 7);
}

/* It is our child: what it ended with is not lost by a wait for its stop. */
static void test_status_is_kept(void **state)
{
	pid_t pid = start_uninterruptible();
	int sig = 0, status = 0;

	(void)state;
	child_status_keep(pid);
	assert_int_equal(task_stop(pid, &sig), -EAGAIN);
	assert_int_equal(child_status_take(pid, &status), 0);
	kill(pid, SIGKILL);
	for (int ms = 0; ms < STOP_MS && tasks_reap_late(); ms += 10)
		nap_ms(10);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	let_go();
	assert_int_equal(child_status_take(pid, &status), 1);
	assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGKILL);
}

/* A process that sleeps in clone() as fork() calls it, because nobody answers its filter. 0: not on this kernel. */
static pid_t start_forking(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	struct asleep a = { .nr = -1 };
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter) < 0)
			_exit(0);
		fork();
		_exit(1);
	}
	for (int ms = 0; ms < 60000 && (task_read_asleep(pid, pid, &a) != 1 || a.nr != SYS_clone); ms += 10)
		nap_ms(10);
	if (a.nr == SYS_clone)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

#define THREADS		80
#define AREA		(8ul << 20)	/* what is searched of a stack at most */
#define AREAS		8

/* What looks like a signal frame on a stack, whose handler interrupted one that stands at @sp. */
static void put_frame(uint8_t *at, const uint8_t *sp)
{
	uint64_t frame[25] = { [0] = 1, [21] = (uintptr_t)sp, [22] = 1, [23] = 0x202, [24] = 0x33 | 0x2bull << 48 };

	memcpy(at, frame, sizeof(frame));
}

static int sleep_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}

/* A process of many threads, each of which seems to stand on 64 MB of stacks. */
static pid_t start_deep(void)
{
	pid_t pid = fork();

	if (!pid) {
		uint8_t *area = mmap(NULL, AREAS * 2 * AREA, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (area == MAP_FAILED)
			_exit(1);
		for (int i = 0; i < AREAS; i++)
			put_frame(area + (size_t)i * 2 * AREA + AREA / 2, area + ((size_t)i + 1) % AREAS * 2 * AREA);
		for (int i = 0; i < THREADS; i++)
			if (clone(sleep_on, area + AREA / 4 + i * 4096, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL) <
			    0)
				_exit(1);
		sleep_on(NULL);
	}
	for (int ms = 0; ms < STOP_MS && proc_status_number(pid, "Threads", 10) != THREADS + 1; ms += 10)
		nap_ms(10);
	return pid;
}

/* All are searched as far as is said; behind that each is taken for one that stands inside. */
static void test_deep_stacks(void **state)
{
	const pid_t pid = start_deep();
	struct uft_owned own = { 1 << 16, 4096 };
	uint8_t hit = 0;
	struct task_search look = { .pid = pid, .own = &own, .nown = 1 };
	struct stopped_tasks *h;

	(void)state;
	assert_int_equal(tasks_find_inside(&look), 1);
	look.hit = &hit;
	assert_int_equal(stop_all_tasks(&look, STOP_MS, &h), 0);
	stopped_find_inside(&look, h);
	assert_int_equal(hit, 1);
	resume_all(h);
	kill(pid, SIGKILL);
	assert_int_equal(exit_status(pid), SIGKILL);
}

/*
 * A task that forks sleeps for memory or a lock at times; it is no parent that waits for its vfork child, and can
 * be held.
 */
static void test_fork_is_no_vfork(void **state)
{
	pid_t pid = start_forking();
	struct task_search look = { .pid = pid };
	struct stopped_tasks *h;
	int ret, has_vforks;

	(void)state;
	if (!pid)
		skip();
	ret = stop_all_tasks(&look, STOP_MS, &h);
	has_vforks = stopped_have_vforks(h);
	resume_all(h);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	assert_int_equal(ret, 0);
	assert_int_equal(has_vforks, 0);
}

/* ---- Tasks that are born while the others are asked to stop ---- */

static struct { int make, made, ends; unsigned beats; } *born;	/* shared with the process that makes one */
static pid_t maker;						/* makes it before its next stop */
static struct { pid_t tid; int times; } no_regs;		/* whose registers cannot be read, and how often */
static pid_t not_set, not_interrupted;				/* whose next request of that kind fails */

/* The target goes on between the list of its tasks and the first stop. */
long __real_ptrace(enum __ptrace_request request, ...);
long __wrap_ptrace(enum __ptrace_request request, ...);
long __wrap_ptrace(enum __ptrace_request request, ...)
{
	struct ptrace_args a;
	va_list ap;

	va_start(ap, request);
	a = ptrace_args(ap);
	va_end(ap);
	if (request == PTRACE_INTERRUPT && a.pid == maker) {
		maker = 0;
		__atomic_store_n(&born->make, 1, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&born->made, __ATOMIC_ACQUIRE))
			nap_ms(1);
	}
	if (request == PTRACE_GETREGS && a.pid == no_regs.tid && no_regs.times > 0) {
		no_regs.times--;
		errno = ESRCH;
		return -1;
	}
	if ((request == PTRACE_SETREGS && a.pid == not_set) ||
	    (request == PTRACE_INTERRUPT && a.pid == not_interrupted)) {
		*(request == PTRACE_SETREGS ? &not_set : &not_interrupted) = 0;
		errno = ESRCH;
		return -1;
	}
	return __real_ptrace(request, a.pid, a.addr, a.data);
}

static int beat(void *arg)
{
	while (!__atomic_load_n(&born->ends, __ATOMIC_RELAXED))
		__atomic_add_fetch(&born->beats, 1, __ATOMIC_RELAXED);
	return arg != NULL;
}

/*
 * A process that spins, makes one task when it is told to, a thread or a process that shares its memory, and
 * spins on.
 */
static pid_t start_maker(int flags)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	pid_t pid;

	memset(born, 0, sizeof(*born));
	pid = fork();
	if (pid)
		return pid;
	while (!__atomic_load_n(&born->make, __ATOMIC_ACQUIRE))
		;
	if (clone(beat, stack + sizeof(stack), flags, NULL) < 0)
		_exit(1);
	while (!__atomic_load_n(&born->beats, __ATOMIC_RELAXED))
		;
	__atomic_store_n(&born->made, 1, __ATOMIC_RELEASE);
	for (;;)
		;
}

/* A task that is born while the others are asked to stop is held as well. */
static void hold_newborn(int flags)
{
	pid_t pid = start_maker(flags);
	struct task_search look = { .pid = pid };
	struct stopped_tasks *h;
	unsigned before, after;
	int ret;

	maker = pid;
	ret = stop_all_tasks(&look, STOP_MS, &h);
	before = __atomic_load_n(&born->beats, __ATOMIC_RELAXED);
	nap_ms(20);
	after = __atomic_load_n(&born->beats, __ATOMIC_RELAXED);
	resume_all(h);
	__atomic_store_n(&born->ends, 1, __ATOMIC_RELAXED);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	assert_int_equal(ret, 0);
	assert_int_equal(maker, 0);
	assert_true(before > 0);
	assert_int_equal(before, after);
}

static void test_newborn_thread(void **state)
{
	(void)state;
	hold_newborn(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		     CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID);
}

static void test_newborn_process(void **state)
{
	(void)state;
	hold_newborn(CLONE_VM | SIGCHLD);
}

static pid_t start_idle(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

/* Is it found inside of @own, if its registers cannot be read the first @times? */
static int is_inside_without_regs(pid_t pid, struct uft_owned own, int times)
{
	uint8_t hit = 0;
	struct task_search look = { .pid = pid, .own = &own, .nown = 1, .hit = &hit };
	struct stopped_tasks *h;

	no_regs.tid = pid;
	no_regs.times = times;
	assert_int_equal(stop_all_tasks(&look, STOP_MS, &h), 0);
	stopped_find_inside(&look, h);
	no_regs.times = 0;
	resume_all(h);
	return hit;
}

/* A task that stands may be anywhere as long as its registers are not known: its code is not changed. */
static void test_stands_without_regs(void **state)
{
	const struct uft_owned everywhere = { 0, UINT64_MAX >> 1 }, nowhere = { 1 << 16, 4096 };
	pid_t pid = fork();

	(void)state;
	if (!pid)
		for (;;)
			;
	assert_int_equal(is_inside_without_regs(pid, nowhere, 0), 0);
	assert_int_equal(is_inside_without_regs(pid, nowhere, 1), 0);
	assert_int_equal(is_inside_without_regs(pid, everywhere, 1), 1);
	assert_int_equal(is_inside_without_regs(pid, nowhere, 1000), 1);
	kill(pid, SIGKILL);
	assert_int_equal(exit_status(pid), SIGKILL);
}

static uint64_t turns_of(pid_t pid)
{
	unsigned long long turns = 0;
	char text[96];

	return proc_read_file(pid, "schedstat", text, sizeof(text)) > 0 && sscanf(text, "%*u %*u %llu", &turns) == 1 ?
		turns : 0;
}

static int waits_for_cpu(pid_t pid, uint64_t turns)
{
	struct task_search look = { .pid = pid, .inside = pid, .turns = turns };

	return task_waits_for_cpu(&look);
}

/* A task that could run has not had a turn since; one that sleeps, or has had one, does not wait. */
static void test_waits_for_cpu(void **state)
{
	struct asleep a;
	pid_t idle, busy;
	uint64_t end = now_ns() + STOP_MS * 1000000ull;
	int waits = 0;

	(void)state;
	if (!turns_of(getpid()))
		skip();
	idle = start_idle();
	busy = fork();
	if (!busy)
		for (;;)
			;
	while (!waits && now_ns() < end)		/* it may get a turn just then */
		waits = waits_for_cpu(busy, turns_of(busy));
	assert_true(waits);
	assert_false(waits_for_cpu(busy, turns_of(busy) + 1000000));
	while (task_read_asleep(idle, idle, &a) <= 0 && now_ns() < end)
		nap_ms(1);
	assert_false(waits_for_cpu(idle, turns_of(idle)));
	kill(busy, SIGKILL);
	kill(idle, SIGKILL);
	waitpid(busy, NULL, 0);
	waitpid(idle, NULL, 0);
}

/* resume_all() returns how long the tasks were stopped. */
static void test_time_is_told(void **state)
{
	pid_t pid = start_idle();
	struct task_search look = { .pid = pid };
	uint64_t begin = now_ns(), stood, took;
	struct stopped_tasks *h;
	int ret;

	(void)state;
	ret = stop_all_tasks(&look, STOP_MS, &h);
	if (!ret)
		nap_ms(20);
	stood = resume_all(h);
	took = now_ns() - begin;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	assert_int_equal(ret, 0);
	assert_true(stood >= 20000000 && stood <= took);
}

static int sleep_for_good(void *unused)
{
	(void)unused;
	for (;;)
		syscall(SYS_pause);
	return 0;
}

/* A target names its agent in memory that it can write: a task of others is not opened. */
static void test_agent_is_proved(void **state)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t stranger = fork(), sharer;
	int fd;

	(void)state;
	if (!stranger)
		sleep_for_good(NULL);
	sharer = clone(sleep_for_good, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	assert_true(stranger > 0 && sharer > 0);
	assert_int_equal(task_open_agent(getpid(), stranger), -EPERM);
	assert_int_equal(task_open_agent(stranger, sharer), -EPERM);
	assert_int_equal(task_open_agent(stranger, getpid()), -ESRCH);
	assert_int_equal(task_open_agent(getpid(), 0), -ESRCH);
	fd = task_open_agent(getpid(), sharer);
	assert_true(fd >= 0);
	close(fd);
	kill(sharer, SIGKILL);
	waitpid(sharer, NULL, 0);
	kill(stranger, SIGKILL);
	waitid(P_PID, (id_t)stranger, NULL, WEXITED | WNOWAIT);
	fd = task_open_agent(getpid(), stranger);	/* it has ended: nothing can be done to it */
	assert_true(fd >= 0);
	close(fd);
	waitpid(stranger, NULL, 0);
}

/* ---- Calls that fail ---- */

#define NO_TASK	(1 << 23)	/* above all that the kernel gives */

static int lacks_memory;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
	return lacks_memory ? NULL : __real_malloc(n);
}

/* Without memory the list of late tasks takes no more of them, and keeps those that it has. */
static void test_late_without_memory(void **state)
{
	int room = 0;

	(void)state;
	lacks_memory = 1;
	while (late_task_add(NO_TASK + room), task_is_late(NO_TASK + room))
		room++;
	lacks_memory = 0;
	assert_true(room > 0);
	for (int i = 0; i < 5 * room; i++)
		late_task_add(NO_TASK + i);
	for (int i = 0; i < 5 * room; i++)
		assert_int_equal(late_task_take(NO_TASK + i), 1);
	assert_int_equal(tasks_reap_late(), 0);
}

static void reap_all_late(void)
{
	for (int ms = 0; ms < STOP_MS && tasks_reap_late(); ms += 10)
		nap_ms(10);
	assert_int_equal(tasks_reap_late(), 0);
}

static int is_said(void *arg, pid_t tid)
{
	(void)tid;
	return *(int *)arg;
}

/* A task is killed only if it can be seized and is the right one; if not, it runs on without a tracer. */
static void test_end_of_task(void **state)
{
	pid_t pid = start_idle();
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), yes = 1, no = 0;

	(void)state;
	assert_true(pidfd >= 0);
	assert_int_equal(task_end(getpid(), pidfd, is_said, &yes), -EPERM);
	assert_int_equal(task_end(pid, pidfd, is_said, &no), -ESRCH);
	reap_all_late();
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	assert_int_equal(proc_status_number(pid, "TracerPid", 10), 0);
	not_interrupted = pid;
	assert_int_equal(task_end(pid, pidfd, is_said, &yes), 0);
	assert_int_equal(not_interrupted, 0);
	assert_int_equal(exit_status(pid), SIGKILL);
	assert_int_equal(tasks_reap_late(), 0);
	close(pidfd);
}

#define COPY	64

static uint64_t copy_of(void *arg, uint32_t range, uint64_t pc)
{
	++*(int *)arg;
	return range == 1 ? pc + COPY : 0;
}

/* One stop in which a task is moved out of @own, if it can be. Returns whether it is inside afterwards. */
static int is_inside_after_move(pid_t pid, const struct uft_owned *own, int *asked)
{
	uint8_t hit = 0;
	struct task_search look = { .pid = pid, .own = own, .nown = 1, .hit = &hit, .copy_of = copy_of, .arg = asked };
	struct stopped_tasks *h;

	*asked = 0;
	assert_int_equal(stop_all_tasks(&look, STOP_MS, &h), 0);
	stopped_find_inside(&look, h);
	resume_all(h);
	return hit;
}

/* A task whose registers cannot be set stays where it is, and counts as inside. */
static void test_move_fails(void **state)
{
	static const uint8_t loop[] = { 0xf0, 0xff, 0x07, 0xeb, 0xfb };		/* 1: lock incl (%rdi); jmp 1b */
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct uft_owned own = { (uintptr_t)code, COPY };
	int asked;
	pid_t pid;

	(void)state;
	assert_true(code != MAP_FAILED);
	memcpy(code, loop, sizeof(loop));
	memcpy(code + COPY, loop, sizeof(loop));
	memset(born, 0, sizeof(*born));
	pid = fork();
	if (!pid)
		((void (*)(unsigned *))(uintptr_t)code)(&born->beats);
	while (!__atomic_load_n(&born->beats, __ATOMIC_RELAXED))
		nap_ms(1);
	not_set = pid;
	assert_int_equal(is_inside_after_move(pid, &own, &asked), 1);
	assert_int_equal(asked, 1);
	assert_int_equal(not_set, 0);
	assert_int_equal(is_inside_after_move(pid, &own, &asked), 0);
	assert_int_equal(asked, 1);		/* it was still there */
	assert_int_equal(is_inside_after_move(pid, &own, &asked), 0);
	assert_int_equal(asked, 0);
	kill(pid, SIGKILL);
	assert_int_equal(exit_status(pid), SIGKILL);
	munmap(code, 4096);
}

static int be_traced(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	__atomic_store_n(&born->made, 1, __ATOMIC_RELEASE);
	return sleep_on(arg);
}

/* Where one of the tasks has another tracer, those that were seized before it run on. */
static void test_refused_after_seize(void **state)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	struct task_search look = { 0 };
	struct stopped_tasks *h;
	unsigned beats;

	(void)state;
	memset(born, 0, sizeof(*born));
	look.pid = fork();
	if (!look.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (clone(be_traced, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) < 0)
			_exit(1);
		for (;;)
			__atomic_add_fetch(&born->beats, 1, __ATOMIC_RELAXED);
	}
	while (!__atomic_load_n(&born->made, __ATOMIC_ACQUIRE))
		nap_ms(1);
	assert_int_equal(stop_all_tasks(&look, STOP_MS, &h), -EPERM);
	resume_all(h);
	reap_all_late();
	assert_int_equal(proc_status_number(look.pid, "TracerPid", 10), 0);
	beats = __atomic_load_n(&born->beats, __ATOMIC_RELAXED);
	for (int ms = 0; ms < STOP_MS && __atomic_load_n(&born->beats, __ATOMIC_RELAXED) == beats; ms += 10)
		nap_ms(10);
	assert_true(__atomic_load_n(&born->beats, __ATOMIC_RELAXED) != beats);
	kill(look.pid, SIGKILL);
	assert_int_equal(exit_status(look.pid), SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_agent_is_proved),
		cmocka_unit_test(test_reaped), cmocka_unit_test(test_tried_again),
		cmocka_unit_test(test_status_is_kept), cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_fork_is_no_vfork),
		cmocka_unit_test(test_stands_without_regs), cmocka_unit_test(test_newborn_thread),
		cmocka_unit_test(test_newborn_process),
		cmocka_unit_test(test_waits_for_cpu), cmocka_unit_test(test_time_is_told),
		cmocka_unit_test(test_late_without_memory), cmocka_unit_test(test_end_of_task),
		cmocka_unit_test(test_move_fails), cmocka_unit_test(test_refused_after_seize) };
	pid_t pid;

	born = mmap(NULL, sizeof(*born), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (born == MAP_FAILED)
		return 1;
	pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0) {
		kill(pid, SIGKILL);
		print_message("SKIP: ptrace is not permitted\n");
		return 77;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
