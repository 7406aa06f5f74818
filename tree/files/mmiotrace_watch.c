/* SPDX-License-Identifier: MIT */
/*
 * mmiotrace_watch.c - mmiotrace_watch: which memory the tracer mmiotrace watches
 *
 * The kernel's mmiotrace watches every mapping of a device that is made while it is on. A process has too many mappings
 * for that, and the CPU has four debug registers, so the user names the addresses here. One write sets all of them:
 * four words written one by one would watch other sets in between. While there is no word, mmiotrace can be the tracer
 * and records nothing.
 */
#include "tree/files/rows.h"

#include <errno.h>
#include <string.h>

#include "control/session.h"

#define MAX_WORDS	8	/* more than there are registers */

int show_mmiotrace_watch(const struct place *at, struct tree_text *out)
{
	text_put(out, at->in->set.watch, strlen(at->in->set.watch));
	return 0;
}

/* Copies words, separated by blanks or newlines, to lines of @out. -ENAMETOOLONG: @out has no room. */
static int take_words(const char *p, size_t n, char *out, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		int is_blank = p[i] == ' ' || p[i] == '\t' || p[i] == '\n' || !p[i];

		if (is_blank && (!len || out[len - 1] == '\n'))
			continue;
		if (len + 2 >= size)
			return -ENAMETOOLONG;
		out[len++] = is_blank ? '\n' : p[i];
	}
	if (len && out[len - 1] != '\n')
		out[len++] = '\n';
	out[len] = '\0';
	return 0;
}

static int check(const char *words)
{
	char copy[sizeof(((struct settings *)0)->watch)], *save, *word;
	const char *list[MAX_WORDS + 1] = { NULL };
	struct uft_error err = { "" };
	size_t n = 0;

	strcpy(copy, words);
	for (word = strtok_r(copy, "\n", &save); word && n < MAX_WORDS; word = strtok_r(NULL, "\n", &save))
		list[n++] = word;
	return word ? -E2BIG : n ? uft_watch_check(list, &err) : 0;
}

ssize_t store_mmiotrace_watch(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	int ret = take_words(p, n, set.watch, sizeof(set.watch));

	ret = ret ? ret : check(set.watch);
	if (ret == -ENAMETOOLONG || ret == -E2BIG || ret == -EINVAL) {
		h->wrong = ret == -ENAMETOOLONG ? "More than 510 bytes of words" :
			   ret == -E2BIG ? "More than the CPU's 4 registers, of 8 bytes each" :
				   "Takes NAME or ADDRESS, with ,BYTES or :w behind it";
		return -EINVAL;
	}
	return store_settings(h, &set, ret, n);
}
