// SPDX-License-Identifier: MIT
/*
 * warn.c - warnings for the user of a session
 *
 * Each warning is given once in a session. Names in it come from targets, so they are cleaned.
 *
 * Bounds. A target can cause any number of different warnings: libraries that cannot be read, programs that gain
 * rights. So each family has room for OF_FAMILY warnings, and one target cannot use up the room of others. All families
 * together have OF_ALL, since a target can have children. Warnings of the session itself have OF_SESSION. A warning of
 * a process that is no target, or no longer (UFT_LOST_SLICE), counts only against OF_ALL: there is one of each such
 * process. For what remains in a target after the detach (session_warn_left()) each family has OF_LEFT more, which no
 * other warning uses. Warnings beyond these bounds are counted, and the session's last warning tells their number.
 */
#include "control/state/state.h"
#include "symbol/array.h"
#include "symbol/names.h"
#include "symbol/parse_bound.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF_FAMILY	8
#define OF_LEFT		2
#define OF_SESSION	64
#define OF_ALL		512	/* all families together; as many again for session_warn_left() */
#define NO_FAMILY	UINT32_MAX
#define GONE_FAMILY	(UINT32_MAX - 1)	/* of a family that has ended, or a process without one */

/* Returns 1 if there is room for one more warning of the family. @is_left: of session_warn_left(). */
static int has_room(const struct uft_session *s, uint32_t family, uint32_t is_left)
{
	uint32_t its = 0, own = 0;

	for (uint32_t i = 0; i < s->nwarned; i++) {
		its += s->warned[i].family == family;
		own += s->warned[i].family == NO_FAMILY;
	}
	if (family == NO_FAMILY)
		return own < OF_SESSION;
	if (s->nwarned - own >= OF_ALL + is_left * OF_ALL)
		return 0;
	return family == GONE_FAMILY ||
	       its < OF_FAMILY + is_left * OF_LEFT; /* GUARD(warn_family) GUARD(warn_family_left, its < OF_FAMILY) */
}

/* Keeps the warning, so that it is given once. 0 or -ENOMEM. */
static int keep(struct uft_session *s, uint32_t family, const char *text)
{
	if (array_reserve(s->warned, s->cap_warned, s->nwarned + 1))
		return -ENOMEM;
	s->warned[s->nwarned] = (struct warning){ strdup(text), family };
	if (!s->warned[s->nwarned].text)
		return -ENOMEM;
	s->nwarned++;
	return 0;
}

static void say(struct uft_session *s, const char *text)
{
	if (s->ev.warning)
		s->ev.warning(s->ev.arg, text);
}

static uint32_t family_of(const struct uft_session *s, uint32_t slice)
{
	if (slice == UFT_LOST_SLICE) /* GUARD(lost_slice, 0) */
		return GONE_FAMILY;
	return slice < (s->arena.map ? s->arena.map->nslices : 0) ? slice / s->arena.map->per_file : NO_FAMILY;
}

static void warn(struct uft_session *s, uint32_t slice, uint32_t is_left, const char *fmt, va_list ap)
{
	const uint32_t family = family_of(s, slice);
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	uft_name_clean(text);		/* names in the text come from the target */
	for (uint32_t i = 0; i < s->nwarned; i++)
		if (!strcmp(s->warned[i].text, text))
			return;
	if (!has_room(s, family, is_left) || keep(s, family, text))
		s->nunsaid++;
	else
		say(s, text);
}

void session_warn(struct uft_session *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn(s, s->subject ? s->subject - 1 : UFT_NO_SLICE, 0, fmt, ap);
	va_end(ap);
}

void session_warn_of(struct uft_session *s, uint32_t slice, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn(s, slice, 0, fmt, ap);
	va_end(ap);
}

void session_warn_left(struct uft_session *s, uint32_t slice, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn(s, slice, 1, fmt, ap);
	va_end(ap);
}

uint32_t session_begin_of(struct uft_session *s, uint32_t slice)
{
	const uint32_t before = s->subject;

	s->subject = slice + 1;		/* 0 of UFT_NO_SLICE */
	return before;
}

void session_end_of(struct uft_session *s, uint32_t before)
{
	s->subject = before;
}

void session_forget_warnings(struct uft_session *s, uint32_t family)
{
	for (uint32_t i = 0; i < s->nwarned; i++)
		if (s->warned[i].family == family)
			s->warned[i].family = GONE_FAMILY;
}

void session_free_warnings(struct uft_session *s)
{
	struct uft_error first = { "" };
	const unsigned nrefused = bound_refusals(&first);
	char text[sizeof(first.text) + 128];

	snprintf(text, sizeof(text), "%u more warnings were not shown: of one process at most %d are", s->nunsaid,
		 OF_FAMILY);
	if (s->nunsaid)
		say(s, text);
	snprintf(text, sizeof(text), "%u file%s read only in part, because the rest would cost too much; the first: %s",
		 nrefused, nrefused == 1 ? " was" : "s were", first.text);
	uft_name_clean(text);
	if (nrefused)
		say(s, text);
	for (uint32_t i = 0; i < s->nwarned; i++)
		free(s->warned[i].text);
	free(s->warned);
	s->warned = NULL;
	s->nwarned = s->cap_warned = s->nunsaid = 0;
}

int session_follows_children(const struct uft_session *s)
{
	return !s->opts.no_children;
}
