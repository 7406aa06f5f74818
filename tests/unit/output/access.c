// SPDX-License-Identifier: MIT
/* access.c - the times of mmiotrace: rounded, as all others of a text and the kernel's */
#include "output/output.h"
#include "tests/unit/stream/check.h"

#define N	40u

/* Of an access @ns after the one before. */
static void touch(struct check *c, uint64_t ns, uint64_t how)
{
	c->at.clock += ns;
	assert_true(synth_put(c->s, c->at, UFT_REC_EVENT, UFT_EVENT_VALUE(UFT_EVENT_ACCESS, 4),
			      (uint64_t[]){ 0x1000, 1, 0x2000, how | 8ull << UFT_ACCESS_WIDTH_SHIFT |
			      1ull << UFT_ACCESS_MAP_SHIFT }, 4));
}

/* Times of events, in order. */
static size_t times(const char *path, uint64_t *ns, size_t most)
{
	struct uft_stream *st;
	struct uft_event ev;
	size_t n = 0;

	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
	while (uft_stream_next(st, &ev) == 1)
		if (ev.kind == UFT_EV_DATA && n < most)
			ns[n++] = ev.ts_ns;
	uft_stream_close(st);
	return n;
}

static char *print(const char *path)
{
	const struct uft_text_opts opts = { .flags = UFT_TEXT_NO_HEADER };
	struct uft_stream *st;
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
	assert_int_equal(uft_output_text(st, f, 0, &opts), 0);
	fclose(f);
	uft_stream_close(st);
	return text;
}

static void test_times(void **state)
{
	uint64_t ns[N];
	char *text, *line;
	struct check c;
	size_t nup = 0;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_MMIOTRACE);
	for (size_t i = 0; i < N; i++)
		touch(&c, 1100, UFT_ACCESS_WRITE | UFT_ACCESS_VALUE);
	check_finish(&c);
	assert_int_equal(times(c.path, ns, N), N);
	line = text = print(c.path);
	for (size_t i = 0; i < N; i++) {
		uint64_t us = (ns[i] + 500) / 1000;
		char expected[64];

		nup += us != ns[i] / 1000;
		snprintf(expected, sizeof(expected), "W 8 %llu.%06llu 1 0x1000 0x1 0x2000 100\n",
			 (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000));
		line = strstr(line, "W ");
		assert_non_null(line);
		assert_memory_equal(line, expected, strlen(expected));
		line++;
	}
	assert_true(nup > 0 && nup < N);	/* there was something to tell apart */
	free(text);
	check_end(&c);
}

int main(void)
{
	return cmocka_run_group_tests(((const struct CMUnitTest[]){ cmocka_unit_test(test_times) }), NULL, NULL);
}
