// SPDX-License-Identifier: MIT
/*
 * missed.c - a recording with more different stacks than are kept: those beyond have no callers, and its text
 * says how many
 */
#include "output/output.h"
#include "tests/unit/stream/check.h"

#define SIDE	1025u		/* of a square of pairs: a little more than what is kept */

static void record(struct check *c)
{
	synth_func(c->s, c->at, synth_text_id(c->img, 1), 0);
	for (uint64_t i = 0; i < SIDE; i++)
		for (uint64_t k = 0; k < SIDE; k++) {
			c->at.clock += 10;
			assert_true(synth_put(c->s, c->at, UFT_REC_EVENT, UFT_EVENT_VALUE(UFT_EVENT_STACK, 3),
					      (uint64_t[]){ synth_text_id(c->img, 1), 0x1000 + i, 0x2000 + k }, 3));
		}
}

static void test_missed(void **state)
{
	struct synth_opts o = { .ring_bytes = 64u << 20 };
	uint64_t whole = 0, cut = 0;
	char *text = NULL, expected[128];
	struct uft_stream *st;
	struct uft_event ev;
	struct check c;
	size_t n;
	FILE *f;

	(void)state;
	check_start(&c, &o, UFT_TRACER_FUNCTION);
	record(&c);
	check_finish(&c);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	while (uft_stream_next(st, &ev) == 1)
		if (ev.kind == UFT_EV_DATA)
			*(ev.stack->n ? &whole : &cut) += 1;
	assert_int_equal(whole, UFT_STREAM_STACKS);
	assert_int_equal(cut, SIDE * SIDE - UFT_STREAM_STACKS);
	assert_int_equal(uft_stream_missed_stacks(st), cut);
	uft_stream_close(st);

	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	f = open_memstream(&text, &n);
	assert_int_equal(uft_output_text(st, f, 0, &(struct uft_text_opts){ .flags = UFT_TEXT_DEFAULT }), 0);
	fclose(f);
	snprintf(expected, sizeof(expected),
		 "# stacks: %llu are without callers: there were more than %u different ones\n",
		 (unsigned long long)cut, UFT_STREAM_STACKS);
	assert_string_equal(text + n - strlen(expected), expected);
	free(text);
	uft_stream_close(st);
	check_end(&c);
}

int main(void)
{
	return cmocka_run_group_tests(((const struct CMUnitTest[]){ cmocka_unit_test(test_missed) }), NULL, NULL);
}
