/* SPDX-License-Identifier: MIT */
/*
 * shell.c - uft shell: start programs that find our files in place of the kernel's tracing directory, and trace
 * programs through these files
 */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/program.h"
#include "tree/serve/namespace.h"
#include "tree/serve/socket.h"

struct shell_opts {
	const char *command;
	uint64_t buffer;
	int no_mount, watchdog, int3;
};

static const struct cmd_option shell_options[] = {
	{ "command", 'c', "CMD", "run CMD instead of an interactive shell, and end with its status", cmd_string,
	  offsetof(struct shell_opts, command), NULL },
	CMD_BUFFER_SIZE(offsetof(struct shell_opts, buffer)),
	{ "no-mount", 0, NULL, "mount nothing: reach the files only by uft read, uft write and uft ls", cmd_flag,
	  offsetof(struct shell_opts, no_mount), NULL },
	CMD_WATCHDOG(offsetof(struct shell_opts, watchdog)),
	CMD_INT3(offsetof(struct shell_opts, int3)),
	{ 0 }
};

static const struct cmd_syntax shell_syntax = {
	"shell", "[OPTIONS] [PROGRAM [ARG...]]",
	"Run a shell, or PROGRAM, whose /sys/kernel/tracing traces processes: all that are started inside. The kernel's "
	"files, tools and habits work there: echo function_graph > current_tracer, trace-cmd record -p function, funccount.",
	shell_options, 1
};

/* Signals of the terminal are for the programs inside; uft ends after them. */
static void leave_signals_to_them(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

static char socket_name[128];		/* before the handler is there */

/* Removes the socket's name, which would stay; the session's guard restores the code, as after any end of uft. */
static void on_end(int sig)
{
	unlink(socket_name);
	signal(sig, SIG_DFL);
	raise(sig);
}

static const int end_signals[] = { SIGTERM, SIGHUP };

static void remove_socket_at_end(const char *name)
{
	struct sigaction action = { .sa_handler = on_end }, old;

	if (strlen(name) >= sizeof(socket_name))
		return;
	strcpy(socket_name, name);
	for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
		if (sigaction(end_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(end_signals[i], &action, NULL);
}

/* Blocks ending signals from before the name exists until the handler is set. All other threads block signals. */
static void serve_unended(struct uft_tree *t, struct uft_serve **out, struct uft_error *err)
{
	sigset_t ends, before;

	sigemptyset(&ends);
	for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
		sigaddset(&ends, end_signals[i]);
	sigprocmask(SIG_BLOCK, &ends, &before); /* GUARD(shell_socket_ends) */
	if (uft_serve_start(t, out, err) == 0)
		remove_socket_at_end(uft_serve_path(*out));
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Programs in the shell find the socket by the variable. Without one they still have the mounted files. */
static int serve(struct uft_tree *t, int is_needed, struct uft_serve **out)
{
	struct uft_error err = { "" };

	serve_unended(t, out, &err);
	if (*out)
		return setenv("UFT_SESSION", uft_serve_path(*out), 1);
	if (is_needed)
		return cmd_fail("shell", "%s", err.text);
	unsetenv("UFT_SESSION");
	cmd_warn("shell", err.text);
	return 0;
}

/* Applies $UFT_TRACE, for this session and not for sessions inside. Makes the events of a program known first. */
static int boot(struct uft_tree *t, const char *program, struct uft_error *err)
{
	const char *line = getenv("UFT_TRACE");
	char path[PATH_MAX];
	int ret;

	if (line && !cmd_find_program(program, path, sizeof(path)))
		uft_tree_expect(t, path, NULL);
	ret = line ? uft_tree_boot(t, line, err) : 0;

	unsetenv("UFT_TRACE");
	return ret;
}

static int run(struct uft_tree *t, char *const argv[], int no_mount)
{
	struct uft_error err = { "" };
	struct uft_fuse *fuse = NULL;
	struct uft_serve *socket = NULL;
	int status, ret;
	pid_t pid;

	if (boot(t, argv[0], &err) < 0 || (!no_mount && uft_namespace_mount(t, &fuse, &err) < 0))
		return cmd_fail("shell", "%s", err.text);
	ret = serve(t, no_mount, &socket);
	if (!ret && uft_tree_launch(t, argv, &pid, &err) < 0)
		ret = cmd_fail("shell", "%s", err.text);
	if (!ret) {
		leave_signals_to_them();
		status = uft_tree_wait(t, -1);
	}
	uft_serve_stop(socket);
	if (fuse)
		uft_fuse_stop(fuse, 1);
	if (ret)
		return ret;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int cmd_shell(int argc, char **argv)
{
	struct shell_opts o = { 0 };
	const char *shell = getenv("SHELL");
	char *interactive[] = { (char *)(shell && *shell ? shell : "/bin/sh"), NULL };
	char *command[] = { "/bin/sh", "-c", NULL, NULL };
	struct uft_tree_opts topts = { .warning = cmd_warn, .dump = cmd_dump, .arg = "shell" };
	char path[PATH_MAX];
	struct uft_error err = { "" };
	struct uft_tree *t;
	int status = cmd_parse(&shell_syntax, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (o.command && argc > 1)
		return cmd_usage(&shell_syntax, "either -c '%s' or a program, not both", o.command);
	status = o.command || argc < 2 ? 0 : cmd_need_program("shell", argv[1], path, sizeof(path));
	if (status)
		return status;
	command[2] = (char *)o.command;
	topts.buffer_kb = o.buffer / 1024;
	topts.watchdog = o.watchdog;
	topts.int3 = o.int3;
	if (o.int3)
		cmd_warn("shell", CMD_INT3_RISK);
	cmd_heap_prepare();
	if ((!o.no_mount && uft_namespace_enter(&err) < 0) || uft_tree_create(&topts, &t, &err) < 0)
		return cmd_fail("shell", "%s", err.text);
	status = run(t, o.command ? command : argc > 1 ? argv + 1 : interactive, o.no_mount);
	uft_tree_destroy(t);
	return status;
}
