/* SPDX-License-Identifier: MIT */
/*
 * target.c - linked names (C++, Rust): whatever they are, demangling ends soon, and shows text of bounded length
 *
 * An input is a list of names, one a line. A line that begins with ! or " is a list of tokens of C++ or Rust instead,
 * a byte each: parts of mangled names, of which many in a row are accepted. libiberty itself has no sanitizer, but its
 * memory comes from malloc(), and a crash or a name that takes seconds ends the run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbol/names.h"

#define NAME_MAX_BYTES	8192u
#define SECONDS_MAX	20.0		/* of CPU time, with sanitizers on a loaded machine */
#define SHOWN_MAX	(1u << 20)

static const char *const cxx[] = {
	"N", "E", "I", "S_", "S0_", "S1_", "T_", "T0_", "T1_", "J", "Dp", "1a", "1b", "3abc", "L_Z1fvE", "X", "sZ",
	"cv",
	"cl", "i", "d", "v", "c", "P", "R", "K", "O", "M", "F", "A1_", "A_", "St", "Sa", "Ss", "C1", "D0", "C2", "Ul",
	"Ut_", "_",
	"E_", "Z", "Li1E", "Lb0E", "DT", "Dt", "dt", "pt", "fp_", "fp0_", "fL0p_", "sr", "on", "pl", "eq", "nw", "gs",
	"GV", "TV",
	"TI", "Th", "n4_", "Dn", "Da", "Dc", "De", "Dv4_", "U1x", "u1y", "W", "B3abi", "L", "il", "tl", "qu", "ix",
	"cm", "sp", "sP",
	".isra.0", "@a.c", "H", "Q", "Tpt_", "Ty", "Tn", "IXsZT_EE", "IJDpT_EE", "DpT_", "4294967295a", "00",
};
static const char *const rust[] = {
	"C1a", "C3abc", "Nv", "Nt", "NC", "M", "X", "Y", "I", "E", "B_", "B0_", "B1_", "Bz_", "s_", "s0_", "u3abc_",
	"1a", "1b", "A", "S",
	"T", "R", "Q", "P", "O", "F", "D", "G_", "G0_", "Gzzzz_", "L_", "L0_", "K", "h1_", "p", "e", "h", "j", "u", "m",
	"U", "C", "Kh1_",
	"Kln1_", "Kb0_", "Kc41_", "KRe61_", "KAKh1_E", "KTKh1_E", "KV", "U", "_", "n", "zzzzzzzzzzz_", "00",
};

static size_t put_tokens(char *to, const uint8_t *p, size_t n, const char *const *token, size_t ntokens)
{
	size_t len = 2;

	memcpy(to, token == cxx ? "_Z" : "_R", 2);
	for (size_t i = 0; i < n; i++) {
		const char *t = token[p[i] % ntokens];

		if (len + strlen(t) >= NAME_MAX_BYTES)
			break;
		memcpy(to + len, t, strlen(t));
		len += strlen(t);
	}
	return len;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(int ok, const char *what, const char *name)
{
	if (ok)
		return;
	fprintf(stderr, "demangle: %s: %s\n", what, name);
	abort();
}

static void show(const char *name)
{
	double begin = now();
	char *full = uft_demangle(name), *shown = uft_name_shown(name);
	struct uft_pattern p = { .func = "a*" };

	check(now() - begin < SECONDS_MAX, "takes too long", name);
	check(!full == !shown, "is shown, and not demangled, or not shown", name);
	if (full) {
		check(strlen(full) < SHOWN_MAX, "too long a text", name);
		check(strlen(shown) <= strlen(full), "the short text is longer", name);
		check(uft_name_length(full) <= strlen(full) && uft_name_start(full) <= strlen(full),
		      "parts beyond its end", name);
	}
	uft_pattern_match(&p, name, full, "a");
	free(full);
	free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[NAME_MAX_BYTES + 1];

	for (const uint8_t *end = data + size, *stop; data < end; data = stop + 1) {
		size_t n;

		stop = memchr(data, '\n', (size_t)(end - data));
		stop = stop ? stop : end;
		n = (size_t)(stop - data) < NAME_MAX_BYTES ? (size_t)(stop - data) : NAME_MAX_BYTES;
		if (n && *data == '!')
			n = put_tokens(name, data + 1, n - 1, cxx, sizeof(cxx) / sizeof(cxx[0]));
		else if (n && *data == '"')
			n = put_tokens(name, data + 1, n - 1, rust, sizeof(rust) / sizeof(rust[0]));
		else
			memcpy(name, data, n);
		name[n] = '\0';
		show(name);
	}
	return 0;
}
