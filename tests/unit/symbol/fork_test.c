// SPDX-License-Identifier: MIT
/*
 * fork_test.c - a child that is forked while another thread opens objects opens some itself, as the guard does when it saves a recording
 *
 * The thread is in uft_object_open() most of the time. A child that waited for its lock would be ended by the alarm.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/object.h"

#define FORKS	50
#define WAIT_S	60

static atomic_int is_over;

static void *open_all_the_time(void *path)
{
	while (!is_over) {
		struct uft_object *obj;

		if (!uft_object_open(path, &obj, NULL))
			uft_object_put(obj);
	}
	return NULL;
}

static _Noreturn void child(const char *path)
{
	struct uft_object *obj;
	int ret;

	alarm(WAIT_S);
	uft_object_forked();
	ret = uft_object_open(path, &obj, NULL);
	if (!ret)
		uft_object_put(obj);
	_exit(ret != 0);
}

int main(int argc, char **argv)
{
	int failed = 0, status = 0;
	pthread_t t;

	(void)argc;
	if (pthread_create(&t, NULL, open_all_the_time, argv[0]))
		return 1;
	for (unsigned i = 0; i < FORKS && !failed; i++) {
		pid_t pid = fork();

		if (!pid)
			child(argv[0]);
		failed = waitpid(pid, &status, 0) != pid || status;
		usleep(i * 37);
	}
	is_over = 1;
	pthread_join(t, NULL);
	if (failed)
		printf("a child ended with status %#x\n", (unsigned)status);
	return failed;
}
