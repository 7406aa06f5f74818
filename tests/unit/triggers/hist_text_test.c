/* SPDX-License-Identifier: MIT */
/* hist_text_test.c - what a program puts into keys and sums of a histogram does nothing to the terminal of its reader */
#include "hist/text.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char seen[4096];

static void put(void *arg, const char *p, size_t n)
{
	(void)arg;
	strncat(seen, p, n);
}

static const struct uft_hist_sink to = { NULL, put };

static void labels_and_values(void **state)
{
	const struct uft_event_field name = { .name = "what" };
	const struct hist_field field = { .flags = F_KEY | F_STRING, .field = &name, .size = 16 };
	uint64_t element[4] = { 0 };
	const char *label = NULL;

	(void)state;
	memcpy(element, "a\033[2J\nb\177c", 10);
	seen[0] = '\0';
	put_key_part(NULL, &field, element, &label, &to);
	assert_memory_equal(seen, "what: a?[2J?b?c ", 16);
	assert_int_equal(strlen(seen), strlen("what: ") + 50);
}

/* A sum that others add to is more than it was when the greatest was looked for. */
static void graph(void **state)
{
	const struct uft_event_field name = { .name = "sum" };
	const struct hist_field field = { .flags = F_GRAPH, .field = &name };
	const struct stats s = { .max = 10, .total = 10 };
	const uint64_t sum[] = { 0, 5, 10, 11, 1000, 1ull << 60, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(sum) / sizeof(sum[0]); i++) {
		seen[0] = '\0';
		put_value(&field, "sum", &s, &sum[i], &to);
		assert_int_equal(strlen(seen), strlen(" sum: ") + BAR);
		assert_int_equal(strspn(seen + strlen(" sum: "), "#"), sum[i] > 10 ? BAR : sum[i] * 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(labels_and_values), cmocka_unit_test(graph) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
