/* SPDX-License-Identifier: MIT */
/* symbols.c - names from other files: --symbols, and messages while debug files are fetched */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/symbols.h"
#include "symbol/clean.h"
#include "symbol/namefile.h"
#include "symbol/names.h"

static int show_fetch(const char *object, long got, long of)
{
	static _Thread_local int is_shown;

	if (!isatty(STDERR_FILENO) || tcgetpgrp(STDERR_FILENO) != getpgrp())
		return 0;
	if (object) {
		fprintf(stderr, "\ruft: %s names of ", of > 0 ? "fetching" : "asking for");
		uft_put_clean(stderr, object);
		if (of > 0)
			fprintf(stderr, ": %ld of %ld KB", got >> 10, of >> 10);
	}
	if (object)
		fputs("\033[K", stderr);
	else if (is_shown)
		fputs("\r\033[K", stderr);
	is_shown = object != NULL;
	return 0;
}

void cmd_symbols_begin(void)
{
	uft_fetch_progress(show_fetch);
}

int cmd_symbols_use(const char *command, const struct cmd_list *files, const char *program)
{
	struct uft_error err = { "" };

	for (size_t i = 0; i < files->n; i++)
		if (uft_symbols_use(files->item[i], program, &err))
			return cmd_fail(command, "%s", err.text[0] ? err.text : "out of memory");
	return 0;
}

static void warn_unused(void *arg, const char *file)
{
	fprintf(stderr, "uft %s: warning: no name from %s was used: its addresses are in no object that it is for\n",
		(const char *)arg, file);
}

void cmd_symbols_end(const char *command)
{
	uft_symbols_unused(warn_unused, (void *)command);
}

const char *const cmd_demangle_styles[] = {
	[UFT_DEMANGLE_SHORT] = "short", [UFT_DEMANGLE_FULL] = "full", [UFT_DEMANGLE_NO] = "no", NULL
};

int cmd_demangle(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	int style = 0, ret = cmd_choice(o, text, &style, err);

	(void)field;
	if (!ret)
		uft_demangle_set((enum uft_demangle_style)style);
	return ret;
}
