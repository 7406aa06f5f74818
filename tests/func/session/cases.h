/* SPDX-License-Identifier: MIT */
/* cases.h - what the cases of session.c share: the programs, checks, and runs */
#ifndef UFT_TEST_SESSION_CASES_H
#define UFT_TEST_SESSION_CASES_H

#include "tests/func/session/harness.h"

#include <stdio.h>

#define GOOD	(42 << 8)
#define SKIP	77

struct session_case {
	const char *name;
	void (*run)(void);
};

/* Each ends with a row without a name. */
extern const struct session_case programs_cases[], selection_cases[], starts_cases[], agents_cases[], ends_cases[];

extern const char *target, *static_target, *library, *plain_target, *before_target;
extern int failures;
extern const char *case_name;

#define CHECK(cond, ...)								\
	do {										\
		if (!(cond)) {								\
			failures++;							\
			printf("FAIL %s: %s:%d: %s: ", case_name, __FILE__, __LINE__, #cond); \
			printf(__VA_ARGS__);						\
			printf("\n");							\
		}									\
	} while (0)

struct run *new_run(uint32_t tracer);
void check_clean(const struct run *r);		/* what every run must show, whatever it did */
void check_counts(const struct run *r, const char *name, unsigned long want);

#endif
