/* SPDX-License-Identifier: MIT */
/*
 * server.c - see server.h; the questions and answers: doc/view-api.md
 *
 * libmicrohttpd is loaded here by name, and not linked. It brings nine libraries, for which the start of every traced
 * program would wait, and only `uft view` needs it.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/output.h"
#include "view/page.h"
#include "view/peers.h"
#include "view/server.h"

#define TOKEN_BYTES 16u
#define ROWS_ASKED 1024u /* rows of one picture */
#define WIDTH_MAX 16384u
#define PLOT_WIDTH_MAX 4096u
#define SILENT_S 5u /* without the token, between two parts of a request */
#define IDLE_S 60u  /* with it */

#ifdef UFT_HAS_MICROHTTPD

#include <microhttpd.h>

static struct {
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_get_daemon_info) get_daemon_info;
	__typeof__(&MHD_lookup_connection_value) lookup;
	__typeof__(&MHD_create_response_from_buffer) response;
	__typeof__(&MHD_add_response_header) add_header;
	__typeof__(&MHD_queue_response) queue;
	__typeof__(&MHD_destroy_response) destroy;
	__typeof__(&MHD_create_response_from_fd) response_of_fd;
	__typeof__(&MHD_get_connection_info) connection_info;
	__typeof__(&MHD_set_connection_option) set_option;
} mhd;

struct view_server {
	struct MHD_Daemon *daemon;
	struct recording *const *file;
	size_t nfiles;
	struct peers peers;
	unsigned port;
	char token[2 * TOKEN_BYTES + 1];
	char url[96];
};

static int load(struct uft_error *err)
{
	void *so = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);

	if (!so)
		return uft_fail(err, -ENOENT,
				"it needs libmicrohttpd, which is not here: install the package libmicrohttpd12");
	mhd.start_daemon = (__typeof__(mhd.start_daemon))dlsym(so, "MHD_start_daemon");
	mhd.stop_daemon = (__typeof__(mhd.stop_daemon))dlsym(so, "MHD_stop_daemon");
	mhd.get_daemon_info = (__typeof__(mhd.get_daemon_info))dlsym(so, "MHD_get_daemon_info");
	mhd.lookup = (__typeof__(mhd.lookup))dlsym(so, "MHD_lookup_connection_value");
	mhd.response = (__typeof__(mhd.response))dlsym(so, "MHD_create_response_from_buffer");
	mhd.add_header = (__typeof__(mhd.add_header))dlsym(so, "MHD_add_response_header");
	mhd.queue = (__typeof__(mhd.queue))dlsym(so, "MHD_queue_response");
	mhd.destroy = (__typeof__(mhd.destroy))dlsym(so, "MHD_destroy_response");
	mhd.response_of_fd = (__typeof__(mhd.response_of_fd))dlsym(so, "MHD_create_response_from_fd");
	mhd.connection_info = (__typeof__(mhd.connection_info))dlsym(so, "MHD_get_connection_info");
	mhd.set_option = (__typeof__(mhd.set_option))dlsym(so, "MHD_set_connection_option");
	if (!mhd.start_daemon || !mhd.stop_daemon || !mhd.get_daemon_info || !mhd.lookup || !mhd.response ||
	    !mhd.add_header || !mhd.queue || !mhd.destroy || !mhd.response_of_fd ||
	    !mhd.connection_info || !mhd.set_option)
		return uft_fail(err, -ENOENT,
				"this libmicrohttpd lacks functions that uft needs: install the package libmicrohttpd12");
	return 0;
}

/* ---- Sending --------------------------------------------------------------------------------------------- */

static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status, const char *type,
				     struct MHD_Response *r)
{
	enum MHD_Result ret;

	if (!r)
		return MHD_NO;
	mhd.add_header(r, "Content-Type", type);
	mhd.add_header(r, "Cache-Control", "no-store");
	mhd.add_header(r, "X-Content-Type-Options", "nosniff");
	mhd.add_header(r, "Referrer-Policy", "no-referrer"); /* the address has the token in it */
	mhd.add_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	mhd.add_header(r, "Content-Security-Policy",
		       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
		       "base-uri 'none'; "
		       "form-action 'none'; frame-ancestors 'none'");
	ret = mhd.queue(c, status, r);
	mhd.destroy(r);
	return ret;
}

static enum MHD_Result send_bytes(struct MHD_Connection *c, unsigned status, const char *type, const void *p, size_t n)
{
	return send_response(c, status, type, mhd.response(n, (void *)p, MHD_RESPMEM_MUST_COPY));
}

/* Sends @j, whose memory belongs to the response from here on. */
static enum MHD_Result send_own(struct MHD_Connection *c, const char *type, struct json *j)
{
	struct MHD_Response *r = mhd.response(j->n, j->p, MHD_RESPMEM_MUST_FREE);

	if (r)
		*j = (struct json){0};
	return send_response(c, MHD_HTTP_OK, type, r);
}

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned status, const char *text)
{
	return send_bytes(c, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result send_error(struct MHD_Connection *c, unsigned status, const char *why)
{
	struct json j = {0};
	enum MHD_Result ret;

	json_raw(&j, "{\"state\":\"failed\"");
	json_key_str(&j, "error", why);
	json_raw(&j, "}");
	ret = j.err ? MHD_NO : send_bytes(c, status, "application/json", j.p, j.n);
	json_free(&j);
	return ret;
}

/* ---- Questions -------------------------------------------------------------------------------------------- */

static const char *arg(struct MHD_Connection *c, const char *key)
{
	const char *v = mhd.lookup(c, MHD_GET_ARGUMENT_KIND, key);

	return v ? v : "";
}

/* A number of decimal digits; @none for any other text. */
static uint64_t arg_u(struct MHD_Connection *c, const char *key, uint64_t none)
{
	const char *v = arg(c, key);
	uint64_t n;

	if (!*v || v[strspn(v, "0123456789")] || strlen(v) > 18)
		return none;
	n = strtoull(v, NULL, 10);
	return n;
}

/* A number of decimal digits at *p, which moves behind it. UINT32_MAX: no number, or too large. */
static uint32_t take_u31(const char **p)
{
	unsigned long v;
	char *end;

	if (**p < '0' || **p > '9')
		return UINT32_MAX;
	v = strtoul(*p, &end, 10);
	*p = end;
	return v < ROW_CPU ? (uint32_t)v : UINT32_MAX;
}

/* Reads `12,13:0-7,c0`: rows of tasks, depths of their calls (default: all), and CPUs. SIZE_MAX: no such list. */
static size_t arg_rows(struct MHD_Connection *c, struct lod_asked rows[ROWS_ASKED])
{
	const char *p = arg(c, "rows");
	size_t n = 0;

	while (*p) {
		uint32_t cpu = *p == 'c' ? ROW_CPU : 0, row, first = 0, last = LOD_LANES - 1;

		p += cpu != 0;
		row = take_u31(&p);
		if (row == UINT32_MAX || n == ROWS_ASKED)
			return SIZE_MAX;
		if (*p == ':') {
			p++;
			first = take_u31(&p);
			if (*p++ != '-')
				return SIZE_MAX;
			last = take_u31(&p);
			if (first == UINT32_MAX || last == UINT32_MAX)
				return SIZE_MAX;
		}
		if (*p && *p != ',')
			return SIZE_MAX;
		rows[n++] = (struct lod_asked){.row = row | cpu, .first_lane = first, .behind_lane = last + 1};
		p += *p == ',';
	}
	return n;
}

struct question {
	struct view_server *s;
	struct MHD_Connection *c;
	struct sources of;
	struct view_range range;
	struct json j;
	int is_packed; /* the answer: bytes follow its text */
	const char *why;
};

static int ask_info(struct question *q)
{
	return view_info(&q->of, &q->j);
}

static int ask_files(struct question *q)
{
	json_raw(&q->j, "{\"files\":[");
	for (size_t i = 0; i < q->s->nfiles; i++) {
		json_comma(&q->j);
		json_str(&q->j, recording_path(q->s->file[i]));
	}
	json_raw(&q->j, "]");
	json_key(&q->j, "formats");
	json_raw(&q->j, "[");
	for (const struct uft_export *e = uft_exports; e->name; e++) {
		if (e->takes & UFT_EXPORT_DIRECTORY)
			continue;
		json_comma(&q->j);
		json_str(&q->j, e->name);
	}
	json_raw(&q->j, "]}");
	return q->j.err;
}

static int ask_tiles(struct question *q)
{
	static struct lod_asked rows[ROWS_ASKED];
	uint64_t width = arg_u(q->c, "width", 1000);
	struct tiles_asked asked = {arg(q->c, "filter"), q->range, (uint32_t)width, rows, arg_rows(q->c, rows),
				    arg_u(q->c, "packed", 0) == 1};

	if (asked.nrows == SIZE_MAX || !width || width > WIDTH_MAX) {
		q->why =
			"rows is a list of numbers, those of CPUs with a c in front, 1024 at most, each with depths behind a "
			"colon (0:0-7) if not all are asked for; width is 1 to 16384";
		return -EINVAL;
	}
	return view_tiles(&q->of, &asked, &q->j, &q->is_packed, &q->why);
}

static int ask_list(struct question *q)
{
	uint64_t count = arg_u(q->c, "count", 100);

	return view_list(&q->of, arg(q->c, "filter"), arg_u(q->c, "first", 0),
			 count < 1u << 16 ? (uint32_t)count : 1u << 16, &q->j, &q->why);
}

static int ask_row_at(struct question *q)
{
	return view_row_at(&q->of, arg(q->c, "filter"), arg_u(q->c, "t", 0), &q->j, &q->why);
}

static int ask_search(struct question *q)
{
	struct wanted w = {arg(q->c, "text"), arg(q->c, "call"), (uint32_t)arg_u(q->c, "tid", 0),
			   arg_u(q->c, "source", UINT64_MAX)};

	if (!*w.text && !*w.call && !w.tid) {
		q->why = "what to look for is text, call (the name of a function) or tid (a thread)";
		return -EINVAL;
	}
	return view_search(&q->of, arg(q->c, "filter"), &w, arg_u(q->c, "from", 0),
			   (int)arg_u(q->c, "back", 0), &q->j, &q->why);
}

static int ask_report(struct question *q, struct report_question *r)
{
	r->range = q->range;
	r->tid = (uint32_t)arg_u(q->c, "tid", 0);
	r->text = r->text ? r->text : "";
	r->filter = r->kind == REPORT_TREE || r->kind == REPORT_HISTOGRAM || r->kind == REPORT_PLOT ?
		arg(q->c, "filter") : "";
	return view_report(&q->of, r, &q->j, &q->why);
}

static int ask_tree(struct question *q)
{
	return ask_report(q, &(struct report_question){.kind = REPORT_TREE});
}

static int ask_histogram(struct question *q)
{
	if (!*arg(q->c, "func")) {
		q->why = "func is the name of a function, as it is shown";
		return -EINVAL;
	}
	return ask_report(q, &(struct report_question){.kind = REPORT_HISTOGRAM, .text = arg(q->c, "func")});
}

static int ask_plot(struct question *q)
{
	const char *field = arg(q->c, "field"), *track = arg(q->c, "track");
	uint64_t width = arg_u(q->c, "width", 500);
	char text[1024];

	if (!width || width > PLOT_WIDTH_MAX || (*field && !strchr(field, '.'))) {
		q->why = "field is EVENT.FIELD, func the name of a function; width is 1 to 4096";
		return -EINVAL;
	}
	snprintf(text, sizeof(text), "%c%s%s%s", *field ? 'e' : 'f', *field ? field : arg(q->c, "func"),
		 *field && *track ? "\n" : "", *field ? track : "");
	return ask_report(q, &(struct report_question){.kind = REPORT_PLOT, .width = (uint32_t)width, .text = text});
}

/* Asks for details of a call, which has a depth and begins with the range, or of the event there that has the name. */
static int ask_details_of(struct question *q, enum report_kind kind)
{
	const char *depth = arg(q->c, "depth");
	struct report_question r = {.kind = kind, .depth = (uint32_t)arg_u(q->c, "depth", DETAILS_OF_EVENT),
				    .text = arg(q->c, "name")};

	if (q->of.n != 1 || !arg_u(q->c, "tid", 0) || (*depth && r.depth == DETAILS_OF_EVENT) ||
	    (!*depth && !*r.text)) {
		q->why = "from is when a call begins, depth how deep it is, tid its thread, in one recording; an event "
			 "has its name instead of a depth";
		return -EINVAL;
	}
	return ask_report(q, &r);
}

static int ask_details(struct question *q)
{
	return ask_details_of(q, REPORT_DETAILS);
}

static int ask_source(struct question *q)
{
	return ask_details_of(q, REPORT_SOURCE);
}

static int ask_counters(struct question *q)
{
	q->range = (struct view_range){0, UINT64_MAX / 2};
	return ask_report(q, &(struct report_question){.kind = REPORT_COUNTERS});
}

static int ask_diff(struct question *q)
{
	uint64_t with = arg_u(q->c, "with", UINT64_MAX);

	if (with >= q->s->nfiles || q->of.n != 1 || q->s->file[with] == q->of.file[0]) {
		q->why = "file and with are the numbers of two recordings";
		return -EINVAL;
	}
	return ask_report(q, &(struct report_question){.kind = REPORT_DIFF, .other = q->s->file[with]});
}

static int ask_export(struct question *q)
{
	if (q->of.n != 1) {
		q->why = "an export is made of one recording: choose it first";
		return -EINVAL;
	}
	return ask_report(q, &(struct report_question){.kind = REPORT_EXPORT, .text = arg(q->c, "format")});
}

static int ask_reload(struct question *q)
{
	int ret = 0;

	for (size_t i = 0; i < q->of.n && !ret; i++) {
		json_free(&q->j);
		ret = recording_reload(q->of.file[i], &q->j);
	}
	return ret;
}

static const struct ask {
	const char *name, *method;
	int (*fn)(struct question *q);
	int has_range;
} asks[] = {
	{"info", "GET", ask_info, 0},	{"files", "GET", ask_files, 0},		{"tiles", "GET", ask_tiles, 1},
	{"list", "GET", ask_list, 0},	{"row_at", "GET", ask_row_at, 0},	{"search", "GET", ask_search, 0},
	{"tree", "GET", ask_tree, 1},	{"histogram", "GET", ask_histogram, 1}, {"plot", "GET", ask_plot, 1},
	{"counters", "GET", ask_counters, 0},
	{"details", "GET", ask_details, 1},
	{"source", "GET", ask_source, 1},
	{"diff", "GET", ask_diff, 0},	{"export", "GET", ask_export, 1},	{"reload", "POST", ask_reload, 0},
};

/* Reads `0,-1500`: ns to add to the times of each recording in turn, 0 for the others. 0, or -EINVAL: no such list. */
static int arg_shift(struct MHD_Connection *c, size_t nfiles, int64_t shift[SOURCES_MAX])
{
	const char *p = arg(c, "shift");

	memset(shift, 0, SOURCES_MAX * sizeof(shift[0]));
	for (size_t i = 0; *p; i++) {
		size_t digits = strspn(p + (*p == '-'), "0123456789");
		char *end;

		if (i >= nfiles || !digits || digits > 18)
			return -EINVAL;
		shift[i] = strtoll(p, &end, 10);
		p = end + (*end == ',' && end[1]);
		if (p == end && *end)
			return -EINVAL;
	}
	return 0;
}

/* Finds `all` recordings, on one clock, or one by its number. 0: *of; else the answer has been sent. */
static int find_sources(struct view_server *s, struct MHD_Connection *c, const struct ask *a, struct sources *of,
			enum MHD_Result *ret)
{
	uint64_t file = arg_u(c, "file", 0);
	int64_t shift[SOURCES_MAX];
	struct json j = {0};
	int err;

	if (strcmp(arg(c, "file"), "all")) {
		if (file < s->nfiles)
			sources_one(of, s->file[file]);
		else
			*ret = send_error(c, MHD_HTTP_NOT_FOUND, "file: there is no recording of that number");
		return file >= s->nfiles;
	}
	if (arg_shift(c, s->nfiles, shift)) {
		*ret = send_error(c, MHD_HTTP_BAD_REQUEST,
				  "shift is a list of whole ns, one for each recording: 0,-1500");
		return 1;
	}
	err = sources_all(of, s->file, shift, s->nfiles);
	if (!err || a->fn == ask_info || a->fn == ask_reload || a->fn == ask_files)
		return 0;
	if (err != -EAGAIN) {
		*ret = send_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, view_error_text(err));
	} else {
		put_working(&j, 0);
		*ret = j.err ? MHD_NO : send_bytes(c, MHD_HTTP_OK, "application/json", j.p, j.n);
	}
	json_free(&j);
	return 1;
}

static enum MHD_Result answer(struct view_server *s, struct MHD_Connection *c, const struct ask *a)
{
	struct question q = {.s = s, .c = c};
	enum MHD_Result ret = MHD_NO;
	int err;

	if (find_sources(s, c, a, &q.of, &ret))
		return ret;
	q.range = (struct view_range){arg_u(c, "from", 0), arg_u(c, "to", 0)};
	if (a->has_range && q.range.to <= q.range.from)
		return send_error(c, MHD_HTTP_BAD_REQUEST, "from and to are times in ns, to is later");
	err = a->fn(&q);
	if (err == -EINVAL)
		ret = send_error(c, MHD_HTTP_BAD_REQUEST, q.why ? q.why : strerror(EINVAL));
	else if (err || !q.j.p)
		ret = send_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, view_error_text(err ? err : -EIO));
	else
		ret = send_own(c, q.is_packed ? "application/octet-stream" : "application/json", &q.j);
	json_free(&q.j);
	return ret;
}

/* Sends the file that an answer to `export` has named. */
static enum MHD_Result send_export(struct view_server *s, struct MHD_Connection *c)
{
	uint64_t file = arg_u(c, "file", 0);
	int fd = file < s->nfiles ? view_exported(s->file[file], arg_u(c, "number", 0)) : -ENOENT;
	struct MHD_Response *r;
	struct stat st;

	if (fd < 0)
		return send_error(c, MHD_HTTP_NOT_FOUND, "this export is not kept any more: ask for it again");
	if (fstat(fd, &st)) {
		close(fd);
		return MHD_NO;
	}
	r = mhd.response_of_fd((size_t)st.st_size, fd);
	if (!r)
		close(fd);
	return send_response(c, MHD_HTTP_OK, "application/octet-stream", r);
}

static enum MHD_Result send_page(struct MHD_Connection *c, const char *name)
{
	for (const struct view_page *p = view_pages; p->name; p++)
		if (!strcmp(p->name, name))
			return send_bytes(c, MHD_HTTP_OK, p->type, p->bytes, p->n);
	if (!*name && !view_server_has_page())
		return send_text(c, MHD_HTTP_SERVICE_UNAVAILABLE,
				 "this uft was built without its page: npm was missing (make setup, then make)\n");
	return send_text(c, MHD_HTTP_NOT_FOUND, "there is no such page\n");
}

/* Compares in the same time wherever the texts differ. */
static int is_token(const struct view_server *s, const char *p)
{
	unsigned char differs = 0;
	size_t n = strlen(s->token);

	if (strnlen(p, n) < n)
		return 0;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(p[i] ^ s->token[i]);
	return !differs && p[n] == '/';
}

/* Checks the Host, because a name server can lead a page of another web site here: its Host differs. */
static int is_host(const struct view_server *s, struct MHD_Connection *c)
{
	const char *host = mhd.lookup(c, MHD_HEADER_KIND, "Host");
	char a[32], b[32];

	snprintf(a, sizeof(a), "127.0.0.1:%u", s->port);
	snprintf(b, sizeof(b), "localhost:%u", s->port);
	return host && (!strcmp(host, a) || !strcmp(host, b));
}

/* ---- Connections ------------------------------------------------------------------------------------------ */

static void connection_changed(void *ctx, struct MHD_Connection *c, void **context,
			       enum MHD_ConnectionNotificationCode what)
{
	struct view_server *s = ctx;
	const union MHD_ConnectionInfo *fd;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		peers_remove(&s->peers, *context);
		return;
	}
	fd = mhd.connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	*context = fd ? peers_add(&s->peers, fd->connect_fd) : NULL;
}

static void token_came(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *context = mhd.connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (context)
		peer_has_token(context->socket_context);
	mhd.set_option(c, MHD_CONNECTION_OPTION_TIMEOUT, IDLE_S);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
			      const char *version, const char *data, size_t *n, void **state)
{
	static int is_begun;
	struct view_server *s = ctx;
	const char *path;

	(void)version;
	(void)data;
	if (!*state) { /* the head only: the rest is to come, and is not wanted */
		*state = &is_begun;
		return MHD_YES;
	}
	if (*n) {
		*n = 0;
		return MHD_YES;
	}
	if (url[0] != '/' || !is_token(s, url + 1) || !is_host(s, c))
		return send_text(c, MHD_HTTP_FORBIDDEN, "forbidden\n");
	token_came(c);
	path = url + 1 + strlen(s->token) + 1;
	if (!strcmp(path, "exported"))
		return strcmp(method, "GET") ? send_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "another method is needed\n")
					     : send_export(s, c);
	if (!strncmp(path, "api/", 4)) {
		for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
			if (!strcmp(asks[i].name, path + 4))
				return strcmp(asks[i].method, method)
					       ? send_error(c, MHD_HTTP_METHOD_NOT_ALLOWED, "another method is needed")
					       : answer(s, c, &asks[i]);
		return send_error(c, MHD_HTTP_NOT_FOUND, "there is no such question");
	}
	return strcmp(method, "GET") ? send_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "another method is needed\n")
				     : send_page(c, path);
}

/* ---- Starting ------------------------------------------------------------------------------------------------ */

static int make_token(struct view_server *s)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int view_server_start(struct recording *const *files, size_t nfiles, unsigned port, struct view_server **out,
		      struct uft_error *err)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct view_server *s;
	const union MHD_DaemonInfo *info;
	int ret = load(err);

	*out = NULL;
	if (ret)
		return ret;
	s = calloc(1, sizeof(*s));
	if (!s || make_token(s)) {
		free(s);
		return uft_fail(err, -ENOMEM, "out of memory");
	}
	s->file = files;
	s->nfiles = nfiles;
	peers_init(&s->peers);
	errno = 0;
	s->daemon = mhd.start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, (uint16_t)port, NULL, NULL, handle, s,
				     MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_CONNECTION_TIMEOUT, SILENT_S,
				     MHD_OPTION_CONNECTION_LIMIT, 2 * PEERS_MAX, MHD_OPTION_NOTIFY_CONNECTION,
				     connection_changed, s, MHD_OPTION_END);
	info = s->daemon ? mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		ret = errno ? -errno : -EADDRINUSE;
		if (s->daemon)
			mhd.stop_daemon(s->daemon);
		peers_free(&s->peers);
		free(s);
		return uft_fail(
			err, ret,
			port ? "cannot listen on port %u of 127.0.0.1: %s (without --port any free one is taken)"
			     : "cannot listen on 127.0.0.1: %.0u%s",
			port, strerror(-ret));
	}
	s->port = info->port;
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u/%s/", s->port, s->token);
	*out = s;
	return 0;
}

const char *view_server_url(const struct view_server *s)
{
	return s->url;
}

void view_server_stop(struct view_server *s)
{
	if (!s)
		return;
	mhd.stop_daemon(s->daemon);
	peers_free(&s->peers);
	free(s);
}

#else

int view_server_start(struct recording *const *files, size_t nfiles, unsigned port, struct view_server **out,
		      struct uft_error *err)
{
	(void)files;
	(void)nfiles;
	(void)port;
	*out = NULL;
	return uft_fail(err, -ENOSYS, "this uft was built without libmicrohttpd (make setup, then make)");
}

const char *view_server_url(const struct view_server *s)
{
	(void)s;
	return "";
}

void view_server_stop(struct view_server *s)
{
	(void)s;
}

#endif

int view_server_has_page(void)
{
	return view_pages[0].name != NULL;
}
