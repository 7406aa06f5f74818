/* SPDX-License-Identifier: MIT */
/* int3.h - functions that are entered by an int3; theory in int3.c. Context: control, the session's thread. */
#ifndef UFT_CONTROL_INT3_H
#define UFT_CONTROL_INT3_H

#include "control/target/target.h"

/*
 * may_arm(): may int3s be written into the target now? Every task of it is ours. If not it is asked again by
 * int3_arm_waiting().
 */
extern const struct int3_ops trap_ops;
/* Arms the functions that had to wait, in targets whose tasks are all our tracees by now. */
void int3_arm_waiting(struct uft_session *s);
/*
 * @tid stands before the delivery of SIGTRAP. 1: it was one of ours, and the task is where it has to go on,
 * without a signal.
 */
int int3_serve(struct uft_session *s, pid_t tid);
/* Removes all int3s from the memory of @tid. */
void int3_take_out(struct uft_session *s, pid_t tid);
/* Marks the int3s of a target that ends; another process may still have them. */
void int3_target_ends(struct uft_session *s, struct target *t);
/* Forgets int3s that no process has any more, once there may be many. In each round: no command is under way then. */
void int3_tend(struct uft_session *s);
/* Forgets those that may be gone and that none of the @n processes has. */
void int3_drop(struct uft_session *s, const pid_t *pid, size_t n);
size_t int3_count(const struct uft_session *s);
void int3_free(struct uft_session *s);

#endif
