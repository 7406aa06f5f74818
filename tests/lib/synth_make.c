/* SPDX-License-Identifier: MIT */
/*
 * synth_make.c - a recording of random calls, for tests and bench/ that need a large one
 *
 * usage: synth_make FILE CALLS [SEED [THREADS [DEPTH [PREFIX]]]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/synth.h"
#include "uft/abi.h"

int main(int argc, char **argv)
{
	struct synth_load load = { .tracer = UFT_TRACER_GRAPH, .seed = 1 };
	struct synth_expect expect;

	if (argc < 3 || argc > 7)
		return fprintf(stderr, "usage: synth_make FILE CALLS [SEED [THREADS [DEPTH [PREFIX]]]]\n"), 2;
	load.ncalls = strtoull(argv[2], NULL, 0);
	load.seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	load.nthreads = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 0) : 0;
	load.max_depth = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 0) : 0;
	load.prefix = argc > 6 ? argv[6] : NULL;
	if (synth_file(argv[1], &load, &expect))
		return fprintf(stderr, "synth_make: %s: cannot be made\n", argv[1]), 1;
	free(expect.func_calls);
	return 0;
}
