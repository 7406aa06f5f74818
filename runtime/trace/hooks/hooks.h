/* SPDX-License-Identifier: MIT */
/* hooks.h - system calls of the program that matter */
#ifndef UFT_TRACE_HOOKS_H
#define UFT_TRACE_HOOKS_H

#include "runtime/trace/tracers/tracers.h"

/* ---- fork_child.c ---- */
/* this process has its slice: what its children will know of it. Context: init */
void adopt_note_self(void);

/* ---- exec_preload.c ---- */
/* Makes the environment *@envp of an exec bring the runtime along, or leaves it as it is. */
void exec_preload(uint64_t *envp);
void exec_preload_failed(uint64_t *regs);	/* the exec failed: the environment's register gets back what it held */

/* ---- mlock.c ---- */
uint32_t trace_hook_mlockall(uint64_t *regs);	/* before the system call; returns the one to be made instead */

/* ---- seccomp.c ---- */
/* Before prctl(), seccomp(): does what has to be done while it may be done. @sp: of the code that calls. */
void trace_hook_sandbox(uint32_t nr, const uint64_t *regs, uint64_t sp);

#endif
