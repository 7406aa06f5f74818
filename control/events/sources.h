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

struct event_ring {				/* one slice of the session */
	struct event_ring *next;
	struct uft_session *s;
	const struct uft_image *img;
	uint32_t slice;
	pid_t pid;
};

struct sources {			/* of a session */
	struct event_ring *first;		/* slices of the session */
	struct event_ring *made[UFT_NEMITTERS];	/* for events that are emitted; NULL: none yet */
	struct uft_image *img;		/* for slices without a target; NULL: none yet */
	struct spin *spin[2];		/* by row of sources.c */
	struct observe *observe;
	int is_unobserved;		/* it could not begin, and has warned */
};
int sources_create(struct uft_session *s);	/* 0, -ENOMEM */
void sources_free(struct uft_session *s);	/* after sources_stop(); without effect if the session has none */

/*
 * Opens a slice of the session, announced as any: of target @pid with @img, or without a target if @img is NULL. NULL:
 * none is free, or no memory.
 */
struct event_ring *event_ring_open(struct uft_session *s, pid_t pid, pid_t ppid, const struct uft_image *img);
/* Ends the writing. */
void event_ring_close(struct event_ring *o);
/* Sets the flags of the session's rings. */
void sources_set_flags(struct uft_session *s);

/**
 * event_ring_write - one record of an event
 * @o:     the slice
 * @cpu: the CPU of the event; each CPU has one writer at a time
 * @clock: the time; not before the CPU's last
 * @task: of the event, pid | tid << 32
 * @event: enum uft_event_id, UFT_EVENT_IS_OWN()
 * @w:     its @n fields, 1..1 + UFT_STACK_MAX
 *
 * 0; -EAGAIN: nothing is recorded now; -ENOBUFS: the ring is full, counted as lost in it. Context: control, any thread.
 */
int event_ring_write(const struct event_ring *o, uint32_t cpu, uint64_t clock, uint64_t task, uint32_t event,
		     const uint64_t *w, uint32_t n);
/* The clock that a record of @clock will have: not below that of the record before. */
uint64_t event_ring_clock(const struct event_ring *o, uint32_t cpu, uint64_t clock);

/* Counts @n records that should have been written as lost, as if the ring had no room for them. */
void event_ring_lost(const struct event_ring *o, uint32_t cpu, uint64_t n);

/*
 * Begins the sources that the spec needs, if they have not begun and recording is on. Called each round of the session.
 */
void sources_start(struct uft_session *s);
/* Checks that this machine has the sources that the spec needs. Returns 0, or -errno with the reason in @err. */
int sources_check(struct uft_session *s, const struct spec *sp, struct uft_error *err);
/*
 * These tell of a process that became a target, that is about to end or to execute another program, and that was
 * detached.
 */
void sources_add_target(struct uft_session *s, struct target *t);
/* behind sources_add_target(): it has just executed its program */
void sources_exec(struct uft_session *s, const struct target *t);
void sources_left(struct uft_session *s, pid_t pid);
/* Recording was switched on or off: running sources rest while it is off. */
void sources_record(struct uft_session *s);
/*
 * Ends the sources that no other spec than @sp needs, or lets them take over the settings of @sp. NULL: ends all of
 * them.
 */
void sources_stop(struct uft_session *s, const struct spec *sp);

#endif
