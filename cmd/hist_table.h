/* SPDX-License-Identifier: MIT */
/* hist_table.h - histograms as JSON or CSV. Context: control. */
#ifndef UFT_CMD_HIST_TABLE_H
#define UFT_CMD_HIST_TABLE_H

#include <stdio.h>

#include "output/output.h"

/*
 * @words: what uft_hist_put_cells() writes of one histogram after the other, @n bytes. JSON: one object, with an object
 * for each histogram. CSV: one table of the entries of all, whose columns are those of any; what entries lack, dropped
 * events and lost records, is said on standard error as `uft @command`. 0, -ENOMEM, -EPROTO: it is cut off; or the
 * errno of @out.
 */
int cmd_hist_put(const char *command, FILE *out, enum uft_form form, const char *words, size_t n);

#endif
