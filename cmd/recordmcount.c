/* SPDX-License-Identifier: MIT */
/* recordmcount.c - `uft recordmcount`: __mcount_loc and nops for objects, before they are linked */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "tools/recordmcount/recordmcount.h"

struct rm_opts {
	int nop, pads, dry_run, quiet;
};

static const struct cmd_option rm_options[] = {
	{ "nop", 'n', NULL, "also turn calls, and pads of several nops, into one nop each", cmd_flag,
		offsetof(struct rm_opts, nop), NULL },
	{ "pads", 'p', NULL, "only turn pads of several nops into one nop each", cmd_flag,
		offsetof(struct rm_opts, pads), NULL },
	{ "dry-run", 'd', NULL, "print what would be done, write nothing", cmd_flag, offsetof(struct rm_opts, dry_run),
		NULL },
	{ "quiet", 'q', NULL, "print nothing unless something is wrong", cmd_flag, offsetof(struct rm_opts, quiet),
		NULL },
	{ 0 }
};

static const struct cmd_syntax rm_syntax = {
	.name = "recordmcount", .operands = "[OPTIONS] FILE.o...",
	.doc = "Add to objects built with -pg the list of their mcount or __fentry__ calls (__mcount_loc).",
	.options = rm_options,
};

/* An object of -fpatchable-function-entry. */
static void print_pads(const char *path, const struct rm_opts *o, const struct uft_recordmcount_result *r)
{
	printf("%s: %zu pad%s", path, r->pads, r->pads == 1 ? "" : "s");
	if (r->joined)
		printf(", %zu of several nops %s one nop each\n", r->joined, o->dry_run ? "would become" : "became");
	else
		printf(", %s: nothing to do\n",
		       r->many ? "of several nops (--nop makes them one)" : "none of several nops");
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* One line per object: what it had, what was done. */
static void print_result(const char *path, const struct rm_opts *o, const struct uft_recordmcount_result *r)
{
	if (r->pads)
		print_pads(path, o, r);
	if (o->pads && !r->pads)
		printf("%s: no pads: nothing to do\n", path);
	if (o->pads || (r->pads && !r->calls))
		return;
	printf("%s: ", path);
	if (!r->calls && r->recorded)
		printf("%zu place%s listed, no calls: nothing to do", r->recorded, plural(r->recorded));
	else if (!r->calls)
		printf("no calls of mcount or __fentry__: nothing to do");
	else if (!r->changed && r->own)
		printf("%zu call%s listed, of the object's own function: nothing to do", r->calls, plural(r->calls));
	else if (!r->changed)
		printf("%zu call%s, all listed: nothing to do", r->calls, plural(r->calls));
	else
		printf("%zu call%s of %s", r->calls, plural(r->calls),
		       !r->fentry ? "mcount" : r->fentry == r->calls ? "__fentry__" : "mcount and __fentry__");
	if (r->added)
		printf(", %zu %s __mcount_loc", r->added, o->dry_run ? "would be added to" : "added to");
	else if (r->changed)
		printf(", all listed");
	if (r->nopped)
		printf(", %zu %s", r->nopped, o->dry_run ? "would become nops" : "made nops");
	if (r->nopped && r->own)
		printf(", %zu kept: the object's own function", r->own);
	putchar('\n');
}

/* Conditions that are no failure but leave functions without a site. */
static void print_warnings(const char *path, const struct uft_recordmcount_result *r)
{
	if (r->unknown)
		fprintf(stderr, "uft recordmcount: %s: %zu reference%s to mcount not made by a near call "
			"(-mcmodel=large?): not listed\n", path, r->unknown, plural(r->unknown));
	if (r->link_time_code)
		fprintf(stderr,
			"uft recordmcount: %s: holds link-time code (-flto): what the linker compiles from it is "
			"not listed; use -fpatchable-function-entry there\n", path);
}

int cmd_recordmcount(int argc, char **argv)
{
	struct rm_opts o = { 0 };
	int done = cmd_parse(&rm_syntax, &argc, argv, &o), status = 0;

	if (done >= 0)
		return done;
	if (argc < 2)
		return cmd_usage(&rm_syntax, "no object given");
	for (int i = 1; i < argc; i++) {
		const struct uft_recordmcount_options opt = { .nop = o.nop, .pads_only = o.pads, .dry_run = o.dry_run };
		struct uft_recordmcount_result r;
		struct uft_error err = { "" };

		if (uft_recordmcount_file(argv[i], &opt, &r, &err)) {
			status = cmd_fail("recordmcount", "%s", err.text);
			continue;
		}
		if (!o.pads)
			print_warnings(argv[i], &r);
		if (!o.quiet)
			print_result(argv[i], &o, &r);
	}
	if (fflush(stdout) || ferror(stdout))
		return cmd_fail("recordmcount", "cannot write to standard output");
	return status;
}
