/* SPDX-License-Identifier: MIT */
/*
 * near.c - the nearest names, for "did you mean"
 *
 * Nearness is the edit distance (a swap of neighbours counts once, case counts half), less the length of the common
 * beginning; a name that contains the text is near, too. The distance is cut off at the worst of the list so far, so a
 * hundred thousand names take some ten milliseconds.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/names.h"

#define NEAR_MAX_TEXT	64	/* longer texts are compared by their first bytes */
#define NEAR_FAR	10000

static int near_differ(char a, char b)
{
	if (a == b)
		return 0;
	return tolower((unsigned char)a) == tolower((unsigned char)b) ? 1 : 2;
}

/* Edit distance in halves, NEAR_FAR when it passes @worst. */
static int near_distance(const char *a, size_t n, const char *b, size_t m, int worst)
{
	int rows[3][NEAR_MAX_TEXT + 1], *before = rows[0], *last = rows[1], *now = rows[2], *swap;
	size_t i, k;

	if (abs((int)n - (int)m) * 2 > worst)
		return NEAR_FAR;
	for (k = 0; k <= m; k++)
		last[k] = 2 * (int)k;
	for (i = 1; i <= n; i++) {
		int best = now[0] = 2 * (int)i;

		for (k = 1; k <= m; k++) {
			int d = last[k - 1] + near_differ(a[i - 1], b[k - 1]);

			d = last[k] + 2 < d ? last[k] + 2 : d;
			d = now[k - 1] + 2 < d ? now[k - 1] + 2 : d;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] && before[k - 2] + 2 < d)
				d = before[k - 2] + 2;
			now[k] = d;
			best = d < best ? d : best;
		}
		if (best > worst)
			return NEAR_FAR;
		swap = before;
		before = last;
		last = now;
		now = swap;
	}
	return last[m];
}

/* Lower is nearer; NEAR_FAR: not near at all. */
static int near_score(const char *text, size_t n, const char *name, int worst)
{
	size_t m = strnlen(name, NEAR_MAX_TEXT), prefix = 0;
	int limit = 2 * (int)(n / 3 + 1), score;

	while (prefix < n && prefix < m && text[prefix] == name[prefix])
		prefix++;
	score = near_distance(text, n, name, m, limit);
	if (score == NEAR_FAR && n >= 3 && strstr(name, text))
		score = limit + 1;
	else if (score == NEAR_FAR && prefix >= 4 && prefix * 3 >= 2 * n)
		score = limit + 2;
	score = score == NEAR_FAR ? NEAR_FAR : 16 * score - (int)(prefix < 15 ? prefix : 15);
	return score < worst ? score : NEAR_FAR;
}

size_t uft_near(const char *text, const char *const *names, size_t n, const char **out, size_t max)
{
	char plain[NEAR_MAX_TEXT + 1];
	int score[16], s;
	size_t i, k, len = 0, found = 0;

	if (max > sizeof(score) / sizeof(score[0]))
		max = sizeof(score) / sizeof(score[0]);
	/* Compare the typed text without its glob characters. */
	for (i = 0; text[i] && len < NEAR_MAX_TEXT; i++)
		if (!strchr("*?[]\\", text[i]))
			plain[len++] = text[i];
	plain[len] = 0;
	for (i = 0; i < n && len && max; i++) {
		s = near_score(plain, len, names[i], found < max ? NEAR_FAR : score[max - 1]);
		if (s == NEAR_FAR)
			continue;
		for (k = 0; k < found && strcmp(out[k], names[i]); k++)
			;
		if (k < found)
			continue;
		for (k = found < max ? found++ : max - 1; k && score[k - 1] > s; k--) {
			score[k] = score[k - 1];
			out[k] = out[k - 1];
		}
		score[k] = s;
		out[k] = names[i];
	}
	return found;
}
