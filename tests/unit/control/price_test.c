// SPDX-License-Identifier: MIT
/* price_test.c - the purse from which a target's requests are paid */
#include "control/session/price.h"

#include <stdio.h>

#define S	1000000000ull

static int fails;

static void check(int is_right, const char *what)
{
	if (!is_right) {
		fprintf(stderr, "price: %s\n", what);
		fails = 1;
	}
}

int main(void)
{
	struct price_purse p = { 0 }, other = { 0 };
	uint64_t now = 100 * S, spent = 0, begin;

	check(price_has_left(&p, now), "a new one has nothing");
	for (int i = 0; i < 4; i++)
		price_pay(&p, S, now);
	check(price_has_left(&p, now), "a start of four seconds is too dear");
	price_pay(&p, 2 * S, now);
	check(!price_has_left(&p, now), "an empty one has something left");
	check(price_has_left(&other, now), "one target empties another's");
	check(!price_has_left(&p, now + S), "it is full again at once");
	check(price_has_left(&p, now + 5 * S), "it never is filled");
	/* Requests of a millisecond as fast as they can be, for a hundred seconds. */
	begin = now = 200 * S;
	while (now < begin + 100 * S) {
		if (price_has_left(&p, now)) {
			price_pay(&p, S / 1000, now + S / 1000);
			spent += S / 1000;
		}
		now += S / 1000;
	}
	check(spent < 31 * S, "a flood takes more than a quarter of the time");
	check(spent > 20 * S, "a flood takes nothing");
	return fails;
}
