/* SPDX-License-Identifier: MIT */
/* dense.h - arrays by a dense index (uft_task.index, uft_sym.index), which grow as larger ones are met */
#ifndef UFT_OUTPUT_DENSE_H
#define UFT_OUTPUT_DENSE_H

#include "symbol/array.h"

/* @array: a pointer to a pointer to @n elements of @size bytes. As array_reach(). */
static inline int dense_reserve(void *array, uint32_t *n, uint32_t index, size_t size)
{
	return index < *n ? 0 : array_grow(array, size, n, sizeof(*n), (size_t)index + 1, 1);
}

#endif
