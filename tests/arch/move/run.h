/* SPDX-License-Identifier: MIT */
/*
 * run.h - what was moved does what the original does: each function of run_cases[] with its first instructions elsewhere
 *
 * Included once, by the file that defines AWAY, and move(), which gives the bytes of the copy, or a negative errno.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

extern const uint64_t run_cases[];
uint64_t run_case(uint64_t function, uint64_t x);

static int move(uint64_t from, uint64_t to, uint8_t *out);

int main(void)
{
	static const uint64_t values[] = { 0, 1, 2, 3, 4, 1ull << 63, ~0ull };
	uint64_t near = ((uint64_t)&run_case & ~0xfffull) + AWAY;
	uint8_t *code = mmap((void *)near, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0),
		out[64];
	int failures = 0, runs = 0;

	if (code == MAP_FAILED || (uint64_t)code - near > AWAY / 4) {
		puts("no memory where it is needed");
		return 1;
	}
	for (unsigned i = 0; run_cases[i]; i++) {
		int n = move(run_cases[i], (uint64_t)code, out);

		if (n < 0) {
			printf("case %u: %d\n", i, n);
			failures++;
			continue;
		}
		memcpy(code, out, (size_t)n);
		__builtin___clear_cache((char *)code, (char *)code + n);
		for (unsigned k = 0; k < sizeof(values) / sizeof(values[0]); k++, runs++) {
			uint64_t want = run_case(run_cases[i], values[k]), got = run_case((uint64_t)code, values[k]);

			if (want != got) {
				printf("case %u of %#llx: %#llx, moved %#llx\n", i, (unsigned long long)values[k],
				       (unsigned long long)want, (unsigned long long)got);
				failures++;
			}
		}
	}
	printf("%d runs\n", runs);
	return failures || runs < 100;
}
