/* SPDX-License-Identifier: MIT */
/* fail.c - the message of a command that fails */
#include <stdarg.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "symbol/clean.h"

int cmd_fail(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "uft %s: ", command);
	va_start(ap, fmt);
	uft_clean_vprint(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return CMD_FAILED;
}
