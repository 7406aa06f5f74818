/* SPDX-License-Identifier: MIT */
/* namefile_test.c - each form of a line, what is no line, and which objects a file given is for */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol/namefile.h"
#include "symbol/image.h"

static struct uft_names parse(const char *text, enum uft_name_form form)
{
	size_t len = strlen(text);
	char *copy = malloc(len + 1);
	struct uft_names l;

	memcpy(copy, text, len);
	assert_int_equal(uft_names_parse(copy, len, form, &l), 0);
	return l;
}

/* Of a file that is too large the whole lines that fit, and how much was left out. */
static void cut_off(void **state)
{
	char path[] = "/tmp/uft-names-XXXXXX";
	int fd = mkstemp(path), n;
	struct uft_names l;
	uint64_t cut = 0;

	(void)state;
	assert_true(fd >= 0);
	for (int i = 0; i < 20000; i++) {
		char line[64];

		n = snprintf(line, sizeof(line), "%x 10 name_%05d\n", 0x100000 + 16 * i, i);
		assert_int_equal(write(fd, line, (size_t)n), n);
	}
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(uft_names_read(fd, UFT_NAMES_PERF, 100005, NULL, &l), -EFBIG);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(uft_names_read(fd, UFT_NAMES_PERF, 100005, &cut, &l), 0);
	assert_int_equal(l.n, 100005 / 21);
	assert_string_equal(l.item[l.n - 1].name, "name_04761");
	assert_int_equal(cut, 21 * (20000 - 100005 / 21));
	uft_names_free(&l);
	cut = 0;
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(uft_names_read(fd, UFT_NAMES_PERF, 21 * 20000, &cut, &l), 0);
	assert_true(l.n == 20000 && !cut);
	uft_names_free(&l);
	close(fd);
	unlink(path);
}

static void lines(void **state)
{
	static const struct { const char *line; enum uft_name_form form; uint64_t addr, size; const char *name; } t[] =
		{
		{ "0000000000001139 T main", UFT_NAMES_ANY, 0x1139, 0, "main" },
		{ "0000000000001139 0000000000000016 t helper", UFT_NAMES_ANY, 0x1139, 0x16, "helper" },
		{ "1139 16 helper", UFT_NAMES_ANY, 0x1139, 0x16, "helper" },
		{ "0x1139\t0x16\thelper\r", UFT_NAMES_ANY, 0x1139, 0x16, "helper" },
		{ "1139 8 helper", UFT_NAMES_ANY, 0x1139, 8, "helper" },
		{ "1139 main", UFT_NAMES_ANY, 0x1139, 0, "main" },
		{ "1139 add", UFT_NAMES_ANY, 0x1139, 0, "add" },
		{ "1139 d", UFT_NAMES_ANY, 0x1139, 0, "d" },
		{ "1139 W d", UFT_NAMES_ANY, 0x1139, 0, "d" },
		{ "1139 add T d", UFT_NAMES_ANY, 0x1139, 0xadd, "d" },
		{ "ffffffff81000000 t do_one\t[ext4]", UFT_NAMES_ANY, 0xffffffff81000000, 0, "do_one" },
		{ "1139 T ns::f(int, char const*) [clone .cold]", UFT_NAMES_ANY, 0x1139, 0,
		  "ns::f(int, char const*) [clone .cold]" },
		{ "7f01 b a", UFT_NAMES_PERF, 0x7f01, 0xb, "a" },
		{ "7f01 20 t x /a b.js:1", UFT_NAMES_PERF, 0x7f01, 0x20, "t x /a b.js:1" },
		/* no function */
		{ "4010 B counter", UFT_NAMES_ANY, 0, 0, NULL },
		{ "                 U printf", UFT_NAMES_ANY, 0, 0, NULL },
		{ "4010 8 D counter", UFT_NAMES_ANY, 0, 0, NULL }, { "0 T hidden", UFT_NAMES_ANY, 0, 0, NULL },
		{ "", UFT_NAMES_ANY, 0, 0, NULL }, { "1139", UFT_NAMES_ANY, 0, 0, NULL },
		{ "1139 ", UFT_NAMES_ANY, 0, 0, NULL },
		{ "zz T main", UFT_NAMES_ANY, 0, 0, NULL }, { "11390000000000000 T main", UFT_NAMES_ANY, 0, 0, NULL },
		{ "1139 Z main", UFT_NAMES_ANY, 0, 0, NULL }, { "7f01 main", UFT_NAMES_PERF, 0, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct uft_names l = parse(t[i].line, t[i].form);

		if (l.n != (t[i].name != NULL))
			fail_msg("'%s' gives %zu names", t[i].line, l.n);
		if (l.n &&
		    (l.item[0].addr != t[i].addr || l.item[0].size != t[i].size || strcmp(l.item[0].name, t[i].name)))
			fail_msg("'%s' gives %llx %llx '%s'", t[i].line, (unsigned long long)l.item[0].addr,
				 (unsigned long long)l.item[0].size, l.item[0].name);
		uft_names_free(&l);
	}
}

static void many_and_counts(void **state)
{
	char *text = malloc(4000 * 32), *at = text;
	struct uft_names l;

	(void)state;
	for (int i = 1; i <= 4000; i++)
		at += sprintf(at, "%x T f%d\n", i * 16, i);
	l = parse(text, UFT_NAMES_ANY);
	assert_int_equal(l.n, 4000);
	assert_int_equal(l.item[3999].addr, 4000 * 16);
	assert_string_equal(l.item[63].name, "f64");
	uft_names_free(&l);
	l = parse("0 T a\n0 t b\nrubbish\n10 T c", UFT_NAMES_ANY);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.zero, 2);
	assert_int_equal(l.bad, 1);
	uft_names_free(&l);
	free(text);
}

static const char *write_file(const char *text)
{
	static char path[64];
	int fd;

	strcpy(path, "/tmp/uft-names.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	return path;
}

static const char *name_at(struct uft_object *obj, uint64_t addr)
{
	const struct uft_func *f = uft_object_func(obj, addr);

	return f ? f->name : NULL;
}

/* An object of a recording: given names replace and add, and others stay. */
static void given_names_add_to_recorded(void **state)
{
	struct uft_object *obj = uft_object_make("/opt/liba.so.1", NULL, 0),
			  *other = uft_object_make("/opt/b", NULL, 0);
	struct uft_error err;
	char arg[128];
	const char *path = write_file("1000 T one\n1010 T two\n1020 T same\n9000 T outside\n");

	(void)state;
	uft_object_make_func(obj, 0x1000, 16, NULL, 0);
	uft_object_make_func(obj, 0x1010, 16, "old", 0);
	uft_object_make_func(obj, 0x1030, 16, "same", 0);
	uft_object_make_func(obj, 0x1040, 16, "kept", 0);
	snprintf(arg, sizeof(arg), "liba*=%s", path);
	assert_int_equal(uft_symbols_use(arg, "/opt/b", &err), 0);
	assert_int_equal(uft_symbols_extend(obj, 1, 0x1000, 0x2000), 0);
	assert_int_equal(uft_symbols_extend(other, 1, 0x1000, 0x2000), 0);
	assert_int_equal(other->nfunc, 0);
	assert_string_equal(name_at(obj, 0x1004), "one");
	assert_string_equal(name_at(obj, 0x1014), "two");
	assert_string_equal(name_at(obj, 0x1020), "same@0x1020");
	assert_string_equal(name_at(obj, 0x1030), "same@0x1030");
	assert_string_equal(name_at(obj, 0x1044), "kept");
	assert_null(name_at(obj, 0x9000));
	unlink(path);
	uft_object_put(obj);
	uft_object_put(other);
}

static void refused(void **state)
{
	struct uft_error err;
	const char *path;

	(void)state;
	assert_int_equal(uft_symbols_use("/nonexistent/file", NULL, &err), -ENOENT);
	path = write_file("0 T a\n0 t b\n");
	assert_int_equal(uft_symbols_use(path, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "hidden"));
	unlink(path);
	path = write_file("this is no list\n");
	assert_int_equal(uft_symbols_use(path, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "as nm prints"));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),  cmocka_unit_test(cut_off), cmocka_unit_test(many_and_counts),
		cmocka_unit_test(given_names_add_to_recorded), cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
