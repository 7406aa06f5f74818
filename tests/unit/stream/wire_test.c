/* SPDX-License-Identifier: MIT */
/* wire_test.c - checksums, varints and the clock of .uft files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "stream/wire/clock.h"
#include "stream/wire/wire.h"

static void test_sum(void **state)
{
	const char *text = "Nobody inspects the spammish repetition";

	(void)state;	/* vectors of the public XXH64, seed 0: short, with and without whole stripes */
	assert_true(wire_sum("", 0) == 0xef46db3751d8e999ull);
	assert_true(wire_sum("a", 1) == 0xd24ec4f1a98c6e5bull);
	assert_true(wire_sum("abc", 3) == 0x44bc2cf5ad770999ull);
	assert_true(wire_sum(text, strlen(text)) == 0xfbcea83c8a378bf1ull);
}

static void test_varints(void **state)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, 1ull << 63, UINT64_MAX };
	struct wire w = { 0 };
	struct wire_in in;
	char *s;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		wire_put_u(&w, values[i]);
		wire_put_s(&w, (int64_t)values[i]);
	}
	wire_put_str(&w, "a\nb");
	wire_put_str(&w, NULL);
	assert_int_equal(w.err, 0);
	in = (struct wire_in){ .p = w.p, .end = w.p + w.n };
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_true(wire_get_u(&in) == values[i]);
		assert_true(wire_get_s(&in) == (int64_t)values[i]);
	}
	s = wire_get_str(&in);
	assert_string_equal(s, "a?b");
	free(s);
	s = wire_get_str(&in);
	assert_string_equal(s, "");
	free(s);
	assert_false(in.bad);
	assert_ptr_equal(in.p, in.end);
	wire_get_u(&in);
	assert_true(in.bad);
	wire_free(&w);
}

static void test_varints_hostile(void **state)
{
	static const uint8_t endless[12] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };
	static const uint8_t long_string[3] = { 0xff, 0x7f, 'x' };
	struct wire_in in = { .p = endless, .end = endless + sizeof(endless) };
	const uint8_t *p;

	(void)state;
	wire_get_u(&in);
	assert_true(in.bad);
	in = (struct wire_in){ .p = long_string, .end = long_string + 3 };
	assert_int_equal(wire_get_bytes(&in, &p), 0);
	assert_true(in.bad);
	assert_null(wire_get_str(&in));
}

static void test_clock_exact(void **state)
{
	/* 2.5 GHz for a second, then 2.500001 GHz: exact at each pair */
	struct uft_clock_pair pairs[] = {
		{ 5000000000u, 12000000000u }, { 1000, 10000000000u }, { 2500001000u, 11000000000u },
	};
	struct uft_clock c;

	(void)state;
	assert_int_equal(uft_clock_build(&c, pairs, 3), 0);
	assert_int_equal(c.nseg, 2);
	assert_true(uft_clock_ns(&c, 1000) == 10000000000u);
	assert_true(uft_clock_ns(&c, 2500001000u) == 11000000000u);
	assert_in_range(uft_clock_ns(&c, 5000000000u), 11999999999u, 12000000000u);
	assert_in_range(uft_clock_ns(&c, 1000 + 25000), 10000009999u, 10000010000u);
	assert_in_range(uft_clock_ns(&c, 0), 10000000000u - 400, 10000000000u);
	uft_clock_free(&c);
}

static void test_clock_monotone(void **state)
{
	struct uft_clock_pair pairs[40];
	uint64_t random = 88172645463325252ull, last = 0;
	struct uft_clock c;

	(void)state;
	for (int i = 0; i < 40; i++) {		/* a rate that wobbles around every pair */
		pairs[i].clock = 1000000ull + (uint64_t)i * 1000000007ull;
		pairs[i].ns = 500000ull + (uint64_t)i * 333333331ull + (uint64_t)(i * 7919 % 97);
	}
	assert_int_equal(uft_clock_build(&c, pairs, 40), 0);
	for (uint64_t at = 0; at < 42000000000ull; ) {
		uint64_t ns = uft_clock_ns(&c, at);

		assert_true(ns >= last);
		last = ns;
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		/* step over the pairs closely */
		at += (at + 3000) % 1000000007ull < 6000000 ? 1 + (random >> 50) : 100 + (random >> 40);
	}
	/* and not in order, across segments */
	for (int i = 0; i < 100000; i++) {
		uint64_t a, b;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		a = random >> 29;
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		b = random >> 29;
		assert_true((a <= b) == (uft_clock_ns(&c, a) <= uft_clock_ns(&c, b)) ||
			    uft_clock_ns(&c, a) == uft_clock_ns(&c, b));
	}
	uft_clock_free(&c);
}

static void test_clock_thin(void **state)
{
	struct uft_clock_pair pairs[] = {	/* ms: what a recorder of 1.3 s writes */
		{ 0, 1000000000 }, { 10000000, 1010000000 }, { 30000000, 1030000000 }, { 70000000, 1070000000 },
		{ 150000000, 1150000000 }, { 310000000, 1310000000 }, { 1310000000, 2310000000 },
		{ 1310500000, 2310500000 },
	};
	struct uft_clock c;

	(void)state;
	assert_int_equal(uft_clock_build(&c, pairs, 8), 0);
	assert_int_equal(c.nseg, 3);		/* 0-150-310-1310.5 */
	assert_true(c.seg[1].clock0 == 150000000 && c.seg[2].clock0 == 310000000);
	uft_clock_free(&c);
	assert_int_equal(uft_clock_build(&c, pairs, 2), 0);	/* killed after 10 ms: two stay */
	assert_int_equal(c.nseg, 1);
	assert_true(uft_clock_ns(&c, 10000000) == 1010000000);
	uft_clock_free(&c);
}

static void test_clock_hostile(void **state)
{
	struct uft_clock_pair pairs[] = {
		{ UINT64_MAX, UINT64_MAX }, { 5, UINT64_MAX }, { 5, 0 }, { UINT64_MAX, 3 }, { 0, 1ull << 62 }, { 7, 7 },
	};
	uint64_t last = 0;
	struct uft_clock c;

	(void)state;
	for (size_t n = 0; n <= 6; n++) {
		struct uft_clock_pair copy[6];

		memcpy(copy, pairs, sizeof(pairs));
		assert_int_equal(uft_clock_build(&c, copy, n), 0);
		last = 0;
		for (uint64_t at = 1; at && at >= 1; at = at << 1 | 1) {
			assert_true(uft_clock_ns(&c, at) >= last);
			last = uft_clock_ns(&c, at);
			if (at == UINT64_MAX)
				break;
		}
		uft_clock_free(&c);
	}
}

/* A reading of a counter of 3 GHz, wrong by up to 40 ns either way. */
static struct uft_clock_pair reading(uint64_t us, uint64_t *random)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (struct uft_clock_pair){ 700000 + us * 3000, 5000000000ull + us * 1000 + (*random >> 40) % 81 };
}

/*
 * Between readings, as they come while a session is young and later, somebody is told of times: they stay, and
 * are right.
 */
static void test_clock_line_stays(void **state)
{
	enum { READINGS = 200 };
	static uint64_t told[READINGS], ns[READINGS];
	struct uft_clock_line line = { 0 }, copy;
	uint64_t random = 88172645463325252ull, us = 0, n = 0, last = 0;
	struct uft_clock c;

	(void)state;
	for (int i = 0; i < READINGS; i++, us += i < 100 ? 150 + (random >> 54) : 50000 + (random >> 44)) {
		struct uft_clock_pair now = reading(us, &random);

		assert_int_equal(uft_clock_line_read(&line, &now, n ? told[n - 1] : 0), 0);
		assert_false(uft_clock_line_is_off(&line, &now));
		if (!line.is_known)
			continue;
		told[n] = now.clock + 30000;
		assert_int_equal(uft_clock_build_line(&c, &line, 0), 0);
		ns[n] = uft_clock_ns(&c, told[n]);
		n++;
		for (uint64_t k = 0; k < n; k++)
			assert_true(uft_clock_ns(&c, told[k]) == ns[k]);
		uft_clock_free(&c);
		assert_int_equal(uft_clock_line_copy(&copy, &line), 0);	/* an instance goes on with a copy */
		uft_clock_line_free(&line);
		line = copy;
	}
	assert_true(n > READINGS / 2 && line.is_settled && line.nseg < 2 * READINGS);
	assert_int_equal(uft_clock_build_line(&c, &line, 1000), 0);
	for (uint64_t k = 0; k < n; k++)
		assert_true(uft_clock_ns(&c, told[k]) == ns[k] + 1000);
	for (uint64_t at = 0; at < told[n - 1]; at += 9973) {
		uint64_t got = uft_clock_ns(&c, at), real = 5000001000ull + (at - 700000) / 3;

		assert_true(got >= last);
		last = got;
		if (at > 700000)
			assert_true(got > real - 2000 && got < real + 2000);
	}
	uft_clock_free(&c);
	uft_clock_line_free(&line);
}

/*
 * A suspend, in which the counter goes on and CLOCK_MONOTONIC does not: what lay before stays, what comes
 * after is right.
 */
static void test_clock_line_steps(void **state)
{
	struct uft_clock_pair r[] = {
		{ 1000, 1000000 }, { 300001000, 101000000 }, { 600001000, 201000000 },
		{ 30600001000, 202000000 }, { 30900001000, 302000000 },
	};
	uint64_t asleep = 600031000, ns = 0;
	struct uft_clock_line line = { 0 };
	struct uft_clock c;

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(uft_clock_line_is_off(&line, &r[i]), i == 3);
		assert_int_equal(uft_clock_line_read(&line, &r[i], i == 3 ? asleep : 0), 0);
		assert_int_equal(uft_clock_build_line(&c, &line, 0), 0);
		if (i == 2)
			ns = uft_clock_ns(&c, asleep);
		if (i > 2)
			assert_true(uft_clock_ns(&c, asleep) == ns && uft_clock_ns(&c, r[i].clock) <= r[i].ns &&
				    uft_clock_ns(&c, r[i].clock) + 1 >= r[i].ns);
		uft_clock_free(&c);
	}
	uft_clock_line_free(&line);
}

static void test_clock_sample(void **state)
{
	struct uft_clock_pair a, b;

	(void)state;
	uft_clock_sample(&a);
	uft_clock_sample(&b);
	assert_true(b.clock > a.clock && b.ns > a.ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sum), cmocka_unit_test(test_varints), cmocka_unit_test(test_varints_hostile),
		cmocka_unit_test(test_clock_exact), cmocka_unit_test(test_clock_monotone),
		cmocka_unit_test(test_clock_thin), cmocka_unit_test(test_clock_hostile),
		cmocka_unit_test(test_clock_line_stays), cmocka_unit_test(test_clock_line_steps),
		cmocka_unit_test(test_clock_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
