/* SPDX-License-Identifier: MIT */
/*
 * dense.h - arrays by a dense index (uft_task.index, uft_sym.index), which grow as larger ones are met; new
 * elements are 0. They double, and large ones grow by a fourth, as what is not used yet is memory, too.
 */
#ifndef UFT_OUTPUT_DENSE_H
#define UFT_OUTPUT_DENSE_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DENSE_LARGE	(16u << 20)	/* bytes */

/* @array: a pointer to a pointer to @n elements of @size bytes. Makes element @index be there. 0 or -ENOMEM. */
static inline int dense_reserve(void *array, uint32_t *n, uint32_t index, size_t size)
{
	void *old;
	char *grown;
	size_t want;

	if (index < *n)
		return 0;
	want = (size_t)index * size > DENSE_LARGE ? (size_t)index + index / 4 : 2 * ((size_t)index + 32);
	memcpy(&old, array, sizeof(old));
	grown = want <= UINT32_MAX ? realloc(old, want * size) : NULL;
	if (!grown)
		return -ENOMEM;
	memset(grown + *n * size, 0, (want - *n) * size);
	memcpy(array, &grown, sizeof(grown));
	*n = (uint32_t)want;
	return 0;
}

#endif
