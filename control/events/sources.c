// SPDX-License-Identifier: MIT
/*
 * sources.c - records that the session itself makes
 *
 * A target's rings are its own, so what the session finds out goes into other slices of the arena: `nown` of them, behind those
 * that targets may claim and behind what targets map. They are announced, drained and ended as any slice, in the tree as in a
 * recording, and a file shows them as slices with the image that resolves their addresses.
 *
 * A ring has one writer at a time, which is no signal handler and in no hurry: no restartable section, and a context in front of
 * each record. Overwriting is as abi.h says: `oldest` first, a barrier, then data.
 *
 * Life: a spec asks (uft_session_trace), and where there are targets already it begins, else with the first or the next round of the
 * session (own_start: by then there is somebody who takes the news), another spec or the end of the session ends it. It rests while recording is off (own_record).
 */
#include "control/plan/watch_list.h"
#include "control/events/observe.h"
#include "control/events/sources.h"
#include "control/events/spin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct own *own_begin(struct uft_session *s, pid_t pid, pid_t ppid, const struct uft_image *img)
{
	struct own *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->s = s;
	o->pid = pid;
	if (!img && !s->own_img)
		s->own_img = uft_image_alloc(++s->next_image, "[uft]");
	o->img = img ? img : s->own_img;
	o->slice = o->img ? arena_claim_own(&s->arena, pid, ppid) : UFT_NO_SLICE;
	if (o->slice == UFT_NO_SLICE) {
		free(o);
		return NULL;
	}
	session_set_slice(s, o->slice);
	o->next = s->own;
	s->own = o;
	if (s->ev.slice_begin)
		s->ev.slice_begin(s->ev.arg, o->slice, pid, ppid, o->img);
	return o;
}

void own_end(struct own *o)
{
	struct uft_session *s = o->s;

	for (struct own **p = &s->own; *p; p = &(*p)->next)
		if (*p == o) {
			*p = o->next;
			break;
		}
	__atomic_store_n(&arena_slice(&s->arena, o->slice)->state, UFT_SLICE_DEAD, __ATOMIC_RELEASE);
	if (s->ev.slice_end)
		s->ev.slice_end(s->ev.arg, o->slice, o->pid);
	else
		arena_release(&s->arena, o->slice);
	free(o);
}

void own_set_flags(struct uft_session *s)
{
	for (const struct own *o = s->own; o; o = o->next)
		session_set_slice(s, o->slice);
}

/* ---- Records --------------------------------------------------------------------------------- */

static uint64_t *word_at(const struct uft_arena *a, struct uft_ring *r, uint64_t position)
{
	return (uint64_t *)((uint8_t *)r + UFT_PAGE + (position & (a->ring_bytes - 1)));
}

/* Begins the next sub-buffer. The rest of the last one is PAD. *@at: behind its header. */
static int begin_sub(const struct uft_arena *a, struct uft_ring *r, uint32_t flags, uint64_t clock, uint64_t task, uint64_t *at)
{
	struct uft_sub_header h = {
		.position = r->sub_end, .lost = r->lost, .clock = clock, .pid = (uint32_t)task, .tid = (uint32_t)(task >> 32),
	};
	uint64_t end = h.position + a->sub_bytes;

	if (!(flags & UFT_RING_OVERWRITE) && end > __atomic_load_n(&r->read, __ATOMIC_ACQUIRE) + a->ring_bytes) {
		__atomic_store_n(&r->lost, r->lost + 1, __ATOMIC_RELAXED);
		return -ENOBUFS;
	}
	if (end > r->oldest + a->ring_bytes) {
		__atomic_store_n(&r->oldest, end - a->ring_bytes, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* before data: a reader that copied new data sees it */
	}
	if (r->commit < h.position)
		*word_at(a, r, r->commit) = 0;
	memcpy(word_at(a, r, h.position), &h, sizeof(h));
	*at = h.position + sizeof(h);
	r->sub_end = end;
	return 0;
}

static struct uft_ring *ring_of(const struct own *o, uint32_t cpu)
{
	const struct uft_arena *a = o->s->arena.map;

	return (struct uft_ring *)((uint8_t *)arena_slice(&o->s->arena, o->slice) + a->ring_offset + (cpu % a->ncpus) * a->ring_stride);
}

uint64_t own_clock(const struct own *o, uint32_t cpu, uint64_t clock)
{
	const struct uft_ring *r = ring_of(o, cpu);

	return clock > r->last ? clock : r->last;
}

int own_write(const struct own *o, uint32_t cpu, uint64_t clock, uint64_t task, uint32_t event, const uint64_t *w, uint32_t n)
{
	const struct uft_arena *a = o->s->arena.map;
	struct uft_slice *slice = arena_slice(&o->s->arena, o->slice);
	uint32_t flags = __atomic_load_n(&slice->ring_flags, __ATOMIC_RELAXED), bytes = 8 * (4 + n);
	struct uft_ring *r = ring_of(o, cpu);
	uint64_t at = r->commit, *to;
	int ret = 0;

	if (!(flags & UFT_RING_ON))
		return -EAGAIN;
	clock = own_clock(o, cpu, clock);
	if (!r->sub_end || at + bytes > r->sub_end)
		ret = begin_sub(a, r, flags, clock, task, &at);
	if (ret)
		return ret;
	to = word_at(a, r, at);
	to[0] = UFT_REC_WORD(UFT_REC_CONTEXT, 0, clock);
	to[1] = clock;
	to[2] = task;
	to[3] = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(event, n), clock);
	memcpy(to + 4, w, 8 * n);
	r->last = clock;
	__atomic_store_n(&r->commit, at + bytes, __ATOMIC_RELEASE);
	return 0;
}

void own_lost(const struct own *o, uint32_t cpu, uint64_t n)
{
	struct uft_ring *r = ring_of(o, cpu);

	__atomic_store_n(&r->lost, r->lost + n, __ATOMIC_RELAXED);
}

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

int own_check(struct uft_session *s, const struct spec *sp, struct uft_error *err)
{
	int is_new = !s->spec || !observes_the_same(s->spec, sp);

	return is_new && is_observing(sp) ? observe_check(sp, err) : 0;
}

void own_start(struct uft_session *s)
{
	const struct spec *sp = s->spec;

	if (sp && spin_kind_of(sp) && !s->spin && !s->is_paused)
		s->spin = spin_begin(s, spin_kind_of(sp), &sp->spin, sp->own_thresh_ns);
	/* Who made whom is asked for also while nothing is recorded. */
	if (sp && is_observing(sp) && !s->observe && !s->is_unobserved && (!s->is_paused || sp->tasks)) {
		s->observe = observe_begin(s);
		s->is_unobserved = !s->observe;
		if (s->observe && s->is_paused)
			observe_run(s->observe, 0);
	}
}

void own_record(struct uft_session *s)
{
	if (s->spin)
		spin_run(s, s->spin, !s->is_paused);
	if (s->observe)
		observe_run(s->observe, !s->is_paused);
}

void own_target(struct uft_session *s, struct target *t)
{
	own_start(s);
	if (s->observe)
		observe_target(s->observe, t);
}

void own_exec(struct uft_session *s, const struct target *t)
{
	if (s->observe)
		observe_exec(s->observe, t);
}

void own_left(struct uft_session *s, pid_t pid)
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

void own_stop(struct uft_session *s, const struct spec *sp)
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
