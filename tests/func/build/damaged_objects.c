/* SPDX-License-Identifier: MIT */
/*
 * damaged_objects.c - recordmcount on damaged objects: hostile FILE.o...
 *
 * Cut off at every boundary, and with bytes changed at random (the same ones in every run). Whatever comes in:
 * no error of memory (built with sanitizers), an error has a text and no output, and an output is an object
 * that is accepted again and needs nothing more.
 */
#include <errno.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/recordmcount/recordmcount.h"

#define ROUNDS 20000

static unsigned long failures, refused, accepted, changed;

static uint64_t next_random(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void fail(const char *file, const char *what)
{
	fprintf(stderr, "FAIL: %s: %s\n", file, what);
	failures++;
}

static int run(const char *file, const uint8_t *in, size_t len, int nop)
{
	const struct uft_recordmcount_options opt = { .nop = nop };
	struct uft_recordmcount_result r;
	struct uft_error err = { "" };
	size_t out_len, again_len;
	void *out, *again;
	/* Its own block of exactly this size, so that the sanitizer sees every byte too far. */
	uint8_t *copy = malloc(len ? len : 1);
	int ret;

	memcpy(copy, in, len);
	ret = uft_recordmcount_image(file, copy, len, &opt, &r, &out, &out_len, &err);
	if (memcmp(copy, in, len))
		fail(file, "the input was changed");
	free(copy);
	if (ret) {
		refused++;
		if (out || !err.text[0])
			fail(file, out ? "an error, and an output" : "an error without a text");
		return ret;
	}
	accepted++;
	if (!out)
		return 0;
	changed++;
	if (uft_recordmcount_image(file, out, out_len, &opt, &r, &again, &again_len, &err))
		fail(file, err.text);
	else if (again)
		fail(file, "a second run changes something again");
	free(again);
	free(out);
	return 0;
}

/* Every prefix that ends at a section's start or end, one less and one more, and in the headers. */
static void cut(const char *file, const uint8_t *in, size_t len)
{
	Elf64_Ehdr eh;
	Elf64_Shdr sh;

	memcpy(&eh, in, sizeof(eh));
	for (size_t n = 0; n < 80 && n < len; n++)
		if (!run(file, in, n, 0))
			fail(file, "accepted although it ends in the header");
	for (unsigned i = 0; i < eh.e_shnum; i++) {
		memcpy(&sh, in + eh.e_shoff + i * sizeof(sh), sizeof(sh));
		for (int d = -1; d <= 1; d++) {
			size_t ends[] = { sh.sh_offset + d, sh.sh_offset + sh.sh_size + d, eh.e_shoff + i * sizeof(sh) +
				d };

			for (unsigned k = 0; k < 3; k++)
				if (ends[k] < len && !run(file, in, ends[k], 1))
					fail(file, "accepted although its end is missing");
		}
	}
}

static void flip(const char *file, const uint8_t *in, size_t len)
{
	uint8_t *bad = malloc(len);
	Elf64_Ehdr eh;

	memcpy(&eh, in, sizeof(eh));
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned n = 1 + next_random() % 4;

		memcpy(bad, in, len);
		while (n--) {
			size_t at = next_random() % len;

			/* Half of them in the header tables, where they hurt. */
			if (next_random() & 1)
				at = eh.e_shoff + next_random() % (eh.e_shnum * sizeof(Elf64_Shdr));
			bad[at] = next_random() & 1 ? bad[at] ^ 1u << (next_random() & 7) : next_random();
		}
		run(file, bad, len, round & 1);
	}
	free(bad);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		uint8_t *in = malloc(1 << 20);
		size_t len = f && in ? fread(in, 1, 1 << 20, f) : 0;

		if (len < sizeof(Elf64_Ehdr)) {
			fprintf(stderr, "hostile: cannot read %s\n", argv[i]);
			return 1;
		}
		fclose(f);
		if (run(argv[i], in, len, 0) || run(argv[i], in, len, 1))
			fail(argv[i], "the sound object is refused");
		cut(argv[i], in, len);
		flip(argv[i], in, len);
		free(in);
	}
	printf("%lu refused, %lu accepted (%lu changed), %lu failures\n", refused, accepted, changed, failures);
	return failures || !refused || !changed;
}
