/* SPDX-License-Identifier: MIT */
/*
 * trigger_event.c - func:enable_event:SYSTEM:EVENT, func:disable_event: events by name that are on between
 * calls of functions
 *
 * The kernel registers such an event all the time and checks a bit at each. Likewise the session records the event as
 * long as a function may switch it (ops.c). Whether the event is on is known when the owner looks at records, in the
 * order of time: it names each event that comes while on to the buffer, which shows no other events of such types
 * (stream/live/choices.c). Thus the shown events are exact, though decided a round late. A function that switches an
 * event a million times a second only costs the look at its records, and no memory.
 *
 * A user's switch counts from the clock of its write, between the records before and after it. When no function
 * switches a type any more, the type keeps its state, as in the kernel; records that were not looked at by then are
 * shown by that state.
 *
 * A function may have several events here; in the kernel a second one is refused.
 */
#include "symbol/array.h"
#include "tree/triggers/trigger_internal.h"

#include <errno.h>
#include <stdlib.h>

static int counts(const struct triggers *g, uint32_t event)
{
	for (unsigned kind = kind_of(ENABLE, event, 0), end = kind + 4; kind < end; kind++)
		if (trigger_count(g, kind))
			return 1;
	return event_trigger_switches(g, event);
}

int trigger_switches(const struct instance *in, uint32_t event)
{
	return in->triggers && counts(in->triggers, event);
}

int trigger_switches_any(const struct instance *in)
{
	for (unsigned kind = kind_of(ENABLE, 0, 0); in->triggers && kind < in->triggers->nkinds; kind++)
		if (in->triggers->count[kind])
			return 1;
	for (uint32_t i = 0; in->triggers && in->triggers->nevents && i < uft_event_table_count(tree_types(in->t)); i++)
		if (event_trigger_switches(in->triggers, i))
			return 1;
	return 0;
}

int trigger_events(const struct instance *in, struct uft_event_set *out)
{
	for (unsigned kind = kind_of(ENABLE, 0, 0); in->triggers && kind < in->triggers->nkinds; kind++)
		if (in->triggers->count[kind] && uft_event_set_change(out, event_of(kind), 1))
			return -ENOMEM;
	for (uint32_t i = 0; in->triggers && in->triggers->nevents && i < uft_event_table_count(tree_types(in->t)); i++)
		if (event_trigger_switches(in->triggers, i) && uft_event_set_change(out, i, 1))
			return -ENOMEM;
	return 0;
}

int trigger_events_on(const struct instance *in, struct uft_event_set *out)
{
	const struct triggers *g = in->triggers;
	int ret = uft_event_set_copy(out, g ? &g->events : &in->set.events);

	for (size_t i = 0; g && i < g->nsaid && !ret; i++)
		ret = uft_event_set_change(out, g->said[i].event, g->said[i].is_on);
	return ret;
}

/* Notes a user's switch. Without memory it counts from now on: rounds are milliseconds apart. */
static void say(struct triggers *g, uint64_t clock, uint32_t event, int is_on)
{
	if (array_reserve(g->said, g->cap_said, g->nsaid + 1))
		uft_event_set_change(&g->events, event, is_on);
	else
		g->said[g->nsaid++] = (struct said){ clock, event, is_on };
}

void trigger_said(struct instance *in, const struct uft_event_set *before, const struct uft_event_set *now)
{
	uint32_t nwords = before->nwords > now->nwords ? before->nwords : now->nwords;
	uint64_t clock = uft_live_clock(in->live);

	for (uint32_t i = 0; in->triggers && i < 64 * nwords; i++)
		if (uft_event_set_has(before, i) != uft_event_set_has(now, i))
			say(in->triggers, clock, i, uft_event_set_has(now, i));
}

void trigger_catch_up(struct triggers *g, uint64_t clock)
{
	size_t n = 0;

	for (; n < g->nsaid && g->said[n].clock <= clock; n++)
		uft_event_set_change(&g->events, g->said[n].event, g->said[n].is_on);
	for (size_t i = n; n && i < g->nsaid; i++)
		g->said[i - n] = g->said[i];
	g->nsaid -= n;
}

/* Without memory to note that the event is on, it stays off. */
int trigger_act_event(struct triggers *g, unsigned kind)
{
	uint32_t event = event_of(kind);
	int is_on = action_of(kind) == ENABLE, was = uft_event_set_has(&g->events, event);

	return is_on != was && !uft_event_set_change(&g->events, event, is_on);
}

void trigger_look_at_event(struct instance *in, const struct uft_event *e, uint64_t clock)
{
	uint32_t index = e->type->index;
	int is_waiting = counts(in->triggers, index) || (event_fork_counts(&in->set) && !e->type->tasks);

	if (uft_event_set_has(&in->triggers->events, index) /* GUARD(event_is_enabled) */ && is_waiting &&
	    event_fork_passes(in, e, clock))
		uft_live_show_one(in->live, clock);
}

void trigger_settle(struct instance *in, struct uft_event_set *before)
{
	for (uint32_t i = 0; i < 64 * before->nwords; i++)
		if (uft_event_set_has(before, i) && trigger_switches(in, i))
			uft_event_set_change(before, i, 0);
	/* else records that were not looked at are not shown: their tasks were not checked by the lists */
	if (!uft_event_set_is_empty(before) && !event_fork_counts(&in->set))
		uft_live_settle(in->live, before, &in->set.events);
}
