/* SPDX-License-Identifier: MIT */
/* int3.h - functions that are entered by an int3; theory in int3.c. Context: control, the session's thread. */
#ifndef UFT_CONTROL_TRAP_H
#define UFT_CONTROL_TRAP_H

#include "control/target/target.h"

/*
 * may_arm(): may int3s be written into the target now? Every task of it is ours. If not it is asked again by
 * int3_arm_waiting().
 */
extern const struct int3_ops trap_ops;
/* What waited for that, in targets whose tasks we have by now. */
void int3_arm_waiting(struct uft_session *s);
/*
 * @tid stands before the delivery of SIGTRAP. 1: it was one of ours, and the task is where it has to go on,
 * without a signal.
 */
int int3_serve(struct uft_session *s, pid_t tid);
/* The memory of @tid is as found where int3s were. */
void int3_take_out(struct uft_session *s, pid_t tid);
void int3_free(struct uft_session *s);

#endif
