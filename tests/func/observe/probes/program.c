/* SPDX-License-Identifier: MIT */
/*
 * program.c - [STRESS]: a program's own probes at its tracepoints, and its markers; with an argument, probes that come and go while
 * two threads fire, with data that is gone behind tracepoint_synchronize_unregister()
 */
#define UFT_TRACE_PROBES
#define UFT_CREATE_MARKERS
#include <uft/marker.h>
#define CREATE_TRACE_POINTS
#include "probes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LIVE 0x600dda7au

static void at_number(void *data, int a)
{
	printf("%s%d ", (const char *)data, a);
}

static void at_bare(void *data, int a, const char *b)
{
	printf("%s%d%s ", (const char *)data, a, b);
}

static int bad, fired, is_over;

static void at_number_stress(void *data, int a)
{
	(void)a;
	if (*(volatile unsigned *)data != LIVE)
		__atomic_store_n(&bad, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&fired, 1, __ATOMIC_RELAXED);
}

static void *fire(void *arg)
{
	for (int i = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); i++)
		trace_number(i);
	return arg;
}

static int stress(void)
{
	pthread_t t[2];
	unsigned *data[3];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, fire, NULL))
			return 2;
	for (int round = 0; round < 2000 || !__atomic_load_n(&fired, __ATOMIC_RELAXED); round++) {
		for (int i = 0; i < 3; i++) {
			data[i] = (unsigned *)malloc(sizeof(unsigned));
			*data[i] = LIVE;
			if (register_trace_prio_number(at_number_stress, data[i], i))
				return 3;
		}
		for (int i = 0; i < 3; i++)
			if (unregister_trace_number(at_number_stress, data[i]))
				return 4;
		tracepoint_synchronize_unregister();
		for (int i = 0; i < 3; i++) {
			memset(data[i], 0, sizeof(unsigned));
			free(data[i]);
		}
	}
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return bad;
}

int main(int argc, char **argv)
{
	char a[] = "A", b[] = "B", c[] = "C";

	(void)argv;
	if (argc > 1)
		return stress();
	trace_number(0);
	trace_bare(0, "x");
	printf("off%d%d ", trace_number_enabled() * trace_bare_enabled(), trace_bare_enabled());
	register_trace_number(at_number, a);
	register_trace_prio_number(at_number, b, TRACEPOINT_DEFAULT_PRIO + 1);
	register_trace_number(at_number, c);
	printf("twice%d ", register_trace_number(at_number, a));
	register_trace_bare(at_bare, a);
	trace_number(1);
	trace_bare(1, "x");
	printf("on%d%d ", trace_number_enabled(), trace_bare_enabled());
	UFT_TRACE(number, 7);
	unregister_trace_number(at_number, a);
	printf("gone%d ", unregister_trace_number(at_number, a));
	trace_number(2);
	unregister_trace_number(at_number, b);
	unregister_trace_number(at_number, c);
	unregister_trace_bare(at_bare, a);
	tracepoint_synchronize_unregister();
	trace_number(3);
	trace_bare(3, "y");
	printf("\n");
	trace_printk("%d left\n", 3);
	trace_puts("here");
	uft_begin("parse");
	uft_counter("queue", -4);
	uft_end();
	return 0;
}
