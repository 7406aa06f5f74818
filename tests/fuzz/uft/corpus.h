/* SPDX-License-Identifier: MIT */
/* corpus.h - recordings to mutate, for driver.c and for libFuzzer (target.c), which read no other files */
#ifndef UFT_TESTS_FUZZ_CORPUS_H
#define UFT_TESTS_FUZZ_CORPUS_H

#include <stddef.h>
#include <stdint.h>

struct uft_file_block;

struct input { uint8_t *p; size_t n; };

#define CORPUS	5

/* Two of calls, three with a bit of everything else; all but the last without compression. */
void corpus_make(struct input corpus[CORPUS]);
/* The block behind @skip others, or the last one; NULL: there is no whole one. */
struct uft_file_block *corpus_block(const struct input *in, uint64_t skip);
/* Makes the checksums of a block right. */
void corpus_seal(struct uft_file_block *head);

#endif
