/* SPDX-License-Identifier: MIT */
/*
 * fork_calls.h - the system calls by which an object's code may fork, where instructions are words (arm64, riscv64).
 * Context: any thread.
 */
#ifndef UFT_CONTROL_FORK_CALLS_H
#define UFT_CONTROL_FORK_CALLS_H

#include "symbol/object.h"
#include "uft/abi.h"

#define FORK_CALLS_MAX	16

/*
 * fork_calls_find - into @h, of FORK_CALLS_MAX, by link-time address: what has clone's or clone3's number from an
 * instruction shortly before, and the one of syscall(), which is given any. Returns how many. One that cannot be hooked
 * (control/plan/fork_calls.c) is not among them.
 */
unsigned fork_calls_find(struct uft_object *obj, struct uft_hook *h);

#endif
