/* SPDX-License-Identifier: MIT */
/* error.c - see error.h */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "symbol/clean.h"
#include "symbol/error.h"

int uft_fail(struct uft_error *err, int code, const char *fmt, ...)
{
	if (err) {
		va_list ap;

		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		uft_clean(err->text, strlen(err->text), '\n');
	}
	return code;
}
