/* SPDX-License-Identifier: MIT */
/* int3.h - functions that are entered by an int3; theory in int3.c. Context: control, the session's thread. */
#ifndef UFT_CONTROL_TRAP_H
#define UFT_CONTROL_TRAP_H

#include "control/internal.h"

/* May int3s be written into the target now? Every task of it is ours. If not it is asked again by trap_arm_waiting(). */
int trap_may_arm(struct uft_session *s, struct target *t);
/* What waited for that, in targets whose tasks we have by now. */
void trap_arm_waiting(struct uft_session *s);
/* Before an int3 can be written at @site, whose function has its code at @code and begins with @orig. 0 or -errno. */
int trap_note(struct uft_session *s, uint64_t site, uint64_t code, uint8_t orig);
/* @tid stands before the delivery of SIGTRAP. 1: it was one of ours, and the task is where it has to go on, without a signal. */
int trap_serve(struct uft_session *s, pid_t tid);
/* The memory of @tid is as found where int3s were. */
void trap_take_out(struct uft_session *s, pid_t tid);
void trap_free(struct uft_session *s);

#endif
