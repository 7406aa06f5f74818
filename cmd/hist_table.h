/* SPDX-License-Identifier: MIT */
/* hist_table.h - histograms as JSON or CSV. Context: control. */
#ifndef UFT_CMD_HIST_TABLE_H
#define UFT_CMD_HIST_TABLE_H

#include <stdio.h>

#include "hist/hist.h"
#include "output/output.h"

struct hist_shown {
	const struct uft_hist *hist;
	const char *filter;	/* NULL: none */
	uint64_t lost;		/* records that may have been for it */
	int is_paused;
};

/*
 * JSON: one object, with an object for each histogram. CSV: one table of the entries of all, whose columns are those
 * of any; what entries lack, dropped events and lost records, is said on standard error. 0, -ENOMEM, or the errno of
 * @out.
 */
int cmd_hist_put(FILE *out, enum uft_form form, const struct hist_shown *shown, size_t n);

#endif
