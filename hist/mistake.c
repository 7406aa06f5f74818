/* SPDX-License-Identifier: MIT */
/* mistake.c - errors in a histogram's text and their positions, for error_log */
#include "hist/hist_internal.h"

int hist_fail(struct uft_hist *h, int ret, const char *what, const char *str)
{
	struct uft_hist_errors *e = h->errors;
	const char *found = *str ? strstr(h->command, str) : NULL;

	if (e && e->n < UFT_HIST_ERRORS) {
		e->v[e->n].what = what;
		e->v[e->n++].at = found ? (size_t)(found - h->command) : 0;
	}
	return ret;
}
