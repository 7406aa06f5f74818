// SPDX-License-Identifier: MIT
/* old_events.c - task events of recordings from before there was a table of types read as they always did */
#include "output/output.h"
#include "tests/unit/stream/check.h"

static __attribute__((noinline)) char *print(const char *path)
{
	const struct uft_text_opts opts = { .flags = UFT_TEXT_NO_HEADER };
	struct uft_stream *st;
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
	assert_int_equal(uft_output_text(st, f, 0, &opts), 0);
	fclose(f);
	uft_stream_close(st);
	return text;
}

static void put(struct check *c, uint32_t id, const char *text, size_t at, uint64_t word, size_t word_at, uint32_t n)
{
	uint64_t w[4] = { 0 };

	w[word_at] = word;
	memcpy(&w[at], text, strlen(text));
	c->at.clock += 1000;
	assert_true(synth_put(c->s, c->at, UFT_REC_EVENT, UFT_EVENT_VALUE(id, n), w, n));
}

static void test_old(void **state)
{
	struct check c;
	char *text, *last, want[128];

	(void)state;
	check_start(&c, NULL, UFT_TRACER_NOP);
	put(&c, UFT_EVENT_OLD_FORK, "maker", 0, 4711, 2, 3);
	put(&c, UFT_EVENT_OLD_EXEC, "/bin/true", 1, 4711, 0, 3);
	put(&c, UFT_EVENT_OLD_EXIT, "true", 0, 120, 2, 3);
	put(&c, UFT_EVENT_OLD_EXIT, "true", 0, 120, 2, 1);	/* cut off: left out */
	check_finish(&c);
	text = print(c.path);
	snprintf(want, sizeof(want), "sched_process_fork: comm=maker pid=%u child_comm=maker child_pid=4711\n",
		 c.at.tid);
	assert_non_null(strstr(text, want));
	snprintf(want, sizeof(want), "sched_process_exec: filename=/bin/true pid=%u old_pid=4711\n", c.at.tid);
	assert_non_null(strstr(text, want));
	snprintf(want, sizeof(want), "sched_process_exit: comm=true pid=%u prio=120\n", c.at.tid);
	last = strstr(text, want);
	assert_non_null(last);
	assert_null(strstr(last + 1, "sched_process_exit"));
	free(text);
	check_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_old) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
