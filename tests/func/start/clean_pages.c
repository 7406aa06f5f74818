/* SPDX-License-Identifier: MIT */
/*
 * clean_pages.c - which pages of its own code are no longer the file's
 *
 *	pages [N...]	prints `private_dirty_kb K` (smaps, executable mappings of this program; Anonymous, because Private_Dirty
 *			counts what the linker wrote and the disk has not got yet), `text_pages N`,
 *			`dirty I...`: pages copied, by pagemap; and `site I...`: the pages of functions f<N>
 *
 * 4,096 functions of 64 bytes, 64 on a page, each called once, so that every page is mapped and a wrong one would show.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/functions.h"

#define QUIET __attribute__((patchable_function_entry(0), no_instrument_function))
#define F(n) __attribute__((noinline, aligned(64))) static int f##n(int x) { \
	__asm__ volatile("" : "+r"(x)); return x + 1; }
F512(1) F512(2) F512(3) F512(4) F512(5) F512(6) F512(7) F512(8)

static int (*const all[])(int) = { T512(1) T512(2) T512(3) T512(4) T512(5) T512(6) T512(7) T512(8) };
#define NALL (sizeof(all) / sizeof(all[0]))

/* The function of name f<digits>: its number is octal behind the first digit. */
QUIET static size_t index_of(const char *digits)
{
	return (size_t)(digits[0] - '1') * 512 + strtoul(digits + 1, NULL, 8);
}

QUIET static unsigned long read_smaps(uintptr_t *lo, uintptr_t *hi)
{
	unsigned long dirty = 0, kb, from, to;
	int is_ours = 0;
	char line[512], perms[8];
	uintptr_t code = (uintptr_t)all[0], next = 0;
	FILE *f = fopen("/proc/self/smaps", "r");

	*lo = *hi = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) == 3) {
			is_ours = perms[2] == 'x' && strstr(line, "/pages") != NULL;
			if (is_ours && (!*lo || from == next)) {	/* windows may have split it */
				*lo = *lo ? *lo : from;
				*hi = next = to;
			}
		} else if (is_ours && sscanf(line, "Anonymous: %lu", &kb) == 1) {
			dirty += kb;
		}
	}
	if (f)
		fclose(f);
	if (code < *lo || code >= *hi)
		exit(3);
	return dirty;
}

QUIET int main(int argc, char **argv)
{
	long page = sysconf(_SC_PAGESIZE);
	uintptr_t lo, hi;
	uint64_t entry;
	size_t i;
	int sum = 0, fd;

	for (i = 0; i < NALL; i++)
		sum = all[i](sum);
	if (sum != (int)NALL)
		return 2;
	printf("private_dirty_kb %lu\n", read_smaps(&lo, &hi));
	printf("text_pages %lu\ndirty", (unsigned long)(hi - lo) / (unsigned long)page);
	fd = open("/proc/self/pagemap", O_RDONLY);
	for (i = 0; lo + i * (size_t)page < hi; i++) {
		if (pread(fd, &entry, 8, (off_t)((lo / (size_t)page + i) * 8)) != 8)
			return 4;
		if (entry >> 63 && !(entry >> 61 & 1))		/* present, and not the file's */
			printf(" %zu", i);
	}
	printf("\nsite");
	for (i = 1; i < (size_t)argc; i++)
		printf(" %lu", ((unsigned long)(uintptr_t)all[index_of(argv[i])] - lo) / (unsigned long)page);
	printf("\n");
	return 0;
}
