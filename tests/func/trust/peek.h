/* SPDX-License-Identifier: MIT */
/*
 * peek.h - what may be unmapped by now is read without harm
 *
 * An agent maps the first pages of a spare family for a moment, to claim it. So what /proc/self/maps says of the recorder's
 * memory may be gone when it is read.
 */
#ifndef UFT_TESTS_TRUST_PEEK_H
#define UFT_TESTS_TRUST_PEEK_H

#include <unistd.h>

/* 1: @bytes, a few, were read. By a pipe: an emulator knows that as well. */
static int peek(void *to, const void *from, size_t bytes)
{
	int ends[2], ok;

	if (pipe(ends))
		return 0;
	ok = write(ends[1], from, bytes) == (ssize_t)bytes && read(ends[0], to, bytes) == (ssize_t)bytes;
	close(ends[0]);
	close(ends[1]);
	return ok;
}

#endif
