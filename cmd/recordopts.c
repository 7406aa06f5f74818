// SPDX-License-Identifier: MIT
/* recordopts.c - the options of uft record and uft attach; see recordopts.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/list_events.h"
#include "cmd/recordopts.h"
#include "control/session.h"
#include "include/uft/abi.h"
#include "symbol/array.h"
#include "symbol/event_filter.h"
#include "symbol/event_type.h"
#include "symbol/host.h"
#include "symbol/tracer.h"
#include "tree/tree.h"

/* by number; record_opts_begin() fills it from the table of tracers */
const char *record_tracer_names[UFT_NTRACERS + 1];
static const char *const clock_names[] = { "mono", "counter", NULL };	/* enum record_clock */

#define SAMPLE_NS_MIN	100000u		/* the kernel's tracer's */
#define MAX_SIZE_MIN	(2ull << 20)	/* leaves room for names of functions */
#define MAX_OPTIONS	96			/* more than there are words in trace_options */

/* Names -P if the text is a number: users of perf give a process to -p. */
int record_parse_tracer(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	if (text[0] && text[strspn(text, "0123456789,")] == '\0')
		return uft_fail(err, -EINVAL,
				"'%s' is no tracer; a process is named by `uft attach %s` or `uft record -P %s`", text,
				text, text);
	return cmd_choice(o, text, field, err);
}

int record_parse_event(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct event_asks *asks = field;

	if (!*text)
		return uft_fail(err, -EINVAL, "%s is empty", o->arg);
	if (array_resize(asks->v, asks->n + 1))
		return uft_fail(err, -ENOMEM, "out of memory");
	asks->v[asks->n++] = (struct event_ask){ .word = strcmp(text, "all") ? text : "*", .is_not = asks->is_not };
	return 0;
}

/* Sets the filter of the last event; a second filter narrows the first. */
int record_parse_filter(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct event_asks *asks = field;
	struct event_ask *last = asks->n ? &asks->v[asks->n - 1] : NULL;
	char *both;

	if (!last)
		return uft_fail(err, -EINVAL, "it belongs behind the -e EVENT that it filters");
	if (!*text)
		return uft_fail(err, -EINVAL, "%s is empty", o->arg);
	if ((last->filter ? asprintf(&both, "(%s) && (%s)", last->filter, text) : asprintf(&both, "%s", text)) < 0)
		return uft_fail(err, -ENOMEM, "out of memory");
	free(last->filter);
	last->filter = both;
	return 0;
}

/* Adds a trigger to the last event, also to one that is left out: its trigger acts without a recorded event. */
int record_parse_trigger(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct event_asks *asks = field;

	if (!asks->n)
		return uft_fail(err, -EINVAL, "it belongs behind the -e EVENT that it is a trigger of");
	if (!*text)
		return uft_fail(err, -EINVAL, "%s is empty", o->arg);
	return cmd_strings(o, text, &asks->v[asks->n - 1].triggers, err);
}

int record_parse_except(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct event_asks *asks = field;

	(void)o, (void)text, (void)err;
	asks->is_not = 1;
	return 0;
}

#define F(field) offsetof(struct record_opts, field)
static const struct cmd_option record_options[] = {
	{ "tracer", 'p', "TRACER", "what to record (default function_graph); uft-record(1) describes each",
		record_parse_tracer, F(tracer), record_tracer_names },
	{ "event", 'e', "EVENT",
		"record this event too (without -p: only it): sched:sched_process_exit, sched, a glob, all; may be repeated",
		record_parse_event,
	  F(event), NULL },
	{ "trigger", 'R', "TRIGGER",
		"@record what the events of the -e in front of it do: 'traceoff if id == 7', 'hist:keys=id'; may be repeated",
	  record_parse_trigger, F(event), NULL },
	{ "event-filter", 'f', "FILTER",
		"record only events of the -e in front of it that pass: 'len > 100 && comm ~ \"a*\"'",
		record_parse_filter, F(event), NULL },
	{ "except", 'v', NULL, "leave out the events of each -e that follows", record_parse_except, F(event), NULL },
	CMD_FILTER(F(filter)),
	CMD_NOTRACE(F(notrace)),
	CMD_GRAPH(F(roots)),
	{ "pid", 'P', "PID", "@record record these running processes (1200,1204), while PROGRAM runs, if there is one",
	  cmd_numbers, F(pids), NULL },
	{ "pid", 'P', "PID", "@attach record only these threads: 1200,1204-1209", cmd_numbers, F(pids), NULL },
	{ "name", 0, "NAME", "record the running processes of this name; may be repeated", cmd_strings, F(names),
		NULL },
	{ "cgroup", 0, "PATH", "record the processes of a control group and the groups below it; may be repeated",
		cmd_strings, F(cgroups),
	  NULL },
	{ "max-depth", 'D', "N", "function_graph: record no calls nested deeper than N", cmd_uint, F(max_depth), NULL },
	{ "max-graph-depth", 0, "N", "the same", cmd_uint, F(max_depth), NULL },
	{ "func-stack", 0, NULL, "function: record a stack trace with each event", cmd_flag, F(func_stack), NULL },
	{ "stacktrace", 'T', NULL,
		"kmemtrace, blk, sysprof, events of the program (-e): record a stack trace with each event; preemptoff, wakeup ...: one at the end",
		cmd_flag, F(stack), NULL },
	{ "sched-switch", 0, NULL, "function, function_graph: record also when threads get and leave a CPU", cmd_flag,
		F(has_switches), NULL },
	{ "thresh", 0, "US",
		"function_graph: record only calls that take longer than US (or with ns, ms, s); hwlat, osnoise: shortest gap that counts",
	  cmd_time_us, F(thresh_ns), NULL },
	{ "tracing-thresh", 0, "US", "the same", cmd_time_us, F(thresh_ns), NULL },
	{ "sample-period", 0, "US", "sysprof: CPU time between two samples of a thread (default 1ms, at least 100us)",
		cmd_time_us, F(sample_ns), NULL },
	{ "watch", 0, "MEMORY", "mmiotrace: watch NAME|ADDRESS[,BYTES][:w] (w: only writes); may be repeated",
		cmd_strings, F(watch), NULL },
	{ "option", 'O', "NAME",
		"function_graph: set an option of trace_options: funcgraph-retval, funcgraph-args, nosleep-time; "
	  "may be repeated", cmd_strings, F(options), NULL },
	{ "clock", 'C', "CLOCK",
		"function, function_graph: mono (default), or counter: the order of each thread's events and no times, which costs less",
		cmd_choice, F(clock), clock_names },
	{ "budget", 0, "PERCENT", "drop the hottest small functions until tracing costs at most this share of the CPU time: 5%",
	  cmd_percent, F(budget_ppm), NULL },
	{ "max-rate", 0, "N", "drop the hottest small functions until a process has no more than N events a second",
		cmd_uint,
	  F(max_rate), NULL },
	{ "min-size", 0, "BYTES", "do not trace functions smaller than BYTES", cmd_uint, F(min_size), NULL },
	{ "symbols", 0, "FILE",
		"take the program's names from FILE, in the format of nm; or OBJECT=FILE; may be repeated",
	  cmd_strings, F(symbols), NULL },
	{ "keep-slow", 0, "FUNC=TIME",
		"function_graph: trace only these functions and what they call, and keep a call only if it took "
	  "TIME (10ms) or longer; may be repeated", cmd_strings, F(keep), NULL },
	CMD_WATCHDOG(F(watchdog)),
	CMD_INT3(F(int3)),
	{ "perf-map", 0, NULL, "write names for uft's code to /tmp/perf-PID.map, for perf", cmd_flag, F(perf_map),
	  NULL },
	{ "preload", 0, NULL, "@record load the runtime by LD_PRELOAD instead of ptrace", cmd_flag, F(preload), NULL },
	{ "emulator", 0, "COMMAND", "@record the same, and run PROGRAM by COMMAND: 'qemu-aarch64 -L /usr/aarch64-linux-gnu'",
		cmd_string,
	  F(emulator), NULL },
	{ "no-children", 0, NULL, "do not follow fork and exec", cmd_flag, F(no_children), NULL },
	{ "no-wait", 0, NULL, "@record end with PROGRAM, and restore the processes that it leaves running", cmd_flag,
		F(no_wait), NULL },
	{ "buffer", 'b', "KB", "size of one CPU's ring (also with M, G)", cmd_kb, F(buffer_bytes), NULL },
	{ "buffer-max", 0, "KB", "let a ring grow to this size while uft is late (default 128M; with -b, rings do not grow)", cmd_kb,
		F(buffer_max), NULL },
	{ "flight", 0, NULL, "when a ring is full, overwrite its oldest events", cmd_flag, F(overwrite), NULL },
	{ "overwrite", 0, NULL, "the same", cmd_flag, F(overwrite), NULL },
	{ "compress", 'z', "LEVEL", "compress the file with zstd, 1 to 19", cmd_uint, F(compress), NULL },
	{ "pack", 0, NULL, "pack calls while recording, also where no CPU is idle (as uft pack does afterwards)", cmd_flag,
		F(pack), NULL },
	{ "no-pack", 0, NULL, "pack nothing", cmd_flag, F(no_pack), NULL },
	{ "output", 'o', "FILE",
		"write to FILE (default " CMD_DEFAULT_FILE "); a name ending in .dat makes a trace.dat", cmd_string,
	  F(output), NULL },
	{ "max-size", 0, "KB",
		"stop recording when the file has reached this size (also with M, G); the program goes on", cmd_kb,
		F(max_bytes), NULL },
	{ "duration", 0, "TIME", "stop recording after TIME seconds (also with ms, min); the program goes on",
		cmd_time_s, F(duration_ns), NULL },
	{ "status", 0, NULL, "show the status line even when the program writes to the same terminal", cmd_flag,
	  F(wants_status), NULL },
	{ "quiet", 'q', NULL, "print no status line and no summary", cmd_flag, F(is_quiet), NULL },
	{ 0 }
};
#undef F

const struct cmd_syntax cmd_record_syntax = {
	"record",
	"[OPTIONS] [--] PROGRAM [ARGUMENTS]\n       uft record [OPTIONS] -P PID|--name NAME|--cgroup PATH [[--] PROGRAM [ARGUMENTS]]",
	"Run PROGRAM and record the function calls of it and its children.",
	record_options, 1
};

const struct cmd_syntax cmd_attach_syntax = {
	"attach", "[OPTIONS] PID|NAME|CGROUP...",
	"Record the function calls of running processes, and of the children they make from now on, until Ctrl-C.",
	record_options, 0
};

void record_opts_begin(void)
{
	for (uint32_t i = 0; i < UFT_NTRACERS; i++)
		record_tracer_names[i] = uft_tracer_name(i);
}

/* Splits FUNC=TIME; a pattern may contain a =, as operator= does. 0, or an exit status. */
static int split_keep(struct record_opts *o, const struct cmd_syntax *syntax)
{
	const struct cmd_option *time = record_options;
	struct uft_error err = { "" };

	o->keep_ns = calloc(o->keep.n + 1, sizeof(*o->keep_ns));
	for (size_t i = 0; o->keep_ns && i < o->keep.n; i++) {
		char *item = strdup(o->keep.item[i]), *equals = item ? strrchr(item, '=') : NULL;

		if (!item)
			return cmd_fail(syntax->name, "out of memory");
		o->keep.item[i] = item;		/* for the life of the program, as arguments are */
		if (!equals || equals == item)
			return cmd_usage(syntax, "--keep-slow: '%s' is not FUNC=TIME, like handle_request=10ms", item);
		*equals = '\0';
		if (cmd_time_us(time, equals + 1, &o->keep_ns[i], &err) < 0)
			return cmd_usage(syntax, "--keep-slow: %s", err.text);
	}
	return o->keep_ns ? -1 : cmd_fail(syntax->name, "out of memory");
}

int cmd_no_trace_option(const struct cmd_syntax *syntax, const char *word)
{
	const char *names[MAX_OPTIONS];
	char near[256];

	cmd_near(strncmp(word, "no", 2) ? word : word + 2, names, uft_tree_options(names, MAX_OPTIONS), near,
		 sizeof(near));
	return cmd_usage(syntax, "--option: there is no option '%s'%s", word, near);
}

/* Does the tracer have the feature @what? enum uft_tracer_takes. */
static int takes(const struct record_opts *o, uint32_t what)
{
	return (uft_tracer((uint32_t)o->tracer)->takes & what) != 0;
}

/* -1 to go on. */
static int take_options(struct record_opts *o, const struct cmd_syntax *syntax)
{
	uint32_t text = 0;

	if (o->options.n && !takes(o, UFT_TAKES_EVENTS))
		return cmd_usage(syntax, "--option is for the tracers function_graph and profile, not for %s",
				 uft_tracer_name((uint32_t)o->tracer));
	for (size_t i = 0; i < o->options.n; i++) {
		int kinds = uft_tree_option(o->options.item[i], &text, &o->events);

		if (!kinds)
			return cmd_no_trace_option(syntax, o->options.item[i]);
		if (strstr(o->options.item[i], "stack"))
			return cmd_usage(syntax,
					 "--option: '%s': stacks are recorded with --func-stack (function) or --stacktrace "
					 "(kmemtrace, blk, sysprof)", o->options.item[i]);
		if (kinds & UFT_OPTION_OTHER)
			return cmd_usage(syntax, "--option: '%s' is for the tracing directory (man uft-shell)",
					 o->options.item[i]);
		if (!(kinds & UFT_OPTION_EVENTS))
			return cmd_usage(syntax, "--option: '%s' changes the text only: give it to uft report",
					 o->options.item[i]);
	}
	if (o->events && o->keep.n)
		return cmd_usage(syntax, "--keep-slow records names and times only: not with --option");
	return -1;
}

/* For hosts where uft cannot enter a running program: refuses attach and options that need it. -1 to go on. */
static int check_host(const struct record_opts *o, const struct cmd_syntax *syntax)
{
	if (syntax == &cmd_attach_syntax)
		return cmd_fail("attach", "uft traces running programs on x86-64 only, not on " HOST_NAME
				": start the program here with `uft record PROGRAM`");
	if (o->watchdog || o->int3)
		return cmd_fail("record", "%s works on x86-64 only, not on " HOST_NAME ": record without it",
				o->int3 ? "--int3" : "--watchdog");
	if (o->func_stack || o->stack)
		return cmd_fail("record",
				"%s: uft records stacks on x86-64 only, not on " HOST_NAME
				": use function_graph to see callers",
				o->func_stack ? "--func-stack" : "--stacktrace");
	return -1;
}

/* Refuses options that need ptrace, or this machine's clock. -1 to go on. */
static int check_preload(const struct record_opts *o, const struct cmd_syntax *syntax)
{
	const char *how = o->emulator ? "--emulator" : "--preload";

	if (syntax == &cmd_attach_syntax)
		return cmd_usage(syntax, "%s is for programs that are started", how);
	if (o->emulator && uft_tracer_kind((uint32_t)o->tracer) == UFT_KIND_OWN)
		return cmd_usage(syntax, "%s goes by this machine's clock: not with --emulator",
				 uft_tracer_name((uint32_t)o->tracer));
	if (o->emulator && o->has_switches)
		return cmd_usage(syntax, "--sched-switch goes by this machine's clock: not with --emulator");
	if (o->watchdog || o->int3)
		return cmd_usage(syntax, "%s needs ptrace: not with %s", o->int3 ? "--int3" : "--watchdog", how);
	if (o->emulator && (o->func_stack || o->stack))
		return cmd_usage(syntax, "%s: uft records stacks on x86-64 only, not with --emulator",
				 o->func_stack ? "--func-stack" : "--stacktrace");
	return -1;
}

int record_split_emulator(struct record_opts *o)
{
	char *text = strdup(o->emulator), *word;
	size_t n = 0;

	o->emulator_words = text ? calloc(strlen(text) / 2 + 2, sizeof(*o->emulator_words)) : NULL;
	for (word = o->emulator_words ? strtok(text, " \t") : NULL; word; word = strtok(NULL, " \t"))
		o->emulator_words[n++] = word;		/* for the life of the program, as arguments are */
	return n > 0;
}

static int check_opts(const struct record_opts *o, const struct cmd_syntax *syntax)
{
	int has_thresh = o->thresh_ns && !takes(o, UFT_TAKES_GAP);

	if (!takes(o, UFT_TAKES_FILTER) && (o->filter.n || o->notrace.n || o->min_size))
		return cmd_usage(syntax, "%s is for tracers of functions, not for %s", o->filter.n ? "--filter" :
				 o->notrace.n ? "--notrace" :
				 "--min-size", uft_tracer_name((uint32_t)o->tracer));
	if (o->no_wait && syntax == &cmd_attach_syntax)
		return cmd_usage(syntax, "--no-wait is for programs that are started");
	if (o->has_switches && !takes(o, UFT_TAKES_SWITCHES))
		return cmd_usage(syntax, "--sched-switch is for the tracers function and function_graph, not for %s%s",
				 uft_tracer_name((uint32_t)o->tracer),
				 o->tracer == UFT_TRACER_SCHED_SWITCH ? ", which is that" : "");
	if (o->sample_ns && !takes(o, UFT_TAKES_PERIOD))
		return cmd_usage(syntax, "--sample-period is for the tracer sysprof, not for %s",
				 uft_tracer_name((uint32_t)o->tracer));
	if ((o->watch.n != 0) != takes(o, UFT_TAKES_MEMORY))
		return o->watch.n ? cmd_usage(syntax, "--watch is for the tracer mmiotrace, not for %s",
					      uft_tracer_name((uint32_t)o->tracer)) :
				    cmd_usage(syntax,
					      "mmiotrace needs memory to watch: --watch NAME, or --watch ADDRESS,BYTES");
	if (o->sample_ns && o->sample_ns < SAMPLE_NS_MIN)
		return cmd_usage(syntax, "--sample-period: less than 100us between two samples is not possible");
	if (!takes(o, UFT_TAKES_LIMITS) && (o->max_depth || has_thresh || o->roots.n || o->keep.n))
		return cmd_usage(syntax, "%s is for the tracer function_graph, not for %s",
				 o->max_depth ? "--max-depth" : has_thresh ? "--thresh" : o->roots.n ? "--graph" :
				 "--keep-slow",
				 uft_tracer_name((uint32_t)o->tracer));
	/* Both count records: the cost of calls that are not recorded is not known. */
	if ((o->budget_ppm || o->max_rate) &&
	    (o->thresh_ns || o->keep.n || !takes(o, UFT_TAKES_BUDGET)))
		return cmd_usage(syntax, "%s is for the tracers function and function_graph, without --thresh "
				 "and --keep-slow", o->budget_ppm ? "--budget" : "--max-rate");
	if (o->clock == RECORD_COUNTER &&
	    (o->thresh_ns || o->keep.n || o->budget_ppm || o->max_rate || o->has_switches ||
	     !takes(o, UFT_TAKES_BUDGET)))
		return cmd_usage(syntax, "--clock counter is for the tracers function and function_graph, without --thresh, "
				 "--keep-slow, --budget, --max-rate and --sched-switch");
	if (o->func_stack && !takes(o, UFT_TAKES_FUNC_STACK))
		return cmd_usage(syntax, "--func-stack is for the tracer function, not for %s",
				 uft_tracer_name((uint32_t)o->tracer));
	if (o->stack && !takes(o, UFT_TAKES_EVENT_STACK) && !o->event.n)
		return cmd_usage(syntax,
				 "--stacktrace is for kmemtrace, blk, sysprof, the tracers of latencies and events (-e), not for %s%s",
				 uft_tracer_name((uint32_t)o->tracer),
				 takes(o, UFT_TAKES_FUNC_STACK) ? " (--func-stack is)" : "");
	if (o->thresh_ns && o->keep.n)
		return cmd_usage(syntax, "--keep-slow and --thresh exclude each other");
	if (o->pack && o->no_pack)
		return cmd_usage(syntax, "--pack and --no-pack exclude each other");
	if (o->compress > 19)
		return cmd_usage(syntax, "--compress: %u is not a level from 1 to 19", o->compress);
	if (o->max_bytes && o->max_bytes < MAX_SIZE_MIN)
		return cmd_usage(syntax, "--max-size: %llu KB is too small: at least 2M",
				 (unsigned long long)(o->max_bytes >> 10));
	if (o->buffer_bytes > 1ull << 31)
		return cmd_usage(syntax, "--buffer: 2 GB is the largest ring of a CPU");
	if (o->buffer_max > 1ull << 31)
		return cmd_usage(syntax, "--buffer-max: 2 GB is the largest ring of a CPU");
	if (o->buffer_max && o->buffer_max < o->buffer_bytes)
		return cmd_usage(syntax, "--buffer-max: %llu KB is less than --buffer",
				 (unsigned long long)(o->buffer_max >> 10));
	if (o->buffer_max && o->overwrite)
		return cmd_usage(syntax, "--buffer-max: with --flight rings keep their size");
	return -1;
}

/* Is @word's system one of the kernel's, without events of programs? */
static int is_of_kernel(const struct uft_event_table *types, const char *word)
{
	size_t n = strcspn(word, ":");

	for (uint32_t k = 0; k < uft_event_table_count(types); k++) {
		const char *system = uft_event_table_at(types, k)->system;

		if (strlen(system) == n && !memcmp(system, word, n))
			return 1;
	}
	return 0;
}

/* Does one of the programs, or a library of it, declare an event that the word means? */
static int is_declared(const char *word, const struct cmd_syntax *syntax, char *const *program)
{
	struct uft_event_table *types = uft_event_table_new();
	struct uft_error err;
	int is_found = 0;

	for (size_t i = 0; types && program[i]; i++)
		cmd_add_events((char *)syntax->name, types, program[i], &err);
	for (uint32_t k = types ? UFT_NBUILTINS : 0; k < uft_event_table_count(types) && !is_found; k++)
		is_found = uft_event_matches(word, strlen(word), uft_event_table_at(types, k));
	uft_event_table_put(types);
	return is_found;
}

/* Takes one -e; refuses a wrong filter of a known type. -1 to go on. */
static int take_event(struct record_opts *o, const struct cmd_syntax *syntax, const struct uft_event_table *types,
		      const struct event_ask *ask, char *const *program)
{
	int is_known = !strcmp(ask->word, "*");

	for (uint32_t k = 0; k < uft_event_table_count(types); k++) {
		const struct uft_event_type *type = uft_event_table_at(types, k);
		struct uft_filter_error err;
		struct uft_program *program;
		int ret;

		if (!uft_event_matches(ask->word, strlen(ask->word), type))
			continue;
		o->tasks = ask->is_not ? o->tasks & ~type->tasks : o->tasks | type->tasks;
		is_known = 1;
		if (!ask->filter)
			continue;
		ret = uft_event_filter_make(type, ask->filter, &program, &err);
		if (ret)
			return cmd_usage(syntax, "--event-filter: %s:%s: %s\n    %s\n    %*s^", type->system,
					 type->name, err.what, ask->filter, (int)err.at, "");
		free(program);
	}
	if (!is_known && (strchr(ask->word, ':') ? is_of_kernel(types, ask->word) :
						   !is_declared(ask->word, syntax, program)))
		return cmd_usage(syntax, "--event: there is no event '%s': uft list -e shows all%s", ask->word,
				 strchr(ask->word, ':') ? "" :
				 "; for a library that the program loads later, write SYSTEM:EVENT or 'SYSTEM:*'");
	return -1;
}

/* -1 to go on. */
static int take_events(struct record_opts *o, const struct cmd_syntax *syntax, char *const *program)
{
	struct uft_event_table *types = uft_event_table_new();
	int done = -1;

	o->trace_events = o->event.n ? calloc(o->event.n + 1, sizeof(*o->trace_events)) : NULL;
	o->event_filters = o->event.n ? calloc(o->event.n + 1, sizeof(*o->event_filters)) : NULL;
	if (!types || (o->event.n && (!o->trace_events || !o->event_filters)))
		done = cmd_fail(syntax->name, "out of memory");
	for (size_t i = 0; i < o->event.n && done < 0; i++) {
		done = take_event(o, syntax, types, &o->event.v[i], program);
		o->event_filters[i] = o->event.v[i].filter;
		if (asprintf(&o->trace_events[i], "%s%s", o->event.v[i].is_not ? "!" : "", o->event.v[i].word) < 0)
			done = cmd_fail(syntax->name, "out of memory");
	}
	uft_event_table_put(types);
	if (done < 0 && o->emulator && o->tasks)
		done = cmd_usage(syntax,
				 "--event: the kernel tells of them by this machine's clock: not with --emulator");
	return done;
}

/* As in trace-cmd: with events and no option about functions, no calls are recorded. */
static void choose_tracer(struct record_opts *o)
{
	int is_of_functions = o->filter.n || o->notrace.n || o->roots.n || o->keep.n || o->max_depth || o->thresh_ns;

	if (o->tracer < 0)
		o->tracer = o->event.n && !is_of_functions ? UFT_TRACER_NOP : UFT_TRACER_GRAPH;
}

int record_opts_check(struct record_opts *o, const struct cmd_syntax *syntax, char *const *program)
{
	int done;

	choose_tracer(o);
	done = check_opts(o, syntax);
	if (done < 0)
		done = take_events(o, syntax, program);
	if (done < 0 && !uft_session_can_attach())
		done = check_host(o, syntax);
	if (done < 0 && (o->preload || o->emulator))
		done = check_preload(o, syntax);
	if (done < 0 && o->emulator && !record_split_emulator(o))
		done = cmd_usage(syntax, "--emulator needs the command of an emulator, like qemu-aarch64");
	if (done < 0)
		done = take_options(o, syntax);
	return done < 0 ? split_keep(o, syntax) : done;
}

int record_opts_has_triggers(const struct record_opts *o)
{
	for (size_t i = 0; i < o->event.n; i++)
		if (o->event.v[i].triggers.n)
			return 1;
	return 0;
}

void record_opts_free(struct record_opts *o)
{
	for (size_t i = 0; i < o->event.n; i++) {
		free(o->event.v[i].filter);
		free(o->event.v[i].triggers.item);
		if (o->trace_events)
			free(o->trace_events[i]);
	}
	free(o->event.v);
	free(o->trace_events);
	free(o->event_filters);
	free(o->filter.item);
	free(o->notrace.item);
	free(o->roots.item);
	free(o->symbols.item);
	free(o->names.item);
	free(o->options.item);
	free(o->cgroups.item);
	free(o->watch.item);
	free(o->keep.item);
	free(o->keep_ns);
	free(o->emulator_words);
	free(o->pids.item);
}
