// SPDX-License-Identifier: MIT
/*
 * sources.c - records that the session itself makes
 *
 * A target's rings are its own, so what the session finds out goes into other slices of the arena: `nown` of
 * them, behind those that targets may claim and behind what targets map. They are announced, drained and
 * ended as any slice, in the tree as in a recording, and a file shows them as slices with the image that
 * resolves their addresses.
 *
 * Life: a spec asks (uft_session_trace), and where there are targets already it begins, else with the first
 * or the next round of the session (sources_start: by then there is somebody who takes the news), another spec or
 * the end of the session ends it. It rests while recording is off (sources_record).
 */
#include "control/plan/watch_list.h"
#include "control/events/observe.h"
#include "control/events/sources.h"
#include "control/events/spin.h"

#include <string.h>
#include <unistd.h>

/* ---- What the spec asks ---------------------------------------------------------------------- */

static const struct spin_kind *spin_kind_of(const struct spec *sp)
{
	return sp->own == UFT_TRACER_HWLAT ? &hwlat_kind : sp->own == UFT_TRACER_OSNOISE ? &osnoise_kind : NULL;
}

static int is_observing(const struct spec *sp)
{
	return sp->own == UFT_TRACER_SYSPROF || sp->own == UFT_TRACER_MMIOTRACE || sp->has_switches || sp->tasks;
}

/* Its events are of another kind, in the same place. */
static int is_watching(const struct spec *sp)
{
	return sp->own == UFT_TRACER_MMIOTRACE;
}

static int observes_the_same(const struct spec *a, const struct spec *b)
{
	if (is_watching(a) && is_watching(b))
		return access_is_same(a->watch, a->nwatch, b->watch, b->nwatch);
	return !is_watching(a) && !is_watching(b) && is_observing(a) == is_observing(b) && a->has_switches == b->has_switches &&
	       a->sample_ns == b->sample_ns && a->has_stacks == b->has_stacks;
}

int sources_check(struct uft_session *s, const struct spec *sp, struct uft_error *err)
{
	int is_new = !s->spec || !observes_the_same(s->spec, sp);

	return is_new && is_observing(sp) ? observe_check(sp, err) : 0;
}

void sources_start(struct uft_session *s)
{
	const struct spec *sp = s->spec;

	if (sp && spin_kind_of(sp) && !s->spin && !s->is_paused)
		s->spin = spin_begin(s, spin_kind_of(sp), &sp->spin, sp->own_thresh_ns);
	/* Forks are observed also while nothing is recorded. */
	if (sp && is_observing(sp) && !s->observe && !s->is_unobserved && (!s->is_paused || sp->tasks)) {
		s->observe = observe_begin(s);
		s->is_unobserved = !s->observe;
		if (s->observe && s->is_paused)
			observe_run(s->observe, 0);
	}
}

void sources_record(struct uft_session *s)
{
	if (s->spin)
		spin_run(s, s->spin, !s->is_paused);
	if (s->observe)
		observe_run(s->observe, !s->is_paused);
}

void sources_add_target(struct uft_session *s, struct target *t)
{
	sources_start(s);
	if (s->observe)
		observe_target(s->observe, t);
}

void sources_exec(struct uft_session *s, const struct target *t)
{
	if (s->observe)
		observe_exec(s->observe, t);
}

void sources_left(struct uft_session *s, pid_t pid)
{
	if (s->observe)
		observe_left(s->observe, pid);
}

uint64_t uft_session_gather(struct uft_session *s)
{
	return s->observe ? observe_take(s->observe) : UINT64_MAX;
}

static void stop_spin(struct uft_session *s, const struct spec *sp)
{
	const struct spec *old = s->spec;

	if (!sp || spin_kind_of(sp) != s->spin->kind) {
		spin_end(s->spin);
		s->spin = NULL;
	} else if (!old || sp->own_thresh_ns != old->own_thresh_ns || memcmp(&sp->spin, &old->spin, sizeof(sp->spin))) {
		spin_set(s, s->spin, &sp->spin, sp->own_thresh_ns);
	}
}

void sources_stop(struct uft_session *s, const struct spec *sp)
{
	const struct spec *old = s->spec;

	if (s->spin)
		stop_spin(s, sp);
	if (sp && old && observes_the_same(sp, old))
		return;
	s->is_unobserved = 0;
	if (s->observe && sp && is_observing(sp) && !is_watching(sp) && old && !is_watching(old)) {
		observe_set(s->observe, sp);
	} else if (s->observe) {
		observe_end(s->observe);
		s->observe = NULL;
	}
}
