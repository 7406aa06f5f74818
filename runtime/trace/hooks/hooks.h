/* SPDX-License-Identifier: MIT */
/* hooks.h - hooked system calls of the program */
#ifndef UFT_TRACE_HOOKS_H
#define UFT_TRACE_HOOKS_H

#include "runtime/trace/tracers/tracers.h"

/* ---- fork_child.c ---- */
/* this process has its slice: notes what its children must know of it. Context: init */
void adopt_note_self(void);

/* ---- exec_preload.c ---- */
/* Makes the environment *@envp of an exec bring the runtime along, or leaves it unchanged. */
void exec_preload(uint64_t *envp);
/* the exec failed: the environment's register gets its old value back */
void exec_preload_failed(uint64_t *regs);

/* ---- mlock.c ---- */
uint32_t trace_hook_mlockall(uint64_t *regs);	/* before the system call; returns the call to make instead */

/* ---- seccomp.c ---- */
/* Before prctl(), seccomp(): prepares for the restriction while calls are still allowed. @sp: of the calling code. */
void trace_hook_sandbox(uint32_t nr, const uint64_t *regs, uint64_t sp);

#endif
