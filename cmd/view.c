/* SPDX-License-Identifier: MIT */
/*
 * view.c - uft view: recordings in a browser
 *
 * Starts the server of view/, prints its address, opens a browser, and waits for Ctrl-C. With --png a browser without a
 * window draws one picture instead.
 *
 * The address holds the token, and a command line can be read by all users of the machine. So a browser is started with
 * a file that only this user can read, which leads it to the address.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "view/filter.h"
#include "view/server.h"

#define PNG_WAIT_S 300u /* for a browser to draw */
#define SOCKET_DIR_MAX 60 /* an address of a socket has 108 bytes */

extern char **environ;

struct view_opts {
	int no_browser, tab; /* tab: index into tab_names[] */
	uint32_t port;
	const char *png, *filter;
	struct cmd_range range;
	struct cmd_offsets offset;
};

static const char *const tab_names[] = {"list", "flame", "tree", "latency", "plot", "diff", NULL};

#define F(field) offsetof(struct view_opts, field)
static const struct cmd_option view_options[] = {
	{"no-browser", 0, NULL, "print the address only", cmd_flag, F(no_browser), NULL},
	{"port", 'p', "N", "listen on this port of 127.0.0.1; default: any that is free", cmd_uint, F(port), NULL},
	{"png", 0, "FILE",
		"write a picture of the graph to FILE with Chromium, and end; several recordings share one clock",
		cmd_string, F(png), NULL},
	{"range", 'r', "A~B", "begin with this part, counted from the first event: 0.5s~2s, 10ms~", cmd_time_range,
	 F(range), NULL},
	{"filter", 'f', "FILTER", "begin with this filter: 'func ~ \"lua*\" && duration > 1000'", cmd_string, F(filter),
	 NULL},
	{"offset", 0, "TIME,...",
		"add these times to those of each FILE in turn, and begin with all of them on one clock: 0,-1.5ms",
		cmd_time_offsets, F(offset), NULL},
	{"tab", 0, "TAB", "begin with this tab below the graph", cmd_choice, F(tab), tab_names},
	{0}};
#undef F

static const struct cmd_syntax view_syntax = {"view", "[OPTIONS] [FILE]...",
					      "Show recordings (default " CMD_DEFAULT_FILE
					      ") in a browser, until Ctrl-C. Nothing leaves this machine.",
					      view_options, 0};

/* ---- Other programs ---------------------------------------------------------------------------------------- */

/* Starts the first of @names in PATH that runs, without output; @is_group: as a process group. -1: none. */
static pid_t start_one(const char *const *names, char **argv, int is_group)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid = -1;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", 1, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", 1, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | (is_group ? POSIX_SPAWN_SETPGROUP : 0));
	for (; *names; names++) {
		argv[0] = (char *)*names;
		if (!posix_spawnp(&pid, *names, &files, &attr, argv, environ))
			break;
		pid = -1;
	}
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return pid;
}

/* ---- The way to the address ----------------------------------------------------------------------------------- */

#define WAY_SUFFIX ".html"

struct way {
	char path[4200], url[4300]; /* path: "" there is no file */
};

/* The open frame document keeps this page from being loaded, so --png makes the picture of the next page. */
static const char way_page[] =
	"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
	"<title>uft view</title><body><script>"
	"const f = document.createElement(\"iframe\"); f.hidden = true; document.body.append(f);"
	"f.contentDocument.open(); location.replace(\"%s\");"
	"</script><noscript><a href=\"%s\">uft view</a></noscript>\n";

/* Makes a file that only this user can read, in $XDG_RUNTIME_DIR or the directory for temporary files. */
static int way_make(struct way *w, const char *address)
{
	const char *dirs[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	FILE *out = NULL;
	int fd = -1, ret;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && fd < 0; i++) {
		if (!dirs[i] || dirs[i][0] != '/' || strlen(dirs[i]) > 4000)
			continue;
		snprintf(w->path, sizeof(w->path), "%s/uft-view-XXXXXX" WAY_SUFFIX, dirs[i]);
		fd = mkostemps(w->path, sizeof(WAY_SUFFIX) - 1, O_CLOEXEC); /* mode 0600 */
	}
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		ret = -errno;
		if (fd >= 0) {
			close(fd);
			unlink(w->path);
		}
		w->path[0] = '\0';
		return ret;
	}
	fprintf(out, way_page, address, address);
	ret = ferror(out) ? -EIO : 0;
	if (fclose(out) || ret) {
		unlink(w->path);
		w->path[0] = '\0';
		return -EIO;
	}
	snprintf(w->url, sizeof(w->url), "file://%s", w->path);
	return 0;
}

static void way_end(struct way *w)
{
	if (w->path[0])
		unlink(w->path);
	w->path[0] = '\0';
}

static void open_browser(struct way *w, const char *address)
{
	static const char *const names[] = {"xdg-open", "x-www-browser", NULL};
	char *argv[] = {NULL, w->url, NULL};

	if ((getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")) && !way_make(w, address))
		start_one(names, argv, 0); /* or not: the address is printed */
}

/* ---- Pictures ------------------------------------------------------------------------------------------------- */

/* Waits for the first index. 0, or -EIO: it cannot be made. */
static int wait_for_index(struct recording *r)
{
	for (;;) {
		int ret = recording_state(r);

		if (ret != -EAGAIN)
			return ret;
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
}

/* Repeats while files are left: an ending process, or one outside the browser's group, may still write. */
static void remove_tree(const char *dir)
{
	char *argv[] = {NULL, "-rf", "--", (char *)dir, NULL};

	for (unsigned i = 0; i < 100 && !access(dir, F_OK); i++) {
		pid_t pid = start_one((const char *const[]){"rm", NULL}, argv, 0);

		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return;
		if (!access(dir, F_OK))
			nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
}

/* Is a signal pending that is blocked while the server runs? */
static int is_interrupted(void)
{
	sigset_t set;

	return !sigpending(&set) &&
	       (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) || sigismember(&set, SIGHUP));
}

static int draw(const char *address, const char *out)
{
	static const char *const names[] = {"chromium", "chromium-browser", "google-chrome", NULL};
	const char *tmp = getenv("TMPDIR");
	char dir[4200], shot[4200], profile[4300];
	struct way way = {"", ""};
	char *argv[] = {NULL,
			"--headless",
			"--disable-gpu",
			"--hide-scrollbars",
			"--disable-background-networking",
			"--no-first-run",
			"--disable-extensions",
			"--window-size=1600,1000",
			profile,
			shot,
			way.url,
			geteuid() ? NULL : "--no-sandbox",
			NULL};
	struct stat st;
	int status = 0;
	pid_t pid;

	tmp = tmp && tmp[0] == '/' && strlen(tmp) < 4000 ? tmp : "/tmp";
	snprintf(dir, sizeof(dir), "%s/uft-view-XXXXXX", tmp);
	if (!mkdtemp(dir))
		return cmd_fail("view", "cannot make a directory in %s: %s", tmp, strerror(errno));
	status = way_make(&way, address);
	if (status) {
		remove_tree(dir);
		return cmd_fail("view", "cannot make a file in /tmp: %s", strerror(-status));
	}
	snprintf(shot, sizeof(shot), "--screenshot=%s", out);
	snprintf(profile, sizeof(profile), "--user-data-dir=%s", dir);
	if (strlen(dir) < SOCKET_DIR_MAX)
		setenv("TMPDIR", dir, 1); /* it makes a socket there */
	unlink(out);
	pid = start_one(names, argv, 1);
	for (unsigned i = 0; pid > 0 && waitpid(pid, &status, WNOHANG) == 0; i++) {
		if (i == PNG_WAIT_S * 50 || is_interrupted())
			kill(-pid, SIGKILL);
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	if (pid > 0)
		kill(-pid, SIGKILL); /* its helpers may still write */
	remove_tree(dir);
	way_end(&way);
	if (pid < 0)
		return cmd_fail("view", "--png needs Chromium, which is not here: install the package chromium");
	if (is_interrupted())
		return 130;
	if (stat(out, &st) || !st.st_size)
		return cmd_fail("view", "%s: Chromium drew no picture (exit status %d)", out,
				WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}

/* ---- The command ---------------------------------------------------------------------------------------------- */

static void put_escaped(char *to, size_t size, const char *s)
{
	size_t n = strlen(to);

	for (; *s && n + 4 < size; s++)
		n += (size_t)snprintf(to + n, size - n,
				      strchr("-_.~", *s) || (*s >= '0' && *s <= '9') ||
						      ((*s | 32) >= 'a' && (*s | 32) <= 'z')
					      ? "%c"
					      : "%%%02X",
				      (unsigned char)*s);
}

/*
 * Appends the begin of the page's state after a #, which is not sent to the server. No character of it ends a
 * string.
 */
static void page_address(char *to, size_t size, const char *url, size_t n, const struct view_opts *o)
{
	snprintf(to, size, "%s#%s%s", url, o->png ? "picture=1&" : "",
		 n > 1 && (o->png || o->offset.n) ? "file=all&" : "");
	for (size_t i = 0; i < o->offset.n; i++)
		snprintf(to + strlen(to), size - strlen(to), "%s%lld%s", i ? "" : "shift=", (long long)o->offset.ns[i],
			 i + 1 < o->offset.n ? "," : "&");
	if (o->range.from.ns || o->range.to.ns)
		snprintf(to + strlen(to), size - strlen(to), "from=%llu&to=%llu&", (unsigned long long)o->range.from.ns,
			 (unsigned long long)o->range.to.ns);
	if (o->tab)
		snprintf(to + strlen(to), size - strlen(to), "tab=%s&", tab_names[o->tab]);
	if (o->filter) {
		snprintf(to + strlen(to), size - strlen(to), "filter=");
		put_escaped(to, size, o->filter);
	}
	to[strlen(to) - (to[strlen(to) - 1] == '#' || to[strlen(to) - 1] == '&')] = '\0';
}

static int serve(struct recording **file, size_t n, const struct view_opts *o)
{
	struct uft_error err = {""};
	struct way way = {"", ""};
	struct view_server *s;
	char address[8192];
	sigset_t end;
	int status = 0, sig;

	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (view_server_start(file, n, o->port, &s, &err))
		return cmd_fail("view", "%s", err.text);
	page_address(address, sizeof(address), view_server_url(s), n, o);
	if (o->png) {
		for (size_t i = 0; i < n && !status; i++)
			if (wait_for_index(file[i]))
				status = cmd_fail("view", "%s: cannot be read", recording_path(file[i]));
		status = status ? status : draw(address, o->png);
	} else {
		printf("%s\n", address);
		fflush(stdout);
		if (!view_server_has_page())
			fprintf(stderr, "uft view: this uft was built without its page: npm was missing (make setup, "
					"then make)\n");
		else if (!o->no_browser)
			open_browser(&way, address);
		sigwait(&end, &sig);
		way_end(&way);
	}
	view_server_stop(s);
	return status;
}

/* Checks options early that would fail only in the page, or after the drawing. 0, or the exit status. */
static int check_options(const struct view_opts *o)
{
	struct uft_filter_error err = {NULL, 0};
	struct view_filter *filter = NULL;
	const char *name;
	char dir[4200];

	if (o->port > 65535)
		return cmd_usage(&view_syntax, "--port: a port is at most 65535");
	if (o->filter && view_filter_make(o->filter, &filter, &err) < 0)
		return cmd_usage(&view_syntax, "--filter: %s", err.what ? err.what : "it is too long");
	view_filter_free(filter);
	if (!o->png)
		return 0;
	if (!view_server_has_page())
		return cmd_fail("view",
				"--png: this uft was built without its page: npm was missing (make setup, then make)");
	name = strrchr(o->png, '/');
	snprintf(dir, sizeof(dir), "%.*s", name ? (int)(name - o->png) + 1 : 1, name ? o->png : ".");
	if (access(dir, W_OK))
		return cmd_fail("view", "cannot write %s: %s", o->png, strerror(errno));
	return 0;
}

int cmd_view(int argc, char **argv)
{
	static char *const default_file[] = {(char *)CMD_DEFAULT_FILE};
	struct view_opts o = {0};
	struct uft_error err = {""};
	struct recording **file;
	struct names names;
	int done = cmd_parse(&view_syntax, &argc, argv, &o), status = 0;
	char *const *name = argc > 1 ? argv + 1 : default_file;
	size_t n = argc > 1 ? (size_t)argc - 1 : 1, opened = 0;

	if (done >= 0)
		return done;
	status = check_options(&o);
	if (status)
		return status;
	if (o.offset.n > n)
		return cmd_usage(&view_syntax, "--offset: there are %zu times of %zu recordings", o.offset.n, n);
	if (n > SOURCES_MAX)
		return cmd_usage(&view_syntax, "at most %u recordings are shown together", SOURCES_MAX);
	/* The lists of levels grow and shrink: mapped one by one, they leave no holes behind. */
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	file = calloc(n, sizeof(*file));
	if (!file || names_init(&names)) {
		free(file);
		return cmd_fail("view", "out of memory");
	}
	for (; opened < n && !status; opened++) {
		/* for the message about a file that is no recording */
		if (cmd_input_check(argc > 1 ? name[opened] : NULL, &err) < 0)
			status = cmd_fail("view", "%s", err.text);
		if (!status && recording_open(name[opened], &names, &file[opened], &err))
			status = cmd_fail("view", "%s", err.text);
	}
	if (!status)
		status = serve(file, n, &o);
	for (size_t i = 0; i < opened; i++)
		recording_stop(file[i]);
	while (opened--)
		recording_close(file[opened]);
	names_free(&names);
	free(file);
	return status;
}
