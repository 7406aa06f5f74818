/* SPDX-License-Identifier: MIT */
/*
 * viewer.c - requests to the server of uft view: well-formed, odd, cut, damaged, many in one connection
 *
 * usage: viewer [seconds] [seed]
 *
 * The server and its recordings are in this process, so that sanitizers see them. Passed: no crash, no sanitizer's report, no answer
 * but 403 or 400 to a request without the token, an answer to a question after each round, and no descriptor is left.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/synth.h"
#include "view/server.h"

#define NFILES	2u
#define ROOM	(1u << 17)

static uint64_t seed;
static unsigned port;
static char token[64];

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "viewer: %s: %s\n", what, why);
	exit(1);
}

/* ---- Requests ---------------------------------------------------------------------------------------------- */

struct text { char p[ROOM]; size_t n; };

static void put(struct text *t, const char *s)
{
	size_t n = strlen(s);

	n = t->n + n < ROOM - 1 ? n : ROOM - 1 - t->n;
	memcpy(t->p + t->n, s, n);
	t->n += n;
	t->p[t->n] = '\0';
}

#define PICK(list) ((list)[rnd(sizeof(list) / sizeof((list)[0]))])

static void put_number(struct text *t)
{
	static const char *const odd[] = {"0", "1", "-1", "2", "500", "4096", "16384", "16385", "65536", "2147483647",
		"2147483648",
		"4294967295", "4294967296", "999999999999999999", "9223372036854775807", "9223372036854775808",
		"18446744073709551615", "18446744073709551616", "1e9", "0x10", " 7", "", "1048576",
		"99999999999999999999999"};
	char text[32];

	if (rnd(3)) {
		snprintf(text, sizeof(text), "%u", rnd(rnd(2) ? 100 : 40000000));
		put(t, text);
	} else {
		put(t, PICK(odd));
	}
}

static void put_list(struct text *t)
{
	static const char *const between[] = {",", ":", "-", ",c", ":0-", "-7,", "x"};

	for (uint32_t i = rnd(rnd(10) ? 8 : 3000); i--;) {
		put_number(t);
		put(t, PICK(between));
	}
}

static void put_bytes(struct text *t, uint32_t n)
{
	char text[8];

	while (n--) {
		uint32_t c = rnd(256);

		snprintf(text, sizeof(text), c > 0x40 && c < 0x5b ? "%c" : "%%%02x", c);
		put(t, text);
	}
}

static void put_value(struct text *t)
{
	static const char *const words[] = {"all", "func_7", "func%20%3D%3D%20%22func_7%22", "duration%20%3E%201000",
		"func%20~%20%22f*%22",
		"(((", "!duration%20%3E%201%20%26%26%20(depth%20%3C%203%20%7C%7C%20COMM%20~%20%22t*%22)",
		"func%20%3D%3D", "CPU%20%26%20CPUS%7B0-1%7D",
		"a.b", ".", "a.b%0ac", "common_pid%20%3D%3D%201000", "chrome", "speedscope", "pprof", "sqlite",
		"parquet", "perfetto", "folded", "otlp",
		"firefox", "svg", "trace.dat-v7", "ctf", "..%2F..%2Fetc%2Fpasswd", "%00", "%", "%zz", "<script>"};

	switch (rnd(8)) {
	case 0: put_list(t); break;
	case 1: put_bytes(t, rnd(40)); break;
	case 2: put_bytes(t, rnd(rnd(20) ? 200 : 9000)); break;
	case 3: case 4: put(t, PICK(words)); break;
	default: put_number(t); break;
	}
}

static void put_arguments(struct text *t)
{
	static const char *const keys[] = {"from", "to", "width", "rows", "filter", "file", "packed", "first", "count",
		"t", "text", "back", "tid",
		"func", "field", "track", "with", "format", "number", "shift"};

	if (rnd(4)) /* a range that is one */
		put(t, "?from=0&to=20000000&file=0");
	else
		put(t, "?x");
	for (uint32_t i = rnd(6); i--;) {
		put(t, "&");
		put(t, PICK(keys));
		put(t, rnd(20) ? "=" : "&&=");
		put_value(t);
	}
	if (rnd(3) == 0)
		put(t, "&width=100&rows=0,1,c0");
}

static void put_path(struct text *t, int has_token)
{
	static const char *const questions[] = {"api/info", "api/files", "api/tiles", "api/tiles", "api/list",
		"api/row_at", "api/search", "api/tree",
		"api/histogram", "api/plot", "api/counters", "api/diff", "api/export", "exported", "api/reload", "api/",
		"api/nothing", "",
		"main.js", "style.css", "../info", "./api/info", "api//info", "%2e%2e/", "api/info/x"};
	static const char *const tokens[] = {
		"", "0", "api/info", "%2e%2e", "00000000000000000000000000000000", "favicon.ico"
	};

	put(t, "/");
	put(t, has_token ? token : PICK(tokens));
	put(t, "/");
	put(t, PICK(questions));
	put_arguments(t);
}

static void put_headers(struct text *t)
{
	static const char *const others[] = {"Origin: http://example.org\r\n", "Range: bytes=0-\r\n",
		"Connection: close\r\n", "Expect: 100-continue\r\n",
		"Content-Length: 5\r\n", "Content-Length: 99999999999999999999\r\n", "Content-Length: -1\r\n",
		"Transfer-Encoding: chunked\r\n", "Upgrade: websocket\r\n", "X: \t\r\n", ": \r\n", "X\r\n",
		" folded\r\n", "Host: twice\r\n", "Cookie: a=b; =; ;;\r\n",
		"Accept-Encoding: gzip\r\n"};
	char host[64];

	snprintf(host, sizeof(host), "Host: %s:%u\r\n", rnd(10) ? "127.0.0.1" : "localhost", port);
	put(t, host);
	for (uint32_t i = rnd(4) ? 0 : rnd(6); i--;)
		put(t, PICK(others));
	for (uint32_t i = rnd(30) ? 0 : rnd(2000); i--;)
		put(t, "X-Long: yyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n");
	put(t, "\r\n");
}

/* 1: its start is whole, so that the first answer is to what was meant. */
static int make_request(struct text *t, int has_token)
{
	static const char *const methods[] = {"GET", "GET", "GET", "GET", "POST", "HEAD", "PUT", "OPTIONS", "DELETE",
		"get", "BREW"};
	int is_whole = rnd(8) != 0;

	t->n = 0;
	for (uint32_t i = 1 + (rnd(5) ? 0 : rnd(6)); i--;) {
		put(t, PICK(methods));
		put(t, " ");
		put_path(t, has_token);
		put(t, rnd(20) ? " HTTP/1.1\r\n" : rnd(2) ? " HTTP/1.0\r\n" : "\n");
		put_headers(t);
	}
	for (uint32_t i = is_whole ? 0 : 1 + rnd(6); i--;)
		t->p[rnd((uint32_t)t->n)] = (char)rnd(256);
	return is_whole;
}

/* ---- The connection ---------------------------------------------------------------------------------------- */

static int connect_to(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)))
		die("connect", "the server does not listen");
	return fd;
}

/* What comes until there is nothing for @ms; the first bytes of it are in @head. */
static size_t receive(int fd, char *head, size_t room, int ms)
{
	static char rest[1 << 16];
	struct pollfd p = {fd, POLLIN, 0};
	size_t n = 0;

	while (poll(&p, 1, ms) > 0) {
		ssize_t got = n + 1 < room ? recv(fd, head + n, room - 1 - n, 0) : recv(fd, rest, sizeof(rest), 0);

		if (got <= 0)
			break;
		n += n + 1 < room ? (size_t)got : 0;
		ms = 1;
	}
	head[n] = '\0';
	return n;
}

static void send_all(int fd, const char *p, size_t n)
{
	while (n) {
		size_t part = rnd(10) ? n : 1 + rnd((uint32_t)n);
		ssize_t sent = send(fd, p, part, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent <= 0)
			return;
		p += sent;
		n -= (size_t)sent;
	}
}

static void try_one(void)
{
	static struct text t;
	static char head[4096];
	int has_token = rnd(4) != 0, is_whole = make_request(&t, has_token), fd = connect_to();
	unsigned status = 0;

	send_all(fd, t.p, rnd(15) ? t.n : rnd((uint32_t)t.n + 1));
	if (rnd(8) || !has_token) {
		receive(fd, head, sizeof(head), 20);
		sscanf(head, "HTTP/1.%*u %u", &status);
		if (!has_token && is_whole && status >= 200 && status < 400)
			die(t.p, head);
	}
	if (rnd(2)) /* it goes away, and does not read the rest */
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
	close(fd);
}

/* A question that has an answer: waits for it as long as it takes. */
static int ask(const char *path, const char *want)
{
	static struct text t;
	static char head[1 << 16];
	char rest[256];
	int fd = connect_to(), is;

	t.n = 0;
	snprintf(rest, sizeof(rest), "GET /%s/%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", token,
		 path, port);
	put(&t, rest);
	send_all(fd, t.p, t.n);
	receive(fd, head, sizeof(head), 120000);
	close(fd);
	is = !strncmp(head, "HTTP/1.1 200", 12) && strstr(head, want);
	return is;
}

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	char dir[] = "/tmp/uft-viewer-XXXXXX", path[NFILES][64], name[96];
	struct recording *file[NFILES];
	struct view_server *s;
	struct names names;
	struct uft_error err = {""};
	unsigned before, tried = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	if (!mkdtemp(dir) || names_init(&names))
		die("start", "no directory");
	setenv("TMPDIR", dir, 1);
	for (unsigned i = 0; i < NFILES; i++) {
		struct synth_load load = {
			.ncalls = 20000, .tracer = UFT_TRACER_GRAPH, .seed = i + 1, .prefix = i ? "<b>f" : NULL
		};
		struct synth_expect expect;

		snprintf(path[i], sizeof(path[i]), "%s/%u.uft", dir, i);
		if (synth_file(path[i], &load, &expect) || recording_open(path[i], &names, &file[i], &err))
			die(path[i], err.text);
		free(expect.func_calls);
	}
	if (view_server_start(file, NFILES, 0, &s, &err)) {
		fprintf(stderr, "viewer: %s\n", err.text);
		return 77;
	}
	if (sscanf(view_server_url(s), "http://127.0.0.1:%u/%40[0-9a-f]/", &port, token) != 2)
		die(view_server_url(s), "no address");
	for (unsigned i = 0; i < 600 && !ask("api/info?file=all", "\"state\":\"done\""); i++)
		usleep(100000);
	before = descriptors();
	while (time(NULL) < until || tried < 500) {
		try_one();
		if (++tried % 100 == 0 && !ask("api/files", "\"files\""))
			die("after requests", "no answer");
	}
	/* exports are kept, 16 of each recording */
	for (unsigned i = 0; i < 600 && descriptors() > before + 4 * 16; i++)
		usleep(100000);
	if (descriptors() > before + 4 * 16)
		die("descriptors", "are left");
	view_server_stop(s);
	for (unsigned i = 0; i < NFILES; i++)
		recording_stop(file[i]);
	for (unsigned i = 0; i < NFILES; i++) {
		recording_close(file[i]);
		unlink(path[i]);
		snprintf(name, sizeof(name), "%s.index", path[i]);
		unlink(name);
	}
	names_free(&names);
	if (rmdir(dir))
		die(dir, "files are left in it");
	printf("%u requests\n", tried);
	return 0;
}
