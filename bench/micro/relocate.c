/* SPDX-License-Identifier: MIT */
/*
 * relocate.c - the cost of planning to rewrite unprepared code
 *
 *	relocate [FILE...]	medians of 9; the file is in the page cache
 *
 * Columns: functions; opening and listing them; the one look at all code and data; planning, per function; making the
 * code of one; and all of it together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/median.h"
#include "control/relocate/entry.h"

#define ROUNDS	9

static int measure(const char *path)
{
	double list[ROUNDS], scan[ROUNDS], plan[ROUNDS], code[ROUNDS], all[ROUNDS];
	size_t n = 0, ncode = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct uft_code out = { 0 };
		struct uft_error err = { "" };
		struct uft_object *obj;
		struct entries e;
		uint8_t *none;
		double t0 = thread_ns(), t1, t2, t3, t4;

		if (uft_object_open(path, &obj, &err) || entries_list(obj, &e)) {
			fprintf(stderr, "%s: %s\n", path, err.text);
			return 1;
		}
		t1 = thread_ns();
		none = calloc(e.n + 1, 1);
		if (!none || entries_plan(obj, &e, none))
			return 1;
		t2 = thread_ns();
		if (entries_plan(obj, &e, NULL))
			return 1;
		t3 = thread_ns();
		for (size_t k = ncode = 0; k < e.n; k++)
			if (!e.entry[k].skip) {
				entry_code(obj, &e.entry[k], 0, e.entry[k].func + (1 << 24), &out);
				ncode++;
			}
		t4 = thread_ns();
		n = e.n;
		list[i] = t1 - t0;
		scan[i] = t2 - t1;
		plan[i] = n ? (t3 - t2) / (double)n : 0;
		code[i] = ncode ? (t4 - t3) / (double)ncode : 0;
		all[i] = t4 - t0;
		free(none);
		entries_free(&e);
		uft_object_put(obj);
	}
	printf("%-44s %7zu  list %6.2f ms  scan %6.2f ms  plan %4.0f ns  code %4.0f ns  all %6.2f ms\n", path, n,
	       median(list, ROUNDS) / 1e6, median(scan, ROUNDS) / 1e6, median(plan, ROUNDS), median(code, ROUNDS),
	       median(all, ROUNDS) / 1e6);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const usual[] = { "/bin/bash", "/usr/bin/python3", "/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3" };
	int status = 0;

	for (int i = 1; i < argc; i++)
		status |= measure(argv[i]);
	for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(usual[0]); i++)
		if (!access(usual[i], R_OK))
			status |= measure(usual[i]);
	return status;
}
