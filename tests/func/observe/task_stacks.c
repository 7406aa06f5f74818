/* SPDX-License-Identifier: MIT */
/* task_stacks.c - makes and ends tasks in functions that stacks are looked for by */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAME	__attribute__((noinline, noclone))

static volatile int depth;	/* so that no call is a function's last */

static FRAME void last_words(void)
{
	_exit(3);
}

static void (*volatile last_call)(void) = last_words;	/* the compiler knows not that it never returns */

static FRAME void end(pid_t pid, int sig)
{
	if (sig)
		kill(pid, sig);
	waitpid(pid, NULL, 0);
	depth--;
}

static FRAME void born_child(void)
{
	pid_t pid = fork();

	if (!pid)
		last_call();
	end(pid, 0);
	depth--;
}

static FRAME void born_killed(void)
{
	pid_t pid = fork();

	while (!pid)
		pause();
	end(pid, SIGKILL);
	depth--;
}

static FRAME void born_by_vfork(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	end(pid, 0);
	depth--;
}

/* No wrapper of libc makes this one, and the runtime's hook is another. */
static FRAME void born_by_number(void)
{
#ifdef SYS_fork
	pid_t pid = (pid_t)syscall(SYS_fork);
#else
	pid_t pid = fork();
#endif

	if (!pid)
		_exit(0);
	end(pid, 0);
	depth--;
}

static void *run(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	return arg;
}

static FRAME void born_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
	depth--;
}

static FRAME void born_program(void)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	end(pid, 0);
	depth--;
}

static FRAME void leave(void)
{
	_exit(0);
}

int main(void)
{
	born_child();
	born_killed();
	born_by_vfork();
	born_by_number();
	born_thread();
	born_program();
	leave();
	return depth;
}
