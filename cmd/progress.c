/* SPDX-License-Identifier: MIT */
/*
 * progress.c - see progress.h
 *
 * The signal of a timer prints the line in the thread that reads the stream; all other threads block the signal.
 * Interrupted system calls are restarted (SA_RESTART).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmd/progress.h"

#define WHO_MAX		24

/* Set before the timer starts; stream and done, of which one is set, are cleared after it stopped. */
static struct {
	struct uft_stream *stream;
	const volatile uint64_t *done;
	uint64_t bytes;
	const char *who;
	uint64_t megabytes;		/* 0: percent */
	volatile sig_atomic_t is_shown;
} progress;

static char *put_text(char *p, const char *text)
{
	while (*text)
		*p++ = *text++;
	return p;
}

/* Right-aligned, to cover a longer number of before. */
static char *put_number(char *p, uint64_t n, unsigned width)
{
	char digits[20];
	unsigned len = 0;

	do
		digits[len++] = (char)('0' + n % 10);
	while (n /= 10);
	for (; width > len; width--)
		*p++ = ' ';
	while (len)
		*p++ = digits[--len];
	return p;
}

/* Safe in a signal handler: uft_stream_progress() only reads the position in each ring. */
static void show_progress(int sig)
{
	int saved_errno = errno;
	double part = progress.done ? (double)*progress.done / (double)(progress.bytes + 1) :
		uft_stream_progress(progress.stream);
	char text[WHO_MAX + 80], *p = text;

	(void)sig;
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	*p++ = '\r';
	p = put_text(p, progress.who);
	p = put_text(p, ": ");
	if (progress.megabytes) {
		p = put_number(p, (uint64_t)(part * (double)progress.megabytes), 0);
		p = put_text(p, " of ");
		p = put_number(p, progress.megabytes, 0);
		p = put_text(p, " MB\033[K");
	} else {
		p = put_number(p, (uint64_t)(part * 100), 3);
		p = put_text(p, " %");
	}
	if (tcgetpgrp(STDERR_FILENO) == getpgrp() && write(STDERR_FILENO, text, (size_t)(p - text)) > 0)
		progress.is_shown = 1;
	errno = saved_errno;
}

static void begin(const char *who, uint64_t bytes)
{
	struct sigaction action = { .sa_handler = show_progress, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 250000 }, { 1, 0 } };

	progress.who = who;
	progress.bytes = bytes;
	progress.megabytes = (bytes + 999999) / 1000000;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static int can_show(const char *who)
{
	return isatty(STDERR_FILENO) && strlen(who) <= WHO_MAX;
}

void progress_begin(const char *who, struct uft_stream *st, uint64_t bytes)
{
	if (!can_show(who))
		return;
	progress.stream = st;
	begin(who, bytes);
}

void progress_begin_bytes(const char *who, const volatile uint64_t *done, uint64_t bytes)
{
	if (!can_show(who))
		return;
	progress.done = done;
	begin(who, bytes);
}

void progress_end(void)
{
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	static const char clear[] = "\r\033[K";

	if (!progress.stream && !progress.done)
		return;
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	progress.stream = NULL;
	progress.done = NULL;
	if (progress.is_shown && write(STDERR_FILENO, clear, sizeof(clear) - 1) < 0)
		progress.is_shown = 0;
}
