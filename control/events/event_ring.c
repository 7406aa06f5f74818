// SPDX-License-Identifier: MIT
/*
 * event_ring.c - slices of the session itself, and writing records into them
 *
 * A ring has one writer at a time, which is no signal handler and in no hurry: so it needs no restartable section, and
 * writes a context in front of each record. Overwriting follows abi.h: `oldest` first, a barrier, then data.
 */
#include "control/events/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct event_ring *event_ring_open(struct uft_session *s, pid_t pid, pid_t ppid, const struct uft_image *img)
{
	struct event_ring *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->s = s;
	o->pid = pid;
	if (!img && !s->sources->img)
		s->sources->img = uft_image_alloc(++s->next_image, "[uft]");
	o->img = img ? img : s->sources->img;
	o->slice = o->img ? arena_claim_own(&s->arena, pid, ppid) : UFT_NO_SLICE;
	if (o->slice == UFT_NO_SLICE) {
		free(o);
		return NULL;
	}
	session_set_slice(s, o->slice);
	o->next = s->sources->first;
	s->sources->first = o;
	if (s->ev.slice_begin)
		s->ev.slice_begin(s->ev.arg, o->slice, pid, ppid, o->img);
	return o;
}

void event_ring_close(struct event_ring *o)
{
	struct uft_session *s = o->s;

	for (struct event_ring **p = &s->sources->first; *p; p = &(*p)->next)
		if (*p == o) {
			*p = o->next;
			break;
		}
	SHARED_STORE_RELEASE(&arena_slice(&s->arena, o->slice)->state, UFT_SLICE_DEAD);
	if (s->ev.slice_end)
		s->ev.slice_end(s->ev.arg, o->slice, o->pid);
	else
		arena_release(&s->arena, o->slice);
	free(o);
}

void sources_set_flags(struct uft_session *s)
{
	for (const struct event_ring *o = s->sources->first; o; o = o->next)
		session_set_slice(s, o->slice);
}

/* No target maps the session's own slices. */
static struct uft_slice *slice_of(const struct event_ring *o)
{
	return shared_address(arena_slice(&o->s->arena, o->slice));
}

static uint64_t *word_at(const struct uft_arena *a, struct uft_ring *r, uint64_t position)
{
	return (uint64_t *)((uint8_t *)r + UFT_PAGE + (position & (a->ring_bytes - 1)));
}

/*
 * The position of the next sub-buffer: abi.h, how a ring grows. Without gaps, because only this process reads these
 * rings.
 */
static uint64_t next_sub(const struct uft_arena *a, const struct uft_ring *r, uint64_t read)
{
	uint64_t next = (r->sub_end | (a->ring_bytes - 1)) + 1;

	return (r->sub_end & (a->ring_bytes - 1)) < a->ring_usual || next + a->sub_bytes > read +
		a->ring_bytes ? r->sub_end : next;
}

/* Begins the next sub-buffer. The rest of the last one becomes PAD. *@at: behind its header. */
static int begin_sub(const struct uft_arena *a, struct uft_ring *r, uint32_t flags, uint64_t clock, uint64_t task,
		     uint64_t *at)
{
	uint64_t read = __atomic_load_n(&r->read, __ATOMIC_ACQUIRE);
	struct uft_sub_header h = {
		.position = next_sub(a, r, read), .lost = r->lost, .clock = clock, .pid = (uint32_t)task,
		.tid = (uint32_t)(task >> 32),
	};
	uint64_t end = h.position + a->sub_bytes;

	if (!(flags & UFT_RING_OVERWRITE) && end > read + a->ring_bytes) {
		__atomic_store_n(&r->lost, r->lost + 1, __ATOMIC_RELAXED);
		return -ENOBUFS;
	}
	if (end > r->oldest + a->ring_bytes) {
		__atomic_store_n(&r->oldest, end - a->ring_bytes, __ATOMIC_RELAXED);
		/* before the data: a reader that copied new data sees `oldest` */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	if (r->commit < r->sub_end)
		*word_at(a, r, r->commit) = 0;
	if (h.position != r->sub_end)
		__atomic_store_n(&uft_ring_turn(r, r->sub_end, a->ring_bytes)->skip, r->sub_end, __ATOMIC_RELAXED);
	memcpy(word_at(a, r, h.position), &h, sizeof(h));
	*at = h.position + sizeof(h);
	r->sub_end = end;
	return 0;
}

static struct uft_ring *ring_of(const struct event_ring *o, uint32_t cpu)
{
	const struct uft_arena *a = o->s->arena.map;

	return (struct uft_ring *)((uint8_t *)slice_of(o) + a->ring_offset + (cpu % a->ncpus) * a->ring_stride);
}

uint64_t event_ring_clock(const struct event_ring *o, uint32_t cpu, uint64_t clock)
{
	const struct uft_ring *r = ring_of(o, cpu);

	return clock > r->last ? clock : r->last;
}

int event_ring_write(const struct event_ring *o, uint32_t cpu, uint64_t clock, uint64_t task, uint32_t event,
		     const uint64_t *w, uint32_t n)
{
	const struct uft_arena *a = o->s->arena.map;
	struct uft_slice *slice = slice_of(o);
	uint32_t flags = __atomic_load_n(&slice->ring_flags, __ATOMIC_RELAXED), bytes = 8 * (4 + n);
	struct uft_ring *r = ring_of(o, cpu);
	uint64_t at = r->commit, *to;
	int ret = 0;

	if (!(flags & UFT_RING_ON))
		return -EAGAIN;
	clock = event_ring_clock(o, cpu, clock);
	if (!r->sub_end)
		uft_ring_set_used(slice, cpu % a->ncpus);
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

void event_ring_lost(const struct event_ring *o, uint32_t cpu, uint64_t n)
{
	struct uft_ring *r = ring_of(o, cpu);

	__atomic_store_n(&r->lost, r->lost + n, __ATOMIC_RELAXED);
}
