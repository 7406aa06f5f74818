/* SPDX-License-Identifier: MIT */
/*
 * sorted.h - search an array that is in order
 *
 * SORTED_FIRST(i, n, condition): the number of the first element for which @condition is true, @n if there is none.
 * @condition is an expression of @i, a size_t that exists in it alone. It must be false for the first elements, perhaps
 * none, and true for all behind them.
 */
#ifndef UFT_SYMBOL_SORTED_H
#define UFT_SYMBOL_SORTED_H

#include <stddef.h>

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
