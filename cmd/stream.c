/* SPDX-License-Identifier: MIT */
/*
 * stream.c - uft stream: the events of a program, or of a session, as they come
 *
 * The command starts a program in a private session, with options of uft record, and prints trace_pipe as lines come.
 * After the end of the program it prints the rest from `trace`: trace_pipe holds the youngest records back for a
 * moment, since older records of other CPUs could still come.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/own_session.h"
#include "cmd/program.h"

#define POLL_MS		50
#define BUFFER_KB	16384u

struct stream_opts { struct record_opts record; const char *session, *instance; };

#define F(field) offsetof(struct stream_opts, field)
static const struct cmd_option stream_options[] = {
	{ "tracer", 'p', "TRACER", "what to print: a tracer (default: nop with -e, else function_graph)",
		record_parse_tracer, F(record.tracer),
	  record_tracer_names },
	{ "event", 'e', "EVENT", "print this event: sched:sched_process_exit, sched, a glob, all; may be repeated",
		record_parse_event,
	  F(record.event), NULL },
	{ "event-filter", 'f', "FILTER", "print only events of the -e in front of it that pass", record_parse_filter,
		F(record.event), NULL },
	{ "trigger", 'R', "TRIGGER", "what the events of the -e in front of it do: 'traceoff if id == 7'",
		record_parse_trigger, F(record.event), NULL },
	{ "except", 'v', NULL, "leave out the events of each -e that follows", record_parse_except, F(record.event),
		NULL },
	CMD_FILTER(F(record.filter)),
	CMD_NOTRACE(F(record.notrace)),
	CMD_GRAPH(F(record.roots)),
	{ "max-depth", 'D', "N", "function_graph: print no calls nested deeper than N", cmd_uint, F(record.max_depth),
		NULL },
	{ "buffer", 'b', "KB", "size of one CPU's buffer (default 16M)", cmd_kb, F(record.buffer_bytes), NULL },
	CMD_EMULATOR(F(record.emulator)),
	{ "no-children", 0, NULL, "do not follow fork and exec", cmd_flag, F(record.no_children), NULL },
	{ "session", 'S', "PID",
		"without PROGRAM: the session that process PID serves; default: the current or only one", cmd_string,
		F(session), NULL },
	{ "instance", 'B', "NAME", "without PROGRAM: this instance instead of the top", cmd_string, F(instance), NULL },
	{ 0 }
};
#undef F

static const struct cmd_syntax stream_syntax = {
	"stream", "[OPTIONS] [--] [PROGRAM [ARGUMENTS]]",
	"Print the events of PROGRAM, or those of a session, as they come, each once.", stream_options, 1
};

static int print(void *arg, const char *p, size_t n)
{
	(void)arg;
	return fwrite(p, 1, n, stdout) == n && fflush(stdout) == 0 ? 0 : errno == EPIPE ? -EPIPE : -EIO;
}

/* Prints lines without the head of `trace`. @arg: is the head over? */
static int print_rest(void *arg, const char *p, size_t n)
{
	int *is_in_line = arg;

	while (n) {
		const char *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) + 1 : n;
		int ret = *is_in_line != 2 && (*is_in_line || *p != '#') ? print(NULL, p, len) : 0;

		if (ret)
			return ret;
		*is_in_line = end ? 0 : *is_in_line == 2 || (!*is_in_line && *p == '#') ? 2 : 1;
		p += len;
		n -= len;
	}
	return 0;
}

/* Prints present and later events until the program ends. Returns 0 if the reader closes the pipe. */
static int follow(struct own_session *s, int *status)
{
	int ret = 0, is_in_line = 0;

	while (!ret && *status == -EAGAIN) {
		ret = own_session_read(s, "trace_pipe", O_NONBLOCK, print, NULL);
		*status = uft_tree_wait(s->tree, ret ? -1 : POLL_MS);
	}
	ret = ret ? ret : own_session_read(s, "trace", 0, print_rest, &is_in_line);
	return ret == -EPIPE ? 0 : ret;
}

static int run_program(const struct record_opts *o, char *const argv[])
{
	struct uft_error err = { "" };
	struct own_session s = { NULL, 0 };
	char path[PATH_MAX];
	int status = cmd_find_program(argv[0], path, sizeof(path)), ret;

	if (status == 127 && !argv[0][strspn(argv[0], "0123456789")])
		return cmd_fail("stream",
				"cannot find the program '%s'; of a running process: uft attach %s records it, "
				"uft top %s shows its calls, -S chooses the session that it serves", argv[0], argv[0],
				argv[0]), status;
	if (status)
		return cmd_need_program("stream", argv[0], path, sizeof(path));
	status = -EAGAIN;
	ret = own_session_open(&s, "stream", o, o->buffer_bytes ? o->buffer_bytes / 1024 : BUFFER_KB, &err);
	ret = ret ? ret : own_session_set(&s, o, path, &err);
	signal(SIGPIPE, SIG_IGN);
	ret = ret ? ret : own_session_start(&s, argv, &err);
	if (!ret) {
		signal(SIGINT, SIG_IGN);	/* the terminal's are meant for the program, */
		signal(SIGQUIT, SIG_IGN);	/* and it ends, and so do we */
		ret = follow(&s, &status);
	}
	own_session_close(&s);
	if (ret)
		return cmd_fail("stream", "%s", err.text[0] ? err.text : strerror(-ret));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int follow_session(const struct stream_opts *o)
{
	struct uft_error err = { "" };
	char path[CLIENT_PATH];
	int ret = client_read(o->session, client_path(o->instance, "trace_pipe", path), 0, print, NULL, &err);

	return ret && ret != -EPIPE ? cmd_fail("stream", "%s", err.text) : 0;
}

static int is_plain(const struct record_opts *o)
{
	return o->tracer < 0 && !o->event.n && !o->filter.n && !o->notrace.n && !o->roots.n && !o->max_depth &&
	       !o->buffer_bytes && !o->no_children && !o->emulator;
}

int cmd_stream(int argc, char **argv)
{
	struct stream_opts o = { .record = { .tracer = -1 } };
	int status;

	cmd_heap_prepare();
	record_opts_begin();
	status = cmd_parse(&stream_syntax, &argc, argv, &o);
	if (status < 0 && argc < 2 && !is_plain(&o.record))
		status = cmd_usage(&stream_syntax, "with a session only -S and -B: uft start sets what it records");
	if (status < 0 && argc > 1 && (o.session || o.instance))
		status = cmd_usage(&stream_syntax, "-S and -B choose a session: not with a program to start");
	if (status < 0 && argc < 2)
		status = follow_session(&o);
	if (status < 0)
		status = record_opts_check(&o.record, &stream_syntax, (char *[]){ argv[1], NULL });
	if (status < 0)
		status = run_program(&o.record, argv + 1);
	record_opts_free(&o.record);
	return status;
}
