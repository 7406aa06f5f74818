/* SPDX-License-Identifier: MIT */
/*
 * status.c - see status.h
 *
 * The traced program uses the terminal, too, and leaves the cursor in an unknown column: a status line there would
 * overwrite the program's text, or be overwritten. So there is a status line only if the program writes elsewhere (its
 * output is redirected, or uft did not start it), or with an option. It is written in one write, at the start of a
 * line, and only while uft is in the foreground (the terminal may stop a background job that writes).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/status.h"
#include "symbol/clean.h"
#include "symbol/now.h"

#define UPDATE_NS	250000000ull

/* 950, 12.3 k, 4.56 M */
static const char *human(uint64_t value, char *buf, size_t size)
{
	static const char *const units[] = { "", " k", " M", " G", " T" };
	double v = (double)value;
	size_t unit = 0;

	while (v >= 999.5 && unit < 4) {
		v /= 1000;
		unit++;
	}
	snprintf(buf, size, "%.*f%s", unit == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v, units[unit]);
	return buf;
}

/* 1,234,567 */
static const char *grouped(uint64_t value, char *buf, size_t size)
{
	char digits[24];
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value), len = 0;

	for (size_t i = 0; i < n && len + 2 < size; i++) {
		if (i && (n - i) % 3 == 0)
			buf[len++] = ',';
		buf[len++] = digits[i];
	}
	buf[len] = '\0';
	return buf;
}

static int is_foreground(void)
{
	return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static void put(const char *text, size_t len)
{
	/* A failed write to the terminal is ignored. */
	if (write(STDERR_FILENO, text, len) < 0)
		return;
}

/* Does the program that uft starts write to the terminal of the status line? */
static int is_shared(void)
{
	struct stat out, err;

	return isatty(STDOUT_FILENO) && fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
	       out.st_rdev == err.st_rdev;
}

void status_begin(struct status *s, int is_quiet, enum status_line line)
{
	memset(s, 0, sizeof(*s));
	s->is_quiet = is_quiet;
	s->is_live = !is_quiet && isatty(STDERR_FILENO) &&
		     (line == STATUS_ALWAYS || (line == STATUS_UNSHARED && !is_shared()));
	s->last_ns = now_ns();
}

void status_update(struct status *s, const struct uft_writer_stats *now)
{
	uint64_t t = now_ns();
	uint64_t fresh = now->events > s->last_events ? now->events - s->last_events : 0;
	char events[16], rate[16], lost[16], line[160];
	int len;

	if (!s->is_live || t - s->last_ns < UPDATE_NS || !is_foreground())
		return;
	human(now->events, events, sizeof(events));
	human((uint64_t)((double)fresh * 1e9 / (double)(t - s->last_ns)), rate, sizeof(rate));
	human(now->lost, lost, sizeof(lost));
	len = snprintf(line, sizeof(line), "\ruft: %s events, %s/s, %.1f MB, %s lost\033[K", events, rate,
		       (double)now->bytes / 1e6, lost);
	put(line, (size_t)len);
	s->is_shown = 1;
	s->last_ns = t;
	s->last_events = now->events;
}

void status_clear(struct status *s)
{
	if (s->is_shown && is_foreground())
		put("\r\033[K", 4);
	s->is_shown = 0;
}

void status_say(struct status *s, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int len;

	status_clear(s);
	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	if (len > (int)sizeof(line) - 2)
		len = (int)sizeof(line) - 2;
	uft_clean(line, (size_t)len, '\n');	/* what a fault's report says is several lines */
	line[len++] = '\n';
	put(line, (size_t)len);
}

/* "7.8 MB"; a small recording in kB, rounded up: it is not empty. */
static const char *size_text(uint64_t bytes, char *text, size_t size)
{
	if (bytes < 100000)
		snprintf(text, size, "%llu kB", (unsigned long long)(bytes + 999) / 1000);
	else
		snprintf(text, size, "%.1f MB", (double)bytes / 1e6);
	return text;
}

void status_summary(struct status *s, const struct uft_writer_stats *total, const char *unit, int is_exact,
		    const char *path)
{
	char events[32], lost[32], over[64] = "", number[32], bytes[32];

	status_clear(s);
	if (s->is_quiet)
		return;
	if (total->overwritten)
		snprintf(over, sizeof(over), ", about %s overwritten",
			 grouped(total->overwritten, number, sizeof(number)));
	status_say(s, "uft: %s%s %s in %s (%s), %s lost%s", is_exact ? "" : "about ",
		   grouped(total->events, events, sizeof(events)), unit, path,
		   size_text(total->bytes, bytes, sizeof(bytes)), grouped(total->lost, lost, sizeof(lost)), over);
}
