/* SPDX-License-Identifier: MIT */
/* plan.h - decide which instructions can be moved to make room for a jump. Context: control; pure functions. */
#ifndef UFT_CONTROL_RELOCATE_PLAN_H
#define UFT_CONTROL_RELOCATE_PLAN_H

#include <stddef.h>
#include <stdint.h>

/**
 * plan_prologue - bytes at the start of a function that can be moved as they are
 * @code: the function's bytes
 * @size: how many are there
 * @need: at least so many must be moved
 *
 * Returns the length, >= @need, of whole instructions that do not depend on where they stand and into which no
 * relative branch of the function jumps; -EINVAL if it does not decode, -ENOTSUP if it cannot be moved.
 */
int plan_prologue(const uint8_t *code, size_t size, size_t need);

/**
 * plan_words - the same where instructions are words, or two half ones
 * @machine: EM_AARCH64 or EM_RISCV
 * @skip: set to what must stay before them: a landing pad. @size: the function's, as far as it was read
 *
 * So many bytes as a hook there needs (arch_hook_jump() of the runtime), which do not touch what it spends.
 */
int plan_words(uint16_t machine, const uint8_t *code, size_t size, size_t *skip);

/* 1: decoding from the start of @code, an instruction begins at @offset. */
int plan_is_boundary(const uint8_t *code, size_t size, size_t offset);

/*
 * 1: the code reads a status flag before it writes one. Only code without a branch is followed, and not far:
 * compilers never do this, and assembly does it at once.
 */
int plan_takes_flags(const uint8_t *code, size_t size);

#endif
