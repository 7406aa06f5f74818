/* SPDX-License-Identifier: MIT */
/* internal.h - the session's loop and the requests of targets. Context: control, the session's thread. */
#ifndef UFT_CONTROL_SESSION_INTERNAL_H
#define UFT_CONTROL_SESSION_INTERNAL_H

#include "control/state/state.h"

struct uft_session;

/* ---- bell.c ----------------------------------------------------------------------------------- */

int bell_start(struct uft_session *s);	/* also makes what the session sleeps in */
void bell_stop(struct uft_session *s);

/* ---- requests.c ------------------------------------------------------------------------------- */

void request_serve(struct uft_session *s);
size_t request_slots(const struct uft_session *s);
/* the first live slice without a target, from @i on; nslices: none */
uint32_t request_next_stray(struct uft_session *s, uint32_t i);
void request_adopt_strays(struct uft_session *s);
/* Answers all posted requests of the family, even with an empty purse; announcements of children first. */
void request_serve_family(struct uft_session *s, uint32_t family);

/* ---- families.c ------------------------------------------------------------------------------- */

/* Drops families that no process has any more, and makes spare ones. */
void families_tend(struct uft_session *s);

/* ---- forget_spaces.c -------------------------------------------------------------------------- */

/* Frees the spaces of images that no process has any more. Only targets may hold pointers to spaces. */
void forget_spaces(struct uft_session *s);
/* Has an older space the object at @index of @of, as its program or as another object? */
int space_older_has(const struct space *of, uint32_t index);

/* ---- session.c ------------------------------------------------------------------------------- */

/*
 * Detaches one target on request. Returns 0; -ESRCH; -EBUSY: it is starting; -EAGAIN: something of uft remains in it.
 */
int session_detach(struct uft_session *s, pid_t pid);
/* One round of uft_session_poll(). */
void session_step(struct uft_session *s, int timeout_ms);

#endif
