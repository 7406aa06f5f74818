/* SPDX-License-Identifier: MIT */
/* parse_bound.c - see parse_bound.h */
#include "symbol/parse_bound.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct parse_bound {
	uint64_t bytes, steps;		/* atomic */
	const char *bytes_for, *steps_for;	/* of the first refusal, atomic */
	int can_others_write;
	int refs;			/* atomic: held by the file and its tables */
	int is_counted;			/* atomic */
};

/* In front of each table, aligned as malloc() aligns. */
struct head {
	struct parse_bound *bound;
	uint64_t bytes;
} __attribute__((aligned(16)));

static uint64_t others_bytes;	/* atomic: of all files that other users can change */

static pthread_mutex_t refusal_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned nrefused;		/* under refusal_lock, as is the sentence */
static struct uft_error first_refusal;

struct parse_bound *bound_create(int can_others_write)
{
	struct parse_bound *b = calloc(1, sizeof(*b));

	if (b) {
		b->can_others_write = can_others_write;
		b->refs = 1;
	}
	return b;
}

void bound_put(struct parse_bound *b)
{
	if (!b || __atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL))
		return;
	bound_return(b, b->bytes);	/* taken for the file itself */
	free(b);
}

struct parse_bound *bound_get(struct parse_bound *b)
{
	__atomic_fetch_add(&b->refs, 1, __ATOMIC_RELAXED);
	return b;
}

static void note(const char **at, const char *what)
{
	const char *none = NULL;

	__atomic_compare_exchange_n(at, &none, what, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int bound_take(struct parse_bound *b, const char *what, uint64_t bytes)
{
	uint64_t mine, others, all;

	if (!b)
		return 0;
	mine = __atomic_add_fetch(&b->bytes, bytes, __ATOMIC_RELAXED);
	all = b->can_others_write ? __atomic_add_fetch(&others_bytes, bytes, __ATOMIC_RELAXED) : 0;
	others = all > mine ? all - mine : 0;
	/* GUARD(parse_bound_bytes, 1) */
	if (bytes <= PARSE_MAX_BYTES && mine <= PARSE_MAX_BYTES &&
	    (!all || (others < PARSE_ALL_BYTES && mine <= (PARSE_ALL_BYTES - others) / 2)))
		return 0;
	bound_return(b, bytes);
	note(&b->bytes_for, what);
	return -EFBIG;
}

void bound_return(struct parse_bound *b, uint64_t bytes)
{
	if (!b)
		return;
	__atomic_fetch_sub(&b->bytes, bytes, __ATOMIC_RELAXED);
	if (b->can_others_write)
		__atomic_fetch_sub(&others_bytes, bytes, __ATOMIC_RELAXED);
}

int bound_steps(struct parse_bound *b, const char *what, uint64_t n)
{
	/* GUARD(parse_bound_steps, 1) */
	if (!b || (n <= PARSE_MAX_STEPS &&
		   __atomic_add_fetch(&b->steps, n, __ATOMIC_RELAXED) <= PARSE_MAX_STEPS))
		return 0;
	__atomic_store_n(&b->steps, PARSE_MAX_STEPS, __ATOMIC_RELAXED);
	note(&b->steps_for, what);
	return -EFBIG;
}

/* Returns the bytes of a table with its head; UINT64_MAX: the number is too large. */
static uint64_t bytes_of(size_t n, size_t size)
{
	uint64_t bytes;

	if (__builtin_mul_overflow((uint64_t)n, (uint64_t)size, &bytes) ||
	    __builtin_add_overflow(bytes, (uint64_t)sizeof(struct head), &bytes))
		return UINT64_MAX;
	return bytes;
}

static void *begin(struct parse_bound *b, struct head *h, uint64_t bytes)
{
	if (!h) {
		bound_return(b, bytes);
		return NULL;
	}
	*h = (struct head){ b, bytes };
	if (b)
		__atomic_fetch_add(&b->refs, 1, __ATOMIC_RELAXED);
	return h + 1;
}

void *bound_alloc(struct parse_bound *b, const char *what, size_t n, size_t size)
{
	const uint64_t bytes = bytes_of(n, size);

	return bound_take(b, what, bytes) ? NULL : begin(b, malloc(bytes), bytes);
}

void *bound_zalloc(struct parse_bound *b, const char *what, size_t n, size_t size)
{
	const uint64_t bytes = bytes_of(n, size);

	return bound_take(b, what, bytes) ? NULL : begin(b, calloc(1, bytes), bytes);
}

void *bound_grow(struct parse_bound *b, const char *what, void *table, size_t n, size_t size)
{
	struct head *h = table ? (struct head *)table - 1 : NULL, *grown;
	const uint64_t bytes = bytes_of(n, size);
	uint64_t had;

	if (!h)
		return bound_alloc(b, what, n, size);
	had = h->bytes;
	b = h->bound;
	if (bytes > had && bound_take(b, what, bytes - had))
		return NULL;
	grown = bytes == UINT64_MAX ? NULL : realloc(h, bytes);
	if (!grown) {
		if (bytes > had)
			bound_return(b, bytes - had);
		return NULL;
	}
	if (bytes < had)
		bound_return(b, had - bytes);
	grown->bytes = bytes;
	return grown + 1;
}

void bound_free(void *table)
{
	struct head *h = table ? (struct head *)table - 1 : NULL;

	if (!h)
		return;
	bound_return(h->bound, h->bytes);
	bound_put(h->bound);
	free(h);
}

int bound_error(const struct parse_bound *b, const char *path, const char *what, struct uft_error *err)
{
	const char *bytes_for = b ? __atomic_load_n(&b->bytes_for, __ATOMIC_RELAXED) : NULL,
		   *steps_for = b ? __atomic_load_n(&b->steps_for, __ATOMIC_RELAXED) : NULL;
	struct uft_error own = { "" };

	if (!bytes_for && !steps_for)
		return uft_fail(err, -ENOMEM, "%s: no memory for its %s", path, what);
	if (bytes_for)
		uft_fail(&own, 0, "%s: its %s are not read: its %s would take more than %llu MB%s", path, what,
			 bytes_for, PARSE_MAX_BYTES >> 20,
			 b->can_others_write ? ", or than files of other users have left" : "");
	else
		uft_fail(&own, 0, "%s: its %s are not read: its %s would take more than %llu million steps", path, what,
			 steps_for, PARSE_MAX_STEPS / 1000000);
	if (!__atomic_exchange_n(&((struct parse_bound *)(uintptr_t)b)->is_counted, 1, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&refusal_lock);
		if (!nrefused++)
			first_refusal = own;
		pthread_mutex_unlock(&refusal_lock);
	}
	return uft_fail(err, -EFBIG, "%s", own.text);
}

unsigned bound_refusals(struct uft_error *first)
{
	unsigned n;

	pthread_mutex_lock(&refusal_lock);
	n = nrefused;
	if (first)
		*first = first_refusal;
	pthread_mutex_unlock(&refusal_lock);
	return n;
}
