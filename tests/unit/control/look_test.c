/* SPDX-License-Identifier: MIT */
/* look_test.c - a task that cannot be stopped in time is not left standing when it stops after all */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "control/internal.h"
#include "control/look.h"

#define SLEEP_MS	1500

static void nap_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* A process that sleeps so that no signal wakes it: for its vfork child, which takes SLEEP_MS. Then it exits with 7. */
static pid_t start_uninterruptible(void)
{
	pid_t pid = fork();

	if (!pid) {
		if (!vfork()) {
			nap_ms(SLEEP_MS);
			_exit(0);
		}
		_exit(7);
	}
	nap_ms(200);
	return pid;
}

/* Its end, without looking at stops: those of a task that we forgot would stay. */
static int exit_status(pid_t pid)
{
	siginfo_t info = { 0 };

	for (int ms = 0; ms < 20000 && !info.si_pid; ms += 10) {
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
	assert_int_equal(look_stop(pid, &sig), -EAGAIN);
	assert_int_equal(look_reap(), 1);
	for (int ms = 0; ms < 20000 && look_reap(); ms += 10)
		nap_ms(10);
	assert_int_equal(look_reap(), 0);
	assert_int_equal(exit_status(pid), 7);
}

static void test_tried_again(void **state)
{
	pid_t pid = start_uninterruptible();
	int sig = 0, ret = look_stop(pid, &sig);

	(void)state;
	assert_int_equal(ret, -EAGAIN);
	for (int i = 0; i < 40 && ret == -EAGAIN; i++)
		ret = look_stop(pid, &sig);
	assert_int_equal(ret, 0);
	assert_int_equal(look_reap(), 0);
	look_go(pid, sig);
	assert_int_equal(exit_status(pid), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_reaped), cmocka_unit_test(test_tried_again) };
	pid_t pid = fork();

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
