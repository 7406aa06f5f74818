/* SPDX-License-Identifier: MIT */
/* report.c - prints what the matrix program counted; compiled without instrumentation */
#include <stdio.h>

#include "count.h"

EXTERN_C unsigned long matrix_count[64];
unsigned long matrix_count[64];
EXTERN_C unsigned long own_mcount_calls __attribute__((weak));

struct row { const char *name; unsigned long calls; };

#define ROW(id, c, cxx, n) { NAME(c, cxx), n },
static const struct row rows[] = {
	ROWS_C(ROW)
	{ "", 0 },	/* NROWS_C */
#ifdef __cplusplus
	ROWS_CXX(ROW)
#endif
};

/* After the destructors of C++ objects. Form: counted<TAB>expected<TAB>name */
static __attribute__((destructor)) void report(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].calls)
			printf("%lu\t%lu\t%s\n", matrix_count[i], rows[i].calls, rows[i].name);
	if (&own_mcount_calls)
		printf("%lu\town\n", own_mcount_calls);
	fflush(stdout);
}
