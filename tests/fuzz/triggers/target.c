/* SPDX-License-Identifier: MIT */
/*
 * target.c - trigger files of events: any text is refused or becomes a trigger that shows itself, acts on any record, and can be taken out
 *
 * The input is lines, each with a letter in front: `q` writes the rest into the trigger file of the event req, `d` of done, `o` of
 * one that is no tracepoint's, `t` of the first synthetic event; `s` defines one; `f` fires a record of req whose payload is the rest, `g` of
 * done, `k` brings the stack of the event before; `c` empties the file of req, as `>` does. Checked beside what the sanitizers see: a refusal
 * has a place in its text; a file shows a line for each trigger; what targets are told are good rules; and at the end each trigger that is
 * shown goes when it is written with `!`, until nothing is left.
 *
 * Sections: what lies around triggers (the buffer, the session, other instances), writes, events.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree/triggers/event_trigger.h"

#define EVENTS	4u	/* q, d, o, t */

static struct uft_event_table *table;
static struct uft_tree tree;
static struct instance in;
static int is_applied_badly;	/* every other time the session refuses what it is told */
static unsigned applied;

/* ---- What lies around ------------------------------------------------------------------------ */

struct uft_event_table *uft_session_types(const struct uft_session *s)
{
	(void)s;
	return table;
}

const struct uft_arena *uft_session_arena(const struct uft_session *s)	/* it has no targets */
{
	static const struct uft_arena none = { .ncpus = 1, .hist_bytes = 1u << 20 };

	(void)s;
	return &none;
}

int uft_slice_open(const struct uft_session *s, uint32_t slice, struct uft_slice_file *f)
{
	(void)s, (void)slice, (void)f;
	return -ESRCH;
}

void uft_slice_read(const struct uft_slice_file *f, uint64_t offset, void *to, size_t bytes)
{
	(void)f, (void)offset;
	memset(to, 0, bytes);
}

void uft_slice_close(struct uft_slice_file *f)
{
	(void)f;
}

/* What a target would be told has to be rules that it takes. */
int tree_apply(struct instance *at, const struct settings *set, struct uft_error *err)
{
	(void)set, (void)err;
	for (uint32_t i = 0; i < uft_event_table_count(table); i++) {
		size_t n = trigger_put_wants(at, &at->set, i, NULL), ntriggers = 0;
		struct uft_event_want *want = calloc(n + 1, sizeof(*want));

		for (const struct event_trigger *v = event_trigger_first(at->triggers, i); v; v = v->next)
			ntriggers++;
		if (n < ntriggers || n > 2 * ntriggers || trigger_put_wants(at, &at->set, i, want) != n)
			abort();
		for (size_t k = 0; k < n; k++) {
			struct uft_filter_error wrong;
			struct uft_program *p = NULL;

			if (want[k].index != i || (want[k].filter && uft_event_filter_make(uft_event_table_at(table, i),
											   want[k].filter, &p, &wrong)))
				abort();
			free(p);
		}
		free(want);
	}
	return is_applied_badly && ++applied % 2 ? -EBUSY : 0;
}

int trigger_begin(struct instance *at)
{
	if (!at->triggers)
		at->triggers = calloc(1, sizeof(*at->triggers));
	return at->triggers ? 0 : -ENOMEM;
}

static void end_all(void)
{
	if (!in.triggers)
		return;
	event_triggers_free(in.triggers);
	free(in.triggers);
	in.triggers = NULL;
}

void trigger_end(struct instance *at)
{
	if (at->triggers && !at->triggers->nevents)
		end_all();
}

int trigger_act(struct instance *at, unsigned kind, uint32_t cpu, uint64_t clock)
{
	(void)at, (void)cpu;
	return (kind ^ clock) & 1;
}

int trigger_act_event(struct triggers *g, unsigned kind)
{
	(void)g;
	return kind & 1;
}

int trigger_events_on(const struct instance *at, struct uft_event_set *out)
{
	(void)at, (void)out;
	return 0;
}

void trigger_settle(struct instance *at, struct uft_event_set *before)
{
	(void)at, (void)before;
}

int share_switches_graph(const struct instance *at, const struct settings *set)
{
	(void)set;
	return trigger_graph_turn(at) != 0;
}

int event_fork_passes(const struct instance *at, const struct uft_event *e, uint64_t clock)
{
	(void)at, (void)e;
	return (int)clock;
}

int event_pids_want(const struct settings *set, uint32_t pid, uint32_t tid)
{
	(void)set, (void)pid;
	return tid != 3;
}

struct uft_event_tasks event_tasks(const struct settings *set)
{
	(void)set;
	return (struct uft_event_tasks){ 0 };
}

int snapshot_allocate(struct instance *at)
{
	(void)at;
	return 1;
}

void snapshot_free(struct instance *at)
{
	(void)at;
}

void tree_pull(struct uft_tree *t)
{
	(void)t;
}

uint64_t uft_live_missing(struct uft_live *l)
{
	(void)l;
	return 7;
}

void uft_live_show_one(struct uft_live *l, uint64_t clock)
{
	(void)l, (void)clock;
}

int uft_session_check_stacks(struct uft_error *err)
{
	(void)err;
	return 0;
}

int uft_session_emit_open(struct uft_session *s, enum uft_emitter by)
{
	(void)by;
	(void)s;
	return 0;
}

int uft_session_emit(struct uft_session *s, enum uft_emitter by, uint32_t cpu, uint64_t clock, uint32_t pid,
		     uint32_t tid, uint32_t id,
		     const void *payload, size_t bytes)
{
	uint8_t *exact = malloc(bytes + 1);

	(void)s, (void)by, (void)cpu, (void)clock, (void)pid, (void)tid, (void)id;
	memcpy(exact, payload, bytes);
	free(exact);
	return 0;
}

static int find_clock(const char *name)
{
	return !strcmp(name, "mono") ? 1 : !strcmp(name, "local") ? 0 : -1;
}

/* ---- Writes ---------------------------------------------------------------------------------- */

static const struct uft_event_type *type_of(char letter)
{
	const char *name = letter == 'q' || letter == 'f' ? "req" : letter == 'd' || letter == 'g' ? "done" : "own";

	if (letter == 't')
		return tree.synths.first ? tree.synths.first->type : NULL;
	return uft_event_table_find(table, "app", 3, name, strlen(name));
}

static int write_trigger(const struct uft_event_type *type, const char *text)
{
	struct event_command c = { .event = type ? type->index : UFT_EVENT_PRINT, .text = strdup(text),
		.find_clock = find_clock };
	int ret = event_trigger_do(&in, &c);

	if (ret > 0 || c.errors.n > UFT_HIST_ERRORS)
		abort();
	for (uint32_t i = 0; i < c.errors.n; i++)
		if (!ret || !c.errors.v[i].what)
			abort();
	if (c.filter_wrong && (!ret || !c.filter))
		abort();
	free(c.text);
	free(c.command);
	free(c.filter);
	return ret;
}

static void define(const char *text)
{
	struct uft_synth_error err = { NULL, 0 };
	struct uft_synth *s;

	if (!uft_synth_parse(&tree.synths, text, text, &s, &err) && uft_synth_add(&tree.synths, table, s))
		uft_synth_free(s);
}

/* A line of the file as it is written to take the trigger out: without its count and state. */
static void take_out_line(const struct uft_event_type *type, char *line)
{
	static const char *const ends[] = { ":unlimited", ":count=" };
	char *text, *state = strstr(line, " [active]"), *filter = NULL;

	if (!state)
		state = strstr(line, " [paused]");
	if (!strncmp(line, "hist:", 5) && state)
		*state = '\0';
	for (size_t i = 0; strncmp(line, "hist:", 5) && i < 2; i++) {
		char *end = strstr(line, ends[i]);

		filter = end ? strstr(end, " if ") : filter;
		if (end)
			*end = '\0';
	}
	if (asprintf(&text, "!%s%s", line, filter ? filter : "") < 0)
		abort();
	write_trigger(type, text);
	free(text);
}

/* How many triggers the file shows; takes them out if asked. */
static uint32_t show(const struct uft_event_type *type, int is_out)
{
	struct tree_text out = { 0 }, hists = { 0 };
	uint32_t n = 0;

	event_trigger_show(&in, type->index, &out);
	if (event_trigger_show_hist(&in, type->index, &hists))
		abort();
	free(hists.p);
	text_put(&out, "", 1);
	for (char *line = out.p, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		n += *line != '#';
		if (is_out && *line != '#')
			take_out_line(type, line);
	}
	free(out.p);
	return n;
}

static uint32_t show_all(int is_out)
{
	uint32_t n = show(uft_event_table_at(table, UFT_EVENT_PRINT), is_out);

	for (uint32_t i = 0; i < uft_event_table_count(table); i++) {
		const struct uft_event_type *type = uft_event_table_at(table, i);

		n += type ? show(type, is_out) : 0;
	}
	return n;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void fire(const struct uft_event_type *type, const char *line, size_t n, uint64_t clock)
{
	static const struct uft_task task[2] = { { .tid = 1, .pid = 1, .comm = "fuzz", .index = 0 },
		{ .tid = 2, .pid = 1, .comm = "other", .index = 40 } };
	uint8_t *exact = malloc(n + 8);
	struct uft_event e = { .ts_ns = clock * 1000, .task = &task[n % 2], .cpu = (uint32_t)(n % 4),
		.kind = UFT_EV_DATA, .clock = clock };

	memcpy(exact, line, n);
	e.type = type;
	e.payload = exact;
	e.payload_bytes = n;
	e.data = type->id;
	if (in.triggers)
		event_trigger_look(&in, &e, clock);
	free(exact);
}

static void bring_stack(size_t n, uint64_t clock)
{
	static const struct uft_task task[2] = { { .tid = 1, .pid = 1, .comm = "fuzz", .index = 0 },
		{ .tid = 2, .pid = 1, .comm = "other", .index = 40 } };
	static struct uft_stack *stack;
	struct uft_event e = { .task = &task[n % 2], .kind = UFT_EV_DATA, .data = UFT_EVENT_STACK,
		.flags = UFT_EVF_TRACEPOINT, .clock = clock };

	if (!stack)
		stack = calloc(1, sizeof(*stack) + 4 * sizeof(stack->frame[0]));
	stack->n = (uint32_t)(n % 4);
	e.stack = stack;
	if (in.triggers)
		event_trigger_look_at_stack(&in, &e, clock);
}

static void do_line(char *line, size_t n)
{
	static uint64_t clock = 1;

	clock++;
	switch (line[0]) {
	case 'q': case 'd': case 'o': case 't': write_trigger(type_of(line[0]), line + 1); break;
	case 's': define(line + 1); break;
	case 'f': case 'g': fire(type_of(line[0]), line + 1, n - 1, clock); break;
	case 'k': bring_stack(n, clock); break;
	case 'c': if (event_trigger_clear(&in, type_of('q')->index) > 0) abort(); break;
	case 'b': is_applied_badly = !is_applied_badly; break;
	default: break;
	}
}

static void begin(void)
{
	static const char format[] = "name: %s\nID: 0\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:s32 id;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:u64 us;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:char fix[8];\toffset:24;\tsize:8;\tsigned:0;\n\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n\nprint fmt: \"id=%%d\", REC->id\n";
	static const char *const name[] = { "req", "done", "own" };
	struct uft_error err;

	table = uft_event_table_new();
	for (int i = 0; i < 3; i++) {
		const struct uft_event_type *type;
		char *text;

		if (asprintf(&text, format, name[i]) < 0 ||
		    uft_event_table_add(table, UFT_OWNER_OURS, "app", text, &type,
										   &err) ||
		    (i < 2 && uft_event_table_note_object(table, UFT_OWNER_OURS, type, "app")))
			abort();
		free(text);
	}
	memset(&tree, 0, sizeof(tree));
	memset(&in, 0, sizeof(in));
	tree.instances = &in;
	in.t = &tree;
	is_applied_badly = 0;
}

/* What refers to another goes before it, so a round may leave some. */
static void end(void)
{
	uint32_t n = show_all(0), before = n + 1;

	is_applied_badly = 0;
	if (in.triggers && n != in.triggers->nevents)
		abort();
	for (; n && n < before; n = show_all(0)) {
		before = n;
		show_all(1);
	}
	if (n || in.triggers)
		abort();
	event_hists_free(&tree);
	while (tree.synths.first) {
		if (tree.synths.first->refs)
			abort();
		uft_synth_remove(&tree.synths, table, tree.synths.first);
	}
	uft_event_set_free(&in.set.events);
	uft_event_table_put(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin();
	for (size_t at = 0, n; at < size; at += n + 1) {
		const uint8_t *stop = memchr(data + at, '\n', size - at);
		char *line;

		n = stop ? (size_t)(stop - data) - at : size - at;
		line = malloc(n + 1);
		memcpy(line, data + at, n);
		line[n] = '\0';
		if (n)
			do_line(line, n);
		free(line);
	}
	end();
	return 0;
}
