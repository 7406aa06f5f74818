/* SPDX-License-Identifier: MIT */
/* sink.c - write formatted text to a caller's sink */
#include "hist/hist_internal.h"

#include <stdarg.h>
#include <stdio.h>

void hist_printf(const struct uft_hist_sink *to, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		to->put(to->arg, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}
