/* SPDX-License-Identifier: MIT */
/*
 * absent.c - warn of patterns whose object was never mapped
 *
 * The OBJECT of GLOB:mod:OBJECT may be a library that is loaded later, so only the end of a recording tells that it was
 * never mapped.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/status.h"
#include "stream/stream.h"
#include "symbol/names.h"

static int is_there(const char *glob, const struct uft_image *const *img, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < img[i]->nobj; k++)
			if (uft_glob_match(glob, uft_base_name(img[i]->obj[k].obj->path)))
				return 1;
	return 0;
}

/* Does the pattern name an object that must be there? The object of a pattern with `!` need not. */
static int names_object(const char *text)
{
	return text[0] != '!' && strstr(text, ":mod:");
}

static int has_object(const struct cmd_list *patterns)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (names_object(patterns->item[i]))
			return 1;
	return 0;
}

#define NAMED	5u	/* objects that a warning lists */

static int is_listed(const char *const *name, size_t n, const char *base)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name[i], base))
			return 1;
	return 0;
}

/* The first base names of the objects of @img, as "a, b, ..." in @out: programs come first in their images. */
static void list_objects(const struct uft_image *const *img, size_t n, char *out, size_t size)
{
	const char *name[NAMED];
	size_t listed = 0, len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < img[i]->nobj; k++) {
			const char *base = uft_base_name(img[i]->obj[k].obj->path);

			if (is_listed(name, listed, base) || len >= size)
				continue;
			if (listed == NAMED) {
				snprintf(out + len, size - len, ", ...");
				return;
			}
			name[listed] = base;
			len += (size_t)snprintf(out + len, size - len, "%s%.40s", listed++ ? ", " : "", base);
		}
}

static void warn(const char *command, struct status *status, const char *text, const struct uft_image *const *img,
		 size_t n)
{
	struct uft_pattern pattern;
	char loaded[NAMED * 44];

	if (!names_object(text) || uft_pattern_parse(text, &pattern))
		return;
	if (pattern.object && !is_there(pattern.object, img, n)) {
		list_objects(img, n, loaded, sizeof(loaded));
		status_say(status,
			   "uft %s: warning: '%s' selected nothing: no program or library '%s' was loaded (loaded: %s)",
			   command,
			   text, pattern.object, loaded);
	}
	uft_pattern_free(&pattern);
}

void cmd_warn_absent(const char *command, const char *path, struct status *status,
		     const struct cmd_list *const *lists, size_t nlists)
{
	const struct uft_image *const *img;
	struct uft_select all = { 0 };
	struct uft_stream *st;
	size_t n, wanted = 0;

	for (size_t i = 0; i < nlists; i++)
		wanted += (size_t)has_object(lists[i]);
	if (!wanted || uft_stream_open(path, &all, &st, NULL) < 0)
		return;
	n = uft_stream_images(st, &img);
	for (size_t i = 0; n && i < nlists; i++)
		for (size_t k = 0; k < lists[i]->n; k++)
			warn(command, status, lists[i]->item[k], img, n);
	uft_stream_close(st);
}
