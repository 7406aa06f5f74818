/* SPDX-License-Identifier: MIT */
/* hist_live.h - options of uft hist (hist.c), and live histograms (hist_live.c) */
#ifndef UFT_CMD_HIST_LIVE_H
#define UFT_CMD_HIST_LIVE_H

#include "cmd/options.h"
#include "cmd/targets.h"
#include "output/output.h"

struct hist_ask {
	const char *event, *keys, *values, *sort, *filter;
	uint32_t size;
	struct cmd_list triggers;
};
struct hist_asks { struct hist_ask *v; size_t n; };

/* hist.c: do the short options ask for a histogram? And its text as a trigger; free() it; NULL: no memory. */
int hist_ask_is_short(const struct hist_ask *a);
char *hist_ask_text(const struct hist_ask *a);

struct hist_live {
	const struct hist_asks *asks;
	uint64_t delay_ns;		/* from one drawing to the next */
	int is_once;
	enum uft_form form;		/* of the tables that are printed in the end */
};

/* Attaches to @targets until q, a signal or the end of the last one. Both functions return an exit status. */
int hist_of_processes(const struct hist_live *opts, const struct cmd_targets *targets);
/* The session's histograms of the asks' events; without an ask, of all events. */
int hist_of_session(const struct hist_live *opts, const char *session, const char *instance);

#endif
