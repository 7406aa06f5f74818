/* SPDX-License-Identifier: MIT */
/*
 * price.h - limit the CPU time that requests of one family cost; theory in price.c. Context: control, the session's
 * thread.
 */
#ifndef UFT_CONTROL_SESSION_PRICE_H
#define UFT_CONTROL_SESSION_PRICE_H

#include <stdint.h>

struct price_purse {		/* zero: nothing was asked so far */
	int64_t left_ns;
	uint64_t at_ns;		/* as of then; 0 it is full */
	int is_told;
	int has_waiting;	/* requests that could not pay */
};

/* 0: the purse is empty, and the request has to wait. */
int price_has_left(struct price_purse *p, uint64_t now_ns);
/* A request took so much of the session's CPU time. */
void price_pay(struct price_purse *p, uint64_t cost_ns, uint64_t now_ns);

#endif
