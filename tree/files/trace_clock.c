/* SPDX-License-Identifier: MIT */
/*
 * trace_clock.c - trace_clock
 *
 * Records carry the processor's counter; only we convert it to ns (stream/wire/clock.h), so a clock that runs at the
 * pace of CLOCK_MONOTONIC costs one addition. local, global and perf are CLOCK_MONOTONIC, as the kernel's clocks of
 * these names are on this hardware unless a cpu's counter fails. The offsets of boot and tai are measured when the
 * clock is chosen: a suspend or a leap second while one of them is in use changes no time. mono_raw has a conversion of
 * its own. uptime (jiffies as the kernel shows them to users) and x86-tsc (the counter itself) are plain numbers;
 * durations are in ns with them, too. The kernel's counter numbers the records of all cpus; here it numbers the records
 * of each task, since a number shared by all cpus of a process would cost more than a clock. If all recording instances
 * use counter, targets read no clock (runtime/ring/ring.c). Beside another clock, counter shows the processor's
 * counter, which rises as well.
 */
#include "symbol/now.h"
#include "tree/files/rows.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static const struct { const char *name; clockid_t id; enum uft_stamp stamp; } clocks[] = {
	{ "local", CLOCK_MONOTONIC, UFT_STAMP_NS }, { "global", CLOCK_MONOTONIC, UFT_STAMP_NS },
	[CLOCK_COUNTER] = { "counter", CLOCK_MONOTONIC, UFT_STAMP_COUNT },
	{ "uptime", CLOCK_MONOTONIC, UFT_STAMP_UPTIME },
	{ "perf", CLOCK_MONOTONIC, UFT_STAMP_NS }, { "mono", CLOCK_MONOTONIC, UFT_STAMP_NS },
	{ "mono_raw", CLOCK_MONOTONIC_RAW, UFT_STAMP_NS },
	{ "boot", CLOCK_BOOTTIME, UFT_STAMP_NS }, { "tai", CLOCK_TAI, UFT_STAMP_NS },
#ifdef __x86_64__
	{ "x86-tsc", CLOCK_MONOTONIC, UFT_STAMP_TICKS },
#endif
};
#define NCLOCKS		(sizeof(clocks) / sizeof(clocks[0]))

int trace_clock_find(const char *name)
{
	for (size_t i = 0; i < NCLOCKS; i++)
		if (!strcmp(clocks[i].name, name))
			return (int)i;
	return -1;
}

void clock_apply(struct instance *in, uint32_t clock)
{
	int64_t before = (int64_t)now_ns(), other = (int64_t)clock_ns(clocks[clock].id), after = (int64_t)now_ns();
	struct uft_live_clock use = { clocks[clock].name, CLOCK_MONOTONIC, 0, clocks[clock].stamp };

	if (clocks[clock].id == CLOCK_MONOTONIC_RAW)
		use.id = CLOCK_MONOTONIC_RAW;
	else if (clocks[clock].id != CLOCK_MONOTONIC)
		use.shift_ns = other - before - (after - before) / 2;
	uft_live_use_clock(in->live, &use);
	in->cleared_ns = uft_live_now(in->live);
	if (in->latency_from_ns)		/* was in the old clock */
		in->latency_from_ns = in->cleared_ns;
}

int show_trace_clock(const struct place *at, struct tree_text *out)
{
	for (uint32_t i = 0; i < NCLOCKS; i++)
		text_printf(out, at->in->set.clock == i ? "%s[%s]" : "%s%s", i ? " " : "", clocks[i].name);
	text_printf(out, "\n");
	return 0;
}

ssize_t store_trace_clock(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	size_t len = n;

	text_strip(&p, &len);
	for (set.clock = 0; set.clock < NCLOCKS; set.clock++)
		if (strlen(clocks[set.clock].name) == len && !memcmp(clocks[set.clock].name, p, len))
			break;
	if (set.clock == NCLOCKS) {
		h->wrong = "Unknown clock";
		return -EINVAL;
	}
	if (set.clock == h->at.in->set.clock)	/* a kernel clears at each write, and another clock does so */
		tree_clear(h->at.in, UFT_LIVE_ALL);
	return store_settings(h, &set, 0, n);
}
