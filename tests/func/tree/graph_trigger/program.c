/* SPDX-License-Identifier: MIT */
/*
 * program.c WORD... - does one word after the other, in its main thread if the word does not say otherwise
 *
 *	b1, e1		events web:begin, web:end of id 1
 *	work		work(), which calls leaf()
 *	inside1		inside(1): fires web:end of id 1, then calls leaf()
 *	thread, child, vchild	another thread, a fork child, a vfork child calls other(); it is waited for
 *	handler		a signal handler calls other()
 *	ender		a signal handler fires web:end
 *	spawn1		a thread fires web:begin of id 1 and calls work()
 *	/PATH/UFT	executes it with the argument show
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE_TRACE_POINTS
#include "requests.h"

#define CALL __attribute__((noinline))

static volatile int calls;

CALL static void leaf(void)
{
	calls++;
}

CALL static void work(void)
{
	leaf();
	calls++;
}

CALL static void other(void)
{
	calls++;
}

CALL static void inside(int id)
{
	trace_end(id);
	leaf();
	calls++;
}

static void *run_other(void *arg)
{
	other();
	return arg;
}

static void *run_work(void *arg)
{
	trace_begin((int)(long)arg);
	work();
	return NULL;
}

static void on_usr1(int sig)
{
	(void)sig;
	other();
}

static void on_usr2(int sig)
{
	trace_end(sig);
}

static void in_thread(void *(*run)(void *), long arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)arg))
		exit(3);
	pthread_join(thread, NULL);
}

static void in_child(int is_vfork)
{
	pid_t pid = is_vfork ? vfork() : fork();

	if (!pid) {
		other();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void run_word(const char *word)
{
	if (!strcmp(word, "work"))
		work();
	else if (!strncmp(word, "inside", 6))
		inside(atoi(word + 6));
	else if (!strcmp(word, "thread"))
		in_thread(run_other, 0);
	else if (!strncmp(word, "spawn", 5))
		in_thread(run_work, atoi(word + 5));
	else if (!strcmp(word, "child") || !strcmp(word, "vchild"))
		in_child(*word == 'v');
	else if (!strcmp(word, "handler"))
		raise(SIGUSR1);
	else if (!strcmp(word, "ender"))
		raise(SIGUSR2);
	else if (*word == '/')
		execl(word, word, "show", NULL);
	else if (*word == 'b')
		trace_begin(atoi(word + 1));
	else
		trace_end(atoi(word + 1));
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, on_usr1);
	signal(SIGUSR2, on_usr2);
	for (int i = 1; i < argc; i++)
		run_word(argv[i]);
	return 0;
}
