/* SPDX-License-Identifier: MIT */
/* diff.h - the two sides of a difference (output.h), node by node */
#ifndef UFT_OUTPUT_REPORT_DIFF_H
#define UFT_OUTPUT_REPORT_DIFF_H

#include "output/report/aggregate.h"

/* Side 0 (A) or 1 (B), linked; node i of one side is node i of the other. No recording can be added afterwards. */
const struct agg *uft_diff_side(struct uft_diff *d, int side);

#endif
