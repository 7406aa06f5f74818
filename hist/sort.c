/* SPDX-License-Identifier: MIT */
/*
 * sort.c - the entries of a table in the order of its sort keys
 *
 * Entries that compare equal are in the kernel's order: the kernel first sorts them by the bytes of their keys, and
 * uses a heap sort that takes out two at a time. A second key sorts runs that are equal by the first.
 */
#include "hist/hist_internal.h"

struct order { const struct uft_hist *h; uint32_t field; int is_descending; };

static int compare(const struct order *o, const uint64_t *a, const uint64_t *b)
{
	const struct hist_field *f = o->h->field[o->field];
	uint64_t x = a[f->word], y = b[f->word];
	int ret;

	if (f->flags & F_KEY && f->flags & F_STACK)
		ret = 0;
	else if (f->flags & F_KEY && f->flags & F_STRING)
		ret = strcmp((const char *)(a + f->word), (const char *)(b + f->word));
	else if (f->flags & F_KEY && f->is_signed)
		ret = ((int64_t)x > (int64_t)y) - ((int64_t)x < (int64_t)y);
	else
		ret = (x > y) - (x < y);
	return o->is_descending ? -ret : ret;
}

static void swap(uint64_t **a, uint64_t **b)
{
	uint64_t *t = *a;

	*a = *b;
	*b = t;
}

/* Moves the entry at @a to its place below: down to a leaf by the larger children, then up again. */
static void sift(const struct order *o, uint64_t **v, size_t n, size_t a)
{
	size_t at = a, child;

	for (; child = 2 * at + 1, child + 1 < n; )
		at = compare(o, v[child], v[child + 1]) > 0 ? child : child + 1;
	if (child + 1 == n)
		at = child;
	while (at != a && compare(o, v[a], v[at]) >= 0)
		at = (at - 1) / 2;
	for (child = at; at != a; ) {
		at = (at - 1) / 2;
		swap(&v[at], &v[child]);
	}
}

/* Moves the root to the end, and the larger of its children in front of it; fills both places from the heap's end. */
static void sort(const struct order *o, uint64_t **v, size_t n)
{
	if (n < 2)
		return;
	for (size_t a = n / 2; a; )
		sift(o, v, n, --a);
	while (n > 3) {
		size_t second;

		swap(&v[0], &v[--n]);
		second = compare(o, v[1], v[2]) <= 0 ? 2 : 1;
		swap(&v[second], &v[--n]);
		sift(o, v, n, second);
		sift(o, v, n, 0);
	}
	swap(&v[0], &v[--n]);
	if (n == 2 && compare(o, v[0], v[1]) > 0)
		swap(&v[0], &v[1]);
}

static void sort_runs(const struct uft_hist *h, const struct order *first, uint64_t **v, size_t n)
{
	struct order second = { h, h->sort[1].field, h->sort[1].is_descending };

	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && !compare(first, v[from], v[to]); to++)
			;
		sort(&second, v + from, to - from);
	}
}

static int compare_keys(const void *a, const void *b, void *words)
{
	return memcmp(*(uint64_t *const *)a, *(uint64_t *const *)b, 8ul * *(const uint32_t *)words);
}

uint64_t **sort_elements(const struct uft_hist *h, uint32_t *n)
{
	const struct uft_hist_map *map = &h->table->map;
	uint64_t **v = malloc(((size_t)1 << map->bits) * sizeof(*v)), *e;
	struct order first = { h, h->sort[0].field, h->sort[0].is_descending };

	*n = 0;
	if (!v)
		return NULL;
	for (uint32_t at = 0; *n < 1u << map->bits && (e = uft_hist_map_next(map, &at)); )
		v[(*n)++] = e;
	qsort_r(v, *n, sizeof(*v), compare_keys, (void *)&map->key_words);
	sort(&first, v, *n);
	if (h->nsort > 1)
		sort_runs(h, &first, v, *n);
	return v;
}
