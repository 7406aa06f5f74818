/* SPDX-License-Identifier: MIT */
/*
 * observe.h - the tracers sysprof and sched_switch: what the kernel tells of the targets' threads, as records
 * of our own
 *
 * Theory: observe.c. Context: control, the session's thread.
 */
#ifndef UFT_CONTROL_OBSERVE_H
#define UFT_CONTROL_OBSERVE_H

#include "control/target/target.h"

struct observe;

/* May the tracer be used here? 0, or -errno and the sentence with the remedy. */
int observe_check(const struct spec *sp, struct uft_error *err);
/* enum uft_tasks: events that have stacks under this spec, if observe_check_stacks() has nothing against it. */
uint32_t observe_stacks_of(const struct spec *sp);
int observe_check_stacks(struct uft_error *err);
struct observe *observe_begin(struct uft_session *s);		/* NULL: warned of */
/* Other settings: it goes on with them. */
void observe_set(struct observe *o, const struct spec *sp);
void observe_run(struct observe *o, int on);
/* A process became a target: adds events to its threads, unless these have inherited them. */
void observe_target(struct observe *o, const struct target *t);
/* It has just executed its program, and stands: after observe_target(). */
void observe_exec(struct observe *o, const struct target *t);
/* It goes on without us. */
void observe_left(struct observe *o, pid_t pid);
/*
 * Takes what has come, before anything changes that it is understood by. Returns a clock before which no more
 * will be written.
 */
uint64_t observe_take(struct observe *o);
void observe_end(struct observe *o);

#endif
