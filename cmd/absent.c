/* SPDX-License-Identifier: MIT */
/*
 * absent.c - patterns for an object that was never there
 *
 * GLOB:mod:OBJECT may be of a library that is loaded later, so only the end of a recording tells that none was.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/status.h"
#include "stream/stream.h"
#include "symbol/names.h"

static int is_there(const char *glob, const struct uft_image *const *img, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < img[i]->nobj; k++) {
			const char *path = img[i]->obj[k].obj->path, *slash = strrchr(path, '/');

			if (uft_glob_match(glob, slash ? slash + 1 : path))
				return 1;
		}
	return 0;
}

static int has_object(const struct cmd_list *patterns)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (strstr(patterns->item[i], ":mod:"))
			return 1;
	return 0;
}

void cmd_warn_absent(const char *command, const char *path, struct status *status, const struct cmd_list *patterns)
{
	const struct uft_image *const *img;
	struct uft_select all = { 0 };
	struct uft_pattern pattern;
	struct uft_stream *st;
	size_t n;

	if (!has_object(patterns) || uft_stream_open(path, &all, &st, NULL) < 0)
		return;
	n = uft_stream_images(st, &img);
	for (size_t i = 0; i < patterns->n; i++) {
		if (uft_pattern_parse(patterns->item[i], &pattern))
			continue;
		if (pattern.object && n && !is_there(pattern.object, img, n))
			status_say(status, "uft %s: warning: '%s' selected nothing: no program or library '%s' was loaded", command,
				   patterns->item[i], pattern.object);
		uft_pattern_free(&pattern);
	}
	uft_stream_close(st);
}
