/* SPDX-License-Identifier: MIT */
/*
 * control.c - uft start, set, stop, restart, show, clear, snapshot, extract, stack: control a running session with the
 * commands of trace-cmd
 *
 * Each command writes or reads files of the session (client.h). Recording is off while lists and tracer change, so the
 * buffer has no records of a state in between. The first refused write ends the command with a message that names it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "symbol/newfile.h"

struct control_opts {
	const char *session, *instance, *tracer, *clock, *output;
	struct cmd_list filter, notrace, graph, options;
	struct cmd_numbers pids;
	uint64_t buffer;
	uint32_t depth, cpu;
	int pipe, snapshot, take, clear, free_it;
	int start, stop;
};
#define NO_NUMBER	UINT32_MAX

#define FIELD(name)	offsetof(struct control_opts, name)
#define SESSION	CMD_SESSION(FIELD(session))
#define INSTANCE CMD_INSTANCE(FIELD(instance))

static int put(const struct control_opts *o, const char *file, const char *text, int append, struct uft_error *err)
{
	char path[CLIENT_PATH];

	return client_write(o->session, client_path(o->instance, file, path), text, strlen(text), append, err);
}

static int show(const struct control_opts *o, const char *command, const char *file)
{
	struct uft_error err = { "" };
	char path[CLIENT_PATH];
	int ret = client_read(o->session, client_path(o->instance, file, path), 0, client_print, NULL, &err);

	return ret && ret != -EPIPE ? cmd_fail(command, "%s", err.text) : 0;
}

/* ---- start, set ------------------------------------------------------------------------------ */

static const struct cmd_option set_options[] = {
	SESSION,
	INSTANCE,
	{ "tracer", 'p', "TRACER", "what to record: a tracer of available_tracers", cmd_string, FIELD(tracer), NULL },
	CMD_FILTER(FIELD(filter)),
	CMD_NOTRACE(FIELD(notrace)),
	CMD_GRAPH(FIELD(graph)),
	{ "pid", 'P', "PID", "trace only functions of these tasks: 1200,1204; uft attaches to processes outside",
		cmd_numbers, FIELD(pids), NULL },
	{ "option", 'O', "OPTION", "set an option of trace_options: noirq-info; may be repeated", cmd_strings,
		FIELD(options), NULL },
	{ "clock", 'C', "CLOCK", "set the clock, as trace_clock does", cmd_string, FIELD(clock), NULL },
	{ "buffer-size", 'b', "KB", "size of each CPU's ring buffer", cmd_kb, FIELD(buffer), NULL },
	{ "max-depth", 'D', "N", "function_graph: record no calls nested deeper than N", cmd_uint, FIELD(depth), NULL },
	{ 0 }
};

static const struct cmd_syntax start_syntax = {
	"start", "[OPTIONS]", "Start recording in a session. Lists that are not given are cleared.", set_options, 0
};

static const struct cmd_syntax set_syntax = {
	"set", "[OPTIONS]", "Change the settings of a session, without starting or stopping it.", set_options, 0
};

/* @is_start: writes the list also if it is empty. */
static int put_list(const struct control_opts *o, const char *file, const struct cmd_list *list, int is_start,
		    struct uft_error *err)
{
	int ret = !list->n && is_start ? put(o, file, "", 0, err) : 0;

	for (size_t i = 0; i < list->n && !ret; i++) {
		char text[512];

		snprintf(text, sizeof(text), "%s\n", list->item[i]);
		ret = put(o, file, text, i > 0, err);
	}
	return ret;
}

static int put_pids(const struct control_opts *o, int is_start, struct uft_error *err)
{
	int ret = !o->pids.n && is_start ? put(o, "set_ftrace_pid", "", 0, err) : 0;

	for (size_t i = 0; i < o->pids.n && !ret; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%u\n", o->pids.item[i]);
		ret = put(o, "set_ftrace_pid", text, i > 0, err);
	}
	return ret;
}

static int put_number(const struct control_opts *o, const char *file, uint64_t n, struct uft_error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)n);
	return put(o, file, text, 0, err);
}

/* Makes a missing instance, as trace-cmd does. */
static int make_instance(const struct control_opts *o, struct uft_error *err)
{
	char path[CLIENT_PATH];
	int ret = o->instance ? client_mkdir(o->session, client_path(o->instance, "", path), err) : 0;

	return ret == -EEXIST ? 0 : ret;
}

/* Only the top has limits of the graph, a profile and a stack tracer. */
static int apply(const struct control_opts *o, int is_start, struct uft_error *err)
{
	int is_top = !o->instance, ret = is_start ? make_instance(o, err) : 0;

	if (!ret && is_start)
		ret = put(o, "tracing_on", "0", 0, err);
	if (!ret && is_start && is_top)
		ret = put(o, "function_profile_enabled", "0", 0, err);
	if (!ret && is_start && is_top)
		ret = put(o, "stack_tracer_enabled", "0", 0, err);
	if (!ret && is_start)
		ret = put(o, "set_ftrace_notrace_pid", "", 0, err);
	if (!ret && o->buffer)
		ret = put_number(o, "buffer_size_kb", o->buffer / 1024, err);
	if (!ret && o->clock)
		ret = put(o, "trace_clock", o->clock, 0, err);
	if (!ret)
		ret = put_list(o, "set_ftrace_filter", &o->filter, is_start, err);
	if (!ret)
		ret = put_list(o, "set_ftrace_notrace", &o->notrace, is_start, err);
	if (!ret && is_top)
		ret = put_list(o, "set_graph_function", &o->graph, is_start, err);
	if (!ret && is_start && is_top)
		ret = put(o, "set_graph_notrace", "", 0, err);
	if (!ret)
		ret = put_pids(o, is_start, err);
	if (!ret && is_top && (o->depth != NO_NUMBER || is_start))
		ret = put_number(o, "max_graph_depth", o->depth != NO_NUMBER ? o->depth : 0, err);
	if (!ret && o->tracer)
		ret = put(o, "current_tracer", o->tracer, 0, err);
	/* options of a tracer exist once the tracer is in use */
	for (size_t i = 0; i < o->options.n && !ret; i++)
		ret = put(o, "trace_options", o->options.item[i], 0, err);
	return !ret && is_start ? put(o, "tracing_on", "1", 0, err) : ret;
}

static int start_or_set(const struct cmd_syntax *syntax, int argc, char **argv)
{
	struct control_opts o = { .depth = NO_NUMBER };
	struct uft_error err = { "" };
	int has_words = argc > 1, status = cmd_parse(syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc > 1)
		return cmd_usage(syntax, "unexpected operand '%s': uft shell and uft record start programs", argv[1]);
	if (!has_words && syntax == &set_syntax)
		return cmd_usage(syntax, "nothing to set: give at least one option");
	if (o.instance && (o.graph.n || o.depth != NO_NUMBER))
		return cmd_usage(syntax, "%s is for all instances: not with -B", o.graph.n ? "-g" : "-D");
	return apply(&o, syntax == &start_syntax, &err) ? cmd_fail(syntax->name, "%s", err.text) : 0;
}

int cmd_start(int argc, char **argv)
{
	return start_or_set(&start_syntax, argc, argv);
}

int cmd_set(int argc, char **argv)
{
	return start_or_set(&set_syntax, argc, argv);
}

/* ---- stop, restart, clear: a write and nothing else ------------------------------------ */

static const struct cmd_option session_options[] = { SESSION, INSTANCE, { 0 } };

static const struct cmd_syntax stop_syntax = {
	"stop", "[OPTIONS]", "Stop recording in a session and keep its buffer.", session_options, 0
};
static const struct cmd_syntax restart_syntax = {
	"restart", "[OPTIONS]", "Resume recording after uft stop.", session_options, 0
};
static const struct cmd_syntax clear_syntax = {
	"clear", "[OPTIONS]", "Clear a session's buffer.", session_options, 0
};

static int write_one(const struct cmd_syntax *syntax, const char *file, const char *text, int argc, char **argv)
{
	struct control_opts o = { 0 };
	struct uft_error err = { "" };
	int status = cmd_parse(syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc > 1)
		return cmd_usage(syntax, "unexpected operand '%s'", argv[1]);
	return put(&o, file, text, 0, &err) ? cmd_fail(syntax->name, "%s", err.text) : 0;
}

int cmd_stop(int argc, char **argv)
{
	return write_one(&stop_syntax, "tracing_on", "0", argc, argv);
}

int cmd_restart(int argc, char **argv)
{
	return write_one(&restart_syntax, "tracing_on", "1", argc, argv);
}

int cmd_clear(int argc, char **argv)
{
	return write_one(&clear_syntax, "trace", "", argc, argv);
}

/* ---- show, snapshot -------------------------------------------------------------------------- */

static const struct cmd_option show_options[] = {
	SESSION,
	INSTANCE,
	{ "pipe", 'p', NULL, "print and consume events as they arrive, as trace_pipe does", cmd_flag, FIELD(pipe),
		NULL },
	{ "snapshot", 's', NULL, "print the snapshot that uft snapshot -s took", cmd_flag, FIELD(snapshot), NULL },
	{ "cpu", 'c', "CPU", "print only this CPU", cmd_uint, FIELD(cpu), NULL },
	{ 0 }
};

static const struct cmd_syntax show_syntax = {
	"show", "[OPTIONS]", "Print a session's buffer.", show_options, 0
};

int cmd_show(int argc, char **argv)
{
	struct control_opts o = { .cpu = NO_NUMBER };
	int status = cmd_parse(&show_syntax, &argc, argv, &o);
	char path[64] = "";

	if (status >= 0)
		return status;
	if (argc > 1 || (o.pipe && o.snapshot))
		return cmd_usage(&show_syntax, argc > 1 ? "unexpected operand '%s'" : "%s is never consumed",
				 argc > 1 ? argv[1] : "a snapshot");
	if (o.cpu != NO_NUMBER)
		snprintf(path, sizeof(path), "per_cpu/cpu%u/", o.cpu);
	strcat(path, o.pipe ? "trace_pipe" : o.snapshot ? "snapshot" : "trace");
	return show(&o, "show", path);
}

static const struct cmd_option snapshot_options[] = {
	SESSION,
	INSTANCE,
	{ "take", 's', NULL, "take a snapshot", cmd_flag, FIELD(take), NULL },
	{ "reset", 'r', NULL, "clear the snapshot", cmd_flag, FIELD(clear), NULL },
	{ "free", 'f', NULL, "free the snapshot's memory", cmd_flag, FIELD(free_it), NULL },
	{ 0 }
};

static const struct cmd_syntax snapshot_syntax = {
	"snapshot", "[OPTIONS]", "Take, print, clear or free a snapshot of a session's buffer.", snapshot_options, 0
};

int cmd_snapshot(int argc, char **argv)
{
	struct control_opts o = { 0 };
	struct uft_error err = { "" };
	int status = cmd_parse(&snapshot_syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc > 1 || o.take + o.clear + o.free_it > 1)
		return cmd_usage(&snapshot_syntax, "give one of -s, -r and -f");
	if (o.take + o.clear + o.free_it == 0)
		return show(&o, "snapshot", "snapshot");
	return put(&o, "snapshot", o.take ? "1" : o.clear ? "2" : "0", 0, &err) ? cmd_fail("snapshot", "%s", err.text) :
		0;
}

/* ---- stack ----------------------------------------------------------------------------------- */

static const struct cmd_option stack_options[] = {
	SESSION,
	{ "start", 0, NULL, "look for the deepest stack", cmd_flag, FIELD(start), NULL },
	{ "stop", 0, NULL, "stop looking", cmd_flag, FIELD(stop), NULL },
	{ "reset", 0, NULL, "forget the deepest stack so far", cmd_flag, FIELD(clear), NULL },
	{ 0 }
};

static const struct cmd_syntax stack_syntax = {
	"stack", "[OPTIONS]", "Look for the deepest stack in a session, or print it.", stack_options, 0
};

int cmd_stack(int argc, char **argv)
{
	struct control_opts o = { 0 };
	struct uft_error err = { "" };
	int status = cmd_parse(&stack_syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc > 1 || o.start + o.stop + o.clear > 1)
		return cmd_usage(&stack_syntax, "give one of --start, --stop and --reset");
	if (o.start + o.stop + o.clear == 0)
		return show(&o, "stack", "stack_trace");
	return put(&o, o.clear ? "stack_max_size" : "stack_tracer_enabled", o.start ? "1" : "0", 0, &err) ?
		cmd_fail("stack", "%s", err.text) : 0;
}

/* ---- extract --------------------------------------------------------------------------------- */

static const struct cmd_option extract_options[] = {
	SESSION,
	INSTANCE,
	{ "output", 'o', "FILE", "write to FILE (default trace.dat)", cmd_string, FIELD(output), NULL },
	{ 0 }
};

static const struct cmd_syntax extract_syntax = {
	"extract", "[OPTIONS]", "Save a session's buffer as a trace.dat file, and clear it.", extract_options, 0
};

static int put_bytes(void *f, const char *p, size_t n)
{
	if (!ftell(f) && ftruncate(fileno(f), 0) < 0 && errno != EINVAL)	/* a pipe has nothing to cut */
		return -errno;
	return fwrite(p, 1, n, f) == n ? 0 : -errno;
}

int cmd_extract(int argc, char **argv)
{
	struct control_opts o = { .output = "trace.dat" };
	struct uft_error err = { "" };
	int ret, status = cmd_parse(&extract_syntax, &argc, argv, &o);
	char buf[CLIENT_PATH];
	const char *path, *why;
	FILE *f;
	int fd;

	if (status >= 0)
		return status;
	if (argc > 1)
		return cmd_usage(&extract_syntax, "unexpected operand '%s'", argv[1]);
	path = client_path(o.instance, "trace", buf);
	/* open first: the output loses its content only when there is data for it */
	fd = uft_newfile_open(o.output, 0, NULL, &why);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return cmd_fail("extract", "cannot write %s: %s", o.output, why ? why : strerror(fd < 0 ? -fd : errno));
	ret = client_extract(o.session, path, put_bytes, f, &err);
	if (fclose(f) != 0 && !ret)
		ret = uft_fail(&err, -errno, "cannot write %s: %s", o.output, strerror(errno));
	return ret ? cmd_fail("extract", "%s", err.text) : 0;
}
