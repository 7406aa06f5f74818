/* SPDX-License-Identifier: MIT */
/*
 * array.h - arrays that grow
 *
 * The owner of an array keeps a pointer to the elements, from malloc() or NULL, and the number of elements that fit, in
 * an integer of 4 or 8 bytes. That number doubles; for large arrays it grows by a fourth, because unused room is
 * memory, too. Each call returns 0, or -ENOMEM, which leaves array and room as they were.
 */
#ifndef UFT_SYMBOL_ARRAY_H
#define UFT_SYMBOL_ARRAY_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LEAST	256u		/* bytes */
#define ARRAY_LARGE	(16u << 20)	/* bytes */

/* @array: a pointer to the pointer. Makes room for exactly @n elements. */
static inline int array_set_size(void *array, size_t size, size_t n)
{
	void *p;

	memcpy(&p, array, sizeof(p));
	p = reallocarray(p, n ? n : 1, size);
	if (!p)
		return -ENOMEM;
	memcpy(array, &p, sizeof(p));
	return 0;
}

/* @room: a pointer to the integer. Makes room for at least @want elements; with @is_zeroed new elements are 0. */
static inline int array_grow(void *array, size_t size, void *room, size_t room_bytes, size_t want, int is_zeroed)
{
	uint32_t *room32 = room;
	uint64_t *room64 = room;
	uint64_t had = room_bytes == sizeof(*room32) ? *room32 : *room64, has = size < 16 ? ARRAY_LEAST / size : 16;
	char *p;

	if (want > UINT32_MAX && room_bytes == sizeof(*room32))
		return -ENOMEM;
	if (has < 2 * want)
		has = want * size > ARRAY_LARGE ? want + want / 4 : 2 * want;
	if (has > UINT32_MAX && room_bytes == sizeof(*room32))
		has = UINT32_MAX;
	if (array_set_size(array, size, has))
		return -ENOMEM;
	memcpy(&p, array, sizeof(p));
	if (is_zeroed)
		memset(p + had * size, 0, (has - had) * size);
	if (room_bytes == sizeof(*room32))
		*room32 = (uint32_t)has;
	else
		*room64 = has;
	return 0;
}

/* Makes room for exactly @n elements. */
#define array_resize(p, n)		array_set_size(&(p), sizeof(*(p)), n)

/* Makes room for at least @want elements. */
#define array_reserve(p, room, want) \
	((size_t)(want) <= (size_t)(room) ? 0 : array_grow(&(p), sizeof(*(p)), &(room), sizeof(room), want, 0))

/* Makes room for element @index, in arrays by a dense index. New elements are 0. */
#define array_reach(p, room, index) \
	((size_t)(index) < (size_t)(room) ? 0 : \
	 array_grow(&(p), sizeof(*(p)), &(room), sizeof(room), (size_t)(index) + 1, 1))

#endif
