/* SPDX-License-Identifier: MIT */
/*
 * hist_live.c - uft hist -p and -S: live histograms of running processes, or of a session
 *
 * For processes, the command has a private session (own_session.c), whose events get the triggers of -k, -R and so on.
 * An existing session has its triggers already. In both cases the text comes from the files events/SYSTEM/EVENT/hist:
 * they are read again for each drawing, and a last time for the final table.
 */
#include "cmd/hist_live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/hist_table.h"
#include "cmd/own_session.h"
#include "cmd/screen.h"
#include "symbol/array.h"
#include "symbol/text_file.h"

#define HEAD	"# event histogram\n#\n"	/* of each histogram in a file */

struct live {
	const struct hist_live *opts;
	struct own_session *own;	/* NULL: a session's: */
	const char *session, *instance;
	char **event; size_t nevents;	/* SYSTEM/EVENT */
	struct pollfd *fd; size_t nfds;	/* the keyboard, then the processes: .fd -1 of one that has ended */
};

static void live_free(struct live *l)
{
	for (size_t i = 0; i < l->nevents; i++)
		free(l->event[i]);
	free(l->event);
	for (size_t i = 1; i < l->nfds; i++)
		if (l->fd[i].fd >= 0)
			close(l->fd[i].fd);
	free(l->fd);
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Reads file @name of the event; free() the text; NULL: with @err. */
static char *read_file(const struct live *l, const char *event, const char *name, struct uft_error *err)
{
	char file[CLIENT_PATH], path[CLIENT_PATH], *text = NULL;
	size_t size;
	FILE *f;
	int ret;

	snprintf(file, sizeof(file), "events/%s/%s", event, name);
	if (!l->own)
		return client_read_text(l->session, client_path(l->instance, file, path), err);
	f = open_memstream(&text, &size);
	ret = f ? own_session_read(l->own, file, 0, client_keep, f) : -ENOMEM;
	if (f && text_file_close(f, &text) && !ret)
		ret = -ENOMEM;
	if (!ret)
		return text;
	uft_fail(err, ret, "%s: %s", file, strerror(-ret));
	free(text);
	return NULL;
}

/* With several events, the text of each histogram names its event, as with a recording. */
static void put_table(const struct live *l, const char *event, const char *text, FILE *out)
{
	int system = (int)strcspn(event, "/");

	for (const char *next; *text; text = next) {
		int is_head = !strncmp(text, HEAD, strlen(HEAD));

		next = text + (is_head ? strlen(HEAD) : strcspn(text, "\n"));
		next += !is_head && *next;
		fwrite(text, 1, (size_t)(next - text), out);
		if (is_head && l->nevents > 1)
			fprintf(out, "# event: %.*s:%s\n", system, event, event + system + 1);
	}
}

/* All tables, free() them; NULL: with @err. */
static char *read_tables(const struct live *l, struct uft_error *err)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int ret = out ? 0 : uft_fail(err, -ENOMEM, "out of memory"), n = 0;

	for (size_t i = 0; i < l->nevents && !ret; i++) {
		char *table = read_file(l, l->event[i], "hist", err);

		if (table && *table) {
			fprintf(out, "%s", n++ ? "\n\n" : "");
			put_table(l, l->event[i], table, out);
		}
		ret = table ? 0 : -EIO;
		free(table);
	}
	if (out && text_file_close(out, &text) && !ret)
		ret = uft_fail(err, -ENOMEM, "out of memory");
	if (!ret)
		return text;
	free(text);
	return NULL;
}

/* ---- Until it ends --------------------------------------------------------------------------- */

/* The last @rows lines of @text: the most frequent entries and the totals. */
static const char *end_of(const char *text, unsigned rows)
{
	unsigned n = 0;

	for (const char *p = text; *p; p++)
		n += *p == '\n';
	for (; n > rows; n--)
		text = strchr(text, '\n') + 1;
	return text;
}

static int draw(const struct live *l, struct uft_error *err)
{
	char *tables = read_tables(l, err), *text = NULL;
	unsigned rows = screen_rows();
	int ret = tables ? 0 : -EIO;

	if (!ret && asprintf(&text, "uft hist: every %g s (q quits)\n%s", (double)l->opts->delay_ns / 1e9,
			     end_of(tables, rows > 3 ? rows - 2 : ~0u)) < 0)
		ret = uft_fail(err, -ENOMEM, "out of memory");
	if (!ret)
		screen_draw(text);
	free(text);
	free(tables);
	return ret ? ret : fflush(stdout) ? -errno : 0;
}

static int is_running(const struct live *l)
{
	for (size_t i = 1; i < l->nfds; i++)
		if (l->fd[i].fd >= 0)
			return 1;
	return !l->own;
}

/* Waits for the next drawing, a key, a signal, or the end of a process. */
static void wait_next(struct live *l, const struct screen *screen)
{
	const struct timespec delay = { (time_t)(l->opts->delay_ns / 1000000000),
		(long)(l->opts->delay_ns % 1000000000) };

	l->fd[0].fd = screen->has_keys ? STDIN_FILENO : -1;
	if (ppoll(l->fd, l->nfds, &delay, NULL) <= 0)
		return;
	screen_key(screen);
	for (size_t i = 1; i < l->nfds; i++)
		if (l->fd[i].fd >= 0 && l->fd[i].revents) {
			close(l->fd[i].fd);
			l->fd[i].fd = -1;
		}
}

static int follow(struct live *l, struct uft_error *err)
{
	struct screen screen = { .has_keys = 0 };
	int is_drawn = isatty(STDOUT_FILENO), ret = 0;

	if (is_drawn)
		screen_begin(&screen);
	else
		fprintf(stderr, "uft hist: counts events of %zu process%s until Ctrl-C\n", l->nfds - 1,
			l->nfds == 2 ? "" : "es");
	while (!ret && !screen_is_over() && is_running(l)) {
		if (is_drawn)
			ret = draw(l, err);
		if (!ret)
			wait_next(l, &screen);
	}
	screen_end(&screen);
	if (is_drawn)
		screen_draw("");
	return ret;
}

/* For programs. */
static int put_form(const struct live *l, struct uft_error *err)
{
	char file[CLIENT_PATH], path[CLIENT_PATH], *words = NULL;
	size_t size;
	FILE *f = open_memstream(&words, &size);
	int ret = f ? 0 : -ENOMEM;

	for (size_t i = 0; i < l->nevents && !ret; i++) {
		snprintf(file, sizeof(file), "events/%s/hist", l->event[i]);
		ret = l->own ? own_session_read_cells(l->own, file, client_keep, f)
			     : client_read_cells(l->session, client_path(l->instance, file, path), client_keep, f, err);
		if (ret && !err->text[0])
			uft_fail(err, ret, "%s: %s", file, strerror(-ret));
	}
	if (f && text_file_close(f, &words) && !ret)
		ret = -ENOMEM;
	ret = ret ? ret : cmd_hist_put("hist", stdout, l->opts->form, words, size);
	free(words);
	return ret;
}

/* Draws until the end, then prints the final tables. */
static int show(struct live *l, int is_once, struct uft_error *err)
{
	int ret = is_once ? 0 : follow(l, err);
	char *text;

	if (!ret && l->opts->form != UFT_FORM_TEXT)
		return put_form(l, err);
	text = ret ? NULL : read_tables(l, err);

	if (!text)
		return ret ? ret : -EIO;
	fputs(text, stdout);
	free(text);
	return fflush(stdout) ? -errno : 0;
}

static int add_event(struct live *l, const char *system, const char *name)
{
	char *event = NULL;

	if (array_resize(l->event, l->nevents + 1) || asprintf(&event, "%s/%s", system, name) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < l->nevents; i++)
		if (!strcmp(l->event[i], event)) {		/* two options name it */
			free(event);
			return 0;
		}
	l->event[l->nevents++] = event;
	return 0;
}

static int finish(int ret, const struct uft_error *err)
{
	return ret && ret != -EPIPE ? cmd_fail("hist", "%s", err->text[0] ? err->text : strerror(-ret)) : 0;
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* Opens the targets that still run; a missing target is an error if it was named by its PID. */
static int open_targets(struct live *l, const struct cmd_targets *targets, struct uft_error *err)
{
	l->fd = calloc(targets->n + 1, sizeof(*l->fd));
	if (!l->fd)
		return uft_fail(err, -ENOMEM, "out of memory");
	l->fd[l->nfds++] = (struct pollfd){ -1, POLLIN, 0 };
	for (size_t i = 0; i < targets->n; i++) {
		pid_t pid = targets->item[i].pid;
		int fd = kill(pid, 0) ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);

		if (fd < 0 && !targets->item[i].is_found)
			return uft_fail(err, -errno,
					errno == EINVAL ? "%d is a thread: give its process" :
					"process %d: %s", pid, strerror(errno));
		if (fd >= 0)
			l->fd[l->nfds++] = (struct pollfd){ fd, POLLIN, 0 };
	}
	return l->nfds > 1 ? 0 : uft_fail(err, -ESRCH, "none of the processes runs any more");
}

static int put_ask(struct live *l, const struct hist_ask *a, struct uft_error *err)
{
	const struct uft_event_table *types = uft_tree_event_types(l->own->tree);
	char *text = hist_ask_text(a);
	int ret = text ? 0 : -ENOMEM;

	if (!ret && hist_ask_is_short(a))
		ret = own_session_put_of_events(l->own, a->event, NULL, "trigger", text, err);
	for (size_t k = 0; k < a->triggers.n && !ret; k++)
		ret = own_session_put_of_events(l->own, a->event, NULL, "trigger", a->triggers.item[k], err);
	for (uint32_t i = 0; i < uft_event_table_count(types) && !ret; i++) {
		const struct uft_event_type *type = uft_event_table_at(types, i);

		if (type && uft_event_matches(a->event, strlen(a->event), type))
			ret = add_event(l, type->system, type->name);
	}
	free(text);
	return ret;
}

int hist_of_processes(const struct hist_live *opts, const struct cmd_targets *targets)
{
	const struct record_opts none = { .tracer = UFT_TRACER_NOP };
	struct own_session own = { NULL, 0 };
	struct live l = { .opts = opts, .own = &own };
	struct uft_error err = { "" };
	int ret;

	screen_catch_ends();
	ret = open_targets(&l, targets, &err);
	ret = ret ? ret : own_session_open(&own, "hist", &none, 0, &err);
	ret = ret ? ret : own_session_attach(&own, targets, &err);
	for (size_t i = 0; i < opts->asks->n && !ret; i++)
		ret = put_ask(&l, &opts->asks->v[i], &err);
	ret = ret ? ret : show(&l, 0, &err);
	own_session_close(&own);
	live_free(&l);
	return finish(ret, &err);
}

/* ---- A session ------------------------------------------------------------------------------- */

static int is_asked(const struct live *l, const char *system, const char *name)
{
	const struct uft_event_type type = { .system = system, .name = name };

	for (size_t i = 0; i < l->opts->asks->n; i++)
		if (uft_event_matches(l->opts->asks->v[i].event, strlen(l->opts->asks->v[i].event), &type))
			return 1;
	return !l->opts->asks->n;
}

static int has_hist(const char *triggers)
{
	return !strncmp(triggers, "hist:", 5) || strstr(triggers, "\nhist:");
}

/* Lines SYSTEM:EVENT. A file of triggers that cannot be read is of an event that has gone. */
static int find_hists(struct live *l, char *events)
{
	char *line, *name, *rest = NULL, *triggers, event[CLIENT_PATH];
	struct uft_error gone;
	int ret = 0;

	for (line = strtok_r(events, "\n", &rest); line && !ret; line = strtok_r(NULL, "\n", &rest)) {
		name = strchr(line, ':');
		if (!name)
			continue;
		*name++ = '\0';
		if (!is_asked(l, line, name))
			continue;
		snprintf(event, sizeof(event), "%s/%s", line, name);
		triggers = read_file(l, event, "trigger", &gone);
		if (triggers && has_hist(triggers))
			ret = add_event(l, line, name);
		free(triggers);
	}
	return ret;
}

int hist_of_session(const struct hist_live *opts, const char *session, const char *instance)
{
	struct live l = {
		.opts = opts, .session = session, .instance = instance, .fd = calloc(1, sizeof(*l.fd)), .nfds = 1
	};
	struct uft_error err = { "" };
	/* an instance has no such file */
	char *events = l.fd ? client_read_text(session, "available_events", &err) : NULL;
	int ret = events ? find_hists(&l, events) : -EIO;

	free(events);
	if (!ret && !l.nevents)
		ret = uft_fail(&err, -ENOENT,
			       "no such event of the session has a histogram (echo hist:keys=FIELD >>events/SYSTEM/EVENT/trigger makes one)");
	if (!ret) {
		l.fd[0].events = POLLIN;
		screen_catch_ends();
		ret = show(&l, opts->is_once || !isatty(STDOUT_FILENO), &err);
	}
	live_free(&l);
	return finish(ret, &err);
}
