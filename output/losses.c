/* SPDX-License-Identifier: MIT */
/*
 * losses.c - the losses of a recording, their reasons, and remedies
 *
 * A view that is incomplete tells so. losses_each() makes all sentences: uft record prints them at its end, the text
 * and the profile end with them as comment lines, uft stat has them as `missing:`, an export, --json and --csv print
 * them to standard error. The rings' losses come first, then the counters of the runtime (abi.h), then the file's own
 * state.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "output/losses.h"
#include "output/output.h"
#include "stream/wire/uft_file.h"

/* The meaning of each counter that is not zero, for put_number(), and the remedy; the other counters are no loss. */
static const struct { const char *what, *remedy; } counters[UFT_NCOUNTERS] = {
	[UFT_CNT_NO_RING] =
		{ "record{ was|s were} dropped: every ring for threads without rseq was busy, or there was no memory for rings or for a profile's sums",
			"trace fewer functions (-l)" },
	[UFT_CNT_NO_MEMORY] =
		{ "of the lost records {was|were} lost since the file system of the rings was full: no memory for rings",
		"remove files from /dev/shm, or set XDG_RUNTIME_DIR to a larger tmpfs" },
	[UFT_CNT_SHADOW_FULL] = { "call{ was|s were} not followed: nested too deep", "limit the depth (-D)" },
	[UFT_CNT_NO_THREAD] = { "record{ was|s were} dropped: no memory for a thread's state",
		"give the program more memory" },
	[UFT_CNT_RECURSION] = { "record{ was|s were} dropped: a signal came while one was written", NULL },
	[UFT_CNT_NO_SLICE] = { "child process{ was|es were} not followed: too many at once",
		"use a smaller buffer (-b)" },
	[UFT_CNT_REQ_TIMEOUT] =
		{ "request{|s} of the program {was|were} answered too late: it may have run code unrecorded",
			"lower the load" },
	[UFT_CNT_SITE_REFUSED] =
		{ "function entr{y was|ies were} left alone: {its|their} bytes were not what was expected", NULL },
	[UFT_CNT_SITE_REACH] =
		{ "function entr{y was|ies were} left alone: too far from the memory that armed ones lead to", NULL },
	[UFT_CNT_NO_SLOT] =
		{ "call{ was|s were} left alone: the return address is not where the function seems to have put it",
			"use -p function" },
	[UFT_CNT_SITE_LIVE] =
		{ "function entr{y was left as it was: it|ies were left as they were: they} cannot be switched while threads run",
			NULL },
	[UFT_CNT_LOST_RETURN] = { "return{|s} had no call that belongs to {it|them}", NULL },
	[UFT_CNT_KEEP_NO_RING] = { "word{|s} of slow calls {was|were} dropped: too many slow calls at once",
		"name fewer functions (--keep-slow)" },
	[UFT_CNT_EVENT_SIZE] =
		{ "event{ was|s were} not recorded: {its fields have|their fields have} more than 2040 bytes",
		"give the event shorter fields" },
	[UFT_CNT_SHARED_TP] = { "call{ was|s were} not recorded: two tasks shared one thread pointer", NULL },
};

uint64_t losses_unrecorded(const uint64_t *counters)
{
	static const uint8_t calls[] = { UFT_CNT_NO_RING, UFT_CNT_SHADOW_FULL, UFT_CNT_NO_THREAD, UFT_CNT_RECURSION,
		UFT_CNT_SHARED_TP };
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(calls); i++)
		n += counters[calls[i]];
	return n;
}

#define ROOM	400

/* Writes @n and @form; {one|many} in it becomes the word that agrees with the number. */
static void put_number(char *to, size_t size, uint64_t n, const char *form)
{
	size_t at = (size_t)snprintf(to, size, "%" PRIu64 " ", n);
	int is_shown = 1;

	for (; *form && at + 1 < size; form++) {
		if (*form == '{')
			is_shown = n == 1;
		else if (*form == '|')
			is_shown = n != 1;
		else if (*form == '}')
			is_shown = 1;
		else if (is_shown)
			to[at++] = *form;
	}
	to[at] = '\0';
}

static unsigned say_rings(const struct uft_info *info, void (*say)(void *arg, const char *sentence), void *arg)
{
	char text[ROOM];
	unsigned n = 0;

	if (info->lost || info->lost_parts) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " of %" PRIu64 " calls and other events %s lost: the buffer was full (record fewer functions with -l, "
			 "or let rings grow further: --buffer-max 512M)", info->lost,
				 (info->calls ? info->calls : info->events) + info->lost,
			 info->lost == 1 ? "was" : "were");
		say(arg, text);
		n++;
	}
	if (info->lost_parts) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " of the ends, arguments and results of recorded calls %s lost, too",
			 info->lost_parts,
			 info->lost_parts == 1 ? "was" : "were");
		say(arg, text);
		n++;
	}
	if (info->false_losses) {
		put_number(text, sizeof(text), info->false_losses,
			   "count{|s} of a process cannot be true, there was no time for so many: {it|each} is taken for 1");
		say(arg, text);
		n++;
	}
	if (info->overwritten) {
		uint32_t kb = info->ring_bytes / 1024;

		snprintf(text, sizeof(text),
			 "about %" PRIu64 " event%s overwritten by newer ones, as --flight asks (rings had %" PRIu32
			 "%s: to keep more, a larger -b)", info->overwritten, info->overwritten == 1 ? " was" :
			 "s were",
			 kb % 1024 ? kb : kb / 1024, kb % 1024 ? "K" : "M");
		say(arg, text);
		n++;
	}
	return n;
}

unsigned losses_each(const struct uft_info *info, int is_rescued, void (*say)(void *arg, const char *sentence),
		     void *arg)
{
	unsigned n = say_rings(info, say, arg);
	char text[ROOM];

	for (int i = 0; i < UFT_NCOUNTERS; i++) {
		const char *remedy = counters[i].remedy;

		if (!counters[i].what || !info->counters[i])
			continue;
		put_number(text, sizeof(text), info->counters[i], counters[i].what);
		if (remedy)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " (%s)", remedy);
		say(arg, text);
		n++;
	}
	if (info->stop == UFT_STOP_SIZE) {
		snprintf(text, sizeof(text),
			 "recording stopped when the file reached its limit, %.1f MB (--max-size): later events are not here",
			 (double)info->stop_bytes / 1e6);
		say(arg, text);
		n++;
	}
	if (info->stop == UFT_STOP_ROOM) {
		snprintf(text, sizeof(text),
			 "recording stopped because less than %.1f MB of the file system was free: later events are not here "
			 "(remove files, or record less: -l, -D, --duration)", (double)info->stop_bytes / 1e6);
		say(arg, text);
		n++;
	}
	if (info->damaged_bytes) {
		snprintf(text, sizeof(text), "%" PRIu64 " byte%s of the file could not be read: it is damaged",
			 info->damaged_bytes, info->damaged_bytes == 1 ? "" : "s");
		say(arg, text);
		n++;
	}
	if (!info->complete && !is_rescued) {
		say(arg, "the file has no end: its recorder still works, or was killed, or the file was cut off; what came later is not here");
		n++;
	}
	return n;
}

static void put_comment(void *out, const char *sentence)
{
	fprintf(out, "# missing: %s\n", sentence);
}

int uft_output_losses(struct uft_stream *st, FILE *out)
{
	const struct uft_info *info = uft_stream_info(st);
	int ret = info ? 0 : -ENOMEM;

	ret = ret ? ret : uft_stream_check_file(st, NULL);
	if (ret)
		return ret;
	losses_each(info, uft_stream_rescued(st) != NULL, put_comment, out);
	return ferror(out) ? -EIO : 0;
}
