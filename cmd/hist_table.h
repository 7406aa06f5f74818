/* SPDX-License-Identifier: MIT */
/* hist_table.h - histograms as JSON or CSV. Context: control. */
#ifndef UFT_CMD_HIST_TABLE_H
#define UFT_CMD_HIST_TABLE_H

#include <stdio.h>

#include "output/output.h"

/*
 * Prints histograms. @words: @n bytes that uft_hist_put_cells() wrote for one histogram after the other. JSON: one
 * object, with an object for each histogram. CSV: one table of all entries, with the columns of all histograms; dropped
 * events and lost records are reported on standard error as `uft @command`. 0, -ENOMEM, -EPROTO: @words is cut off; or
 * the errno of @out.
 */
int cmd_hist_put(const char *command, FILE *out, enum uft_form form, const char *words, size_t n);

#endif
