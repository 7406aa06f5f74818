/* SPDX-License-Identifier: MIT */
/*
 * sorted.h - sort an array, and search a sorted array
 *
 * SORT_BY(v, n, key): sorts the @n structs at @v, NULL if there are none, by their member @key, which is a uint64_t or
 * a uint32_t; the least comes first. SORT_NUMBERS(v, n): the same for such numbers themselves.
 *
 * SORTED_FIRST(i, n, condition): the number of the first element for which @condition is true, @n if there is none.
 * @condition is an expression of @i, a size_t that exists in it alone. It must be false for the first elements, perhaps
 * none, and true for all behind them.
 */
#ifndef UFT_SYMBOL_SORTED_H
#define UFT_SYMBOL_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline int sorted_compare64(const void *a, const void *b, void *offset)
{
	uint64_t x = *(const uint64_t *)((const char *)a + (size_t)offset);
	uint64_t y = *(const uint64_t *)((const char *)b + (size_t)offset);

	return (x > y) - (x < y);
}

static inline int sorted_compare32(const void *a, const void *b, void *offset)
{
	uint32_t x = *(const uint32_t *)((const char *)a + (size_t)offset);
	uint32_t y = *(const uint32_t *)((const char *)b + (size_t)offset);

	return (x > y) - (x < y);
}

static inline void sort_at(void *v, size_t n, size_t size, size_t offset,
			   int (*compare)(const void *, const void *, void *))
{
	if (n)
		qsort_r(v, n, size, compare, (void *)offset);
}

#define SORTED_COMPARE(key)	_Generic(key, uint64_t: sorted_compare64, uint32_t: sorted_compare32)
#define SORT_BY(v, n, key) \
	sort_at((v), (n), sizeof(*(v)), offsetof(__typeof__(*(v)), key), SORTED_COMPARE((v)->key))
#define SORT_NUMBERS(v, n)	sort_at((v), (n), sizeof(*(v)), 0, SORTED_COMPARE(*(v)))

#define SORTED_FIRST(i, n, condition)                      \
	__extension__({                                    \
		size_t i##_from = 0, i##_to = (n);         \
		while (i##_from < i##_to) {                \
			size_t i = i##_from + (i##_to - i##_from) / 2; \
			if (condition)                     \
				i##_to = i;                \
			else                               \
				i##_from = i + 1;          \
		}                                          \
		i##_from;                                  \
	})

#endif
