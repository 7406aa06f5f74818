/* SPDX-License-Identifier: MIT */
/*
 * dump_on_oops.c - write the buffer as text to standard error: func:dump, func:cpudump, ftrace_dump_on_oops
 *
 * The kernel prints to its console; here the text goes to the standard error of the process that has the
 * tree. The form is the kernel's, with times from the first event on. Printed events leave the buffer.
 *
 * A crash is the end, by a signal of an error, of the program that the session started (uft shell PROGRAM), or a shell
 * that reports such an end of its last command. The session does not learn how other targets end. The last records of
 * the crashed program are still in its rings.
 */
#include "tree/files/rows.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* ---- ftrace_dump_on_oops --------------------------------------------------------------------- */

enum { ON_OOPS_NOT, ON_OOPS_ALL, ON_OOPS_CPU };

int show_dump_on_oops(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%u\n", at->t->dump_on_oops);
	return 0;
}

/* Takes the values of the kernel's sysctl and of its command line. */
ssize_t store_dump_on_oops(struct uft_handle *h, const char *p, size_t n)
{
	uint64_t value = ON_OOPS_CPU;
	size_t len = n;
	int ret;

	text_strip(&p, &len);
	ret = len == 8 && !memcmp(p, "orig_cpu", len) ? 0 : text_number(p, len, 10, &value);
	if (!ret && value > ON_OOPS_CPU)
		ret = -EINVAL;
	if (!ret && value && !h->t->opts.dump) {
		h->wrong = "The dump goes to standard error, which a server in the background does not have";
		ret = -EINVAL;
	}
	if (!ret)
		h->t->dump_on_oops = (uint32_t)value;
	return ret ? ret : (ssize_t)n;
}

/* Is @status an end by a signal of an error, directly or as a shell reports it (128 + signal)? */
static int is_crash(int status)
{
	static const int of_errors[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : WIFEXITED(status) ? WEXITSTATUS(status) - 128 : 0;

	for (size_t i = 0; i < sizeof(of_errors) / sizeof(of_errors[0]); i++)
		if (sig == of_errors[i])
			return 1;
	return 0;
}

/* The cpu of the last event in the buffer. */
static uint32_t last_cpu(struct instance *in)
{
	struct uft_event ev[64];
	struct uft_stream *st;
	uint32_t cpu = UFT_LIVE_ALL;

	if (uft_live_snapshot(in->live, UFT_LIVE_ALL, &st))
		return cpu;
	for (size_t n; (n = uft_stream_batch(st, ev, 64)); )
		cpu = ev[n - 1].cpu;
	uft_stream_close(st);
	return cpu;
}

void dump_on_end(struct uft_tree *t, int status)
{
	struct instance *top = t->instances;

	if (!t->dump_on_oops || !is_crash(status))
		return;
	tree_pull(t);
	dump_take(top, t->dump_on_oops == ON_OOPS_CPU ? last_cpu(top) : UFT_LIVE_ALL, UFT_LIVE_NOW);
}
