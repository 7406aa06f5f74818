/* SPDX-License-Identifier: MIT */
/*
 * options.c - the options of a tree: a row each, in the kernel's order
 *
 * An option that changes nothing yet is not in the list. Options of a tracer have a file always and a line in
 * trace_options only while the tracer is in use.
 */
#include "tree/core/tree_internal.h"

#include <string.h>

static const struct option_row options[] = {
	{ "print-parent", OPT_PRINT_PARENT, 1, 0, UFT_TEXT_PARENT, 0, 0 },
	{ "sym-offset", OPT_SYM_OFFSET, 0, 0, UFT_TEXT_SYM_OFFSET, 0, 0 },
	{ "sym-addr", OPT_SYM_ADDR, 0, 0, UFT_TEXT_SYM_ADDR, 0, 0 },
	{ "verbose", OPT_VERBOSE, 0, 0, UFT_TEXT_VERBOSE, 0, 0 },
	{ "raw", OPT_RAW, 0, 0, UFT_TEXT_RAW, 0, 0 },
	{ "hex", OPT_HEX, 0, 0, UFT_TEXT_HEX, 0, 0 },
	{ "bin", OPT_BIN, 0, 0, UFT_TEXT_BIN, 0, 0 },
	{ "fields", OPT_FIELDS, 0, 0, UFT_TEXT_FIELDS, 0, 0 },
	{ "annotate", OPT_ANNOTATE, 1, 0, UFT_TEXT_ANNOTATE, 0, 0 },
	{ "userstacktrace", OPT_USER_STACK, 0, 0, UFT_TEXT_USER_STACK, 0, 0 },
	{ "sym-userobj", OPT_USEROBJ, 0, 0, UFT_TEXT_USEROBJ, 0, 0 },
	{ "printk-msg-only", OPT_MSG_ONLY, 0, 0, UFT_TEXT_MSG_ONLY, 0, 0 },
	{ "context-info", OPT_CONTEXT_INFO, 1, 0, UFT_TEXT_CONTEXT, 0, 0 },
	{ "latency-format", OPT_LATENCY, 0, 0, UFT_TEXT_LATENCY, 0, 0 },
	{ "record-cmd", OPT_RECORD_CMD, 1, 0, 0, 0, 0 },
	{ "record-tgid", OPT_RECORD_TGID, 0, 0, UFT_TEXT_TGID, 0, 0 },
	{ "overwrite", OPT_OVERWRITE, 1, 0, 0, 0, 0 },
	{ "disable_on_free", OPT_DISABLE_ON_FREE, 0, 0, 0, 0, 0 },
	{ "irq-info", OPT_IRQ_INFO, 1, 0, UFT_TEXT_IRQ_INFO, 0, 0 },
	{ "markers", OPT_MARKERS, 1, 0, 0, 0, 0 },
	{ "event-fork", OPT_EVENT_FORK, 0, 0, 0, 0, 0 },
	{ "pause-on-trace", OPT_PAUSE, 0, 0, 0, 0, 0 },
	{ "function-trace", OPT_FUNC_TRACE, 1, 0, 0, 0, 0 },
	{ "function-fork", OPT_FUNC_FORK, 0, 0, 0, 0, 0 },
	{ "display-graph", OPT_DISPLAY_GRAPH, 0, 0, UFT_TEXT_DISPLAY_GRAPH, 0, 0 },
	{ "stacktrace", OPT_STACK, 0, 0, UFT_TEXT_STACK, 0, 0 },
	{ "func_stack_trace", OPT_FUNC_STACK, 0, UFT_TRACER_FUNCTION, UFT_TEXT_STACK, 0, 0 },
	{ "func-no-repeats", OPT_NO_REPEATS, 0, UFT_TRACER_FUNCTION, UFT_TEXT_NO_REPEATS, 0, 0 },
	{ "funcgraph-overrun", OPT_GRAPH_OVERRUN, 0, UFT_TRACER_GRAPH, UFT_TEXT_OVERRUN, 0, 0 },
	{ "funcgraph-cpu", OPT_GRAPH_CPU, 1, UFT_TRACER_GRAPH, UFT_TEXT_CPU, 0, 0 },
	{ "funcgraph-overhead", OPT_GRAPH_OVERHEAD, 1, UFT_TRACER_GRAPH, UFT_TEXT_OVERHEAD, 0, 0 },
	{ "funcgraph-proc", OPT_GRAPH_PROC, 0, UFT_TRACER_GRAPH, UFT_TEXT_PROC, 0, 0 },
	{ "funcgraph-duration", OPT_GRAPH_DURATION, 1, UFT_TRACER_GRAPH, UFT_TEXT_DURATION, 0, 0 },
	{ "funcgraph-abstime", OPT_GRAPH_ABSTIME, 0, UFT_TRACER_GRAPH, UFT_TEXT_ABSTIME, 0, 0 },
	{ "funcgraph-irqs", OPT_GRAPH_IRQS, 1, UFT_TRACER_GRAPH, 0, 0, UFT_EVENTS_NO_HANDLERS },
	{ "funcgraph-tail", OPT_GRAPH_TAIL, 0, UFT_TRACER_GRAPH, UFT_TEXT_TAIL, 0, 0 },
	{ "funcgraph-retval", OPT_GRAPH_RETVAL, 0, UFT_TRACER_GRAPH, UFT_TEXT_RETVAL, UFT_EVENTS_RESULT, 0 },
	{ "funcgraph-retval-hex", OPT_GRAPH_RETVAL_HEX, 0, UFT_TRACER_GRAPH, UFT_TEXT_RETVAL_HEX, 0, 0 },
	{ "funcgraph-retaddr", OPT_GRAPH_RETADDR, 0, UFT_TRACER_GRAPH, UFT_TEXT_RETADDR, UFT_EVENTS_PARENT, 0 },
	{ "funcgraph-args", OPT_GRAPH_ARGS, 0, UFT_TRACER_GRAPH, UFT_TEXT_ARGS, UFT_EVENTS_ARGS, 0 },
	{ "sleep-time", OPT_SLEEP_TIME, 1, UFT_TRACER_GRAPH, 0, 0, UFT_EVENTS_CPU },
	{ "graph-time", OPT_GRAPH_TIME, 1, UFT_TRACER_GRAPH, 0, 0, UFT_EVENTS_SELF },
};
#define NOPTIONS	(sizeof(options) / sizeof(options[0]))

/* Options of the kernel that have no meaning here: their files say so and refuse writes. */
static const struct { const char *name, *why; } absent[] = {
	{ "hash-ptr", "no address is printed that a process would have to hide from its own user" },
	{ "block", "there is no block layer in a process" },
	{ "blk_classic", "there is no block layer in a process" },
	{ "branch", "likely() and unlikely() are resolved when a program is compiled" },
};
#define NABSENT		(sizeof(absent) / sizeof(absent[0]))

uint64_t option_defaults(void)
{
	uint64_t set = 0;

	for (size_t i = 0; i < NOPTIONS; i++)
		set |= options[i].is_on ? OPT_BIT(options[i].bit) : 0;
	return set;
}

const struct option_row *option_row(uint32_t index)
{
	return index < NOPTIONS ? &options[index] : NULL;
}

const char *option_absent(uint32_t index)
{
	return absent[index - NOPTIONS].why;
}

uint32_t option_count(void)
{
	return NOPTIONS + NABSENT;
}

const char *option_name(uint32_t index)
{
	return index < NOPTIONS ? options[index].name : index < NOPTIONS + NABSENT ? absent[index - NOPTIONS].name : "";
}

int option_is_top(uint32_t index)
{
	return index < NOPTIONS ? options[index].bit == OPT_RECORD_CMD || options[index].bit == OPT_MSG_ONLY :
		!strcmp(option_name(index), "blk_classic");
}

uint32_t option_text_flags(uint64_t set)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < NOPTIONS; i++)
		flags |= set & OPT_BIT(options[i].bit) ? options[i].text : 0;
	return flags;
}

uint32_t option_events(uint64_t set)
{
	uint32_t events = 0;

	for (size_t i = 0; i < NOPTIONS; i++)
		events |= set & OPT_BIT(options[i].bit) ? options[i].events : options[i].events_off;
	return events;
}

static void change(uint32_t *set, uint32_t on, uint32_t off, int is_on)
{
	*set = is_on ? (*set | on) & ~off : (*set & ~on) | off;
}

int uft_tree_option(const char *word, uint32_t *text, uint32_t *events)
{
	int is_on = strncmp(word, "no", 2) != 0, found = 0;

	for (size_t i = 0; i < NOPTIONS; i++) {
		if (strcmp(options[i].name, word + (is_on ? 0 : 2)))
			continue;
		change(text, options[i].text, 0, is_on);
		change(events, options[i].events, options[i].events_off, is_on);
		found = (options[i].text ? UFT_OPTION_TEXT : 0) |
			(options[i].events || options[i].events_off ? UFT_OPTION_EVENTS : 0);
		found = found ? found : UFT_OPTION_OTHER;
	}
	return found;
}

size_t uft_tree_options(const char **names, size_t max)
{
	size_t n = 0;

	for (; n < NOPTIONS && n < max; n++)
		names[n] = options[n].name;
	return n;
}
