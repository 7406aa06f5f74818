/* SPDX-License-Identifier: MIT */
/*
 * counted.c - fires req(key, sum, "x") in ways that are hard to count, and says how often it did: `KEY TIMES SUM` a line
 *
 *	threads THREADS TIMES	each thread TIMES, of eight keys by turns
 *	handler TIMES		TIMES of key 1, interrupted by a signal handler that fires keys 1 and 2
 *	children TIMES		TIMES in the parent, in three children, which end in different ways, and in a child of one
 *	after TIMES		TIMES, then as children
 *	exec TIMES		TIMES, then as often in the same program, executed anew
 *	die TIMES		TIMES, then SIGKILL
 *	wait TIMES		TIMES, says so, and waits for a byte on standard input
 *	keys KEYS		each of so many keys once
 *	texts TIMES		TIMES with texts of 0, 1, 8, 63 and 64 bytes by turns; long TIMES: of 65 and of 300, a thousand times more slowly
 *	lie TIMES		TIMES, says so; with each byte on standard input it spoils the maps in its slice in another way, and says so
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE_TRACE_POINTS
#include "events.h"

static long times;
static volatile long interrupted;

static void *fire(void *arg)
{
	(void)arg;
	for (long i = 0; i < times; i++)
		trace_req((int)(i % 8), (unsigned long)i, "x");
	return NULL;
}

static int threads(long n)
{
	pthread_t thread[16];

	if (n > 16)
		return 2;
	for (long i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, fire, NULL))
			return 1;
	for (long i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static void interrupt(int sig)
{
	(void)sig;
	trace_req(1, 1, "x");
	trace_req(2, 1, "x");
	interrupted++;
}

static int handler(void)
{
	const struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, interrupt);
	setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; i < times || interrupted < 100; i++) {
		trace_req(1, 1, "x");
		if (i >= times)
			times++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("1 %ld %ld\n2 %ld %ld\n", times + interrupted, times + interrupted, interrupted, interrupted);
	return 0;
}

static int children(void)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			fire(NULL);
			if (i == 1 && fork() == 0) {
				fire(NULL);
				_exit(0);
			}
			while (wait(NULL) > 0)
				;
			if (i == 2)
				raise(SIGKILL);
			_exit(0);
		}
	fire(NULL);
	while (wait(NULL) > 0)
		;
	return 0;
}

static void texts(int is_long)
{
	static const int bytes[] = { 0, 1, 8, 63, 64, 65, 300 };
	char text[301];

	for (long i = 0; i < times; i++) {
		int n = bytes[is_long ? 5 + i % 2 : i % 5];

		memset(text, 'a' + (int)(i / 5 % 3), (size_t)n);
		text[n] = 0;
		trace_req((int)(i % 2), 1, text);
		if (is_long)
			usleep(1000);
	}
}

/* The maps lie at the end of the slice, in the only file that the session shares with this process for writing. */
static uint32_t *find_maps(size_t *words)
{
	const size_t bytes = 32u << 20;
	unsigned long from, to, at = 0;
	char line[512], how[8];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, how) == 3 && !strcmp(how, "rw-s") &&
		    strstr(line, "/session.") && strstr(line, ".f"))
			at = to - bytes;
	if (f)
		fclose(f);
	*words = at ? 16384 : 0;	/* of the first map; what is behind it has no memory */
	return (uint32_t *)at;
}

static int lie(void)
{
	static const uint32_t word[] = { 0, UINT32_MAX, 1, 2048, 2049, 1u << 31 };
	size_t n, elements = 6 + 2 * 4096;
	uint32_t *maps = find_maps(&n);
	char byte;

	for (size_t way = 0; n; way++) {
		if (printf("%zu\n", way) < 0 || fflush(stdout) || read(0, &byte, 1) != 1)
			return 1;
		if (byte == 'e')
			return 0;
		for (size_t i = way ? 0 : elements; i < n; i++)	/* at first only what the elements hold */
			maps[i] = word[way < 2 ? way : (i + way) % 6];
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	char byte;

	times = argc > 2 ? atol(argv[argc - 1]) : 0;
	if (!strcmp(how, "threads") && argc == 4)
		return threads(atol(argv[2]));
	if (!strcmp(how, "handler"))
		return handler();
	if (!strcmp(how, "after"))
		fire(NULL);
	if (!strcmp(how, "after") || !strcmp(how, "children"))
		return children();
	if (!strcmp(how, "texts") || !strcmp(how, "long"))
		texts(*how == 'l');
	else if (!strcmp(how, "keys"))
		for (int i = 0; i < times; i++)
			trace_req(i, 1, "x");
	else
		fire(NULL);
	if (!strcmp(how, "exec"))
		return execl(argv[0], argv[0], "fire", argv[2], (char *)NULL);
	if (!strcmp(how, "die"))
		raise(SIGKILL);
	if (!strcmp(how, "lie"))
		return lie();
	if (!strcmp(how, "wait"))
		return puts("done") < 0 || fflush(stdout) || read(0, &byte, 1) != 1;
	return 0;
}
