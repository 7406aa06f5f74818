/* SPDX-License-Identifier: MIT */
/* run_arm64.c - what arm64_move() makes does what the original does: each function of run_arm64.S with its first instruction elsewhere */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "control/relocate/arm64_move.h"

extern const uint64_t run_cases[];
uint64_t run_case(uint64_t function, uint64_t x);

#define AWAY	(64ull << 20)

int main(void)
{
	static const uint64_t values[] = { 0, 1, 2, 3, 4, 1ull << 63, ~0ull };
	uint64_t near = ((uint64_t)&run_case & ~0xfffull) + AWAY;
	uint32_t *code = mmap((void *)near, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int failures = 0, runs = 0;

	if (code == MAP_FAILED || (uint64_t)code - near > AWAY / 2) {
		puts("no memory where it is needed");
		return 1;
	}
	for (unsigned i = 0; run_cases[i]; i++) {
		struct arm64_move m = { .from = run_cases[i], .to = (uint64_t)code, .word = *(const uint32_t *)run_cases[i] };
		int ret = arm64_move(&m);

		memcpy(code, m.out, 4 * m.nout);
		__builtin___clear_cache((char *)code, (char *)(code + m.nout));
		for (unsigned k = 0; !ret && k < sizeof(values) / sizeof(values[0]); k++, runs++) {
			uint64_t want = run_case(run_cases[i], values[k]), got = run_case((uint64_t)code, values[k]);

			if (want != got) {
				printf("case %u (%08x) of %#llx: %#llx, moved %#llx\n", i, m.word, (unsigned long long)values[k],
				       (unsigned long long)want, (unsigned long long)got);
				failures++;
			}
		}
		if (ret) {
			printf("case %u (%08x): %d\n", i, m.word, ret);
			failures++;
		}
	}
	printf("%d runs\n", runs);
	return failures || runs < 100;
}
