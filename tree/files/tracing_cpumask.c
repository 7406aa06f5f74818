/* SPDX-License-Identifier: MIT */
/*
 * tracing_cpumask.c - tracing_cpumask: the cpus whose records the buffer takes
 *
 * Records of tasks whose cpu is unknown count for the cpu that the text shows (stream/live/live_internal.h).
 */
#include "tree/files/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Words of 32 bits from the highest, as many digits as the cpus need. */
int show_tracing_cpumask(const struct place *at, struct tree_text *out)
{
	uint32_t n = tree_ncpus(at->t) < UFT_LIVE_CPUS ? tree_ncpus(at->t) : UFT_LIVE_CPUS;

	for (uint32_t w = (n + 31) / 32; w--;) {
		uint32_t bits = n - w * 32 < 32 ? n - w * 32 : 32;
		uint32_t on = ~(uint32_t)(at->in->set.cpus_off[w / 2] >> (w % 2 * 32)) & (uint32_t)((1ull << bits) - 1);

		text_printf(out, w ? "%0*x," : "%0*x\n", (int)(bits + 3) / 4, on);
	}
	return 0;
}

static int is_separator(char c)
{
	return c == ',' || isspace((unsigned char)c);
}

/*
 * Reads the last word of [p, p + *n) as a number, and shortens *n to the bytes before it. Commas and blanks separate
 * words, any number of them. @has_room: there are CPUs for it. 0: read; 1: there is none; -EINVAL, -EOVERFLOW.
 */
static int last_word(const char *p, size_t *n, int has_room, uint32_t *out)
{
	char digits[9];
	size_t begin;

	while (*n && is_separator(p[*n - 1]))
		--*n;
	for (begin = *n; begin && !is_separator(p[begin - 1]); begin--)
		;
	if (*n == begin)
		return 1;
	if (!has_room)
		return -EOVERFLOW;
	for (size_t i = begin; i < *n; i++)
		if (!isxdigit((unsigned char)p[i]))
			return -EINVAL;
	if (*n - begin > 8)
		return -EOVERFLOW;
	memcpy(digits, p + begin, *n - begin);
	digits[*n - begin] = '\0';
	*out = (uint32_t)strtoul(digits, NULL, 16);
	*n = begin;
	return 0;
}

/* As the kernel's bitmap_parse(): a newline ends the text. */
ssize_t store_tracing_cpumask(struct uft_handle *h, const char *p, size_t n)
{
	uint32_t ncpus = tree_ncpus(h->t) < UFT_LIVE_CPUS ? tree_ncpus(h->t) : UFT_LIVE_CPUS, word;
	struct settings set = h->at.in->set;
	size_t len = 0;
	int ret = 0;

	memset(set.cpus_off, 0xff, sizeof(set.cpus_off));
	while (len < n && p[len] && p[len] != '\n')
		len++;
	for (uint32_t w = 0; !ret; w++) {
		ret = last_word(p, &len, w * 32 < ncpus, &word);
		if (!ret && ncpus - w * 32 < 32 && word >> (ncpus - w * 32))
			ret = -EOVERFLOW;
		if (!ret)
			set.cpus_off[w / 2] &= ~((uint64_t)word << (w % 2 * 32));
	}
	if (ret == -EOVERFLOW)
		h->wrong = "Has a bit for a cpu that the machine does not have";
	return store_settings(h, &set, ret < 0 ? ret : 0, n);
}
