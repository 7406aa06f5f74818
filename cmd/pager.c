/* SPDX-License-Identifier: MIT */
/*
 * pager.c - the output of a command: a file, a terminal, a pager
 *
 * On a terminal: through $PAGER (less when unset; LESS=FRX when unset, so that short output just appears). Else:
 * directly to standard output. SIGPIPE keeps its default, so a reader that closes the pipe (head, a pager that the user
 * quits) ends us at once without a message.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define OUTPUT_BUFFER	(256u << 10)

struct cmd_output {
	FILE *file;
	pid_t pager;		/* 0: none */
	struct sigaction sigint, sigquit;
};

int cmd_is_colour(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return 0;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

unsigned cmd_terminal_width(int fd)
{
	struct winsize size;

	return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static const char *pager_command(void)
{
	const char *pager = getenv("PAGER");

	if (!pager)
		pager = "if command -v less >/dev/null; then exec less; else exec cat; fi";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/* Returns the descriptor to write to; -1: no pager, use standard output. */
static int start_pager(struct cmd_output *o, const char *pager)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int fd[2];

	if (pipe(fd) < 0)
		return -1;
	o->pager = fork();
	if (o->pager < 0) {
		o->pager = 0;
		close(fd[0]);
		close(fd[1]);
		return -1;
	}
	if (o->pager == 0) {
		dup2(fd[0], STDIN_FILENO);
		close(fd[0]);
		close(fd[1]);
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	close(fd[0]);
	/* The pager has the keyboard, and handles Ctrl-C. */
	sigaction(SIGINT, &ignore, &o->sigint);
	sigaction(SIGQUIT, &ignore, &o->sigquit);
	return fd[1];
}

struct cmd_output *cmd_output_open(int no_pager)
{
	struct cmd_output *o = calloc(1, sizeof(*o));
	const char *pager = no_pager || !isatty(STDOUT_FILENO) ? NULL : pager_command();
	int fd;

	if (!o)
		return NULL;
	o->file = stdout;
	fd = pager ? start_pager(o, pager) : -1;
	if (fd >= 0) {
		o->file = fdopen(fd, "w");
		if (!o->file) {
			close(fd);
			o->file = stdout;
		}
	}
	setvbuf(o->file, NULL, _IOFBF, OUTPUT_BUFFER);
	return o;
}

FILE *cmd_output_file(struct cmd_output *o)
{
	return o->file;
}

int cmd_output_close(struct cmd_output *o)
{
	int ret = 0;

	errno = 0;
	if (fflush(o->file) || ferror(o->file))
		ret = errno ? -errno : -EIO;
	if (o->file != stdout && fclose(o->file) && !ret)
		ret = -errno;
	if (o->pager) {
		while (waitpid(o->pager, NULL, 0) < 0 && errno == EINTR)
			;
		sigaction(SIGINT, &o->sigint, NULL);
		sigaction(SIGQUIT, &o->sigquit, NULL);
	}
	free(o);
	return ret == -EPIPE ? 0 : ret;
}
