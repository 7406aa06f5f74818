// SPDX-License-Identifier: MIT
/*
 * warn.c - sentences for the user of a session
 *
 * Each sentence is said once in a session, and at most 64 are. Names in them come from targets, so they are cleaned.
 */
#include "control/state/state.h"
#include "symbol/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void session_warn(struct uft_session *s, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	uft_name_clean(text);		/* names in it are the target's */
	for (uint32_t i = 0; i < s->nwarned; i++)
		if (!strcmp(s->warned[i], text))
			return;
	if (s->nwarned == sizeof(s->warned) / sizeof(s->warned[0]))
		return;
	s->warned[s->nwarned] = strdup(text);
	if (s->warned[s->nwarned])
		s->nwarned++;
	if (s->ev.warning)
		s->ev.warning(s->ev.arg, text);
}

int session_follows_children(const struct uft_session *s)
{
	return !s->opts.no_children;
}
