/* SPDX-License-Identifier: MIT */
/*
 * accessed.c WHAT - reads and writes variables of its own in known ways
 *
 *	count	in two threads beside the first, in a child, and in another program; prints how often it read and wrote `watched`
 *	kinds	by one instruction of each kind, in the order of the test's table
 *	other	(what the child becomes)
 *	wait	writes where `watched` is, waits for a line, calls error() three times and writes `watched` twice
 *	spin	writes it for ever
 *	chain N	writes `watched` and all of `bytes`, and executes itself with N - 1, until that is 0
 *	probe	does the kernel count accesses here at all? 0, 1
 */
#include <error.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

volatile uint64_t watched __attribute__((aligned(8)));
volatile uint8_t bytes[16] __attribute__((aligned(16)));
volatile char large[100] __attribute__((aligned(8)));
__thread volatile int own;
void *volatile way __attribute__((aligned(8)));

static void *worker(void *arg)
{
	for (int i = 0; i < 100; i++)
		watched = 1000 * (uintptr_t)arg + (uintptr_t)i;
	return NULL;
}

static int count(char *self)
{
	pthread_t thread[2];
	uint64_t sum = 0;
	pid_t child;
	int status;

	for (uint64_t i = 0; i < 50; i++)
		watched = i;
	for (int i = 0; i < 30; i++)
		sum += watched;
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, worker, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	child = fork();
	if (child == 0) {
		for (uint64_t i = 0; i < 20; i++)
			watched = 5000 + i;
		execl(self, self, "other", NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	/* 49 is what it holds when it is read */
	printf("%d %d\n", sum == 30 * 49 && status == 0 ? 30 : -1, 50 + 2 * 100 + 20 + 10);
	return 0;
}

static int kinds(void)
{
	uint64_t a = 0x1122334455667788, b = 3;

	bytes[15] = 1;			/* there is nobody yet who watches: none of the table's */
	__asm__ volatile("movq %0, watched(%%rip)" : : "r" (a) : "memory");
	__asm__ volatile("movl $0x1234, watched(%%rip)" : : : "memory");
	__asm__ volatile("movb %h0, watched(%%rip)" : : "a" (0xab00) : "memory");
	__asm__ volatile("movw %w0, 2+watched(%%rip)" : : "r" (0xbeef) : "memory");
	__asm__ volatile("movzbl watched(%%rip), %k0" : "=r" (b) : : "memory");
	__asm__ volatile("movsbq watched(%%rip), %0" : "=r" (b) : : "memory");
	__asm__ volatile("movq (%0), %0" : "=r" (b) : "0" (&watched) : "memory");
	b = 7;
	__asm__ volatile("xchgq %0, watched(%%rip)" : "+r" (b) : : "memory");
	__asm__ volatile("incq watched(%%rip)" : : : "memory");
	b = 2;
	__asm__ volatile("lock xaddq %0, watched(%%rip)" : "+r" (b) : : "memory");
	__asm__ volatile("cmpq $3, watched(%%rip)" : : : "memory");
	__asm__ volatile("lock cmpxchgq %0, watched(%%rip)" : : "r" (b), "a" (1ull) : "memory");
	__asm__ volatile("movdqu watched(%%rip), %%xmm0" : : : "xmm0", "memory");
	__asm__ volatile("movq %0, 4+bytes(%%rip)" : : "r" (a) : "memory");	/* of two registers of the CPU */
	__asm__ volatile("rep stosb" : : "D" (&watched), "c" (1ull), "a" (5) : "memory");
	/* Where it leads the instruction in front is another. */
	__asm__ volatile("leaq 1f(%%rip), %0; movq %0, way(%%rip); jmp *way(%%rip); movl %k0, 8+bytes(%%rip); 1: nop" :
			 "=r" (b) : : "memory");
	return 0;
}

static int chain(char *self, int n)
{
	char next[16];

	watched = 7000 + (uint64_t)n;
	for (int i = 0; i < 16; i += 8)
		*(volatile uint64_t *)(void *)&bytes[i] = 1;
	way = self;
	if (!n)
		return 0;
	snprintf(next, sizeof(next), "%d", n - 1);
	execl(self, self, "chain", next, NULL);
	return 1;
}

/* A debug register that the machine does not give to its guest is taken and never trips. */
static int probe(void)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(a), .bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&watched, .bp_len = 8,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	uint64_t n = 0;

	for (int i = 0; i < 10; i++)
		watched = 1;
	return fd < 0 || read(fd, &n, sizeof(n)) != sizeof(n) || n != 10;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char line[8];

	if (!strcmp(what, "count"))
		return count(argv[0]);
	if (!strcmp(what, "probe"))
		return probe();
	if (!strcmp(what, "kinds"))
		return kinds();
	if (!strcmp(what, "other")) {
		for (uint64_t i = 0; i < 10; i++)
			watched = 6000 + i;
		return 0;
	}
	if (!strcmp(what, "chain"))
		return chain(argv[0], argc > 2 ? atoi(argv[2]) : 0);
	if (!strcmp(what, "spin"))
		for (;; usleep(1000))
			watched++;
	if (strcmp(what, "wait"))
		return 2;
	printf("%p\n", (void *)&watched);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 3; i++)
		error(0, 0, "told");
	watched = 21;
	watched = 22;
	return 0;
}
