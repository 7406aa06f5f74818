/* SPDX-License-Identifier: MIT */
/*
 * bitmap.c - a program of many functions is switched over while threads and fork children run through them
 *
 * The first time by lists, from then on by orders of a bit a site, which is seen in the command area: nothing is left for a
 * list, so that the order is the last command.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/func/session/harness.h"

#define NFUNCS	1024u
#define NSWITCHES 60

static struct run run;
static int in = -1, switches, failures;

#define CHECK(c, ...)										\
	do {											\
		if (!(c) && !failures++) {							\
			printf("FAIL %s: ", #c);						\
			printf("" __VA_ARGS__);							\
			printf("\n");								\
		}										\
	} while (0)

/* How the last command of the first target names sites. */
static uint32_t last_form(const struct uft_arena *a)
{
	const char *slice = (const char *)a + a->slice_offset;

	return ((const struct uft_cmd *)(slice + a->cmd_offset))->sites.form;
}

static void switch_over(struct run *r)
{
	/* To GRAPH for the first time it needs stubs. */
	static const uint32_t order[] = { UFT_TRACER_GRAPH, UFT_TRACER_FUNCTION, UFT_TRACER_NOP, UFT_TRACER_GRAPH,
		UFT_TRACER_NOP };
	struct uft_session_stats stats;
	struct uft_error err = { "" };

	for (int i = 0; i < 3 && switches < NSWITCHES; i++, switches++) {
		struct uft_ops op = { .tracer = order[switches % 5] };
		int ret = trace_op(r->session, &op, &err);

		CHECK(!ret, "switch %d: %s", switches, err.text);
		uft_session_stats(r->session, &stats);
		CHECK(stats.armed == (op.tracer == UFT_TRACER_NOP ? 0 : NFUNCS), "switch %d: %llu armed", switches,
		      (unsigned long long)stats.armed);
		CHECK(last_form(uft_session_arena(r->session)) == (switches ? UFT_SITES_KNOWN : UFT_SITES_LIST),
		      "switch %d: form %u", switches, last_form(uft_session_arena(r->session)));
	}
	if (switches == NSWITCHES && in >= 0) {
		close(in);
		in = -1;
	}
}

int main(int argc, char **argv)
{
	static const int never[] = { UFT_CNT_SITE_REFUSED, UFT_CNT_SITE_LIVE, UFT_CNT_SITE_REACH, UFT_CNT_LOST_RETURN,
				    UFT_CNT_REQ_TIMEOUT };
	int pipefd[2];

	(void)argc;
	if (pipe2(pipefd, O_CLOEXEC))
		return 1;
	in = pipefd[1];
	run = (struct run){ .opts = { .ring_bytes = 1 << 18, .overwrite = 1 }, .op = { .tracer = UFT_TRACER_FUNCTION },
			    .tick = switch_over, .input_fd = pipefd[0] };
	run_session(&run, (char *[]){ argv[1], NULL });
	CHECK(!run.launch_result, "%s", run.err.text);
	CHECK(switches == NSWITCHES, "%d switches", switches);
	CHECK(!run.status, "status %x: %s", run.status, run.output);
	for (unsigned i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		CHECK(!run.stats.counters[never[i]], "counter %d: %llu", never[i],
		      (unsigned long long)run.stats.counters[never[i]]);
	return failures != 0;
}
