/* SPDX-License-Identifier: MIT */
/*
 * target.c - makes events of `app` whose every value its caller says, and writes into control files
 *
 *	fire WORD...		r1,100,alpha: req(1, 100, "alpha"); d: done()
 *	storm COUNT		one req(1, 1, "one"), then, when standard input has a byte, COUNT of req(2, 1, "two"), and another byte ends it
 *	told WORD...		says `ready`, fires when standard input has a byte, says `done`, and ends with the next byte
 *	before FILE TEXT WORD...	fires, and in the next moment writes TEXT into FILE
 *	try FILE TEXT		appends TEXT to FILE: `ok`, or the errno's text
 *	offsets			where req() and done() are in the file, for probes of a kernel
 *
 * The two functions are there for a kernel's probes, the tracepoints in them for us.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CREATE_TRACE_POINTS
#include "events.h"

extern const char __ehdr_start[];

__attribute__((noinline)) void req(int id, unsigned long us, const char *name);
__attribute__((noinline)) void done(int id, unsigned long us, const char *name);

void req(int id, unsigned long us, const char *name)
{
	trace_req(id, us, name);
	__asm__ volatile("" : : "r"(id), "r"(us), "r"(name) : "memory");
}

void done(int id, unsigned long us, const char *name)
{
	trace_done(id, us, name);
	__asm__ volatile("" : : "r"(id), "r"(us), "r"(name) : "memory");
}

static int fire(int n, char **word)
{
	for (int i = 0; i < n; i++) {
		char what, name[32];
		unsigned long us;
		int id;

		if (sscanf(word[i], "%c%d,%lu,%31s", &what, &id, &us, name) != 4)
			return 2;
		(what == 'r' ? req : done)(id, us, name);
	}
	return 0;
}

static int before(const char *file, const char *text, int n, char **word)
{
	int ret = fire(n, word), fd = open(file, O_WRONLY | O_TRUNC);

	return ret || fd < 0 || write(fd, text, strlen(text)) < 0;
}

static int storm(long n)
{
	char byte;

	req(1, 1, "one");
	if (read(0, &byte, 1) != 1)
		return 1;
	for (long i = 0; i < n; i++)
		req(2, 1, "two");
	return printf("done\n") < 0 || fflush(stdout) || read(0, &byte, 1) != 1;
}

static int told(int n, char **word)
{
	char byte;

	if (puts("ready") < 0 || fflush(stdout) || read(0, &byte, 1) != 1 || fire(n, word))
		return 1;
	return puts("done") < 0 || fflush(stdout) || read(0, &byte, 1) != 1;
}

static int try(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_APPEND);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	printf("> %s '%s'\n%s\n", file, text, n < 0 ? strerror(errno) : "ok");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "fire"))
		return fire(argc - 2, argv + 2);
	if (argc > 1 && !strcmp(argv[1], "told"))
		return told(argc - 2, argv + 2);
	if (argc > 4 && !strcmp(argv[1], "before"))
		return before(argv[2], argv[3], argc - 4, argv + 4);
	if (argc == 3 && !strcmp(argv[1], "storm"))
		return storm(atol(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "try"))
		return try(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], "offsets"))
		return printf("%#lx %#lx\n", (unsigned long)req - (unsigned long)__ehdr_start,
			      (unsigned long)done - (unsigned long)__ehdr_start) < 0;
	return 2;
}
