/* SPDX-License-Identifier: MIT */
/* hash_index_test.c - elements are found again by hash and key, also while the index grows and where hashes are the same */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>

#include "symbol/hash_index.h"

#define KEYS 5000u

static uint64_t same_for_eight(uint32_t key)
{
	return (key / 8) * 0x9e3779b97f4a7c15ull >> 20;
}

static uint32_t find(const struct hash_index *h, const uint32_t *key, uint32_t wanted)
{
	return HASH_FIND(i, h, same_for_eight(wanted), key[i] == wanted);
}

static void test_find(void **state)
{
	struct hash_index h = { 0 };
	static uint32_t key[KEYS];

	(void)state;
	assert_int_equal(find(&h, key, 7), HASH_NONE);
	for (uint32_t n = 0; n < KEYS; n++) {
		key[n] = (n * 7) % KEYS;
		assert_int_equal(find(&h, key, key[n]), HASH_NONE);
		assert_int_equal(hash_index_add(&h, same_for_eight(key[n]), n), 0);
		assert_int_equal(find(&h, key, key[n]), n);
		assert_int_equal(find(&h, key, key[n / 2]), n / 2);
		assert_true(2 * h.n <= h.nslots);
	}
	for (uint32_t n = 0; n < KEYS; n++)
		assert_int_equal(find(&h, key, key[n]), n);
	hash_index_clear(&h);
	assert_int_equal(find(&h, key, key[0]), HASH_NONE);
	assert_int_equal(hash_index_add(&h, same_for_eight(key[0]), 0), 0);
	assert_int_equal(find(&h, key, key[0]), 0);
	hash_index_free(&h);
	assert_int_equal(find(&h, key, key[0]), HASH_NONE);
}

/* Room that was reserved holds so many elements without growing. */
static void test_reserve(void **state)
{
	struct hash_index h = { 0 };
	uint32_t slots;

	(void)state;
	assert_int_equal(hash_index_reserve(&h, 1000), 0);
	slots = h.nslots;
	for (uint32_t n = 0; n < 1000; n++)
		assert_int_equal(hash_index_add(&h, n, n), 0);
	assert_int_equal(h.nslots, slots);
	hash_index_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_reserve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
