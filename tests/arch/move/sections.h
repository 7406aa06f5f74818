/* SPDX-License-Identifier: MIT */
/*
 * sections.h - what the move tests share: sections of the assembler's cases as cross.sh leaves them. Included
 * once, by each.
 */
#include <stdint.h>
#include <stdio.h>

#define FROM		0x10000000ull	/* as cross.sh links them */
#define NEAR		0x10010000ull

struct section { uint32_t word[4096]; size_t n; };
static int failures;

static void fail(const char *what, size_t i, unsigned at, uint32_t got, uint32_t want)
{
	fprintf(stderr, "move: %s, case %zu, %u: %08x, not %08x\n", what, i, at, got, want);
	failures++;
}

static void load(const char *dir, const char *name, struct section *s)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	s->n = f ? fread(s->word, 4, sizeof(s->word) / 4, f) : 0;
	if (f)
		fclose(f);
	if (!s->n) {
		fprintf(stderr, "move: %s: nothing there\n", path);
		failures++;
	}
}
