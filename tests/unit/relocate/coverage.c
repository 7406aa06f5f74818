// SPDX-License-Identifier: MIT
/*
 * coverage.c [-v] MIN FILE... - how many of the functions of real files can be traced
 *
 * At least MIN percent of the functions among each file's unwind entries must be usable, what is not has a reason, and the reasons sum to
 * the rest; planning twice, or one by one, gives the same; no two entries share a byte; code can be made for each. All code is
 * decoded, function by function: no branch leads into bytes that change, and no function jumps to its own start; and what
 * is copied without decoding is as long as the decoder says, and nothing that depends on where it stands.
 * A file that is not there is named and skipped. -v lists what is left alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "control/relocate/entry.h"
#include "control/relocate/move.h"

static int failed;
static size_t nusual;

#define CHECK(cond, ...) do { \
	if (!(cond)) { printf("FAIL "); printf(__VA_ARGS__); putchar('\n'); failed = 1; } } while (0)

struct piece { uint64_t addr; unsigned n; };

static int compare(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void check_apart(const char *path, const struct entries *e)
{
	struct piece *p = malloc((2 * e->n + 1) * sizeof(*p));
	size_t n = 0, i;

	for (i = 0; i < e->n; i++) {
		const struct entry *f = &e->entry[i];

		if (f->skip)
			continue;
		p[n++] = (struct piece){ f->addr, f->pun ? f->known : f->pad ? 2 : 5 };
		if (f->pad)
			p[n++] = (struct piece){ f->pad, 5 };
	}
	qsort(p, n, sizeof(*p), compare);
	for (i = 1; i < n; i++)
		CHECK(p[i - 1].addr + p[i - 1].n <= p[i].addr, "%s: 0x%" PRIx64 " and 0x%" PRIx64 " overlap", path,
		      p[i - 1].addr, p[i].addr);
	free(p);
}

/* Bytes that change, and starts of functions: what a branch at @from to @to must not reach. */
static void check_branch(const char *path, const struct entries *e, const struct entry *own, uint64_t from, uint64_t to,
			 int is_call)
{
	size_t lo = 0, hi = e->n;
	const struct entry *f;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->entry[mid].func <= to)
			lo = mid + 1;
		else
			hi = mid;
	}
	f = lo ? &e->entry[lo - 1] : NULL;
	if (f && !f->skip && to - f->addr < (f->pun ? f->pun : f->pad ? 2 : 5) && to != f->addr)
		CHECK(0, "%s: 0x%" PRIx64 " leads into the entry of 0x%" PRIx64, path, from, f->func);
	if (f && !f->skip && f == own && !is_call && (to == f->func || to == f->addr))
		CHECK(0, "%s: 0x%" PRIx64 " is a loop to the start of 0x%" PRIx64, path, from, f->func);
	for (size_t i = 0; f && i < 32 && f - e->entry >= (long)i; i++) {
		const struct entry *g = f - i;

		CHECK(g->skip || !g->pad || to - g->pad >= 5, "%s: 0x%" PRIx64 " leads into a pad", path, from);
	}
}

/* move_usual() knows @p: then it is right about it. */
static void check_usual(const char *path, uint64_t at, const uint8_t *p, size_t n, const ZydisDecodedInstruction *in)
{
	unsigned len = move_usual(p, n);

	if (!len)
		return;
	nusual++;
	CHECK(len == in->length, "%s: %#" PRIx64 ": %u bytes, not %u\n", path, at, in->length, len);
	CHECK(!(in->attributes & ZYDIS_ATTRIB_IS_RELATIVE) && in->meta.branch_type == ZYDIS_BRANCH_TYPE_NONE,
	      "%s: %#" PRIx64 ": it depends on where it stands\n", path, at);
}

static size_t check_branches(const char *path, struct uft_object *obj, const struct entries *e)
{
	size_t n = 0;
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t i = 0; i < e->n; i++) {
		const struct entry *f = &e->entry[i];
		uint8_t *code = malloc(f->size + 1);
		size_t len = uft_object_read(obj, f->func, code, f->size), at = 0;
		ZydisDecodedInstruction in;

		while (at < len) {
			if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code + at, len - at, &in))) {
				at++;		/* data */
				continue;
			}
			check_usual(path, f->func + at, code + at, len - at, &in);
			at += in.length;
			if (!in.raw.imm[0].is_relative)
				continue;
			check_branch(path, e, f, f->func + at - in.length, f->func + at + in.raw.imm[0].value.u,
				     in.meta.category == ZYDIS_CATEGORY_CALL);
			n++;
		}
		free(code);
	}
	return n;
}

static void check_code(const char *path, struct uft_object *obj, const struct entries *e)
{
	const uint64_t bias = 0x7f1234560000ull;
	struct uft_code c = { .stub = 7 };
	size_t i;

	for (i = 0; i < e->n; i++) {
		const struct entry *f = &e->entry[i];
		uint64_t at = (e->entry[0].func & ~0xfffull) + bias - 0x1000000 + i * UFT_CODE_STRIDE;
		int ret = f->skip ? 0 : entry_code(obj, f, bias, at, &c);

		CHECK(!ret || ret == -ERANGE, "%s: 0x%" PRIx64 ": code: %d", path, f->func, ret);
		if (f->skip || ret)
			continue;
		CHECK(c.addr == f->addr + bias && c.stub == 7 && c.ncode && c.nmoved == f->nmoved &&
		      c.pun == f->pun &&
		      (f->pun ? !c.pad && f->nmoved >= f->pun && f->known >= 5 && f->known <= 8 : f->pad ?
		       c.pad == f->pad + bias && c.nmoved >= 2 : !c.pad && c.nmoved >= 5),
		      "%s: 0x%" PRIx64 ": code is inconsistent", path, f->func);
		CHECK(entry_twin(obj, f, 0) == 0, "%s: 0x%" PRIx64 ": no twin of its start", path, f->func);
	}
}

static void cover(const char *path, double min, int verbose)
{
	struct uft_error err = { "" };
	struct entries e, again;
	struct uft_object *obj;
	size_t i, shorts = 0, plain = 0, unwind, sum = 0;
	double share;
	int k;

	if (uft_object_open(path, &obj, &err) || entries_list(obj, &e) || entries_list(obj, &again)) {
		CHECK(0, "%s: %s", path, err.text);
		return;
	}
	CHECK(!entries_plan(obj, &e, NULL), "%s: plan", path);
	for (i = 0; i < e.n; i++) {
		shorts += !e.entry[i].skip && e.entry[i].pad;
		plain += !e.entry[i].skip && e.entry[i].is_plain;
		if (verbose && (e.entry[i].skip || e.entry[i].is_plain))
			printf("  0x%" PRIx64 " +%" PRIu64 " %s\n", e.entry[i].func, e.entry[i].size,
			       e.entry[i].skip ? entry_skip_text(e.entry[i].skip) : "plain");
	}
	for (k = 1; k < ENTRY_NSKIPS; k++)
		sum += e.nskip[k];
	CHECK(e.nskip[0] + sum == e.n, "%s: %zu usable + %zu left alone of %zu", path, e.nskip[0], sum, e.n);
	unwind = e.n - e.nskip[ENTRY_NO_UNWIND] - e.nskip[ENTRY_NOT_FUNCTION];
	share = unwind ? 100. * (double)(e.nskip[ENTRY_OK] + e.nskip[ENTRY_PREPARED]) / (double)unwind : 0;
	printf("%-44s %6zu %6.2f %% short %zu plain %zu |", path, unwind, share, shorts, plain);
	for (k = 1; k < ENTRY_NSKIPS; k++)
		printf(" %zu", e.nskip[k]);
	printf("\n");
	CHECK(share >= min, "%s: only %.2f %% of %zu functions", path, share, unwind);
	check_apart(path, &e);
	check_code(path, obj, &e);
	CHECK(check_branches(path, obj, &e) > e.n, "%s: too few branches", path);
	/* From the last to the first, one at a time: the same but for which pad was taken by whom. */
	if (again.n) {
		uint8_t *want = calloc(again.n, 1);

		for (i = 0; i < again.n; i += 97) {
			want[i] = 1;
			CHECK(!entries_plan(obj, &again, want), "%s: plan again", path);
			want[i] = 0;
			CHECK(again.entry[i].nmoved == e.entry[i].nmoved || e.entry[i].pad || again.entry[i].pad,
			      "%s: 0x%" PRIx64 " depends on the order", path, again.entry[i].func);
		}
		free(want);
	}
	entries_free(&e);
	entries_free(&again);
	uft_object_put(obj);
}

int main(int argc, char **argv)
{
	int verbose = argc > 1 && !strcmp(argv[1], "-v"), i = 1 + verbose, n = 0;
	double min = argc > i ? atof(argv[i]) : 0;

	printf("# file, functions with unwind data, usable; left alone:");
	for (int k = 1; k < ENTRY_NSKIPS; k++)
		printf("%s %s", k > 1 ? ";" : "", entry_skip_text(k));
	printf("\n");
	for (i++; i < argc; i++) {
		if (access(argv[i], R_OK)) {
			printf("SKIP %s is not installed\n", argv[i]);
			continue;
		}
		cover(argv[i], min, verbose);
		n++;
	}
	CHECK(!n || nusual > 10000, "only %zu instructions are usual", nusual);
	return failed ? 1 : n ? 0 : 77;
}
