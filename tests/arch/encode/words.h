/* SPDX-License-Identifier: MIT */
/*
 * words.h - the program around an architecture's encode test: FILE, the assembler's words, raw, against build(), case by case
 *
 * Included once, after ARCH (its name), NCASES and NREADS, by the file that defines the four below. Behind the cases come words
 * that are read only.
 */
#include <stdint.h>
#include <stdio.h>

static int failures;

static uint32_t build(unsigned i);	/* word @i, which stands at address 4 * i; 0: there are no more */
static void check_rules(void);
#define NO_TARGET	INT64_MAX
static const int64_t reads[NREADS];	/* where each of the words behind the cases leads, from its own address */
static int read_target(uint32_t word, uint64_t pc, uint64_t *target);

static void check(const char *what, int ok)
{
	if (!ok) {
		fprintf(stderr, "encode: " ARCH ": %s\n", what);
		failures++;
	}
}

static void check_read(unsigned i, uint32_t word)
{
	const uint64_t pc = 0x40000000000;
	uint64_t target;
	int64_t got = read_target(word, pc, &target) ? (int64_t)(target - pc) : NO_TARGET;

	if (i < NREADS && got != reads[i]) {
		fprintf(stderr, "encode: " ARCH ": read %u: %08x leads to %lld, not %lld\n", i, word, (long long)got,
			(long long)reads[i]);
		failures++;
	}
}

static void check_words(FILE *f)
{
	uint8_t b[4];
	unsigned i;

	for (i = 0; fread(b, 1, 4, f) == 4; i++) {
		uint32_t want = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24,
			 got = i < NCASES ? build(i) : want;

		if (i >= NCASES)
			check_read(i - NCASES, want);
		if (want != got) {
			fprintf(stderr, "encode: " ARCH ": case %u: %08x, the assembler says %08x\n", i, got, want);
			failures++;
		}
	}
	check("as many cases as the assembler has", i == NCASES + NREADS && !build(NCASES));
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;

	if (!f)
		return 2;
	check_words(f);
	check_rules();
	fclose(f);
	return failures != 0;
}
