/* SPDX-License-Identifier: MIT */
/*
 * trigger_event.c - func:enable_event:SYSTEM:EVENT, func:disable_event: events by name that are on between calls of functions
 *
 * The kernel records such an event all the time and looks at a bit when one comes; so the session is asked for it as long as a function
 * may switch it (share.c), and whether it is on is known when records are looked at, in the order of time: each that comes while it is on
 * is named to the buffer, which shows of such types nothing else (stream/live_choose.c). Thus what is shown is exact, though it is decided
 * a round late; a function that switches it a million times a second costs what being looked at costs, and nothing is kept of it.
 *
 * What a user says counts from the clock of that moment: it is done between the records before and behind it. When no function
 * switches a type any more it stays as it is, as in the kernel; what was not looked at by then is shown by that.
 *
 * A function may have several events here; in the kernel a second one is refused.
 */
#include "tree/trigger_internal.h"

static uint32_t apply_said(uint32_t events, const struct said *s)
{
	return (events & ~s->events) | (s->value & s->events);
}

uint32_t trigger_events(const struct instance *in)
{
	uint32_t events = 0;

	for (unsigned kind = kind_of(ENABLE, 0, 0); in->triggers && kind < NKINDS; kind++)
		events |= in->triggers->count[kind] ? 1u << event_of(kind) : 0;
	return events;
}

uint32_t trigger_events_on(const struct instance *in)
{
	const struct triggers *g = in->triggers;
	uint32_t events = g ? g->events : in->set.events;

	for (size_t i = 0; g && i < g->nsaid; i++)
		events = apply_said(events, &g->said[i]);
	return events;
}

/* Without room what was said before counts from now on: rounds are milliseconds apart. */
void trigger_said(struct instance *in, uint32_t events, uint32_t value)
{
	struct triggers *g = in->triggers;
	struct said now = { uft_live_clock(), events, value }, *last;

	if (!g)
		return;
	if (g->nsaid < MAX_SAID) {
		g->said[g->nsaid++] = now;
		return;
	}
	last = &g->said[MAX_SAID - 1];
	*last = (struct said){ now.clock, last->events | events, apply_said(last->value, &now) };
}

void trigger_catch_up(struct triggers *g, uint64_t clock)
{
	size_t n = 0;

	while (n < g->nsaid && g->said[n].clock <= clock)
		g->events = apply_said(g->events, &g->said[n++]);
	for (size_t i = n; n && i < g->nsaid; i++)
		g->said[i - n] = g->said[i];
	g->nsaid -= n;
}

int trigger_act_event(struct triggers *g, unsigned kind)
{
	uint32_t bit = 1u << event_of(kind), before = g->events;

	g->events = action_of(kind) == ENABLE ? before | bit : before & ~bit;
	return g->events != before;
}

void trigger_look_at_event(struct instance *in, const struct uft_event *e, uint64_t clock)
{
	const struct uft_event_type *type = uft_event_type(e->data);
	uint32_t bit = type ? 1u << (type - uft_event_types) : 0;

	if (trigger_events(in) & in->triggers->events & bit && event_kin_passes(in, clock))
		uft_live_show_one(in->live, clock);
}

void trigger_settle(struct instance *in, uint32_t before)
{
	uint32_t gone = before & ~trigger_events(in);

	if (gone && !event_kin_counts(&in->set))	/* else what was not looked at is not shown: whose it is was not asked of all */
		uft_live_settle(in->live, gone, in->set.events);
}
