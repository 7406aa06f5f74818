/* SPDX-License-Identifier: MIT */
/* symbols.h - names from other files: --symbols, and messages while debug files are fetched */
#ifndef UFT_CMD_SYMBOLS_H
#define UFT_CMD_SYMBOLS_H

#include "cmd/options.h"

void cmd_symbols_begin(void);	/* once, before any name is looked up */
/* @program: the object of names without one; NULL: a recording's program. 0, or an exit status after an error. */
int cmd_symbols_use(const char *command, const struct cmd_list *files, const char *program);
void cmd_symbols_end(const char *command);	/* warns of files that gave no name */

/* --demangle: how names are shown. A row of a command's table of options; it takes effect at once. */
extern const char *const cmd_demangle_styles[];
int cmd_demangle(const struct cmd_option *o, const char *text, void *field, struct uft_error *err);
#define CMD_DEMANGLE_OPTION \
	{ "demangle", 0, "STYLE", \
		"show C++ names short (no return type, parameters, long template arguments), in full, or as linked (no)", \
	  cmd_demangle, 0, cmd_demangle_styles }

#endif
