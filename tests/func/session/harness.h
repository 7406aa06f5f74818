/* SPDX-License-Identifier: MIT */
/* harness.h - runs the test program in a session and counts what its rings say, function by function */
#ifndef UFT_TEST_SESSION_HARNESS_H
#define UFT_TEST_SESSION_HARNESS_H

#include "control/session.h"

#define MAX_COUNTS 64
#define MAX_SLICES 16384

struct count {
	char name[64];
	unsigned long func, entry, exit;	/* by record kind */
};

struct run {
	/* in */
	struct uft_session_opts opts;
	struct uft_ops op;
	int input_fd;				/* for its stdin, 0: an empty one */
	void (*tick)(struct run *r);		/* called after each poll */
	void *arg;
	/* out */
	const struct uft_image *slice_image[MAX_SLICES];
	struct uft_session *session;
	int launch_result, status, ticks;
	struct uft_error err;
	char output[65536];			/* its stdout */
	struct count count[MAX_COUNTS];
	int ncount;
	unsigned unpaired;			/* slices begun that had not ended, ended that had not begun */
	unsigned slices_begun, slices_ended, images, tasks, warnings;
	unsigned long exchange_bytes;		/* committed to rings that are not a CPU's */
	unsigned long undecoded, unwound, bad_context;
	/* a shell is traced: its vfork children write to its rings, under their own pids */
	int has_vforks;
	char warning[4096];
	struct uft_session_stats stats;
};

/* uft_session_trace() for these ops alone. */
static inline int trace_op(struct uft_session *s, const struct uft_ops *op, struct uft_error *err)
{
	return uft_session_trace(s, &(struct uft_trace_spec){ .ops = op, .nops = 1 }, err);
}

/* Launches argv and polls until everything ended. 0, or -1 with a message. */
void run_session(struct run *r, char *const argv[]);
const struct count *count_of(const struct run *r, const char *name);

#endif
