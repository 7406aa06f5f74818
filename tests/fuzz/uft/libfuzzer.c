/* SPDX-License-Identifier: MIT */
/*
 * libfuzzer.c - mutations for libFuzzer: one block of a recording, whose checksums are made right again
 *
 * Of bytes that libFuzzer changes by itself nearly all are refused by a checksum. It begins with corpus.c's
 * recordings, without a folder of seeds.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/wire/uft_file.h"
#include "tests/fuzz/uft/corpus.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct input corpus[CORPUS];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	corpus_make(corpus);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	const struct input *from = &corpus[seed % CORPUS];
	struct uft_file_block *head;
	size_t n;

	if ((size < 200 || seed % 64 == 0) && from->n <= max) {
		memcpy(data, from->p, from->n);
		size = from->n;
	}
	if (seed % 16 == 1)
		return LLVMFuzzerMutate(data, size, max);
	head = corpus_block(&(struct input){ data, size }, seed / 64 % 60);
	if (!head)
		return LLVMFuzzerMutate(data, size, max);
	if (seed % 4 == 0) {		/* its head but the magic and the sums */
		LLVMFuzzerMutate((uint8_t *)head + 8, offsetof(struct uft_file_block, payload_sum) - 8,
				 offsetof(struct uft_file_block, payload_sum) - 8);
		if ((uint64_t)((uint8_t *)(head + 1) - data) + head->stored > size)
			head->stored = (uint32_t)(size - (size_t)((uint8_t *)(head + 1) - data));
	} else if (head->stored) {	/* what is in it, of the same length */
		n = LLVMFuzzerMutate((uint8_t *)(head + 1), head->stored, head->stored);
		if (n < head->stored)
			memset((uint8_t *)(head + 1) + n, 0, head->stored - n);
	}
	corpus_seal(head);
	return size;
}
