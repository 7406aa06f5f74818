// SPDX-License-Identifier: MIT
/* repeats.c - func-no-repeats, switched off and on under a reader that goes on, as one of trace_pipe does */
#include "output/output.h"
#include "tests/unit/stream/check.h"

#define FLAGS	(UFT_TEXT_PARENT | UFT_TEXT_NO_HEADER)

static int put(void *ctx, const char *text, size_t n)
{
	fwrite(text, 1, n, ctx);
	return 0;
}

/* A call of func_0 and its stack. */
static void call(struct check *c)
{
	c->at.clock += 1000;
	synth_func(c->s, c->at, synth_text_id(c->img, 0), synth_lib_addr(c->img, 0));
	c->at.clock += 1000;
	assert_true(synth_put(c->s, c->at, UFT_REC_EVENT, UFT_EVENT_VALUE(UFT_EVENT_STACK, 2),
			      (uint64_t[]){ synth_text_id(c->img, 0), synth_lib_addr(c->img, 0) }, 2));
}

static void run(struct uft_printer *t, size_t ncalls)
{
	for (size_t i = 0; i < 2 * ncalls; i++)
		assert_int_equal(uft_text_run(t, 1), 1);
	assert_int_equal(uft_text_collect(t, 0), 0);
}

static size_t count(const char *text, const char *of)
{
	size_t n = 0;

	while ((text = strstr(text, of))) {
		n++;
		text += strlen(of);
	}
	return n;
}

static void test_switch(void **state)
{
	struct uft_text_opts opts = { .tracer = UFT_TRACER_FUNCTION, .flags = FLAGS | UFT_TEXT_NO_REPEATS,
		.sink = put };
	struct uft_printer *t;
	struct uft_stream *st;
	char *text = NULL;
	struct check c;
	size_t n;
	FILE *f;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_FUNCTION);
	for (int i = 0; i < 7; i++)
		call(&c);
	check_finish(&c);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	opts.ctx = f = open_memstream(&text, &n);
	assert_int_equal(uft_text_open(st, &opts, &t), 0);

	run(t, 3);		/* one line and stack; two are left out */
	fflush(f);
	assert_int_equal(count(text, "func_0 <-"), 1);
	assert_int_equal(count(text, "<stack trace>"), 1);
	assert_int_equal(count(text, "repeats"), 0);
	uft_text_set(t, st, UFT_TRACER_FUNCTION, FLAGS);
	run(t, 2);		/* what waited, and two with their stacks */
	fflush(f);
	assert_int_equal(count(text, "func_0 <-"), 4);
	assert_int_equal(count(text, "(repeats: 2, "), 1);
	assert_int_equal(count(text, "<stack trace>"), 3);
	uft_text_set(t, st, UFT_TRACER_FUNCTION, FLAGS | UFT_TEXT_NO_REPEATS);
	run(t, 2);		/* on again: the first of two is not compared with what came before */
	fflush(f);
	assert_int_equal(count(text, "func_0 <-"), 5);
	assert_int_equal(count(text, "<stack trace>"), 4);

	uft_text_close(t);
	fclose(f);
	free(text);
	uft_stream_close(st);
	check_end(&c);
}

int main(void)
{
	return cmocka_run_group_tests(((const struct CMUnitTest[]){ cmocka_unit_test(test_switch) }), NULL, NULL);
}
