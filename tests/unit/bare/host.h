/* SPDX-License-Identifier: MIT */
/*
 * host.h - which host the runtime of a test has
 *
 * platform/linux, or platform/bare: then host.c is linked, too.
 */
#ifndef TESTS_BARE_HOST_H
#define TESTS_BARE_HOST_H

#include <stddef.h>

/* host.c: brings platform/bare up in this process. */
void bare_host_start(void) __attribute__((weak));
/* host.c: what a part of this program needs that no such host has; NULL: nothing. Those are all in one table. */
const char *bare_host_lacks(const char *part) __attribute__((weak));

/* host.c: 1: each part that it lacks was asked for. */
int bare_host_is_met(void) __attribute__((weak));

static inline int host_is_bare(void)
{
	return !!bare_host_start;
}

static inline void host_start(void)
{
	if (host_is_bare())
		bare_host_start();
}

static inline const char *host_lacks(const char *part)
{
	return host_is_bare() ? bare_host_lacks(part) : NULL;
}

/* At the end of a program of which all has run. */
static inline int host_is_met(void)
{
	return !host_is_bare() || bare_host_is_met();
}

#endif
