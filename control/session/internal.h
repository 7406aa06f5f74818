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
/* from slice @i on: a live one without a target; nslices: none */
uint32_t request_next_stray(struct uft_session *s, uint32_t i);
void request_adopt_strays(struct uft_session *s);
/* Answers all that is posted in the family, whatever is left of its purse; births first. */
void request_serve_family(struct uft_session *s, uint32_t family);

/* ---- families.c ------------------------------------------------------------------------------- */

/* Drops families that no process has any more, and makes spare ones. */
void families_tend(struct uft_session *s);

/* ---- forget_spaces.c -------------------------------------------------------------------------- */

/* Frees what was planned for images that no process has any more. No pointer to a space may be held but in a target. */
void forget_spaces(struct uft_session *s);

/* ---- session.c ------------------------------------------------------------------------------- */

/* A target is left as it was found, on somebody's request. 0, -ESRCH, -EBUSY it starts, -EAGAIN something remains. */
int session_detach(struct uft_session *s, pid_t pid);
/* One round of uft_session_poll(). */
void session_step(struct uft_session *s, int timeout_ms);

#endif
