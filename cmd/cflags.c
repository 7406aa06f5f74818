/* SPDX-License-Identifier: MIT */
/*
 * cflags.c - `uft cflags`: the flags that make a compiler leave patchable function entries
 *
 * Standard output has only the flags, so that a makefile can use it; the choice and its reasons go to standard error.
 */
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "tools/cflags/cflags.h"

struct cflags_opts {
	int mode;		/* enum uft_cflags_mode, -1: the best that the compiler has */
	const char *cc;
	int link, explain, quiet;
};

static const struct cmd_option cflags_options[] = {
	{ "mode", 'm', "MODE",
		"leave entries in this way; default: the first that works",
	  cmd_choice, offsetof(struct cflags_opts, mode), uft_cflags_mode_names },
	{ "cc", 'c', "CC", "compiler to ask (default: $CC, else cc)", cmd_string, offsetof(struct cflags_opts, cc),
		NULL },
	{ "link", 'l', NULL, "print the flags for linking instead", cmd_flag, offsetof(struct cflags_opts, link),
		NULL },
	{ "explain", 'e', NULL, "print on standard error what the compiler does in each mode", cmd_flag,
	  offsetof(struct cflags_opts, explain), NULL },
	{ "quiet", 'q', NULL, "do not print which mode was taken", cmd_flag, offsetof(struct cflags_opts, quiet),
		NULL },
	{ 0 }
};

static const struct cmd_syntax cflags_syntax = {
	.name = "cflags", .operands = "[OPTIONS]",
	.doc = "Print compiler flags that leave patchable function entries. uft tests the compiler by compiling with it.",
	.options = cflags_options,
};

static const char *const mode_docs[] = {
	[UFT_CFLAGS_PATCHABLE] = "nops at every entry",
	[UFT_CFLAGS_NOP_MCOUNT] = "one nop at every entry, no position independent code",
	[UFT_CFLAGS_FENTRY] = "a call of __fentry__ at every entry, a nop from the start with `uft cflags --link`",
	[UFT_CFLAGS_MCOUNT] = "a call of mcount after every prologue, a nop from the start with `uft cflags --link`",
	[UFT_CFLAGS_RECORD] = "a call of __fentry__ at every entry, listed in __mcount_loc",
	[UFT_CFLAGS_BEFORE] = "nops before every entry, never executed; the entry is rewritten when traced",
};

/* ---- The archive ---------------------------------------------------------------------------- */

/* Finds the file @name of the start archive: in the build directory of uft, else where it is installed. */
static int find_start_file(const char *name, char *path, size_t size)
{
	static const char *const places[] = { "tools/start", "../tools/start", "../lib/uft" };
	char exe[PATH_MAX], try[PATH_MAX + 64], real[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return -1;
	exe[n] = 0;
	*strrchr(exe, '/') = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(try, sizeof(try), "%s/%s/%s", exe, places[i], name);
		if (realpath(try, real) && snprintf(path, size, "%s", real) < (int)size)
			return 0;
	}
	return -1;
}

/*
 * gcc makes a pad of one-byte nops, which costs a cycle a call. It runs the assembler that -B leads to: ours assembles
 * and then makes each pad one nop. @flag gets the flag, or stays empty if a probe shows that this does not work.
 */
static void find_joiner(const struct cflags_opts *o, const struct uft_cflags_target *t,
			const struct uft_cflags_probe *p, char *flag, size_t size)
{
	struct uft_cflags_probe joined;
	struct uft_error err = { "" };
	char path[PATH_MAX];

	*flag = 0;
	if (p->one_nop || find_start_file("gcc/as", path, sizeof(path)) || strpbrk(path, " \t\n'\"\\$`*?[&;|<>()"))
		return;
	snprintf(flag, size, " -B%.*s", (int)(strlen(path) - 2), path);
	if (uft_cflags_probe(o->cc, t, UFT_CFLAGS_PATCHABLE, flag, &joined, &err) || !joined.ok || !joined.one_nop)
		*flag = 0;
}

static int print_link_flags(enum uft_cflags_mode mode, const struct uft_cflags_target *t,
			    const struct uft_cflags_probe *p, const char *joiner)
{
	/* Named so that they come from the archive even when only the linker's compiler (-flto) calls them. */
	static const char *const wanted[] = {
		[UFT_CFLAGS_PATCHABLE] = "", [UFT_CFLAGS_NOP_MCOUNT] = " -no-pie",
		[UFT_CFLAGS_FENTRY] = " -Wl,-u,__fentry__",
		[UFT_CFLAGS_MCOUNT] = " -Wl,-u,mcount", [UFT_CFLAGS_RECORD] = " -Wl,-u,__fentry__",
		[UFT_CFLAGS_BEFORE] = "",
	};
	const int is_pfe = mode == UFT_CFLAGS_PATCHABLE || mode == UFT_CFLAGS_BEFORE;
	const int has_start = t->machine == EM_X86_64;	/* only x86-64 needs the archive */
	const char *script = is_pfe ? "uft-no-pfe.ld" : "uft-no-mcount-loc.ld";
	char archive[PATH_MAX], path[PATH_MAX];

	if (has_start && find_start_file("libuft-start.a", archive, sizeof(archive)))
		return cmd_fail("cflags", "libuft-start.a is neither beside this program nor installed");
	printf("-Wl,--eh-frame-hdr%s%s", has_start ? wanted[mode] : "", joiner);
	/* Only C++ has functions that the linker discards; a PIE of lld also needs it for gcc's read-only list. */
	if (p->one_list && (is_pfe ? t->is_cxx : mode == UFT_CFLAGS_RECORD || t->is_cxx)) {
		if (find_start_file(script, path, sizeof(path)))
			return cmd_fail("cflags", "%s is neither beside this program nor installed", script);
		printf(" -Wl,-T,%s", path);
	}
	if (has_start)
		printf(" %s", archive);
	putchar('\n');
	return 0;
}

/* ---- The choice ----------------------------------------------------------------------------- */

static void explain(enum uft_cflags_mode mode, const struct uft_cflags_target *t, const struct uft_cflags_probe *p)
{
	const char *flags = uft_cflags_flags(t->machine, mode);

	fprintf(stderr, "  %-14s %-4s%s\n", uft_cflags_mode_names[mode], p->ok ? "yes" : "no",
		p->ok ? flags : p->why);
	if (!p->ok)
		return;
	fprintf(stderr, "  %-19s%s", "", mode_docs[mode]);
	if (mode == UFT_CFLAGS_PATCHABLE)
		fprintf(stderr, " (%s)", p->one_nop ? "one instruction" : "several instructions, made one when traced");
	if (p->one_list && t->is_cxx)
		fprintf(stderr,
			"; link with `uft cflags --link`: this compiler's list breaks inline functions otherwise");
	fputc('\n', stderr);
}

/* Probes modes in order until one works (all of them to explain); the chosen one's probe goes to @best. */
static int choose(const struct cflags_opts *o, const struct uft_cflags_target *t, struct uft_cflags_probe *best)
{
	int chosen = -1;

	if (o->explain)
		fprintf(stderr, "%s: %s\n", o->cc, t->version);
	for (int mode = 0; mode < UFT_CFLAGS_NMODES; mode++) {
		struct uft_cflags_probe p;
		struct uft_error err = { "" };
		int wanted = o->mode == mode || (o->mode < 0 && chosen < 0 && mode < UFT_CFLAGS_RECORD);

		if (!wanted && !o->explain)
			continue;
		if (uft_cflags_probe(o->cc, t, mode, "", &p, &err))
			return -cmd_fail("cflags", "%s", err.text);
		if (o->explain)
			explain(mode, t, &p);
		if (wanted && !p.ok && o->mode == mode)
			return -cmd_fail("cflags", "%s cannot do %s: %s", o->cc, uft_cflags_mode_names[mode], p.why);
		if (wanted && p.ok) {
			chosen = mode;
			*best = p;
		}
	}
	if (chosen < 0)
		return -cmd_fail("cflags", "%s leaves no patchable function entries in any mode; see --explain", o->cc);
	return chosen;
}

int cmd_cflags(int argc, char **argv)
{
	struct cflags_opts o = { .mode = -1 };
	struct uft_cflags_target t;
	struct uft_cflags_probe p = { 0 };
	struct uft_error err = { "" };
	char joiner[PATH_MAX + 8] = "";
	int done = cmd_parse(&cflags_syntax, &argc, argv, &o), mode;

	if (done >= 0)
		return done;
	if (argc > 1)
		return cmd_usage(&cflags_syntax, "unexpected operand '%s'", argv[1]);
	if (!o.cc)
		o.cc = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
	if (uft_cflags_target(o.cc, &t, &err))
		return cmd_fail("cflags", "%s", err.text);
	mode = choose(&o, &t, &p);
	if (mode < 0)
		return -mode;
	if (mode == UFT_CFLAGS_PATCHABLE)
		find_joiner(&o, &t, &p, joiner, sizeof(joiner));
	if (!o.quiet)
		fprintf(stderr, "uft cflags: %s: %s: %s%s\n", o.cc, uft_cflags_mode_names[mode], mode_docs[mode],
			*joiner ? ", made one while assembling (-B)" : "");
	if (o.link)
		return print_link_flags(mode, &t, &p, joiner);
	printf("%s%s\n", uft_cflags_flags(t.machine, mode), joiner);
	return 0;
}
