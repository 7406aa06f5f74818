/* SPDX-License-Identifier: MIT */
/* recordopts.h - the options of uft record and uft attach */
#ifndef UFT_CMD_RECORDOPTS_H
#define UFT_CMD_RECORDOPTS_H

#include "cmd/options.h"
#include "symbol/tracer.h"

/* -e with the -f and -R that follow it; is_not: after -v, the event is left out. */
struct event_ask { const char *word; char *filter; int is_not; struct cmd_list triggers; };
struct event_asks { struct event_ask *v; size_t n; int is_not; };

enum record_clock { RECORD_MONO, RECORD_COUNTER };

struct record_opts {
	int tracer;			/* -1: none was given; after record_opts_check() there is one */
	struct cmd_list filter, notrace, roots, symbols, keep, names, cgroups, options, watch;
	struct event_asks event;
	struct cmd_numbers pids;
	uint32_t max_depth, budget_ppm, max_rate, min_size;
	uint64_t sample_ns, thresh_ns, buffer_bytes, buffer_max;
	int no_children, no_wait, overwrite, watchdog, int3, perf_map, is_quiet, wants_status;
	int preload;
	int clock;			/* enum record_clock */
	int stack, func_stack, has_switches;
	const char *emulator;		/* as given; */
	char **emulator_words;		/* NULL-terminated, NULL: none */
	uint32_t tasks;			/* of event: enum uft_tasks */
	/* of event: words of set_event, `!` in front of what is left out, NULL-terminated; NULL: none */
	char **trace_events;
	const char **event_filters;	/* parallel; of each its filter or NULL */
	uint32_t compress;
	int pack, no_pack;
	uint32_t events;		/* of options: enum uft_events */
	uint64_t *keep_ns;		/* parallel to keep, whose items are cut before the = */
	const char *output;
	uint64_t max_bytes, duration_ns;	/* 0: no limit */
};

extern const struct cmd_syntax cmd_record_syntax, cmd_attach_syntax;

/* Types of fields of these options, for other commands that have some of them */
/* by number; record_opts_begin() fills it from the table of tracers */
extern const char *record_tracer_names[UFT_NTRACERS + 1];
int record_parse_tracer(const struct cmd_option *, const char *, void *field, struct uft_error *);	/* int */
/* struct event_asks, as the next ones */
int record_parse_event(const struct cmd_option *, const char *, void *field, struct uft_error *);
int record_parse_filter(const struct cmd_option *, const char *, void *field, struct uft_error *);
int record_parse_trigger(const struct cmd_option *, const char *, void *field, struct uft_error *);
int record_parse_except(const struct cmd_option *, const char *, void *field, struct uft_error *);

void record_opts_begin(void);	/* before the options are parsed or listed */
/*
 * After parsing: refuses contradictions, splits FUNC=TIME. @program: operands that name programs or processes, and a
 * NULL; -e may name their events by one word. -1 to go on, or an exit status.
 */
int record_opts_check(struct record_opts *o, const struct cmd_syntax *syntax, char *const *program);
int record_split_emulator(struct record_opts *o);	/* splits its COMMAND at blanks. 0: none, or no memory */
int record_opts_has_triggers(const struct record_opts *o);
void record_opts_free(struct record_opts *o);

/* A usage error for a word that is no option of the trace (tree/files/trace_options.c); names similar options. */
int cmd_no_trace_option(const struct cmd_syntax *syntax, const char *word);

#endif
