/* SPDX-License-Identifier: MIT */
/* live_payloads_test.c - the payloads of events that the consumer has used are no memory any more */
#include "tests/unit/stream/check.h"

#include <malloc.h>

#include "stream/live/live.h"
#include "symbol/event_type.h"

#define SUB	4096u
#define ROUNDS	300u
#define EVENTS	100u		/* of a round */
#define WARM	30u		/* rounds */
#define MORE	(100u << 10)	/* bytes; the payloads of all rounds take several times as much */

/* One round: @n events, whose payloads are what was written. */
static void round_of(struct uft_live *l, const struct uft_event_type *type, uint32_t n)
{
	uint8_t payload[UFT_EVENT_PAYLOAD_MAX];
	const size_t bytes = type->bytes - UFT_EVENT_COMMON;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < n; i++) {
		memset(payload, (int)i + 1, bytes);
		assert_int_equal(uft_live_event(l, 300, 300, 0, type->id, payload, bytes), 0);
	}
	while (seen < n) {
		struct uft_event ev[16];
		struct uft_stream *st;
		size_t got;

		uft_live_pull(l);
		st = uft_live_begin(l, UFT_LIVE_ALL);
		assert_non_null(st);
		while ((got = uft_stream_batch(st, ev, 16)) != 0)
			for (size_t k = 0; k < got; k++) {
				if (ev[k].kind != UFT_EV_DATA)
					continue;
				memset(payload, (int)++seen, bytes);
				assert_ptr_equal(ev[k].type, type);
				assert_memory_equal(ev[k].payload, payload, bytes);
			}
		uft_live_end(l);
	}
	assert_int_equal(seen, n);
}

static void bounded(void **state)
{
	const struct synth_opts opts = { .ring_bytes = 32 * SUB, .sub_bytes = SUB };
	struct uft_event_table *types = uft_event_table_new();
	const struct uft_live_opts live = { .cpu_bytes = 64 * SUB, .overwrite = 1, .events = types };
	struct synth *s = synth_new(&opts);
	struct uft_live *l;
	size_t before = 0;

	(void)state;
	assert_non_null(types);
	assert_int_equal(uft_live_create(synth_arena(s), &live, &l), 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		round_of(l, uft_event_table_by_id(types, UFT_EVENT_SCHED_EXIT), EVENTS);
		if (i == WARM)
			before = mallinfo2().uordblks;
	}
	assert_true(mallinfo2().uordblks < before + MORE);
	uft_live_destroy(l);
	uft_event_table_put(types);
	synth_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bounded) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
