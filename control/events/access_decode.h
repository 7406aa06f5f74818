/* SPDX-License-Identifier: MIT */
/* access_decode.h - decode an access to watched memory; theory in access_decode.c. Context: control. */
#ifndef UFT_CONTROL_ACCESS_DECODE_H
#define UFT_CONTROL_ACCESS_DECODE_H

#include "control/events/perf.h"
#include "control/plan/watch_list.h"

/* Makes the record of @r for one of the @n points. 0: another record of the same access counts. */
int access_record(const struct space *space, const struct access_point *point, uint32_t n, const struct perf_record *r,
		  uint64_t w[4]);

#endif
