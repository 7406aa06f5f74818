/* SPDX-License-Identifier: MIT */
/*
 * stack_walk.c - for unwinders.py: for each byte that it reads the same nested calls, at whose end it
 *
 *	b	walks the stack with backtrace()
 *	g	waits for another byte
 *	p	uses CPU time
 */
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile long sink;

static void say(const char *text, size_t n)
{
	if (write(1, text, n) != (ssize_t)n)
		exit(1);
}

__attribute__((noinline, noclone)) static void spin(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 2;

	while (clock() < end)
		for (int i = 0; i < 1000000; i++)
			sink++;
}

__attribute__((noinline, noclone)) static void walk(void)
{
	void *frames[50];

	backtrace_symbols_fd(frames, backtrace(frames, 50), 1);
	sink++;
}

__attribute__((noinline, noclone)) static void stand(void)
{
	char c;

	say("here\n", 5);
	if (read(0, &c, 1) != 1)
		exit(1);
	sink++;
}

__attribute__((noinline, noclone)) static void inner(char what)
{
	if (what == 'p')
		spin();
	else if (what == 'b')
		walk();
	else
		stand();
	sink++;
}

__attribute__((noinline, noclone)) static void middle(char what)
{
	inner(what);
	sink++;
}

__attribute__((noinline, noclone)) static void outer(char what)
{
	middle(what);
	sink++;
}

int main(void)
{
	void *one[1];
	char c;

	backtrace(one, 1);		/* loads libgcc */
	say("done\n", 5);
	while (read(0, &c, 1) == 1) {
		outer(c);
		say("done\n", 5);
	}
	say("end\n", 4);
	return 0;
}
