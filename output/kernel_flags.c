/* SPDX-License-Identifier: MIT */
/* kernel_flags.c - see kernel_flags.h: the text of trace_print_lat_fmt() of Linux 6.12 */
#include "output/kernel_flags.h"

enum {
	IRQS_OFF = 1, RESCHED_LAZY = 2, RESCHED = 4, HARDIRQ = 8, SOFTIRQ = 16, PREEMPT_RESCHED = 32, NMI = 64,
		BH_OFF = 128,
};

static char digit(unsigned v)
{
	return v ? "0123456789abcdef"[v] : '.';
}

int kernel_flags_put(const struct uft_event *ev, char text[KERNEL_FLAGS_TEXT])
{
	/* by RESCHED_LAZY, RESCHED, PREEMPT_RESCHED, from the lowest bit on */
	static const char resched[] = ".lnbpLNB";
	unsigned v = ev->latency;
	int is_hard = (v & HARDIRQ) != 0;

	if (!(ev->flags & UFT_EVF_LATENCY))
		return 0;
	text[0] = v & IRQS_OFF ? v & BH_OFF ? 'D' : 'd' : v & BH_OFF ? 'b' : '.';
	text[1] = resched[(v & RESCHED_LAZY ? 1 : 0) | (v & RESCHED ? 2 : 0) | (v & PREEMPT_RESCHED ? 4 : 0)];
	text[2] = v & NMI ? is_hard ? 'Z' : 'z' : v & SOFTIRQ ? is_hard ? 'H' : 's' : is_hard ? 'h' : '.';
	text[3] = digit(v >> 8 & 15);
	text[4] = digit(v >> 12 & 15);
	return 1;
}
