// SPDX-License-Identifier: MIT
/*
 * too_long.c - exports whose readers take a file as one string: one that is longer is refused with the remedy,
 * and nothing is left; where others read it, it is written, with a warning that has the remedy
 */
#include <errno.h>
#include <sys/stat.h>

#include "output/output.h"
#include "tests/unit/stream/check.h"

#define NCALLS	5000

static void make(struct check *c)
{
	check_start(c, NULL, UFT_TRACER_GRAPH);
	for (int i = 0; i < NCALLS; i++) {
		c->at.clock += 100;
		assert_true(synth_entry(c->s, c->at, synth_stub_id(c->img, (uint32_t)i % 64)));
		c->at.clock += 1000;
		assert_true(synth_exit(c->s, c->at, synth_stub_id(c->img, (uint32_t)i % 64)));
		if (i % 500 == 0)
			assert_true(uft_writer_poll(c->w) >= 0);
	}
	check_finish(c);
}

static struct warning { unsigned n; char text[400]; } warning;

static void keep_warning(void *ctx, const char *sentence)
{
	struct warning *w = ctx;

	w->n++;
	snprintf(w->text, sizeof(w->text), "%s", sentence);
}

/* The file's bytes, or what the export returned. */
static int64_t export(const struct check *c, const char *format, const char *path, uint64_t max, struct uft_error *err)
{
	struct uft_export_opts o = { .max_string = max, .warn = keep_warning, .ctx = &warning };
	struct uft_select ends = { .ends = 1 };
	struct uft_stream *st;
	struct stat file;
	int ret;

	assert_int_equal(uft_stream_open(c->path, &ends, &st, NULL), 0);
	ret = uft_export_find(format)->write(st, path, &o, err);
	uft_stream_close(st);
	if (ret)
		return ret;
	assert_int_equal(stat(path, &file), 0);
	unlink(path);
	return file.st_size;
}

static void test_format(const char *format)
{
	struct uft_error err = { "" };
	char path[128];
	struct check c;
	int64_t whole;

	make(&c);
	snprintf(path, sizeof(path), "%s.out", c.path);
	whole = export(&c, format, path, 0, &err);
	assert_in_range(whole, 2 * NCALLS * 8, 64ll << 20);
	assert_int_equal(export(&c, format, path, (uint64_t)whole, &err), whole);
	assert_string_equal(err.text, "");
	assert_int_equal(warning.n, 0);
	/* One byte more than the reader takes is found at the end, half of it on the way. */
	for (int i = 0; i < 2; i++) {
		err.text[0] = '\0';
		assert_int_equal(export(&c, format, path, i ? (uint64_t)whole / 2 : (uint64_t)whole - 1, &err), -EFBIG);
		assert_non_null(strstr(err.text, "export a part (--range A~B), or use -f perfetto"));
		assert_int_equal(access(path, F_OK), -1);
	}
	check_end(&c);
}

static void test_speedscope(void **state)
{
	(void)state;
	test_format("speedscope");
}

static void test_firefox(void **state)
{
	(void)state;
	test_format("firefox");
}

/* Without a limit and with one that is just enough nothing is said; with a byte less once, and the file is the same. */
static void test_chrome(void **state)
{
	struct uft_error err = { "" };
	char path[128];
	struct check c;
	int64_t whole;

	(void)state;
	make(&c);
	snprintf(path, sizeof(path), "%s.out", c.path);
	whole = export(&c, "chrome", path, 0, &err);
	assert_in_range(whole, 2 * NCALLS * 8, 64ll << 20);
	assert_int_equal(export(&c, "chrome", path, (uint64_t)whole, &err), whole);
	assert_int_equal(warning.n, 0);
	assert_int_equal(export(&c, "chrome", path, (uint64_t)whole - 1, &err), whole);
	assert_int_equal(warning.n, 1);
	assert_non_null(strstr(warning.text, "larger than the 1 MB that chrome://tracing"));
	assert_non_null(strstr(warning.text, "export a part (--range A~B), or use -f perfetto"));
	assert_string_equal(err.text, "");
	check_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_speedscope), cmocka_unit_test(test_firefox),
				      cmocka_unit_test(test_chrome) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
