/* SPDX-License-Identifier: MIT */
/*
 * signal_in_entry.c [FRAMES] - threads that rest, or are always to be found, between the first instructions of functions
 *
 * faults() reads through a null pointer by its second instruction, at entry + 2; the handler of that (on a stack of its own)
 * waits until standard input ends, and sends the pointer to a true one: then the instruction is done again. FRAMES signals
 * more are handled on top of it. Four threads run nop() and stores() all the time, whose first bytes are as many
 * instructions, and check what comes out. work() is there to be rewritten whatever the others do.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION(name, body) \
	__asm__(".text\n.balign 16\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body \
		"ret\n.cfi_endproc\n.size " #name ", .-" #name "\n.balign 16\n")

FUNCTION(faults,
	 "push %rbx\n.cfi_adjust_cfa_offset 8\nnop\nmov (%rdi), %rax\nadd $1, %rax\npop %rbx\n.cfi_adjust_cfa_offset -8\n");
FUNCTION(nops, "nop\nnop\nnop\nnop\nmov %rdi, %rax\nadd $3, %rax\n");
FUNCTION(stores, "push %rbx\n.cfi_adjust_cfa_offset 8\nmov %edi, %ebx\nlea 1(%rbx,%rbx), %rax\npop %rbx\n"
	".cfi_adjust_cfa_offset -8\n");

long faults(const long *p), nops(long n), stores(long n);

static volatile int is_over, depth;
static int frames, ready_fd[2];
static long good = 41;

__attribute__((noinline)) long work(long n)
{
	__asm__ volatile("" : "+r"(n));
	return 5 * n + 2;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	char byte;

	(void)info;
	if (depth++ < frames)
		raise(SIGUSR1);
	else if (write(ready_fd[1], "r", 1) == 1)
		while (read(0, &byte, 1) > 0)
			;
	if (sig == SIGSEGV)
		u->uc_mcontext.gregs[REG_RDI] = (long)&good;
}

static void *stand(void *arg)
{
	static char stack[128 << 10];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };

	if (arg)
		sigaltstack(&ss, NULL);
	return (void *)faults(NULL);
}

static void *spin(void *arg)
{
	long bad = 0;

	for (long n = 0; !is_over; n = (n + 1) & 0xffff) {
		bad += nops(n) != n + 3 || stores(n) != 2 * n + 1 || work(n) != 5 * n + 2;
		if (n % 64 == 0)
			usleep(2000);
	}
	return arg ? (void *)bad : NULL;
}

int main(int argc, char **argv)
{
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	pthread_t standing, spinning[4];
	long bad = 0;
	void *out;
	char byte;

	frames = argc > 1 ? atoi(argv[1]) : 0;
	if (pipe(ready_fd) || sigaction(SIGSEGV, &a, NULL) || sigaction(SIGUSR1, &a, NULL))
		return 2;
	for (int i = 0; i < 4; i++)
		pthread_create(&spinning[i], NULL, spin, &good);
	pthread_create(&standing, NULL, stand, argc > 2 ? argv[2] : NULL);
	if (read(ready_fd[0], &byte, 1) != 1)
		return 3;
	puts("ready");
	fflush(stdout);
	pthread_join(standing, &out);
	is_over = 1;
	for (int i = 0; i < 4; i++) {
		void *one;

		pthread_join(spinning[i], &one);
		bad += (long)one;
	}
	printf("%ld %ld\n", (long)out, bad);
	return (long)out != 42 || bad;
}
