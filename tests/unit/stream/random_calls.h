/* SPDX-License-Identifier: MIT */
/* random_calls.h - recordings of threads that do at random what programs do: for tests that read them in parts */
#ifndef UFT_TESTS_STREAM_RANDOM_CALLS_H
#define UFT_TESTS_STREAM_RANDOM_CALLS_H

#include "tests/unit/stream/check.h"

static uint64_t seed;

static inline uint32_t roll(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

struct model {			/* a thread of the program */
	uint32_t func[40], n;
	uint64_t entry[40];
	struct synth_at at;
};

enum { THREADS = 4, FUNCS = 5 };

/* One step of a thread: calls that nest, recursion, exits that were lost, longjmp, coroutines, losses. */
static inline void step(struct check *c, struct model *m, int has_odd)
{
	uint32_t what = roll(100), func = roll(FUNCS);

	m->at.clock = c->at.clock += 1 + roll(30);
	if (what < 4)
		m->at.ring = roll(2);
	if (has_odd && what == 5) {
		synth_ring(c->s, m->at.slice, m->at.ring)->lost += 3;
		synth_put(c->s, m->at, UFT_REC_LOST, 0, (uint64_t[]){ 3 }, 1);
	} else if (has_odd && what == 6) {
		synth_exit(c->s, m->at, synth_stub_id(c->img, func));
	} else if (has_odd && what == 7 && m->n > 2) {
		m->n--;			/* its exit is lost */
	} else if (has_odd && what == 8 && m->n > 2) {
		uint64_t entry = m->entry[m->n - 1];

		func = m->func[m->n - 1];
		synth_unwind(c->s, m->at, 2);
		m->n -= 2;
		m->at.clock = c->at.clock += 2;
		if (roll(2))
			synth_exit_left(c->s, m->at, synth_stub_id(c->img, func), entry);
	} else if (has_odd > 1 && what == 9 && !roll(4)) {
		synth_call(c->s, m->at, synth_stub_id(c->img, func), roll(200));
	} else if (m->n && (what < 55 || m->n == 40)) {
		synth_exit(c->s, m->at, synth_stub_id(c->img, m->func[--m->n]));
	} else {
		m->func[m->n] = func;
		m->entry[m->n++] = m->at.clock;
		synth_entry(c->s, m->at, synth_stub_id(c->img, func));
	}
}

/*
 * Two processes, the second of which ends in the middle with calls open; or, with @has_exec, it executes another
 * program there. @has_odd 1: not all calls nest; 2: some have no entry.
 */
static inline void random_calls(struct check *c, uint32_t steps, int has_odd, int has_exec)
{
	struct model m[THREADS] = { 0 };

	check_start(c, &(struct synth_opts){ .ring_bytes = 16384, .sub_bytes = 4096 }, UFT_TRACER_GRAPH);
	synth_begin(c->s, 1, 200, 100);
	assert_int_equal(uft_writer_slice(c->w, 1, 200, c->img), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		m[i].at = (struct synth_at){ i / 2, 0, 100 + 100 * (i / 2), 100 + 100 * (i / 2) + i % 2, 0 };
	for (uint32_t i = 0; i < steps; i++) {
		step(c, &m[roll(i > steps / 2 && !has_exec ? THREADS / 2 : THREADS)], has_odd);
		if (i % 64 == 0)
			assert_true(uft_writer_poll(c->w) >= 0);
		if (i == steps / 2)
			assert_int_equal(uft_writer_slice_end(c->w, 1), 0);
		if (i == steps / 2 && has_exec) {
			synth_begin(c->s, 2, 200, 100);
			assert_int_equal(uft_writer_slice(c->w, 2, 200, c->img), 0);
			for (uint32_t k = THREADS / 2; k < THREADS; k++) {
				m[k].at.slice = 2;
				m[k].n = 0;
			}
		}
	}
	check_finish(c);
}

#endif
