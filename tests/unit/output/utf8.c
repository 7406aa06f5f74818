/* SPDX-License-Identifier: MIT */
/* utf8.c - a text that is cut ends with a whole character */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>
#include <string.h>

#include "output/export/utf8.h"

static void whole(void **state)
{
	const char *text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";	/* characters of 1, 2, 3, 4 and 1 bytes */
	static const size_t begins[] = { 0, 1, 3, 6, 10, 11 };

	(void)state;
	for (size_t n = 0, k = 0; n <= strlen(text); n++) {
		k += k + 1 < sizeof(begins) / sizeof(begins[0]) && begins[k + 1] == n;
		assert_int_equal(utf8_whole(text, n), begins[k]);
	}
}

/* Bytes that are no UTF-8 are characters of their own. */
static void other(void **state)
{
	(void)state;
	for (size_t n = 0; n <= 8; n++)
		assert_int_equal(utf8_whole("\x80\x80\x80\x80\x80\x80\x80\x80", n), n);
	assert_int_equal(utf8_whole("\xc3z", 1), 1);
	assert_int_equal(utf8_whole("\xe2\x82z", 2), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(whole), cmocka_unit_test(other) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
