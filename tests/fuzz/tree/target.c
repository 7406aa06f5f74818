/* SPDX-License-Identifier: MIT */
/*
 * target.c SECONDS PROGRAM [SEED] - what is written into the files of the tracing directory: random, huge, binary, split
 *
 * A program waits as a target, two threads read, and one writer opens a file, writes in one or several pieces, and closes it.
 * A write that is refused leaves all files as they were; none returns more than it got, or nothing of something. Numbers of
 * processes are such as nobody has: the others on this machine are not to be attached to.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tree/tree.h"

static struct uft_tree *tree;
static uint64_t seed = 1;
static atomic_int is_over;
static char what[400];			/* that is being done, for who looks at a failure */

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 24) % below;
}

__attribute__((noreturn)) static void fail(const char *why)
{
	fprintf(stderr, "fuzz-tree: %s: %s\n", what, why);
	_exit(1);
}

/* ---- What the files say ---------------------------------------------------------------------- */

static const char *const unsteady[] = {	/* by themselves, or not made of settings */
	"trace", "trace_pipe", "error_log", "kallsyms", "snapshot", "saved_cmdlines", "saved_tgids", "available_filter",
	"enabled_functions",
	"touched_functions", "README", "dyn_ftrace",
};

/* A file of the row: an instance's CPU 0, an option, the system and an event of it. */
static void fill_path(const struct uft_tree_row *row, char *path)
{
	static const char *const option[] = { "raw", "overwrite", "print-parent", "funcgraph-tail", "latency-format" };
	const int is_event = !strncmp(row->path, "events/", 7);
	int nth = 0;

	for (const char *p = row->path; *p; p++)
		if (*p != '%')
			*path++ = *p;
		else if (is_event)
			path = stpcpy(path, nth++ ? "sched_process_exit" : "sched");
		else
			path = stpcpy(path, strncmp(row->path, "options", 7) ? "0" :
				      option[rnd(sizeof(option) / sizeof(option[0]))]);
	*path = '\0';
}

static int is_steady(const struct uft_tree_row *row)
{
	if (!strncmp(row->path, "events/", 7) && strstr(row->path, "/filter"))
		return 0;	/* a refused filter is shown, with its error */
	if (!S_ISREG(row->mode) || !(row->mode & 0444) || (strchr(row->path, '%') && strncmp(row->path, "events/", 7)))
		return 0;
	if (!strcmp(row->path, "trace_options") || !strcmp(row->path, "trace_clock"))
		return 1;
	for (size_t i = 0; i < sizeof(unsteady) / sizeof(unsteady[0]); i++)
		if (!strncmp(row->path, unsteady[i], strlen(unsteady[i])))
			return 0;
	return 1;
}

static size_t read_file(const char *path, char *to, size_t room)
{
	struct uft_handle *h;
	uft_node node;
	size_t n = 0;
	ssize_t got;

	if (uft_tree_walk(tree, path, &node) || uft_tree_open(tree, node, O_RDONLY | O_NONBLOCK, 0, &h))
		return 0;
	while (n < room && (got = uft_tree_read(h, to + n, room - n, n, O_NONBLOCK)) > 0)
		n += (size_t)got;
	uft_tree_release(h);
	return n;
}

#define STATE	(1u << 20)

/* All that was set. */
static size_t state_of(char *to)
{
	const struct uft_tree_row *row;
	char path[128];
	size_t n = 0;

	for (size_t i = 0; (row = uft_tree_table(i)); i++)
		if (is_steady(row)) {
			fill_path(row, path);
			n += (size_t)snprintf(to + n, STATE - n, "%s:\n", path);
			n += read_file(path, to + n, STATE - n);
		}
	return n;
}

static void *read_on(void *arg)
{
	static const char *const path[] = {
		"trace", "trace_pipe", "error_log", "per_cpu/cpu0/stats", "set_ftrace_filter", "README"
	};
	char *buf = malloc(65536);

	(void)arg;
	for (unsigned i = 0; !is_over; i++)
		read_file(path[i % (sizeof(path) / sizeof(path[0]))], buf, 65536);
	free(buf);
	return NULL;
}

/* ---- What is written ------------------------------------------------------------------------- */

#define HUGE	300000u

static size_t random_bytes(char *to)
{
	size_t n = 1 + rnd(200);

	for (size_t i = 0; i < n; i++)
		to[i] = (char)rnd(256);
	for (size_t i = 0; i < n; i++)		/* no number of a process */
		if (to[i] >= '0' && to[i] <= '9')
			to[i] = '?';
	return n;
}

static size_t words(char *to, size_t limit)
{
	static const char *const word[] = {
		"inner", "outer", "lonely", "main", "nosuch", "*", "in*", "!inner", "!*", ":mod:none.so", "inner:mod:*",
		"[", "[a-", "\\", "!", ":mod:",
		"inner:traceoff:3", "inner:snapshot", "*:snapshot:2", "outer:stacktrace", "*:stacktrace:2",
		"!*:snapshot", "outer:dump", "!*:dump", "lonely:cpudump:", "inner:enable_event:a:b:3",
		"*:disable_event:sched:sched_process_fork", "!*:enable_event:sched:sched_process_exit:0",
		"!*:disable_event:sched:sched_process_fork",
		"orig_cpu", "function", "function_graph", "nop", "0", "1", "2", "4194305", "999999999", "4294967296",
		"18446744073709551616",
		"sched:sched_process_exit", "!sched_process_fork", "sched:", ":*_e*", "!*:*",
		"inner:enable_event:sched:sched_process_exit:2", "-1", "0x10", "print-parent", "nooverwrite",
		"overwrite", "nonono", "local", "boot", "latency-format", "#", "raw", "noraw",
	};
	static const char *const gap[] = { " ", "\n", "\t", "  \n", "", "\n\n" };
	size_t n = 0;

	while (n + 64 < limit) {
		const char *w = word[rnd(sizeof(word) / sizeof(word[0]))], *g = gap[rnd(sizeof(gap) / sizeof(gap[0]))];

		n += (size_t)sprintf(to + n, "%s%s", w, g);
		if (limit <= 4096 && !rnd(3))
			break;
	}
	return n;
}

/* For set_ftrace_pid: numbers that are nobody's, and what is none. 0 and 1 of the words above must not get there. */
static size_t nobodies(char *to)
{
	static const char *const word[] = {
		"4194305 ", "999999999\n", "4294967296", "abc", "-1 ", " ", "5000000 5000001 5000002 ",
		"\t\n",	    "2147483648"
	};
	size_t n = 0;

	do
		n += (size_t)sprintf(to + n, "%s", word[rnd(sizeof(word) / sizeof(word[0]))]);
	while (rnd(4) && n < 1000);
	return n;
}

/* For the filters of events: what could be one, and what nearly is. */
static size_t filter(char *to)
{
	static const char *const word[] = {
		"pid", "comm", "filename", "child_pid", "prio", "common_pid", "CPU", "COMM", "nosuch", "==", "!=", "~",
		"<", "<=", ">", ">=", "&", "&&", "||", "!", "(", ")",
		"1", "-1", "0x7f", "99999999999999999999", "\"a*\"", "'sh'", "\"", "CPUS{0-3,5}", "CPUS{", "CPUS{4096}",
		".ustring", "none", "0",
	};
	static const char *const whole[] = { "pid == 1", "(pid > 3 && prio != 120) || comm ~ \"a*\"", "!(pid == 3)",
		"CPU & CPUS{0}", "0" };
	size_t n = 0, limit = rnd(8) ? 100 : 4200;

	if (!rnd(3))
		return (size_t)sprintf(to, "%s", whole[rnd(sizeof(whole) / sizeof(whole[0]))]);
	if (!rnd(6)) {
		memset(to, rnd(2) ? '(' : '!', limit);
		n = limit;
	}
	do
		n += (size_t)sprintf(to + n, "%s%s", word[rnd(sizeof(word) / sizeof(word[0]))], rnd(4) ? " " : "");
	while (n < limit && rnd(12));
	return n;
}

static size_t make(const struct uft_tree_row *row, char *to)
{
	if (strstr(row->path, "/filter") && rnd(4))
		return filter(to);
	if (strstr(row->path, "_pid"))
		return rnd(3) ? nobodies(to) : random_bytes(to);
	switch (rnd(8)) {
	case 0: return random_bytes(to);
	case 1: return words(to, rnd(4) ? 5000 : HUGE);
	case 2: memset(to, 'a', 5000); return 5000;
	case 3: return (size_t)sprintf(to, "%llu\n", (unsigned long long)rnd(UINT64_MAX));
	default: return words(to, 200);
	}
}

static void write_all(struct uft_handle *h, const char *p, size_t n)
{
	static char before[STATE], after[STATE];
	size_t held = state_of(before);

	while (n) {
		size_t piece = rnd(2) ? n : 1 + rnd(n);
		ssize_t ret = uft_tree_write(h, p, piece);

		if (ret > (ssize_t)piece || !ret)
			fail("a write took more than it got, or nothing");
		if (ret < 0) {
			size_t now = state_of(after);

			if (now != held || memcmp(before, after, now)) {
				fprintf(stderr, "before:\n%.*s\nafter:\n%.*s\n", (int)held, before, (int)now, after);
				fail("a refused write changed something");
			}
			return;
		}
		p += ret;
		n -= (size_t)ret;
		held = n ? state_of(before) : 0;
	}
}

static void drop(void *arg, const char *p, size_t n)
{
	(void)arg, (void)p, (void)n;
}

static int is_writable(const struct uft_tree_row *row)
{
	return S_ISREG(row->mode) && row->mode & 0222;
}

/* One file: opened, written, closed. */
static void step(const struct uft_tree_row *row)
{
	static const int how[] = { O_TRUNC, O_APPEND, 0 };
	static char data[HUGE + 64];
	struct uft_handle *h;
	size_t n = make(row, data);
	char path[128];
	uft_node node;
	int flags = how[rnd(3)];

	fill_path(row, path);
	snprintf(what, sizeof(what), "%s%s %zu bytes '%.200s'", path, flags == O_TRUNC ? " >" : " >>", n, data);
	if (uft_tree_walk(tree, path, &node) || uft_tree_open(tree, node, O_WRONLY | flags, 0, &h))
		fail("no such file");
	write_all(h, data, n);
	uft_tree_release(h);
}

int main(int argc, char **argv)
{
	struct uft_tree_opts opts = { .buffer_kb = 64, .dump = drop };
	const struct uft_tree_row *row[200];
	struct uft_error err = { "" };
	size_t nrows = 0, steps = 0;
	pthread_t reader[2];
	int hold[2];
	time_t end;
	pid_t pid;

	if (argc < 3)
		return 2;
	seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	if (pipe(hold) || dup2(hold[0], 0) < 0 || fcntl(hold[1], F_SETFD, FD_CLOEXEC))
		return 1;
	if (uft_tree_create(&opts, &tree, &err) || uft_tree_launch(tree, (char *[]){ argv[2], "1", "wait", NULL }, &pid,
		&err)) {
		fprintf(stderr, "fuzz-tree: %s\n", err.text);
		return 1;
	}
	for (size_t i = 0; uft_tree_table(i) && nrows < 200; i++)
		if (is_writable(uft_tree_table(i)))
			row[nrows++] = uft_tree_table(i);
	for (int i = 0; i < 2; i++)
		pthread_create(&reader[i], NULL, read_on, NULL);
	for (end = time(NULL) + atoi(argv[1]); time(NULL) < end || steps < 20; steps++)	/* on a loaded machine, too */
		step(row[rnd(nrows)]);
	is_over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(reader[i], NULL);
	close(hold[1]);
	if (write(1, "", 0) || uft_tree_wait(tree, 20000))
		fail("the program did not end as it should");
	uft_tree_destroy(tree);
	printf("%zu files opened and written, %zu of the table\n", steps, nrows);
	return 0;
}
