/* SPDX-License-Identifier: MIT */
/*
 * sources.h - records that the session itself makes, beside those of targets
 *
 * They go into slices of their own, behind the targets' in the arena, in the targets' format: drains and readers need
 * not know of them. Theory: sources.c.
 */
#ifndef UFT_CONTROL_SOURCES_H
#define UFT_CONTROL_SOURCES_H

#include "control/target/target.h"

struct event_ring {				/* one slice that is ours */
	struct event_ring *next;
	struct uft_session *s;
	const struct uft_image *img;
	uint32_t slice;
	pid_t pid;
};

struct sources {			/* of a session */
	struct event_ring *first;		/* slices of ours */
	struct event_ring *made;	/* of events that the session's user makes; NULL: there was none yet */
	struct uft_image *img;		/* of those that are no target's; NULL: there was none yet */
	struct spin *spin[2];		/* by row of sources.c */
	struct observe *observe;
	int is_unobserved;		/* it could not begin, which was said */
};
int sources_create(struct uft_session *s);	/* 0, -ENOMEM */
void sources_free(struct uft_session *s);	/* behind sources_stop(); a session without is left alone */

/*
 * A slice of our own, announced as any: of target @pid with @img, or with @img NULL of no target. NULL: none
 * is free, no memory.
 */
struct event_ring *event_ring_open(struct uft_session *s, pid_t pid, pid_t ppid, const struct uft_image *img);
/* Ends the writing. */
void event_ring_close(struct event_ring *o);
/* To what the session's rings are set. */
void sources_set_flags(struct uft_session *s);

/**
 * event_ring_write - one record of an event
 * @o:     the slice
 * @cpu:   on which it happened; each CPU has one writer at a time
 * @clock: when; not before the CPU's last
 * @task:  whose, pid | tid << 32
 * @event: enum uft_event_id, UFT_EVENT_IS_OWN()
 * @w:     its @n fields, 1..1 + UFT_STACK_MAX
 *
 * 0; -EAGAIN: nothing is recorded now; -ENOBUFS: the ring is full, counted as lost in it. Context: control, any thread.
 */
int event_ring_write(const struct event_ring *o, uint32_t cpu, uint64_t clock, uint64_t task, uint32_t event,
		     const uint64_t *w, uint32_t n);
/* The clock that a record of @clock is going to have: not below that of the one before it. */
uint64_t event_ring_clock(const struct event_ring *o, uint32_t cpu, uint64_t clock);

/* So many that should have been written there are not: counted as those that a ring has no room for. */
void event_ring_lost(const struct event_ring *o, uint32_t cpu, uint64_t n);

/*
 * What the spec asks of the session itself is begun, if it is not and something is recorded. Each round of
 * the session.
 */
void sources_start(struct uft_session *s);
/* Checks that this machine has the sources that the spec needs. Returns 0, or -errno with the reason in @err. */
int sources_check(struct uft_session *s, const struct spec *sp, struct uft_error *err);
/* A process became a target, is about to end or to run another image, goes on without us. */
void sources_add_target(struct uft_session *s, struct target *t);
/* behind sources_add_target(): it has just executed its program */
void sources_exec(struct uft_session *s, const struct target *t);
void sources_left(struct uft_session *s, pid_t pid);
/* Recording was switched: what has begun rests meanwhile. */
void sources_record(struct uft_session *s);
/* What another spec than @sp asked for ends, or takes over what @sp says of it. NULL: all of it ends. */
void sources_stop(struct uft_session *s, const struct spec *sp);

#endif
