/* SPDX-License-Identifier: MIT */
/* rows.h - what the rows of the table do, by file of the tree */
#ifndef UFT_TREE_ROWS_H
#define UFT_TREE_ROWS_H

#include "tree/internal.h"

/* value.c */
const char *tracer_name(uint32_t tracer);
int show_available_tracers(const struct place *at, struct tree_text *out);
int show_current_tracer(const struct place *at, struct tree_text *out);
ssize_t store_current_tracer(struct uft_handle *h, const char *p, size_t n);
int show_tracing_on(const struct place *at, struct tree_text *out);
ssize_t store_tracing_on(struct uft_handle *h, const char *p, size_t n);

#endif
