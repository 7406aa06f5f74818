// SPDX-License-Identifier: MIT
/*
 * patience.c - limit the time that the session waits for one target, while all others wait
 *
 * A slow target may be hostile, and one of many. The time of all waits for slow targets is taken from one purse, which
 * fills again with time. A wait may last its constant times the part of the purse that is left. So all slow targets
 * together use up the purse at most, and then LEAST_MS for each wait. A wait of at most SLOW_MS with an answer is free,
 * because most waits are like that, and the machine may be loaded.
 *
 * Concurrency: each thread that waits has a purse of its own: the one of a session, or that of the guard.
 */
#include "control/base/base.h"

#define PURSE_NS	10000000000ull
#define REFILL		8u	/* the purse gets 1/REFILL of the time that passes */
#define LEAST_MS	50u

static __thread uint64_t used_ns, looked_ns;	/* used of the purse, at the time of the last refill() */

static void refill(void)
{
	uint64_t now = now_ns(), more = (now - looked_ns) / REFILL;

	used_ns = used_ns > more ? used_ns - more : 0;
	looked_ns = now;
}

uint64_t patience_ns(uint32_t ms)
{
	const uint64_t least = (ms < LEAST_MS ? ms : LEAST_MS) * 1000000ull;
	uint64_t ns;

	refill();
	/* in steps of a millionth */
	ns = used_ns < PURSE_NS ? (PURSE_NS - used_ns) / (PURSE_NS / 1000000) * ms : 0;
	return ns > least ? ns : least;
}

void patience_use(uint64_t since_ns, int is_vain)
{
	uint64_t now = now_ns(), ns = now > since_ns ? now - since_ns : 0;

	refill();
	used_ns += is_vain || ns > SLOW_MS * 1000000ull ? ns : 0; /* GUARD(patience_used, (void)ns, (void)is_vain) */
}
