// SPDX-License-Identifier: MIT
/*
 * price.c - limit the CPU time that requests of one family cost the session
 *
 * While the session serves one target all others wait, and a target can ask as often as it likes. So each family has
 * a purse of CPU time of the session's thread: PURSE_NS when it is made, and one part in SHARE of the time that
 * passes until it is full again. Serving its requests is paid from it. With an empty purse requests stay posted; the
 * thread that asks gives up at its own time, which is counted (UFT_CNT_REQ_TIMEOUT). A start, or dlopen() of large
 * libraries, is far within the purse.
 *
 * Time that the session waits for an agent is no CPU time: base/patience.c bounds it.
 */
#include "control/session/price.h"

#define PURSE_NS	5000000000ll
#define SHARE		4

static void fill(struct price_purse *p, uint64_t now_ns)
{
	if (!p->at_ns) {
		p->left_ns = PURSE_NS;
	} else if (now_ns > p->at_ns) {
		p->left_ns += (int64_t)((now_ns - p->at_ns) / SHARE);
		p->left_ns = p->left_ns < PURSE_NS ? p->left_ns : PURSE_NS;
	}
	p->at_ns = now_ns;
}

int price_has_left(struct price_purse *p, uint64_t now_ns)
{
	fill(p, now_ns);
	return p->left_ns > 0; /* GUARD(price_has_left_left_ns, 1) */
}

void price_pay(struct price_purse *p, uint64_t cost_ns, uint64_t now_ns)
{
	fill(p, now_ns);
	p->left_ns -= (int64_t)cost_ns;
}
