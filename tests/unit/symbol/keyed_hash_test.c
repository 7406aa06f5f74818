/* SPDX-License-Identifier: MIT */
/*
 * keyed_hash_test.c - the hash is SipHash-1-3, and each process has a seed of its own
 *
 * The values of a seed of zeros are those that CPython 3.11 tells with PYTHONHASHSEED=0, whose hash of bytes this is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbol/keyed_hash.h"

static const char *program;

static void test_values(void **state)
{
	static const struct { const char *text; uint64_t hash; } known[] = {
		{ "a", 0x407448d2b89b1813ull },
		{ "abc", 0xc03bc3a0042630f2ull },
		{ "abcdefgh", 0x3f7b849c0b8e35eaull },
		{ "0123456789abcdef0", 0xf738bb4f30801228ull },
	};
	static const struct hash_seed zero;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_true(hash_seeded(&zero, known[i].text, strlen(known[i].text)) == known[i].hash);
	assert_true(hash_text("abc") == hash_bytes("abcd", 3));
	assert_true(hash_words(1, 2) != hash_words(2, 1));
}

/* What another process makes of the same keys. */
static void test_seed(void **state)
{
	uint64_t ours[2] = { hash_text("abc"), hash_words(1, 2) }, theirs[2] = { 0 };
	char command[4200];
	FILE *p;

	(void)state;
	snprintf(command, sizeof(command), "'%s' print", program);
	p = popen(command, "r");
	assert_non_null(p);
	assert_int_equal(fread(theirs, sizeof(theirs), 1, p), 1);
	assert_int_equal(pclose(p), 0);
	assert_true(ours[0] != theirs[0] && ours[1] != theirs[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_values), cmocka_unit_test(test_seed) };
	uint64_t ours[2] = { hash_text("abc"), hash_words(1, 2) };

	program = argv[0];
	if (argc > 1)
		return fwrite(ours, sizeof(ours), 1, stdout) != 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
