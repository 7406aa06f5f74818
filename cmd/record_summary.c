/* SPDX-License-Identifier: MIT */
/*
 * record_summary.c - messages of uft record and attach: events during a recording, losses with reasons at its end
 *
 * Counts come from the session and the writer, taken at their end, or from the file if reading it is quick. Messages
 * appear above the status line; with --quiet only unexpected losses are printed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/record_internal.h"
#include "output/losses.h"
#include "symbol/event_type.h"

void record_say(struct recording *rec, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	status_say(&rec->status, "uft %s: %s", rec->syntax->name, text);
}

/* Unprepared functions that cannot be rewritten: how many, and the reason of most. */
static void say_left_alone(struct recording *rec, const struct uft_session_stats *s)
{
	uint64_t n = s->counters[UFT_CNT_SITE_TAKEN], most = n;
	const char *why = "no jump fits, and where a shorter one would lead there is something else";
	uint64_t no_graph = s->plain_skip[UFT_PLAIN_NO_GRAPH];
	char part[40] = "", also[80] = "";

	for (unsigned i = 0; i < UFT_PLAIN_NREASONS; i++) {
		n += s->plain_skip[i];
		if (s->plain_skip[i] > most) {
			most = s->plain_skip[i];
			why = uft_plain_skip_text(i);
		}
	}
	if (!n || rec->opts->is_quiet || (s->ended_unarmed && s->ended_unarmed == s->attached))
		return;
	if (most < n)
		snprintf(part, sizeof(part), ", %llu of them", (unsigned long long)most);
	if (no_graph && no_graph < most)
		snprintf(also, sizeof(also), "; -p function traces %llu of them", (unsigned long long)no_graph);
	record_say(rec, "%llu function%s left alone%s: %s%s; uft sites --skipped lists %s", (unsigned long long)n,
		   n == 1 ? " was" : "s were", part, why, also, n == 1 ? "it" : "them");
}

void record_say_nothing(struct recording *rec, const struct uft_session_stats *s)
{
	uint64_t no_graph = s->plain_skip[UFT_PLAIN_NO_GRAPH];
	char other[64] = "";

	if (s->ended_unarmed) {
		if (s->ended_unarmed > 1)
			snprintf(other, sizeof(other), " and %u more", s->ended_unarmed - 1);
		record_say(rec, "warning: nothing was recorded: process %d%s ended before it could be traced",
			   s->ended_pid, other);
		return;
	}
	if (no_graph)
		snprintf(other, sizeof(other), " by this tracer (-p function can trace %llu)",
			 (unsigned long long)no_graph);
	record_say(rec, "warning: nothing was recorded: %s%s",
		   rec->opts->notrace.n ? "--notrace leaves no function that could be traced" :
		   rec->opts->filter.n	? "no function that -l selects could be traced" :
					  "no function of the program could be traced", other);
}

/* memcpy, strlen: a filter with such a name gets nearly no calls, so explain that. */
static void say_chooser(struct recording *rec, const struct uft_session_stats *s)
{
	const char *object = s->chooser_object;
	char names[300] = "";

	if (!s->chooser || rec->opts->is_quiet)
		return;
	if (s->chosen[0])
		snprintf(names, sizeof(names), ": -l '__%s*:mod:%s'", s->chosen, object);
	record_say(rec,
		   "%.*s of %s is an ifunc: it only chooses, at the start, which function is called; that one has a name of its own%s",
	    (int)strcspn(s->chooser, "@"), s->chooser, object, names);
}

static void say_missing(void *arg, const char *sentence)
{
	record_say(arg, "warning: %s", sentence);
}

void record_say_losses(struct recording *rec, const struct uft_session_stats *s, const struct uft_info *counted)
{
	struct uft_info info = *counted;

	info.complete = 1;		/* if not, a message was printed already */
	info.damaged_bytes = 0;
	if (rec->opts->is_quiet && info.stop == UFT_STOP_SIZE)
		info.stop = UFT_STOP_NONE;	/* by the user's limit */
	if (rec->opts->is_quiet)
		info.lost = info.lost_parts = info.overwritten = 0;
	memcpy(info.counters, s->counters, sizeof(info.counters));
	losses_each(&info, 0, say_missing, rec);
	if (s->counters[UFT_CNT_NOT_KEPT] && !rec->opts->is_quiet)
		record_say(rec, "%llu call%s shorter than --keep-slow allows and %s not kept",
			   (unsigned long long)s->counters[UFT_CNT_NOT_KEPT],
			   s->counters[UFT_CNT_NOT_KEPT] == 1 ? " was" : "s were",
			   s->counters[UFT_CNT_NOT_KEPT] == 1 ? "was" : "were");
	say_left_alone(rec, s);
	say_chooser(rec, s);
	if (rec->ndropped > DROPPED_SAID && !rec->opts->is_quiet)
		record_say(rec, "dropped %u more functions; uft report lists all at its end",
			   rec->ndropped - DROPPED_SAID);
	if (s->not_followed)
		record_say(rec, "warning: %u process%s could not be followed", s->not_followed,
			   s->not_followed == 1 ? "" : "es");
}

void record_say_attached(struct recording *rec, const struct uft_session_stats *s)
{
	if (rec->targets && !rec->opts->is_quiet)
		status_say(&rec->status,
			   "uft: attached to %u process%s; no thread was stopped for more than %.2f ms, in all %.2f ms",
			   s->attached,
			   s->attached == 1 ? "" : "es", (double)s->stop_ns_max / 1e6, (double)s->stop_ns_sum / 1e6);
}

/* Only for events of programs: events of the kernel are known before. */
void record_say_absent_events(struct recording *rec)
{
	const struct uft_event_table *types = uft_session_types(rec->session);

	for (char *const *word = rec->opts->trace_events; word && *word; word++) {
		uint32_t n = uft_event_table_count(types), k = **word == '!' ? n + 1 : 0;

		while (k < n && !uft_event_matches(*word, strlen(*word), uft_event_table_at(types, k)))
			k++;
		if (k == n)
			record_say(rec,
				   "warning: no traced program or library declares an event '%s' (uft list -e PROGRAM lists those of a "
				   "program)", *word);
	}
}

void record_count(const char *path, struct uft_writer_stats *total, const char **unit, int *is_exact,
		  struct uft_info *out)
{
	struct uft_select all = { 0 };
	const struct uft_info *info;
	struct uft_stream *st;

	if (uft_stream_open(path, &all, &st, NULL) < 0)
		return;
	info = uft_stream_info(st);
	if (info)
		*total = (struct uft_writer_stats){ .bytes = info->bytes, .events = info->events, .lost = info->lost,
						    .overwritten = info->overwritten };
	/* A profile has only sums: calls without events. */
	if (info && info->tracer == UFT_TRACER_PROFILE) {
		total->events = info->calls;
		*unit = info->calls == 1 ? "call summed up" : "calls summed up";
	} else if (info && info->events == 1) {
		*unit = "event";
	}
	*is_exact = info != NULL;
	if (info)
		*out = *info;		/* its texts are not looked at */
	uft_stream_close(st);
}

void record_say_time(struct recording *rec, const struct uft_writer_stats *total)
{
	if (rec->is_limited && !total->stop && !rec->opts->is_quiet)
		record_say(rec, "recording stopped after %g s (--duration)", (double)rec->opts->duration_ns / 1e9);
}
