/* SPDX-License-Identifier: MIT */
/*
 * mistakes.c - the writes that were refused last, as error_log shows them
 */
#include "symbol/now.h"
#include "tree/core/tree_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEPT		(sizeof(((struct instance *)0)->mistake) / sizeof(struct mistake))
#define SHOWN		1024	/* bytes of a command */

/*
 * Copies one printable line; of a long line the part around @at. The place of the mistake may lie after the
 * line's end.
 */
static size_t command_of(const char *p, size_t n, size_t at, char out[SHOWN + 1])
{
	size_t from = at >= SHOWN ? at : 0, k = 0;

	while (k < SHOWN && from + k < n && p[from + k] != '\n') {
		out[k] = isprint((unsigned char)p[from + k]) || p[from + k] == '\t' ? p[from + k] : '?';
		k++;
	}
	out[k] = '\0';
	return at - from < SHOWN ? at - from : SHOWN;
}

static void forget(struct instance *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(in->mistake[i].text);
	memmove(in->mistake, in->mistake + n, (in->nmistakes - n) * sizeof(in->mistake[0]));
	in->nmistakes -= n;
}

void error_put(struct instance *in, const char *where, const char *what, const char *p, size_t n, size_t at)
{
	char command[SHOWN + 1], *text;

	at = command_of(p, n, at, command);
	if (asprintf(&text, "%s: error: %s\n  Command: %s\n%*s^\n", where, what, command, (int)(11 + at), "") < 0)
		return;
	if (what == in->t->conflict && in->nmistakes && !strcmp(in->mistake[in->nmistakes - 1].text, text))
		free(in->mistake[--in->nmistakes].text);
	if (in->nmistakes == KEPT)
		forget(in, 1);
	in->mistake[in->nmistakes++] = (struct mistake){ now_ns(), text };
}

void error_note(struct uft_handle *h, const char *p, size_t n)
{
	const char *path = h->at.row->pub.path, *takes = h->at.row->takes,
		   *what = h->wrong ? h->wrong : takes ? takes : "Invalid argument";
	const char *option = h->at.row->pub.scope & UFT_SCOPE_OPTION ? option_name(h->at.index) : "";
	char where[128];

	n = strnlen(p, n);
	if (h->at.row->pub.scope & (UFT_SCOPE_EVENT | UFT_SCOPE_SYSTEM) &&
	    !strcmp(path + strlen(path) - strlen("filter"), "filter")) {
		path = "event filter parse error";	/* the kernel's words, for what it keeps of the text */
		option = "";
		while (n && isspace((unsigned char)p[n - 1]))
			n--;
	}
	snprintf(where, sizeof(where), "%.*s%s", (int)strcspn(path, "%"), path, option);
	error_put(h->at.in, where, what, p, n, h->wrong_at);
}

void error_free(struct instance *in)
{
	forget(in, in->nmistakes);
}
