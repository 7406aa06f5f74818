/* SPDX-License-Identifier: MIT */
/*
 * words.h - the program around an architecture's encode test: FILE, the assembler's words, raw, against build(), case by case
 *
 * Included once, after ARCH (its name) and NCASES, by the file that defines build() and check_rules().
 */
#include <stdint.h>
#include <stdio.h>

static int failures;

static uint32_t build(unsigned i);	/* word @i, which stands at address 4 * i; 0: there are no more */
static void check_rules(void);

static void check(const char *what, int ok)
{
	if (!ok) {
		fprintf(stderr, "encode: " ARCH ": %s\n", what);
		failures++;
	}
}

static void check_words(FILE *f)
{
	uint8_t b[4];
	unsigned i;

	for (i = 0; fread(b, 1, 4, f) == 4; i++) {
		uint32_t want = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24, got = build(i);

		if (want != got) {
			fprintf(stderr, "encode: " ARCH ": case %u: %08x, the assembler says %08x\n", i, got, want);
			failures++;
		}
	}
	check("as many cases as the assembler has", i == NCASES && !build(i));
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
