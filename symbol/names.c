/* SPDX-License-Identifier: MIT */
/*
 * names.c - demangling and filter patterns
 *
 * libiberty demangles C++ and both Rust schemes. Names come from files that may be hostile. A short mangled name can
 * stand for an endless text (substitutions of substitutions), so output is taken piecewise and given up beyond
 * DEMANGLE_MAX bytes, or beyond DEMANGLE_FACTOR times the name's length: a file of such names would cost hundreds of
 * times its size. A name can also stand for endless work that prints nothing, so its cost is estimated before
 * (demangle_cost.c). A refused name is shown as it is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "symbol/array.h"
#include "symbol/clean.h"
#include "symbol/demangle_cost.h"
#include "symbol/names.h"

#define DEMANGLE_MAX		(64u << 10)	/* bytes of text */
#define DEMANGLE_FACTOR		32u
#define DEMANGLE_LEAST		256u		/* taken of any name */
#define DEMANGLE_MAX_NAME	8192u		/* bytes of a mangled name; recursion depth follows it */

void uft_name_clean(char *text)
{
	uft_clean(text, strlen(text), 0);
}

/* ---- Demangling -------------------------------------------------------------------------------- */

struct demangle_text {
	char *s;
	size_t len, room, max;
	void *nodes;			/* of a C++ name's tree */
	jmp_buf too_long;
};

/*
 * The demanglers hold no memory while they print, except the tree, which the caller frees: so longjmp() may leave them.
 */
static void demangle_take(const char *s, size_t len, void *arg)
{
	struct demangle_text *t = arg;

	if (t->len + len + 1 > t->room &&
	    (t->len + len >= t->max || array_reserve(t->s, t->room, t->len + len + 1)))
		longjmp(t->too_long, 1);
	if (len)		/* the Rust demangler passes an empty name as NULL */
		memcpy(t->s + t->len, s, len);
	t->len += len;
	t->s[t->len] = 0;
}

static int demangle_cxx(const char *name, size_t len, int options, struct demangle_text *t)
{
	struct demangle_component *root;

	if (!demangle_parse_is_bounded(name, len))
		return 0;
	if (!demangle_needs_tree(name))
		return cplus_demangle_v3_callback(name, options | DMGL_NO_RECURSE_LIMIT, demangle_take, t);
	root = cplus_demangle_v3_components(name, options, &t->nodes);
	if (!root)
		return demangle_is_plain(name) &&
		       cplus_demangle_v3_callback(name, options | DMGL_NO_RECURSE_LIMIT, demangle_take, t);
	/* libiberty makes at most two nodes for each byte. */
	return demangle_tree_is_bounded(name, root, t->nodes, 2 * len) &&
	       cplus_demangle_print_callback(options, root, demangle_take, t);
}

static int demangle_into(const char *name, size_t len, struct demangle_text *t)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	volatile int ok = 0;

	if ((name[1] == 'R' && !demangle_rust_is_bounded(name)) || setjmp(t->too_long))
		goto out;
	/* Rust first: its legacy names are valid C++ names too, with a hash for a last part. */
	ok = rust_demangle_callback(name, options, demangle_take, t);
	if (!ok && name[1] == 'Z') {
		t->len = 0;
		ok = demangle_cxx(name, len, options, t);
	}
out:
	free(t->nodes);
	return ok;
}

char *uft_demangle(const char *name)
{
	struct demangle_text t = { .s = NULL };
	const char *suffix = strrchr(name, '@');
	size_t len = suffix ? (size_t)(suffix - name) : strnlen(name, DEMANGLE_MAX_NAME);
	char *plain = NULL;
	int ok;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') || len >= DEMANGLE_MAX_NAME)
		return NULL;
	if (suffix) {
		plain = strndup(name, len);
		if (!plain)
			return NULL;
	}
	t.max = DEMANGLE_LEAST + DEMANGLE_FACTOR * len;
	t.max = t.max < DEMANGLE_MAX ? t.max : DEMANGLE_MAX;
	ok = demangle_into(plain ? plain : name, len, &t);
	if (ok && t.s && suffix) {
		size_t extra = strlen(suffix);

		if (!array_resize(t.s, t.len + extra + 1))
			memcpy(t.s + t.len, suffix, extra + 1);
	}
	free(plain);
	if (ok && t.s) {
		char *fit = realloc(t.s, strlen(t.s) + 1);

		return fit ? fit : t.s;
	}
	free(t.s);
	return NULL;
}

/* ---- Names as they are shown: short.c -------------------------------------------------------- */

char *uft_name_shown(const char *raw)
{
	char *name = uft_demangle_get() == UFT_DEMANGLE_NO ? NULL : uft_demangle(raw);

	if (name && uft_demangle_get() == UFT_DEMANGLE_SHORT)
		uft_name_shorten(name);
	return name;
}

/* ---- Patterns ---------------------------------------------------------------------------------- */

int uft_pattern_parse(const char *text, struct uft_pattern *out)
{
	const char *mod = NULL, *at = text;

	memset(out, 0, sizeof(*out));
	while ((at = strstr(at, ":mod:"))) {
		/* A single colon does not end a C++ scope: f::mod::g has a second colon on either side. */
		if ((at == text || at[-1] != ':') && at[5] != ':')
			mod = at;
		at += 5;
	}
	if (!*text || (mod && (!mod[5] || !strcmp(mod + 5, "!"))))
		return -EINVAL;
	out->func = mod ? strndup(text, mod - text) : strdup(text);
	if (mod == text && out->func) {		/* ":mod:libfoo" means every function of libfoo */
		free(out->func);
		out->func = strdup("*");
	}
	out->object = mod ? strdup(mod + 5) : NULL;
	if (out->func && (!mod || out->object))
		return 0;
	uft_pattern_free(out);
	return -ENOMEM;
}

void uft_pattern_free(struct uft_pattern *p)
{
	free(p->func);
	free(p->object);
	memset(p, 0, sizeof(*p));
}

/* Globs a part of @text; long enough names are the exception, so most fit the stack. */
static int pattern_match_part(const char *glob, const char *text, size_t len)
{
	char small[512], *copy = small;
	int ret;

	if (len >= sizeof(small) && !(copy = malloc(len + 1)))
		return 0;
	memcpy(copy, text, len);
	copy[len] = 0;
	ret = uft_glob_match(glob, copy);
	if (copy != small)
		free(copy);
	return ret;
}

static int pattern_match_name(const char *glob, const char *name)
{
	const char *at = strrchr(name, '@');

	if (uft_glob_match(glob, name) || !strcmp(glob, name))
		return 1;
	return at && at != name && pattern_match_part(glob, name, at - name);
}

static int pattern_match_object(const char *glob, const char *object)
{
	int inverted = *glob == '!';
	const char *so = strstr(object, ".so");
	int match;

	glob += inverted;
	match = uft_glob_match(glob, object);
	if (!match && so && so != object)
		match = pattern_match_part(glob, object, so - object);
	return match ^ inverted;
}

/* Matches the short form, which a user copied from a report. */
static int pattern_match_short(const char *glob, const char *demangled)
{
	char *name = strdup(demangled);
	int match;

	if (!name)
		return 0;
	uft_name_shorten(name);
	match = pattern_match_name(glob, name);
	free(name);
	return match;
}

int uft_pattern_match(const struct uft_pattern *p, const char *raw, const char *demangled, const char *object)
{
	size_t len, start;

	if (p->object && !pattern_match_object(p->object, object ? object : ""))
		return 0;
	if (raw && pattern_match_name(p->func, raw))
		return 1;
	if (!demangled)
		return 0;
	if (pattern_match_name(p->func, demangled))
		return 1;
	len = uft_name_length(demangled);
	if (len && pattern_match_part(p->func, demangled, len))
		return 1;
	start = uft_name_start(demangled);
	if (start && pattern_match_part(p->func, demangled + start, (len ? len : strlen(demangled)) - start))
		return 1;
	return strstr(p->func, "...") && pattern_match_short(p->func, demangled);
}
