/* SPDX-License-Identifier: MIT */
/* spoil.h - slice 0 of a made arena, overwritten as a hostile target would, while or before the recorder reads it */
#ifndef UFT_TESTS_FUZZ_SPOIL_H
#define UFT_TESTS_FUZZ_SPOIL_H

#include "tests/lib/synth.h"

uint64_t spoil_random(uint64_t *state, uint64_t below);
/* One word: of the slice's head, a ring's control page or data, or the profile. */
void spoil_one(struct synth *synth, uint64_t *state);
/* A thread that does so all the time, from @seed on. */
void spoil_begin(struct synth *synth, uint64_t seed);
void spoil_end(void);

#endif
