// SPDX-License-Identifier: MIT
/* executing.c - a program that executes itself on SIGUSR1, says which image it is, and ends with 7 on SIGTERM */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t asked, is_over;

static void on_signal(int sig)
{
	if (sig == SIGTERM)
		is_over = 1;
	else
		asked = 1;
}

/* With CROSSING a jump at its entry would lie in two blocks of 16 bytes: it is removed while all tasks are stopped. */
#if defined(CROSSING) && defined(__x86_64__)
__asm__(".text\n\t.p2align 4\n\t.skip 13, 0xcc\n\t.type crossing, @function\n"
	"crossing:\n\t.cfi_startproc\n\tmovl $200, %eax\n\tret\n\t.cfi_endproc\n\t.size crossing, .-crossing");
unsigned crossing(void);
#else
__attribute__((noinline)) static unsigned crossing(void)
{
	return 200;
}
#endif

__attribute__((noinline)) void turn(void)
{
	usleep(crossing());
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };
	int i = 0;

	(void)argc;
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	puts(argv[1]);
	fflush(stdout);
	while (!is_over) {
		turn();
		if (asked && i++ == 0)
			execl(argv[0], argv[0], "second", (char *)NULL);
	}
	return 7;
}
