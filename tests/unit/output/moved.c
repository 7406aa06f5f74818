// SPDX-License-Identifier: MIT
/*
 * moved.c - a call whose thread went to another CPU has its arguments and result in the graph, wherever it
 * went there
 */
#include "output/output.h"
#include "tests/unit/stream/check.h"

static void on(struct check *c, uint32_t ring)
{
	c->at.ring = ring;
	c->at.clock += 1000;
}

static void comes(struct check *c, uint32_t ring, uint32_t func)
{
	on(c, ring);
	assert_true(synth_entry(c->s, c->at, synth_stub_id(c->img, func)));
}

static void returns(struct check *c, uint32_t ring, uint32_t func)
{
	on(c, ring);
	assert_true(synth_put(c->s, c->at, UFT_REC_EVENT, UFT_EVENT_VALUE(UFT_EVENT_RETURN, 1),
		(uint64_t[]){ 0x10 + func }, 1));
	on(c, ring);
	assert_true(synth_exit(c->s, c->at, synth_stub_id(c->img, func)));
}

static void is_given(struct check *c, uint32_t ring, uint64_t arg)
{
	on(c, ring);
	assert_true(synth_put(c->s, c->at, UFT_REC_EVENT, UFT_EVENT_VALUE(UFT_EVENT_CALL, 4),
		(uint64_t[]){ arg, 2, 3, 4 }, 4));
}

static void test_moved(void **state)
{
	struct uft_stream *st;
	char *text = NULL;
	struct check c;
	size_t n;
	FILE *f;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	comes(&c, 0, 0);	/* before the first event of all */
	is_given(&c, 1, 0xa);
	returns(&c, 1, 0);
	comes(&c, 0, 1);	/* behind its arguments, and another call on the CPU that it left */
	is_given(&c, 0, 0xb);
	returns(&c, 1, 1);
	comes(&c, 0, 2);	/* not at all */
	is_given(&c, 0, 0xc);
	returns(&c, 0, 2);
	comes(&c, 0, 3);	/* nothing follows where it began */
	is_given(&c, 1, 0xd);
	returns(&c, 1, 3);
	check_finish(&c);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	f = open_memstream(&text, &n);
	assert_int_equal(uft_output_text(st, f, 0,
		&(struct uft_text_opts){ .flags = (UFT_TEXT_DEFAULT | UFT_TEXT_ARGS | UFT_TEXT_RETVAL) &
			 ~(UFT_TEXT_CPU | UFT_TEXT_DURATION) }), 0);
	fclose(f);
	assert_non_null(strstr(text, "func_0"));
	assert_string_equal(strstr(text, "func_0"),
			    "func_0(0xa, 0x2, 0x3, 0x4) {\n} /* func_0 = 0x10 */\n"
			    "func_1(0xb, 0x2, 0x3, 0x4) {\n} /* func_1 = 0x11 */\n"
			    "func_2(0xc, 0x2, 0x3, 0x4); /* = 0x12 */\n"
			    "func_3(0xd, 0x2, 0x3, 0x4) {\n} /* func_3 = 0x13 */\n");
	free(text);
	uft_stream_close(st);
	check_end(&c);
}

int main(void)
{
	return cmocka_run_group_tests(((const struct CMUnitTest[]){ cmocka_unit_test(test_moved) }), NULL, NULL);
}
