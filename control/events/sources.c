// SPDX-License-Identifier: MIT
/*
 * sources.c - records that the session itself makes
 *
 * A target's rings are its own, so records of the session go into other slices of the arena: `nown` of them, behind
 * those that targets may claim and behind those that targets map. They are announced, drained and ended as any slice,
 * in the tree and in a recording. A file shows them as slices with the image that resolves their addresses.
 *
 * Life: a spec asks for a source (uft_session_trace). If there are targets already, it begins at once, else with the
 * first target or the session's next round (sources_start: then the listener takes events). Another spec or the end of
 * the session ends it. It rests while recording is off (sources_record).
 */
#include "control/plan/watch_list.h"
#include "control/events/observe.h"
#include "control/events/sources.h"
#include "control/events/spin.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Needs of a specification ---------------------------------------------------------------- */

/* Tracers that are threads of the session. */
static const struct { uint32_t tracer; const struct spin_kind *kind; size_t want; } spins[] = {
	{ UFT_TRACER_HWLAT, &hwlat_kind, offsetof(struct spec, hwlat) },
	{ UFT_TRACER_OSNOISE, &osnoise_kind, offsetof(struct spec, osnoise) },
};
#define NSPINS	(sizeof(spins) / sizeof(spins[0]))
_Static_assert(NSPINS == sizeof(((struct sources *)0)->spin) / sizeof(struct spin *), "a place for each");

static const struct spec_spin *want_of(const struct spec *sp, size_t i)
{
	return (const struct spec_spin *)((const char *)sp + spins[i].want);
}

static int is_observing(const struct spec *sp)
{
	return spec_has_own(sp, UFT_TRACER_SYSPROF) || spec_has_own(sp, UFT_TRACER_MMIOTRACE) || sp->has_switches ||
	       sp->tasks;
}

/* Watchpoints use the same place for another kind of events. */
static int is_watching(const struct spec *sp)
{
	return spec_has_own(sp, UFT_TRACER_MMIOTRACE);
}

static int observes_the_same(const struct spec *a, const struct spec *b)
{
	if (observe_stacks_of(a) != observe_stacks_of(b))
		return 0;
	if (is_watching(a) && is_watching(b))
		return access_is_same(a->watch, a->nwatch, b->watch, b->nwatch);
	return !is_watching(a) && !is_watching(b) && is_observing(a) == is_observing(b) &&
		a->has_switches == b->has_switches &&
	       spec_has_own(a, UFT_TRACER_SYSPROF) == spec_has_own(b, UFT_TRACER_SYSPROF) &&
	       a->sample_ns == b->sample_ns &&
	       a->has_stacks == b->has_stacks;
}

int sources_create(struct uft_session *s)
{
	s->sources = calloc(1, sizeof(*s->sources));
	return s->sources ? 0 : -ENOMEM;
}

void sources_free(struct uft_session *s)
{
	if (s->sources)
		uft_image_free(s->sources->img);
	free(s->sources);
	s->sources = NULL;
}

int sources_check(struct uft_session *s, const struct spec *sp, struct uft_error *err)
{
	int is_new = !s->spec || !observes_the_same(s->spec, sp);

	return is_new && is_observing(sp) ? observe_check(sp, err) : 0;
}

void sources_start(struct uft_session *s)
{
	const struct spec *sp = s->spec;
	struct sources *o = s->sources;

	for (size_t i = 0; sp && i < NSPINS; i++)
		if (spec_has_own(sp, spins[i].tracer) && !o->spin[i] && !s->is_paused)
			o->spin[i] = spin_begin(s, spins[i].kind, &want_of(sp, i)->opts, want_of(sp, i)->thresh_ns);
	/* Forks are observed also while recording is off. */
	if (sp && is_observing(sp) && !s->sources->observe && !s->sources->is_unobserved &&
	    (!s->is_paused || sp->tasks)) {
		s->sources->observe = observe_begin(s);
		s->sources->is_unobserved = !s->sources->observe;
		if (s->sources->observe && s->is_paused)
			observe_run(s->sources->observe, 0);
	}
}

void sources_record(struct uft_session *s)
{
	for (size_t i = 0; i < NSPINS; i++)
		if (s->sources->spin[i])
			spin_run(s, s->sources->spin[i], !s->is_paused);
	if (s->sources->observe)
		observe_run(s->sources->observe, !s->is_paused);
}

void sources_add_target(struct uft_session *s, struct target *t)
{
	sources_start(s);
	if (s->sources->observe)
		observe_target(s->sources->observe, t);
}

void sources_exec(struct uft_session *s, const struct target *t)
{
	if (s->sources->observe)
		observe_exec(s->sources->observe, t);
}

void sources_left(struct uft_session *s, pid_t pid)
{
	if (s->sources->observe)
		observe_left(s->sources->observe, pid);
}

int uft_session_check_stacks(struct uft_error *err)
{
	return observe_check_stacks(err);
}

int uft_session_emit_open(struct uft_session *s, enum uft_emitter by)
{
	struct event_ring **made = &s->sources->made[by];

	if (!*made)
		*made = event_ring_open(s, getpid(), 0, NULL);
	return *made ? 0 : -ENOMEM;
}

int uft_session_emit(struct uft_session *s, enum uft_emitter by, uint32_t cpu, uint64_t clock, uint32_t pid,
		     uint32_t tid, uint32_t id, const void *payload, size_t bytes)
{
	uint64_t w[UFT_EVENT_PAYLOAD_MAX / 8] = { 0 };

	if (!s->sources->made[by])
		return -EAGAIN;
	bytes = bytes < sizeof(w) ? bytes : sizeof(w);
	memcpy(w, payload, bytes);
	return event_ring_write(s->sources->made[by], cpu, clock, (uint64_t)tid << 32 | pid, id, w,
				bytes ? (uint32_t)(bytes + 7) / 8 : 1);
}

uint64_t uft_session_gather(struct uft_session *s)
{
	return s->sources->observe ? observe_take(s->sources->observe) : UINT64_MAX;
}

static void stop_spin(struct uft_session *s, size_t i, const struct spec *sp)
{
	struct spin **spin = &s->sources->spin[i];

	if (!sp || !spec_has_own(sp, spins[i].tracer)) {
		spin_end(*spin);
		*spin = NULL;
	} else if (!s->spec || memcmp(want_of(sp, i), want_of(s->spec, i), sizeof(struct spec_spin))) {
		spin_set(s, *spin, &want_of(sp, i)->opts, want_of(sp, i)->thresh_ns);
	}
}

void sources_stop(struct uft_session *s, const struct spec *sp)
{
	const struct spec *old = s->spec;

	if (!s->sources)
		return;
	for (size_t i = 0; i < NSPINS; i++)
		if (s->sources->spin[i])
			stop_spin(s, i, sp);
	if (sp && old && observes_the_same(sp, old))
		return;
	s->sources->is_unobserved = 0;
	if (s->sources->observe && sp && is_observing(sp) && !is_watching(sp) && old && !is_watching(old)) {
		observe_set(s->sources->observe, sp);
	} else if (s->sources->observe) {
		observe_end(s->sources->observe);
		s->sources->observe = NULL;
	}
}
