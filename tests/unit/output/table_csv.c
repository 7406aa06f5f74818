/* SPDX-License-Identifier: MIT */
/* table_csv.c - a cell of CSV is a text to spreadsheets too, and JSON is exact */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "output/report/table.h"

static void check(void (*put)(FILE *, const char *), const char *from, const char *to)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	put(f, from);
	fclose(f);
	assert_string_equal(text, to);
	free(text);
}

static void test_texts(void **state)
{
	static const char *const same[] = { "main", "a::operator+", "x=1", "a;b", "'a" };

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		check(table_put_csv, same[i], same[i]);
	check(table_put_csv, "", "\"\"");
	check(table_put_csv, "f(a, \"b\")", "\"f(a, \"\"b\"\")\"");
}

static void test_formulas(void **state)
{
	(void)state;
	check(table_put_csv, "=1+1", "\"'=1+1\"");
	check(table_put_csv, "+1", "\"'+1\"");
	check(table_put_csv, "-[NSObject init]", "\"'-[NSObject init]\"");
	check(table_put_csv, "@f", "\"'@f\"");
	check(table_put_csv, "\t=f", "\"'\t=f\"");
	check(table_put_csv, "\r=f", "\"'\r=f\"");
	check(table_put_csv, "=f(\"a\")", "\"'=f(\"\"a\"\")\"");
	check(table_put_csv, "main;=f", "\"main;=f\"");
	check(table_put_csv, "main\t@f", "\"main\t@f\"");
	check(table_put_json, "=1+1", "\"=1+1\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_texts), cmocka_unit_test(test_formulas) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
