/* SPDX-License-Identifier: MIT */
/*
 * observe.h - the tracers sysprof, sched_switch and mmiotrace: the kernel's events of the targets' threads, as records
 * of the session
 *
 * Theory: observe.c. Context: control, the session's thread.
 */
#ifndef UFT_CONTROL_OBSERVE_H
#define UFT_CONTROL_OBSERVE_H

#include "control/target/target.h"

struct observe;

/* Can the tracer be used here? 0, or -errno and a message with the remedy. */
int observe_check(const struct spec *sp, struct uft_error *err);
/* enum uft_tasks: events that have stacks under this spec, if observe_check_stacks() permits. */
uint32_t observe_stacks_of(const struct spec *sp);
int observe_check_stacks(struct uft_error *err);
struct observe *observe_begin(struct uft_session *s);		/* NULL: it has warned */
/* Changes the settings of running events. */
void observe_set(struct observe *o, const struct spec *sp);
void observe_run(struct observe *o, int on);
/* A process became a target: adds events to its threads, unless these have inherited them. */
void observe_target(struct observe *o, const struct target *t);
/* The target has just executed its program, and is stopped: after observe_target(). */
void observe_exec(struct observe *o, const struct target *t);
/* The target was detached. */
void observe_left(struct observe *o, pid_t pid);
/*
 * Takes waiting records, before anything changes by which they are resolved. Returns a clock before which no more
 * records will be written.
 */
uint64_t observe_take(struct observe *o);
void observe_end(struct observe *o);

#endif
