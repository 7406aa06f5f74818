/* SPDX-License-Identifier: MIT */
/*
 * event_hist_test.c - what a target says that it counted: no more, in all that is read of it, than there was
 * time for
 */
#include "tree/triggers/event_hist.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define PART	1000u		/* events that there was time for between two looks */

const struct uft_arena *uft_session_arena(const struct uft_session *s)
{
	(void)s;
	return NULL;
}

int uft_slice_open(const struct uft_session *s, uint32_t slice, struct uft_slice_file *f)
{
	(void)s, (void)slice, (void)f;
	return -1;
}

void uft_slice_read(const struct uft_slice_file *f, uint64_t offset, void *to, size_t bytes)
{
	(void)f, (void)offset;
	memset(to, 0, bytes);
}

void uft_slice_close(struct uft_slice_file *f)
{
	(void)f;
}

/* What ten looks believe of a target that says each time that it counted as much more as fits all time so far. */
static uint64_t believed(uint64_t part, struct event_trigger *v)
{
	uint64_t element = 0, seen = 0, more = 0, sum = 0;

	for (uint32_t i = 1; i <= 10; i++) {
		element += i * part;
		sum += take_more(v, &element, &seen, (uint64_t)i * PART, &more) ? more : 0;
	}
	return sum;
}

static void true_counts_are_added(void **state)
{
	struct event_trigger v = { 0 };
	uint64_t element = 0, seen = 0, more, sum = 0;

	(void)state;
	for (uint32_t i = 1; i <= 10; i++) {
		element += PART;
		sum += take_more(&v, &element, &seen, (uint64_t)i * PART, &more) ? more : 0;
	}
	assert_int_equal(sum, 10 * PART);
	assert_int_equal(v.lost, 0);
}

static void false_counts_are_bounded(void **state)
{
	struct event_trigger v = { 0 };

	(void)state;
	assert_in_range(believed(PART, &v), 1, 10 * PART);
	assert_int_not_equal(v.lost, 0);
}

static void count_that_falls_adds_nothing(void **state)
{
	struct event_trigger v = { 0 };
	uint64_t element = 5, seen = 9, more;

	(void)state;
	assert_int_equal(take_more(&v, &element, &seen, PART, &more), 0);
	assert_int_equal(v.lost, 1);
	assert_int_equal(seen, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(true_counts_are_added), cmocka_unit_test(false_counts_are_bounded), cmocka_unit_test(count_that_falls_adds_nothing) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
