/* SPDX-License-Identifier: MIT */
/*
 * parse.c - parse the text of a histogram:
 *	`keys=K,..[:vals=V,..][:sort=F,..][:size=N][:NAME=EXPRESSION,..][:HANDLER.ACTION]..`
 *
 * The text is split at colons first. The parts are then parsed in the kernel's order, so that the kernel's first
 * mistake is reported. A position in error_log is the first occurrence of the wrong word in the command, as in the
 * kernel: of `keys=id:x=id+` it may be another `id`.
 */
#include "hist/hist_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

char *uft_hist_find_filter(char *text)
{
	for (char *p = text; (p = strstr(p, "if")); p++) {
		if (p == text)
			return text;
		if (!isspace((unsigned char)p[-1]) || (p[2] && p[2] != ' ' && p[2] != '\t'))
			continue;
		return p;
	}
	return NULL;
}

/* ---- Parts of the text ----------------------------------------------------------------------- */

static char *behind(char *text)
{
	return strchr(text, '=') + 1;
}

static int take_size(struct attrs *a, const char *text)
{
	unsigned long size;
	char *end;

	errno = 0;
	size = strtoul(text, &end, 0);
	if (errno || !*text || *text == '-' || *end || !size || size > 1ul << UFT_HIST_BITS_MAX)
		return -EINVAL;
	for (a->bits = 0; 1ul << a->bits < size; a->bits++)
		;
	return a->bits < UFT_HIST_BITS_MIN ? -EINVAL : 0;
}

static int take_assignment(struct uft_hist *h, char *text)
{
	struct attrs *a = &h->attrs;

	if (has_prefix(text, "keys=") || has_prefix(text, "key="))
		a->keys = behind(text);
	else if (has_prefix(text, "vals=") || has_prefix(text, "val=") || has_prefix(text, "values="))
		a->vals = behind(text);
	else if (has_prefix(text, "sort="))
		a->sort = behind(text);
	else if (has_prefix(text, "name="))
		a->name = text;
	else if (has_prefix(text, "clock="))
		a->clock = behind(text);
	else if (has_prefix(text, "size="))
		return take_size(a, behind(text));
	else if (a->nassignments == MAX_VARS)
		return hist_fail(h, -EINVAL, "Too many variables defined", text);
	else
		a->assignment[a->nassignments++] = text;
	return 0;
}

static int take_action(struct attrs *a, char *text)
{
	if (a->nactions == MAX_ACTIONS ||
	    !(has_prefix(text, "onmatch(") || has_prefix(text, "onmax(") || has_prefix(text, "onchange(")))
		return -EINVAL;
	a->action[a->nactions++] = text;
	return 0;
}

static int take_part(struct uft_hist *h, char *text)
{
	struct attrs *a = &h->attrs;
	char *is = strchr(text, '=');

	if (is && !is[1])
		return hist_fail(h, -EINVAL, "Empty assignment", text);
	if (is)
		return take_assignment(h, text);
	if (!strcmp(text, "nohitcount") || !strcmp(text, "NOHC"))
		a->no_hitcount = 1;
	else if (!strcmp(text, "pause"))
		a->verb = UFT_HIST_PAUSE;
	else if (!strcmp(text, "cont") || !strcmp(text, "continue"))
		a->verb = UFT_HIST_CONT;
	else if (!strcmp(text, "clear"))
		a->verb = UFT_HIST_CLEAR;
	else
		return take_action(a, text);
	return 0;
}

/* Hides `.sym-offset`, which would parse as a difference. */
static void hide_offsets(char *text)
{
	for (char *p = text; (p = strstr(p, ".sym-offset")); p++)
		p[4] = 'X';
}

static int split_parts(struct uft_hist *h, const char *text)
{
	char *rest;
	int ret = 0;

	h->attrs.bits = 11;
	h->attrs.copy = rest = strdup(text);
	if (!rest)
		return -ENOMEM;
	hide_offsets(rest);
	while (rest && !ret)
		ret = take_part(h, strsep(&rest, ":"));
	if (!ret && !h->attrs.keys)
		ret = -EINVAL;
	if (!h->attrs.clock)
		h->attrs.clock = "global";
	return ret;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static int split_variables(struct uft_hist *h)
{
	struct attrs *a = &h->attrs;

	for (uint32_t i = 0; i < a->nassignments; i++)
		for (char *rest = a->assignment[i]; rest; ) {
			char *expr = strsep(&rest, ","), *name = strsep(&expr, "=");

			if (!expr)
				return hist_fail(h, -EINVAL, "Malformed assignment", name);
			if (a->nvars == MAX_VARS)
				return hist_fail(h, -EINVAL, "Too many variables defined", name);
			a->var[a->nvars] = name;
			a->expr[a->nvars++] = expr;
		}
	return 0;
}

/* Makes a field of a copy of the text, because parsing an expression changes its text. */
static int make_field(struct uft_hist *h, const char *text, uint32_t flags, const char *var, struct hist_field **out)
{
	char *copy = strdup(text);
	uint32_t nsub = 0;
	int ret = copy ? expression_parse(h, copy, flags, var, &nsub, out) : -ENOMEM;

	free(copy);
	return ret;
}

static int add_value(struct uft_hist *h, const char *text, uint32_t flags, const char *var)
{
	uint32_t wrong = flags & F_VAR ? F_GRAPH | F_PERCENT | F_BUCKET | F_LOG2 : F_BUCKET | F_LOG2 | F_STACK | F_SYM |
		F_SYM_OFFSET | F_SYSCALL;
	struct hist_field *f;
	int ret = make_field(h, text, flags, var, &f);

	if (ret)
		return ret;
	if (f->flags & wrong) {
		field_free(f);
		return hist_fail(h, -EINVAL, "Invalid field modifier", text);
	}
	h->field[h->nvals++] = f;
	return 0;
}

static int make_values(struct uft_hist *h)
{
	char *rest = h->attrs.vals;
	uint32_t n = 1;
	int ret = field_make(NULL, F_HITCOUNT, NULL, &h->field[0]), is_named = 0;

	h->nvals = !ret;
	for (uint32_t i = 0; !ret && rest && i < MAX_VALS && n < MAX_VALS; i++) {
		char *text = strsep(&rest, ",");

		if (!strcmp(text, "hitcount") && !is_named++)
			continue;
		ret = add_value(h, text, 0, NULL);
		n++;
	}
	if (!ret && rest && strcmp(rest, "hitcount"))
		ret = -EINVAL;
	if (!ret && n == 1 && h->attrs.no_hitcount)
		ret = hist_fail(h, -ENOENT, "Non-hitcount value is required for 'nohitcount'", "");
	return ret;
}

static int make_variables(struct uft_hist *h)
{
	int ret = 0;

	for (uint32_t i = 0; i < h->attrs.nvars && !ret; i++) {
		if (!h->is_not && variable_is_there(h, h->attrs.var[i]))
			return hist_fail(h, -EINVAL, "Variable already defined", h->attrs.var[i]);
		ret = add_value(h, h->attrs.expr[i], F_VAR, h->attrs.var[i]);
		h->nvars += !ret;
	}
	return ret;
}

static int has_reference(const struct hist_field *f)
{
	return f && (f->flags & F_VAR_REF || has_reference(f->operand[0]) || has_reference(f->operand[1]));
}

static int add_key(struct uft_hist *h, const char *text)
{
	struct hist_field *f;
	int ret = make_field(h, text, F_KEY, NULL, &f);

	if (ret)
		return ret;
	f->flags |= F_KEY;
	h->field[h->nvals + h->nkeys++] = f;
	if (has_reference(f))
		return hist_fail(h, -EINVAL, "Using variable references in keys not supported", text);
	f->word = h->key_words;
	h->key_words += (f->size + 7) / 8;
	return h->key_words * 8 > MAX_KEY_BYTES ? -EINVAL : 0;
}

static int make_keys(struct uft_hist *h)
{
	char *rest = h->attrs.keys;
	int ret = 0;

	for (uint32_t i = 0; i < MAX_KEYS && rest && !ret; i++)
		ret = add_key(h, strsep(&rest, ","));
	return ret ? ret : rest ? -EINVAL : 0;
}

/* ---- Sort keys ------------------------------------------------------------------------------- */

/* 1, 0, or -EINVAL. */
static int is_descending(struct uft_hist *h, const char *text)
{
	if (!text || !strcmp(text, "ascending"))
		return 0;
	return strcmp(text, "descending") ? hist_fail(h, -EINVAL, "Invalid sort modifier", text) : 1;
}

/* The index of the value or key with that name; 0: none, because hitcount is looked up before. */
static uint32_t find_sorted(const struct uft_hist *h, const char *name)
{
	for (uint32_t i = 1; i < h->nvals + h->nkeys; i++)
		if (!(h->field[i]->flags & F_VAR) && !strcmp(field_name(h->field[i]), name))
			return i;
	return 0;
}

static int make_order(struct uft_hist *h)
{
	char *rest = h->attrs.sort;

	if (!rest) {
		h->nsort = 1;
		return 0;
	}
	for (uint32_t i = 0; i < MAX_SORT && rest; i++) {
		char *text = strsep(&rest, ","), *name;
		int descending;

		if (!*text)
			return hist_fail(h, -EINVAL, "Empty sort field", "sort=");
		if (i == MAX_SORT - 1 && rest)
			return hist_fail(h, -EINVAL, "Too many sort fields (Max = 2)", "sort=");
		name = strsep(&text, ".");
		if (!*name)
			return hist_fail(h, -EINVAL, "Empty sort field", "sort=");
		h->sort[i].field = strcmp(name, "hitcount") ? find_sorted(h, name) : 0;
		if (strcmp(name, "hitcount") && !h->sort[i].field)
			return hist_fail(h, -EINVAL, "Sort field must be a key or a val", name);
		descending = is_descending(h, text);
		if (descending < 0)
			return descending;
		h->sort[i].is_descending = descending;
		h->nsort = i + 1;
	}
	return 0;
}

static int parse(struct uft_hist *h, const char *text)
{
	int ret = split_parts(h, text);

	ret = ret ? ret : actions_parse(h);
	ret = ret ? ret : split_variables(h);
	ret = ret ? ret : make_values(h);
	ret = ret ? ret : make_variables(h);
	ret = ret ? ret : make_keys(h);
	return ret ? ret : make_order(h);
}

int uft_hist_make(struct uft_hist_set *set, const struct uft_event_type *type, const char *text, int is_not,
		  struct uft_hist **out, struct uft_hist_errors *errors)
{
	struct uft_hist *h = calloc(1, sizeof(*h));
	int ret = h ? 0 : -ENOMEM;

	*out = NULL;
	errors->n = 0;
	if (ret)
		return ret;
	h->set = set;
	h->type = type;
	h->is_not = is_not;
	h->errors = errors;
	if (asprintf(&h->command, "hist:%s", text) < 0) {
		h->command = NULL;
		ret = -ENOMEM;
	}
	ret = ret ? ret : parse(h, text);
	h->errors = NULL;
	if (ret)
		uft_hist_free(h);
	else
		*out = h;
	return ret;
}
