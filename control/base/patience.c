// SPDX-License-Identifier: MIT
/*
 * patience.c - limit the time that the session waits for one target, while all others wait
 *
 * A target that is slow may be a hostile one, and one of many. What slow targets use up, in any wait, comes out of one
 * purse, which fills again with time; a wait is as long as its constant times what is left in there. So all of them
 * together use up the purse at most, and LEAST_MS for each wait behind that. A wait of SLOW_MS at most that was not in
 * vain is free, since most are, and a machine may be loaded.
 *
 * Concurrency: a purse is of the thread that waits, a session's or the guard's only one: two sessions have two.
 */
#include "control/base/base.h"

#define PURSE_NS	10000000000ull
#define REFILL		8u	/* a part of the time that passes */
#define LEAST_MS	50u

static __thread uint64_t used_ns, looked_ns;	/* of the purse, at that moment */

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
