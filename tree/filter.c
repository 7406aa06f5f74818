/* SPDX-License-Identifier: MIT */
/*
 * filter.c - lists of functions: set_ftrace_filter, set_ftrace_notrace, set_graph_function, and what they choose from
 *
 * A list is kept as its words, one a line, in the order in which they were written; `!word` takes out what the ones before
 * it took in. So a list holds for programs and libraries to come as well; what is shown are the functions known now.
 *
 * A word must match a function of an image that there is or was; `:mod:OBJECT` of an object that has not been met is
 * remembered, as the kernel does for modules. What a write holds takes effect with it, all or nothing: the kernel waits for the
 * close, whose error nobody looks at. A last word without a blank behind it counts if it is whole, and may go on in the next write.
 * After O_TRUNC the list is empty with the first write, or the close.
 */
#include "tree/rows.h"

#include "control/inspect.h"
#include "symbol/names.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX	512

struct edit {
	char *words;			/* of the list as edited, without part */
	char part[WORD_MAX];
	size_t npart;
	int is_pending;			/* truncated, and not told yet */
};

static enum list list_of(const struct place *at)
{
	return strstr(at->row->pub.path, "notrace") ? LIST_NOTRACE : strstr(at->row->pub.path, "graph") ? LIST_GRAPH : LIST_FILTER;
}

/* ---- Words ----------------------------------------------------------------------------------- */

struct count { struct uft_pattern p; uint64_t n, nth; char *found; };

static int count_fn(void *arg, const struct uft_function *f)
{
	struct count *c = arg;

	if (uft_pattern_match(&c->p, f->name, NULL, f->object))
		c->n++;
	return c->n > 0;
}

static int nth_fn(void *arg, const struct uft_function *f)
{
	struct count *c = arg;

	if (++c->n < c->nth)
		return 0;
	return asprintf(&c->found, f->is_program ? "%s" : "%s:mod:%s", f->name, f->object) < 0 ? -ENOMEM : 1;
}

/* A number is a line of available_filter_functions, from 1. */
static int word_by_number(struct uft_tree *t, const char *word, char out[WORD_MAX])
{
	struct count c = { 0 };
	int ret;

	if (text_number(word, strlen(word), 10, &c.nth) || !c.nth)
		return -EINVAL;
	ret = uft_session_functions(t->session, NULL, nth_fn, &c);
	if (ret > 0)
		snprintf(out, WORD_MAX, "%s", c.found);
	free(c.found);
	return ret > 0 ? 0 : ret ? ret : -EINVAL;
}

/* The word as it is kept in @out, if it means something. */
static int word_check(struct uft_tree *t, const char *word, char out[WORD_MAX])
{
	int is_not = word[0] == '!', ret;
	struct count c = { 0 };

	out[0] = '!';
	if (isdigit((unsigned char)word[is_not]))
		ret = word_by_number(t, word + is_not, out + is_not);
	else
		ret = snprintf(out + is_not, WORD_MAX - 2, "%s%s", word[is_not] == ':' ? "*" : "", word + is_not) < WORD_MAX - 2 ?
			      0 : -EINVAL;
	if (!ret)
		ret = uft_pattern_parse(out + is_not, &c.p);
	if (ret)
		return ret;
	ret = uft_session_functions(t->session, c.p.object, count_fn, &c);
	if (ret >= 0)
		ret = c.n || (c.p.object && !uft_session_has_object(t->session, c.p.object)) ? 0 : -EINVAL;
	uft_pattern_free(&c.p);
	return ret;
}

/* Appends @word, which takes the place of an earlier one like it. */
static int words_add(char **words, const char *word)
{
	size_t n = strlen(word);
	char *more = malloc(strlen(*words) + n + 2), *to = more;

	if (!more)
		return -ENOMEM;
	for (const char *p = *words; *p; p += strcspn(p, "\n") + 1) {
		size_t len = strcspn(p, "\n");

		if (len - (*p == '!') == n - (*word == '!') && !memcmp(p + (*p == '!'), word + (*word == '!'), n - (*word == '!')))
			continue;
		memcpy(to, p, len + 1);
		to += len + 1;
	}
	memcpy(to, word, n);
	memcpy(to + n, "\n", 2);
	free(*words);
	*words = more;
	return 0;
}

/* ---- What a list selects --------------------------------------------------------------------- */

struct selection {
	struct uft_pattern *p;
	uint8_t *is_not;
	size_t n;
	struct tree_text *out;
	uint64_t shown;
};

static int selection_make(const char *words, struct selection *s)
{
	size_t n = 0;

	for (const char *p = words; *p; p++)
		n += *p == '\n';
	s->p = calloc(n + 1, sizeof(*s->p));
	s->is_not = calloc(n + 1, 1);
	if (!s->p || !s->is_not)
		return -ENOMEM;
	for (const char *p = words; *p; p += strcspn(p, "\n") + 1) {
		char word[WORD_MAX];

		snprintf(word, sizeof(word), "%.*s", (int)strcspn(p, "\n"), p);
		s->is_not[s->n] = word[0] == '!';
		if (uft_pattern_parse(word + s->is_not[s->n], &s->p[s->n]))
			return -EINVAL;
		s->n++;
	}
	return 0;
}

static void selection_free(struct selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		uft_pattern_free(&s->p[i]);
	free(s->p);
	free(s->is_not);
}

static int is_selected(const struct selection *s, const struct uft_function *f)
{
	int is_in = 0;

	for (size_t i = 0; i < s->n; i++)
		if (is_in == s->is_not[i] && uft_pattern_match(&s->p[i], f->name, NULL, f->object))
			is_in = !is_in;
	return is_in;
}

static void show_function(struct tree_text *out, const struct uft_function *f)
{
	text_printf(out, f->is_program ? "%s\n" : "%s [%s]\n", f->name, f->object);
}

static int list_fn(void *arg, const struct uft_function *f)
{
	struct selection *s = arg;

	if (!is_selected(s, f))
		return 0;
	s->shown++;
	if (s->out)
		show_function(s->out, f);
	return 0;
}

/* Those of objects that have not been met. */
static void show_absent(struct uft_tree *t, struct selection *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->is_not[i] || !s->p[i].object || uft_session_has_object(t->session, s->p[i].object))
			continue;
		if (s->out)
			text_printf(s->out, "%s:mod:%s\n", strcmp(s->p[i].func, "*") ? s->p[i].func : "", s->p[i].object);
		s->shown++;
	}
}

static int select_all(struct uft_tree *t, const char *words, struct selection *s)
{
	int ret = selection_make(words, s);

	if (!ret)
		ret = uft_session_functions(t->session, NULL, list_fn, s);
	if (!ret)
		show_absent(t, s);
	return ret;
}

int show_functions(const struct place *at, struct tree_text *out)
{
	static const char *const empty[NLISTS] = {
		"#### all functions enabled ####\n", "#### no functions disabled ####\n", "#### all functions enabled ####\n",
	};
	struct selection s = { .out = out };
	int ret = select_all(at->t, at->t->set.list[list_of(at)], &s);

	selection_free(&s);
	if (!ret && !s.shown)
		text_printf(out, "%s", empty[list_of(at)]);
	return ret;
}

/* ---- Writing --------------------------------------------------------------------------------- */

int open_functions(struct uft_handle *h)
{
	struct edit *e;

	if ((h->flags & O_ACCMODE) == O_RDONLY)
		return 0;
	h->priv = e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->is_pending = (h->flags & O_TRUNC) != 0;
	e->words = strdup(e->is_pending ? "" : h->t->set.list[list_of(&h->at)]);
	if (e->words)
		return 0;
	free(e);
	return -ENOMEM;
}

/* The edited list, with @part if that is a word, into the session. */
static int edit_apply(struct uft_handle *h, const char *words, const char *part)
{
	struct uft_tree *t = h->t;
	struct settings set = t->set;
	struct selection s = { 0 };
	char *list = strdup(words), word[WORD_MAX], *old = set.list[list_of(&h->at)];
	int ret = list ? 0 : -ENOMEM;

	if (!ret && part[0] && !word_check(t, part, word))
		ret = words_add(&list, word);
	if (!ret)
		ret = select_all(t, list, &s);
	selection_free(&s);
	if (!ret && !s.shown)
		list[0] = '\0';		/* all was taken out */
	set.list[list_of(&h->at)] = list;
	if (!ret)
		ret = tree_apply(t, &set, NULL);
	free(ret ? list : old);
	return ret;
}

/* The words of [p, p + n) behind what e holds, into @words and @part. Bytes until the first that is refused, or its error. */
static ssize_t take_words(struct uft_tree *t, struct edit *e, const char *p, size_t n, char **words)
{
	char word[WORD_MAX];
	size_t good = 0;
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		if (!isspace((unsigned char)p[i]) && p[i]) {
			if (e->npart + 1 >= sizeof(e->part))
				ret = -EINVAL;
			else
				e->part[e->npart++] = p[i];
			continue;
		}
		e->part[e->npart] = '\0';
		if (e->npart)
			ret = word_check(t, e->part, word);
		if (!ret && e->npart)
			ret = words_add(words, word);
		e->npart = 0;
		good = ret ? good : i + 1;
	}
	if (ret)
		e->npart = 0;
	return ret && !good ? ret : ret ? (ssize_t)good : (ssize_t)n;
}

ssize_t store_functions(struct uft_handle *h, const char *p, size_t n)
{
	struct edit *e = h->priv, before = *e;
	char *words = strdup(e->words);
	ssize_t taken = words ? take_words(h->t, e, p, n, &words) : -ENOMEM;
	int ret = 0;

	e->part[e->npart] = '\0';
	if (taken >= 0)
		ret = edit_apply(h, words, e->part);
	if (taken < 0 || ret) {
		free(words);
		if (ret)
			*e = before;
		return ret ? ret : taken;
	}
	free(e->words);
	e->words = words;
	e->is_pending = 0;
	return taken;
}

int release_functions(struct uft_handle *h)
{
	struct edit *e = h->priv;
	int ret = 0;

	if (!e)
		return 0;
	if (e->is_pending)
		ret = edit_apply(h, e->words, "");
	free(e->words);
	free(e);
	return ret;
}

/* ---- All there are --------------------------------------------------------------------------- */

static int all_fn(void *arg, const struct uft_function *f)
{
	show_function(arg, f);
	return 0;
}

int show_available_filter_functions(const struct place *at, struct tree_text *out)
{
	return uft_session_functions(at->t->session, NULL, all_fn, out);
}

static int addr_fn(void *arg, const struct uft_function *f)
{
	text_printf(arg, "%016llx ", (unsigned long long)f->addr);
	return all_fn(arg, f);
}

int show_available_filter_functions_addrs(const struct place *at, struct tree_text *out)
{
	return uft_session_functions(at->t->session, NULL, addr_fn, out);
}

static int enabled_fn(void *arg, const struct uft_function *f)
{
	if (f->is_armed)
		text_printf(arg, f->is_program ? "%s (1)\n" : "%s [%s] (1)\n", f->name, f->object);
	return 0;
}

int show_enabled_functions(const struct place *at, struct tree_text *out)
{
	return uft_session_functions(at->t->session, NULL, enabled_fn, out);
}
