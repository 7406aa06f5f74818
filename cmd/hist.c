/* SPDX-License-Identifier: MIT */
/*
 * hist.c - uft hist: histograms of the events of a recording, or of a command that is recorded for them
 *
 * hist_live.c makes histograms of running processes and sessions.
 *
 * A histogram is the kernel's trigger `hist:`, in the kernel's words; hist/ makes and prints it. Here the events come
 * from a recording in the order of time, so one histogram may refer to variables of another as in a live session.
 *
 * A stack is a record of its own after its event. If one histogram of a type needs stacks, all histograms of that type
 * see an event when its stack comes, or the next event of its thread, or the end.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/hist_live.h"
#include "cmd/hist_table.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "hist/hist.h"
#include "stream/select/event_record.h"
#include "symbol/array.h"
#include "symbol/event_filter.h"
#include "symbol/text_file.h"

#define KEYS_DEFAULT	"common_pid.execname"
#define DEPTH		64u	/* frames of a stack: more than a histogram has */

struct hist_opts {
	struct hist_asks ask;
	const char *input, *session, *instance, *emulator;
	struct cmd_list processes;
	uint64_t delay_ns;		/* 0: none was given */
	int no_pager, is_once, json, csv;
};

static int parse_event(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct hist_asks *asks = field;

	(void)o;
	if (array_resize(asks->v, asks->n + 1))
		return uft_fail(err, -ENOMEM, "out of memory");
	asks->v[asks->n++] = (struct hist_ask){ .event = strcmp(text, "all") ? text : "*" };
	return 0;
}

/* Parses an option about the event before it. */
static int parse_of_event(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct hist_asks *asks = field;
	struct hist_ask *a = asks->n ? &asks->v[asks->n - 1] : NULL;

	if (!a)
		return uft_fail(err, -EINVAL, "it belongs behind the -e EVENT whose histogram it describes");
	switch (o->letter) {
	case 'k':
		return cmd_string(o, text, &a->keys, err);
	case 'v':
		return cmd_string(o, text, &a->values, err);
	case 's':
		return cmd_string(o, text, &a->sort, err);
	case 'f':
		return cmd_string(o, text, &a->filter, err);
	case 'n':
		return cmd_uint(o, text, &a->size, err);
	default:
		if (strncmp(text, "hist:", 5))
			return uft_fail(err, -EINVAL, "only a histogram can be made: 'hist:keys=...', not '%s'", text);
		return cmd_strings(o, text, &a->triggers, err);
	}
}

#define F(field) offsetof(struct hist_opts, field)
static const struct cmd_option hist_options[] = {
	{ "event", 'e', "EVENT", "make histograms of this event: sched:sched_process_exit, a glob; may be repeated",
		parse_event, F(ask), NULL },
	{ "keys", 'k', "KEYS",
		"of the -e in front of it: make an entry for each value of these fields (default " KEYS_DEFAULT ")",
		parse_of_event, F(ask), NULL },
	{ "values", 'v', "VALUES", "add up these fields in each entry, beside the number of events", parse_of_event,
		F(ask), NULL },
	{ "sort", 's', "FIELDS", "sort entries by these fields: 'bytes.descending,id'", parse_of_event, F(ask), NULL },
	{ "size", 'n', "N", "keep at most N entries (default 2048) and count what they leave out", parse_of_event,
		F(ask), NULL },
	{ "event-filter", 'f', "FILTER", "count only events that pass: 'len > 100 && comm ~ \"a*\"'", parse_of_event,
		F(ask), NULL },
	{ "trigger", 'R', "TRIGGER",
		"make the histogram of a trigger's text: 'hist:keys=id:vals=len if len > 100'; may be repeated",
		parse_of_event, F(ask), NULL },
	{ "json", 0, NULL, "print the tables as JSON", cmd_flag, F(json), NULL },
	{ "csv", 0, NULL, "print the tables as CSV", cmd_flag, F(csv), NULL },
	{ "pid", 'p', "PID", "make histograms of these running processes, each a PID, NAME or CGROUP; may be repeated",
		cmd_strings, F(processes), NULL },
	{ "emulator", 0, "COMMAND",
		"run COMMAND, of another architecture, by this command: 'qemu-aarch64 -L /usr/aarch64-linux-gnu'",
		cmd_string, F(emulator), NULL },
	{ "delay", 'd', "SECONDS", "with -p and -S: print again this often; default 1", cmd_time_s, F(delay_ns), NULL },
	{ "session", 'S', "PID",
		"show the histograms of the session that process PID serves; -: the current or only one",
		cmd_string, F(session), NULL },
	{ "instance", 'B', "NAME", "with -S: use this instance instead of the top", cmd_string, F(instance), NULL },
	{ "once", 0, NULL, "print the histograms of a session once, and end", cmd_flag, F(is_once), NULL },
	CMD_INPUT(F(input)),
	CMD_NO_PAGER(F(no_pager)),
	{ 0 }
};
#undef F

static const struct cmd_syntax hist_syntax = {
	"hist", "-e EVENT [OPTIONS] [FILE | -p PID | -S PID | -- COMMAND [ARG...]]",
	"Count events by their fields, as the kernel's hist triggers do: the events of the recording FILE (default "
	CMD_DEFAULT_FILE "), of COMMAND, which uft records into a temporary file, or, as they come, of running processes "
	"(-p) and of a session (-S).",
	hist_options, 0
};

/* ---- Histograms ------------------------------------------------------------------------------ */

struct histogram {
	struct histogram *next;		/* of the same type */
	struct histogram *made;		/* that was made after it */
	struct uft_hist *hist;
	struct uft_program *program;
	char *filter;			/* its text; NULL: none */
	int is_paused;
};

/* An event that waits for its stack. */
struct held { int is_there; struct uft_event event; uint8_t payload[UFT_EVENT_PAYLOAD_MAX]; };

struct work {
	struct uft_stream *stream;
	struct uft_hist_set *set;
	struct uft_resolver *names;
	const struct uft_stack *stack;	/* of the event that is looked at */
	struct histogram *first, **last;	/* in the order in which they were made */
	struct type { struct histogram *first; int needs_stack; } *type;	/* by place */
	struct held **held;		/* by task */
	uint32_t ntypes, nheld;
};

static size_t name_of(void *arg, const void *where, uint64_t addr, int has_offset, char *to, size_t room)
{
	struct work *w = arg;
	const struct uft_sym *sym = NULL;
	uint64_t offset = 0;
	int n;

	for (uint32_t i = 0; !sym && w->stack && i < w->stack->n; i++)
		if (w->stack->frame[i].addr == addr) {	/* by the image at the time of the event */
			sym = w->stack->frame[i].sym;
			offset = w->stack->frame[i].offset;
		}
	if (!sym && where) {
		if (!w->names)
			w->names = uft_resolver_alloc();
		sym = w->names ? uft_resolve_addr(w->names, where, addr) : NULL;
		offset = sym ? addr - uft_image_sym_addr(where, sym) : 0;
	}
	if (!sym || !sym->size)
		return 0;
	n = has_offset ? snprintf(to, room, "%s+0x%llx/0x%llx", sym->name, (unsigned long long)offset,
				  (unsigned long long)sym->size) :
			 snprintf(to, room, "%s", sym->name);
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static const struct uft_event_type *find_event(void *arg, const char *system, const char *name)
{
	const struct work *w = arg;

	return uft_event_table_find(uft_stream_events(w->stream), system, strlen(system), name, strlen(name));
}

static int add_to(void *arg, const struct uft_hist *like, const char *text)
{
	(void)arg, (void)like, (void)text;
	return -EOPNOTSUPP;
}

static void histogram_free(struct histogram *h)
{
	if (!h)
		return;
	uft_hist_free(h->hist);
	free(h->program);
	free(h->filter);
	free(h);
}

/* One histogram may refer to another: those without references to them go first. */
static void free_histograms(struct work *w)
{
	int is_left = 1, has_freed = 1;

	while (is_left && has_freed) {
		is_left = has_freed = 0;
		for (uint32_t i = 0; i < w->ntypes; i++)
			for (struct histogram **p = &w->type[i].first, *h; (h = *p);) {
				if (uft_hist_is_used(h->hist)) {
					is_left = 1;
					p = &h->next;
					continue;
				}
				*p = h->next;
				histogram_free(h);
				has_freed = 1;
			}
	}
}

static void work_free(struct work *w)
{
	free_histograms(w);
	for (uint32_t i = 0; i < w->nheld; i++)
		free(w->held[i]);
	free(w->held);
	free(w->type);
	if (w->set)
		uft_hist_set_free(w->set);
	uft_resolver_free(w->names);
	cmd_input_close(w->stream);
}

static int say(const struct uft_event_type *type, const char *what, const char *text, size_t at)
{
	return cmd_fail("hist", "%s:%s: %s\n    %s\n    %*s^", type->system, type->name, what, text, (int)at, "");
}

static int say_errors(const struct uft_event_type *type, const char *text, const struct uft_hist_errors *errors,
		      int ret)
{
	int status = 0;

	for (uint32_t i = 0; i < errors->n; i++)
		status = say(type, errors->v[i].what, text, errors->v[i].at);
	return status ? status : cmd_fail("hist", "%s:%s: '%s' is no trigger: %s", type->system, type->name, text,
					  strerror(-ret));
}

/* Histograms of one name share one table. */
static int share(struct work *w, struct uft_hist *h)
{
	const char *name = uft_hist_name(h);

	for (uint32_t i = 0; name && i < w->ntypes; i++)
		for (struct histogram *o = w->type[i].first; o; o = o->next) {
			if (!uft_hist_name(o->hist) || strcmp(uft_hist_name(o->hist), name))
				continue;
			if (!uft_hist_is_same(o->hist, h))
				return -EINVAL;
			uft_hist_share(h, o->hist);
			return 0;
		}
	return 0;
}

/* Makes a histogram of the text after `hist:`, which is changed. 0, or an exit status. */
static int make(struct work *w, const struct uft_event_type *type, const char *text, char *copy, struct histogram *h)
{
	struct uft_hist_errors errors = { .n = 0 };
	char *filter = uft_hist_find_filter(copy);
	struct uft_filter_error wrong = { "", 0 };
	int ret;

	if (filter == copy || (filter && (!filter[2] || !filter[3])))
		return say_errors(type, text, &errors, -EINVAL);
	if (filter) {
		h->filter = strdup(filter + 3);
		if (!h->filter)
			return cmd_fail("hist", "%s", strerror(ENOMEM));
		filter[-1] = '\0';
	}
	for (size_t n = strlen(copy); n && strchr(" \t\n", copy[n - 1]); n--)
		copy[n - 1] = '\0';
	ret = uft_hist_make(w->set, type, copy, 0, &h->hist, &errors);
	if (ret)
		return say_errors(type, text, &errors, ret);
	if (h->filter && uft_event_filter_make(type, h->filter, &h->program, &wrong))
		return say(type, wrong.what, h->filter, wrong.at);
	if (uft_hist_verb(h->hist) == UFT_HIST_CONT || uft_hist_verb(h->hist) == UFT_HIST_CLEAR)
		return say(type, "Can't clear or continue a nonexistent hist trigger", text, 0);
	if (share(w, h->hist))
		return say(type, "Named hist trigger doesn't match existing named trigger (includes variables)", text,
			   0);
	ret = uft_hist_join(h->hist, &errors);
	return ret ? say_errors(type, text, &errors, ret) : 0;
}

static int add(struct work *w, const struct uft_event_type *type, const char *text)
{
	struct histogram *h = calloc(1, sizeof(*h)), **last = &w->type[type->index].first;
	const char *definition = text + strlen("hist:"), *snapshot = strstr(text, ".snapshot(");
	char *copy = strdup(definition + strspn(definition, " \t"));
	int status;

	if (!h || !copy)
		status = cmd_fail("hist", "%s", strerror(ENOMEM));
	else if (snapshot)
		status = say(type, "A recording has no snapshot", text, (size_t)(snapshot - text) + 1);
	else
		status = make(w, type, text, copy, h);
	free(copy);
	if (status) {
		histogram_free(h);
		return status;
	}
	h->is_paused = uft_hist_verb(h->hist) == UFT_HIST_PAUSE;
	w->type[type->index].needs_stack |= uft_hist_needs_stack(h->hist);
	while (*last)
		last = &(*last)->next;
	*last = h;
	*w->last = h;
	w->last = &h->made;
	return 0;
}

char *hist_ask_text(const struct hist_ask *a)
{
	char size[32] = "", *text;

	if (a->size)
		snprintf(size, sizeof(size), ":size=%u", a->size);
	return asprintf(&text, "hist:keys=%s%s%s%s%s%s%s%s", a->keys ? a->keys : KEYS_DEFAULT,
			a->values ? ":vals=" : "", a->values ? a->values : "",
			a->sort ? ":sort=" : "", a->sort ? a->sort : "", size, a->filter ? " if " : "",
			a->filter ? a->filter : "") < 0 ? NULL : text;
}

static int has_short(const struct hist_ask *a)
{
	return a->keys || a->values || a->sort || a->size || a->filter;
}

int hist_ask_is_short(const struct hist_ask *a)
{
	return !a->triggers.n || has_short(a);
}

static int add_ask(struct work *w, const struct hist_ask *a)
{
	const struct uft_event_table *types = uft_stream_events(w->stream);
	char *text = hist_ask_text(a);
	int status = text ? 0 : cmd_fail("hist", "%s", strerror(ENOMEM)), is_named = 0;

	for (uint32_t i = 0; i < w->ntypes && !status; i++) {
		const struct uft_event_type *type = uft_event_table_at(types, i);

		if (!type || !uft_event_matches(a->event, strlen(a->event), type))
			continue;
		is_named = 1;
		if (hist_ask_is_short(a))
			status = add(w, type, text);
		for (size_t k = 0; k < a->triggers.n && !status; k++)
			status = add(w, type, a->triggers.item[k]);
	}
	free(text);
	return status ||
		is_named ? status : cmd_fail("hist", "the recording has no event that '%s' names (uft stat lists them)",
					     a->event);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void look(struct work *w, const struct uft_event *e, const uint8_t *payload, const struct uft_stack *stack)
{
	uint64_t frames[DEPTH];
	struct uft_hist_record rec = {
		.type = e->type, .payload = payload, .bytes = e->payload_bytes, .ts = e->ts_ns, .cpu = e->cpu,
		.tid = e->task->tid,
		.comm = e->task->comm, .where = e->task->image, .stack = frames, .nstack = stack ? stack->n < DEPTH ?
			stack->n : DEPTH : 0,
	};

	for (uint32_t i = 0; i < rec.nstack; i++)
		frames[i] = stack->frame[i].addr;
	w->stack = stack;
	for (struct histogram *h = w->type[e->type->index].first; h; h = h->next)
		if (!h->is_paused && (!h->program || uft_event_accepts(h->program, e)))
			uft_hist_update(h->hist, &rec);
	w->stack = NULL;
}

static void release(struct work *w, struct held *h, const struct uft_stack *stack)
{
	if (!h || !h->is_there)
		return;
	h->is_there = 0;
	h->event.payload = h->payload;
	look(w, &h->event, h->payload, stack);
}

static int hold(struct work *w, const struct uft_event *e)
{
	struct held *h = NULL;
	int ret = array_reach(w->held, w->nheld, e->task->index);

	if (!ret && !w->held[e->task->index])
		w->held[e->task->index] = calloc(1, sizeof(*h));
	h = ret ? NULL : w->held[e->task->index];
	if (!h)
		return -ENOMEM;
	h->event = *e;
	if (h->event.payload_bytes > sizeof(h->payload))
		h->event.payload_bytes = sizeof(h->payload);
	memcpy(h->payload, e->payload, h->event.payload_bytes);
	h->is_there = 1;
	return 0;
}

static int take(struct work *w, const struct uft_event *e)
{
	struct held *h = e->task && e->task->index < w->nheld ? w->held[e->task->index] : NULL;

	if (e->kind != UFT_EV_DATA)
		return 0;
	if (e->data == UFT_EVENT_STACK && e->flags & UFT_EVF_TRACEPOINT) {
		release(w, h, e->stack);
		return 0;
	}
	if (!UFT_EVENT_IS_NAMED(e->data) || !e->type)
		return 0;
	release(w, h, NULL);
	if (e->type->index >= w->ntypes || !w->type[e->type->index].first)
		return 0;
	if (w->type[e->type->index].needs_stack)
		return hold(w, e);
	look(w, e, e->payload, NULL);
	return 0;
}

static int take_all(struct work *w)
{
	struct uft_event e;
	int ret;

	while ((ret = uft_stream_next(w->stream, &e)) > 0) {
		ret = take(w, &e);
		if (ret)
			return ret;
	}
	for (uint32_t i = 0; i < w->nheld; i++)
		release(w, w->held[i], NULL);
	return ret;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put(void *arg, const char *p, size_t n)
{
	fwrite(p, 1, n, arg);
}

static int print(const struct work *w, FILE *out)
{
	const struct uft_hist_sink to = { out, put };
	uint64_t lost = uft_stream_info(w->stream)->lost;
	int n = 0, of_types = 0, ret = 0;

	for (uint32_t i = 0; i < w->ntypes; i++)
		of_types += w->type[i].first != NULL;
	for (const struct histogram *h = w->first; h && !ret; h = h->made) {
		const struct uft_event_type *type = uft_hist_type(h->hist);

		fprintf(out, "%s# event histogram\n#\n", n++ ? "\n\n" : "");
		if (of_types > 1)
			fprintf(out, "# event: %s:%s\n", type->system, type->name);
		fprintf(out, "# trigger info: ");
		uft_hist_put_definition(h->hist, h->filter, &to);
		fprintf(out, " [%s]\n", h->is_paused ? "paused" : "active");
		if (lost && !h->is_paused)
			fprintf(out,
				"# %llu records of any kind were lost as they were recorded. The table may lack as many.\n",
				(unsigned long long)lost);
		fprintf(out, "#\n\n");
		ret = uft_hist_put_table(h->hist, h->is_paused ? 0 : lost, &to);
	}
	return ret;
}

static enum uft_form form_of(const struct hist_opts *o)
{
	return o->json ? UFT_FORM_JSON : o->csv ? UFT_FORM_CSV : UFT_FORM_TEXT;
}

/* For programs. */
static int print_form(const struct work *w, enum uft_form form, FILE *out)
{
	uint64_t lost = uft_stream_info(w->stream)->lost;
	char *words = NULL;
	size_t n;
	FILE *f = open_memstream(&words, &n);
	const struct uft_hist_sink to = { f, put };
	int ret = f ? 0 : -ENOMEM;

	for (const struct histogram *h = w->first; h && !ret; h = h->made)
		ret = uft_hist_put_cells(h->hist, h->filter, h->is_paused, h->is_paused ? 0 : lost, &to);
	if (f && text_file_close(f, &words) && !ret)
		ret = -ENOMEM;
	ret = ret ? ret : cmd_hist_put("hist", out, form, words, n);
	free(words);
	return ret;
}

static int print_all(const struct work *w, const struct hist_opts *o)
{
	struct cmd_output *out = cmd_output_open(o->no_pager);
	int ret, closed;

	if (!out)
		return cmd_fail("hist", "%s", strerror(ENOMEM));
	ret = o->json || o->csv ? print_form(w, form_of(o), cmd_output_file(out)) : print(w, cmd_output_file(out));
	closed = cmd_output_close(out);
	ret = ret ? ret : closed;
	return ret ? cmd_fail("hist", "%s", strerror(-ret)) : 0;
}

/* An exit status. */
static int read_file(const struct hist_opts *o, const char *path)
{
	struct uft_select all = { 0 };
	struct uft_synth_list none = { NULL };
	struct uft_error err = { "" };
	struct work w = { .stream = NULL };
	const struct uft_hist_env env = {
		.arg = &w, .name = name_of, .synths = &none, .find_event = find_event, .add_to = add_to
	};
	int status = 0, ret;

	w.last = &w.first;
	if (cmd_input_open(path, &all, &w.stream, &err) < 0)
		return cmd_fail("hist", "%s", err.text);
	w.ntypes = uft_event_table_count(uft_stream_events(w.stream));
	w.type = calloc(w.ntypes + 1, sizeof(*w.type));
	w.ntypes = w.type ? w.ntypes : 0;
	w.set = uft_hist_set_new(&env);
	if (!w.type || !w.set)
		status = cmd_fail("hist", "%s", strerror(ENOMEM));
	else
		uft_hist_set_env(w.set)->is_ns = uft_stream_stamp(w.stream) == UFT_STAMP_NS;
	for (size_t i = 0; i < o->ask.n && !status; i++)
		status = add_ask(&w, &o->ask.v[i]);
	ret = status ? 0 : take_all(&w);
	if (ret < 0)
		status = cmd_fail("hist", "%s", strerror(-ret));
	if (!status)
		status = print_all(&w, o);
	work_free(&w);
	return status;
}

/* ---- A command ------------------------------------------------------------------------------- */

static int wants_stacks(const struct hist_opts *o)
{
	for (size_t i = 0; i < o->ask.n; i++) {
		const struct hist_ask *a = &o->ask.v[i];

		if (a->keys && strstr(a->keys, "stacktrace"))
			return 1;
		for (size_t k = 0; k < a->triggers.n; k++)
			if (strstr(a->triggers.item[k], "stacktrace"))
				return 1;
	}
	return 0;
}

/* Runs uft record; in a child process. */
static int record(const struct hist_opts *o, const char *path, int argc, char **argv)
{
	char **args = calloc(10 + 4 * o->ask.n + (size_t)argc, sizeof(*args));
	int n = 0;

	if (!args)
		return cmd_fail("hist", "%s", strerror(ENOMEM));
	args[n++] = (char *)"record";
	args[n++] = (char *)"-q";
	args[n++] = (char *)"-o";
	args[n++] = (char *)path;
	if (wants_stacks(o))
		args[n++] = (char *)"-T";
	if (o->emulator) {
		args[n++] = (char *)"--emulator";
		args[n++] = (char *)o->emulator;
	}
	for (size_t i = 0; i < o->ask.n; i++) {
		args[n++] = (char *)"-e";
		args[n++] = (char *)o->ask.v[i].event;
	}
	args[n++] = (char *)"--";
	for (int i = 0; i < argc; i++)
		args[n++] = argv[i];
	return cmd_record(n, args);
}

/* The status of the recorder, which is its program's. */
static int record_in_child(const struct hist_opts *o, const char *path, int argc, char **argv)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, saved_int, saved_quit;
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return cmd_fail("hist", "cannot start a recorder: %s", strerror(errno));
	if (!pid)
		exit(record(o, path, argc, argv));
	sigaction(SIGINT, &ignore, &saved_int);
	sigaction(SIGQUIT, &ignore, &saved_quit);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &saved_int, NULL);
	sigaction(SIGQUIT, &saved_quit, NULL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_command(const struct hist_opts *o, int argc, char **argv)
{
	const char *dir = getenv("TMPDIR");
	char *folder, *path = NULL;
	int status, shown;

	if (asprintf(&folder, "%s/uft-hist.XXXXXX", dir && *dir ? dir : "/tmp") < 0)
		return cmd_fail("hist", "%s", strerror(ENOMEM));
	if (!mkdtemp(folder) || asprintf(&path, "%s/" CMD_DEFAULT_FILE, folder) < 0) {
		status =
			cmd_fail("hist", "cannot make a folder in %s: %s", dir && *dir ? dir : "/tmp", strerror(errno));
		free(folder);
		return status;
	}
	status = record_in_child(o, path, argc, argv);
	if (access(path, F_OK) == 0) {
		shown = read_file(o, path);
		status = status ? status : shown;
	} else if (!status) {
		status = cmd_fail("hist", "nothing was recorded");
	}
	unlink(path);
	rmdir(folder);
	free(path);
	free(folder);
	return status;
}

/* ---- The command line ------------------------------------------------------------------------ */

/* Refuses contradictions. @at: index of `--`, 0: none; @n: words before it. -1 to go on, or an exit status. */
static int check(const struct hist_opts *o, int is_session, int at, int n, char **argv)
{
	int is_file = n > 1 || o->input;

	if (is_session && (o->processes.n || at || is_file))
		return cmd_usage(&hist_syntax, "-S, -B and --once choose a session: not with %s",
				 o->processes.n ? "-p" : at ? "a command" : "a recording");
	for (size_t i = 0; i < o->ask.n && is_session; i++)
		if (o->ask.v[i].triggers.n || has_short(&o->ask.v[i]))
			return cmd_usage(
				&hist_syntax,
				"with a session -e names an event and no more: its trigger file makes histograms");
	if (!o->ask.n && !is_session)
		return cmd_usage(&hist_syntax, "no event given: -e EVENT");
	if (o->processes.n && (at || is_file))
		return cmd_usage(&hist_syntax, "-p and %s exclude each other", at ? "a command" : "a recording");
	if (o->emulator && !at)
		return cmd_usage(&hist_syntax, "--emulator runs a command: add -- COMMAND");
	if (o->json && o->csv)
		return cmd_usage(&hist_syntax, "--json and --csv exclude each other");
	if (o->delay_ns && !o->processes.n && !is_session)
		return cmd_usage(&hist_syntax, "--delay is for -p and -S");
	if (at && is_file)
		return cmd_usage(&hist_syntax, "a recording or a command, not both");
	if (n > 2 || (n > 1 && o->input))
		return cmd_usage(&hist_syntax, "one file at a time, not also '%s' (a command follows --)", argv[n - 1]);
	return -1;
}

static int run_live(const struct hist_opts *o, int is_session)
{
	const struct hist_live live = { .asks = &o->ask, .delay_ns = o->delay_ns ? o->delay_ns : 1000000000,
		.is_once = o->is_once, .form = form_of(o) };
	struct cmd_targets targets = { 0 };
	struct uft_error err = { "" };
	int ret = 0, status;

	if (is_session)
		return hist_of_session(&live, o->session, o->instance);
	for (size_t i = 0; i < o->processes.n && !ret; i++)
		ret = cmd_targets_add(&targets, TARGET_ANY, o->processes.item[i], &err);
	status = !ret ? hist_of_processes(&live, &targets) : ret == -EINVAL ? cmd_usage(&hist_syntax, "%s", err.text) :
		cmd_fail("hist", "%s", err.text);
	cmd_targets_free(&targets);
	return status;
}

static int run(struct hist_opts *o, int argc, char **argv)
{
	int at = cmd_find_dashes(argc, argv), n = at ? at : argc, done = cmd_parse(&hist_syntax, &n, argv, o);
	int is_session = o->session || o->instance || o->is_once;

	if (done < 0)
		done = check(o, is_session, at, n, argv);
	if (done >= 0)
		return done;
	if (at && at + 1 == argc)
		return cmd_usage(&hist_syntax, "a command follows --");
	if (is_session || o->processes.n)
		return run_live(o, is_session);
	if (at)
		return run_command(o, argc - at - 1, argv + at + 1);
	return read_file(o, n > 1 ? argv[1] : o->input);
}

int cmd_hist(int argc, char **argv)
{
	struct hist_opts o = { .ask = { NULL, 0 } };
	int status = run(&o, argc, argv);

	for (size_t i = 0; i < o.ask.n; i++)
		free(o.ask.v[i].triggers.item);
	free(o.ask.v);
	free(o.processes.item);
	return status;
}
