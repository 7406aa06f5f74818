/* SPDX-License-Identifier: MIT */
/*
 * set_ftrace_filter.c - lists of functions: set_ftrace_filter, set_ftrace_notrace, set_graph_function,
 * set_graph_notrace, and what they choose from
 *
 * A list is kept as its words, one a line, in the order of writing; `!word` removes functions that earlier words added.
 * So a list also holds for programs and libraries that start later. The file shows the functions known now.
 *
 * A word must match a function of a present or former image. As the kernel does for modules, the list keeps a word
 * `:mod:OBJECT` of an object that was not mapped so far. A write takes effect at once, up to the first refused word.
 * The kernel waits for the close, whose error programs hardly ever check; we do so only for lists so long that they
 * come in several writes. A last word without a blank after it counts if it matches a function, and may go on in the
 * next write. After O_TRUNC the list becomes empty with the first write, or the close. If the session refuses the new
 * list, the old one stays.
 */
#include "tree/files/rows.h"
#include "tree/core/function_list.h"

#include "control/functions.h"
#include "symbol/clean.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes of whole blocks are parts of a long list: their words are checked at once, and applied with the last part. */
#define PART_BYTES	4096u

struct edit {
	struct tree_text words;		/* of the list as edited, without part; a newline behind each */
	char part[WORD_MAX];
	size_t npart, wrong_at;
	int is_pending;			/* words are not applied yet */
	int is_long;			/* the list comes in parts: the hash `known` pays off */
	struct word_known known;
	char reason[500];		/* of a refusal, for error_log */
};

static enum list list_of(const struct place *at)
{
	int is_graph = strstr(at->row->pub.path, "graph") != NULL;

	if (strstr(at->row->pub.path, "notrace"))
		return is_graph ? LIST_GRAPH_NOT : LIST_NOTRACE;
	if (strstr(at->row->pub.path, "stack"))
		return LIST_STACK;
	return is_graph ? LIST_GRAPH : LIST_FILTER;
}

/* ---- Functions that a list selects ----------------------------------------------------------- */

struct selection {
	struct uft_pattern *p;
	uint8_t *is_not;
	size_t n;
	struct uft_words *set;		/* NULL: none */
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
	s->set = uft_words_make(s->p, s->is_not, s->n);
	return s->set || !s->n ? 0 : -ENOMEM;
}

static void selection_free(struct selection *s)
{
	uft_words_free(s->set);
	for (size_t i = 0; i < s->n; i++)
		uft_pattern_free(&s->p[i]);
	free(s->p);
	free(s->is_not);
}

static int is_selected(const struct selection *s, const struct uft_function *f)
{
	long at = s->set ? word_last(s->set, f) : -1;

	return at >= 0 && !s->is_not[at];
}

/*
 * Static functions of one name are listed by that name, each once, as in the kernel; a word `name@file.c`
 * selects one of them.
 */
static void show_name(struct tree_text *out, const struct uft_function *f)
{
	int n = f->name[0] == '@' ? (int)strlen(f->name) : (int)strcspn(f->name, "@");

	text_printf(out, f->is_program ? "%.*s" : "%.*s [%s]", n, f->name, f->object);
}

static void show_function(struct tree_text *out, const struct uft_function *f)
{
	show_name(out, f);
	text_put(out, "\n", 1);
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

/* Does `!func:mod:OBJECT` remove word @i, which waits for an object? `*` stands for any function, as in the kernel. */
static int is_removed_by(const struct selection *s, size_t i, const char *func, const char *object)
{
	return s->p[i].object && !strcmp(s->p[i].object, object) && (!strcmp(func, "*") || !strcmp(func, s->p[i].func));
}

/* Does word @i wait for an object, and no later word remove it? */
static int is_kept(const struct selection *s, size_t i)
{
	if (s->is_not[i] || !s->p[i].object || s->p[i].object[0] == '!')	/* all objects but one wait for none */
		return 0;
	for (size_t k = i + 1; k < s->n; k++)
		if (s->is_not[k] && s->p[k].object && is_removed_by(s, i, s->p[k].func, s->p[k].object))
			return 0;
	return 1;
}

/* Shows the words for objects that no program has loaded yet, the newest first, as the kernel does. */
static void show_absent(struct uft_tree *t, struct selection *s)
{
	for (size_t i = s->n; i--;) {
		if (!is_kept(s, i) || uft_session_has_object(t->session, s->p[i].object))
			continue;
		if (s->out)
			text_printf(s->out, "%s:mod:%s\n", strcmp(s->p[i].func, "*") ? s->p[i].func : "",
				    s->p[i].object);
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
		"#### all functions enabled ####\n", "#### no functions disabled ####\n",
		"#### all functions enabled ####\n",
		"#### no functions disabled ####\n",
		"#### all functions enabled ####\n",
	};
	struct selection s = { .out = out };
	int ret = select_all(at->t, at->in->set.list[list_of(at)], &s);

	selection_free(&s);
	if (!ret && !s.shown)
		text_printf(out, "%s", empty[list_of(at)]);
	if (list_of(at) == LIST_FILTER)
		trigger_show(at->in, out);
	return ret;
}

/* ---- Writing --------------------------------------------------------------------------------- */

int open_functions(struct uft_handle *h)
{
	const char *list = h->at.in->set.list[list_of(&h->at)];
	struct edit *e;

	if ((h->flags & O_ACCMODE) == O_RDONLY)
		return 0;
	h->priv = e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->is_pending = (h->flags & O_TRUNC) != 0;
	if (!e->is_pending)
		text_put(&e->words, list, strlen(list));
	return e->words.error;
}

/* Returns 1 if no word of the list matches anything: the list is as good as empty. */
static int is_void(struct uft_tree *t, const char *list, int *ret)
{
	struct selection s = { 0 };

	if (list[0] != '!' && !strstr(list, "\n!"))
		return !list[0];
	*ret = select_all(t, list, &s);
	selection_free(&s);
	return !*ret && !s.shown;
}

/* Applies the edited list to the session. */
static int edit_apply(struct uft_handle *h, const struct edit *e)
{
	struct instance *in = h->at.in;
	struct settings set = in->set;
	char *list = words_unique(e->words.p ? e->words.p : "", e->words.n), *old = set.list[list_of(&h->at)];
	int ret = list ? 0 : -ENOMEM;

	if (!ret && is_void(h->t, list, &ret))
		list[0] = '\0';
	set.list[list_of(&h->at)] = list;
	if (!ret)
		ret = tree_apply(in, &set, NULL);
	free(ret ? list : old);
	return ret;
}

static void put_word(struct edit *e, const char *word)
{
	text_put(&e->words, word, strlen(word));
	text_put(&e->words, "\n", 1);
}

/*
 * Finds the first command in [p, p + n). Returns the bytes before it; @len: its length with the blank after it, 0:
 * there is none.
 */
static size_t find_command(const char *p, size_t n, size_t *len)
{
	char word[WORD_MAX];

	*len = 0;
	for (size_t i = 0, end; i < n; i = end + 1) {
		for (end = i; end < n && !isspace((unsigned char)p[end]) && p[end]; end++)
			;
		if (end == n || end - i >= sizeof(word))
			continue;
		memcpy(word, p + i, end - i);
		word[end - i] = '\0';
		if (!trigger_is(word))
			continue;
		*len = end - i + 1;
		return i;
	}
	return n;
}

static ssize_t do_command(struct uft_handle *h, const char *p, size_t at, size_t len)
{
	char word[WORD_MAX];
	int ret;

	memcpy(word, p + at, len - 1);
	word[len - 1] = '\0';
	ret = trigger_do(h, word);
	h->wrong_at += at;
	return ret ? ret : (ssize_t)(at + len);
}

/*
 * Completes a command that the previous write began. Returns the bytes used of this write, 0: there is no such
 * command.
 */
static ssize_t finish_command(struct uft_handle *h, struct edit *e, const char *p, size_t n)
{
	size_t k = 0;
	int ret;

	while (k < n && !isspace((unsigned char)p[k]) && p[k])
		k++;
	if (!e->npart || list_of(&h->at) != LIST_FILTER || k == n || e->npart + k >= sizeof(e->part))
		return 0;
	memcpy(e->part + e->npart, p, k);
	e->part[e->npart + k] = '\0';
	if (!trigger_is(e->part))
		return 0;
	e->npart = 0;
	ret = trigger_do(h, e->part);
	h->wrong_at = 0;		/* of the part that this write has */
	return ret ? ret : (ssize_t)k + 1;
}

/* Runs the incomplete word of the previous write, if it is a command. */
static int do_part(struct uft_handle *h, struct edit *e)
{
	e->part[e->npart] = '\0';
	return e->npart && list_of(&h->at) == LIST_FILTER && trigger_is(e->part) ? trigger_do(h, e->part) : 0;
}

/* Splits [p, p + n), after the incomplete word of @e, into @b. 0, or the error of the word that follows those of @b. */
static int split_words(struct edit *e, const char *p, size_t n, struct word_batch *b)
{
	for (size_t i = 0; i < n; i++) {
		int ret = 0, is_end = isspace((unsigned char)p[i]) || !p[i];

		if (!is_end && e->npart + 1 < sizeof(e->part)) {
			e->part[e->npart++] = p[i];
			continue;
		}
		e->part[e->npart] = '\0';
		ret = !is_end ? -EINVAL : e->npart ? word_batch_add(b, e->part, i > e->npart ? i - e->npart : 0, i +
			1) : 0;
		e->wrong_at = i > e->npart ? i - e->npart : 0;
		e->npart = 0;
		if (ret)
			return ret;
	}
	return 0;
}

struct removal { struct selection s; const struct uft_pattern *p; int found; };

static int removal_fn(void *arg, const struct uft_function *f)
{
	struct removal *r = arg;

	r->found = is_selected(&r->s, f) && word_matches(r->p, f);
	return r->found;
}

/*
 * Does the list have what `!word` removes? As in the kernel this is required of functions in the graph's lists, and
 * of the words that wait for an object in all.
 */
static int has_removed(struct uft_handle *h, struct edit *e, const struct word *w, const struct uft_pattern *p)
{
	int is_absent = p->object && p->object[0] != '!' && !uft_session_has_object(h->t->session, p->object), ret;
	struct removal r = { .p = p };

	if (w->text[0] != '!' || (!is_absent && (list_of(&h->at) < LIST_GRAPH || list_of(&h->at) == LIST_STACK)))
		return 1;
	text_put(&e->words, "", 1);
	if (e->words.error)
		return 1;
	e->words.n--;
	ret = selection_make(e->words.p, &r.s);
	if (!ret && !is_absent)
		uft_session_functions(h->t->session, NULL, removal_fn, &r);
	for (size_t i = 0; !ret && is_absent && i < r.s.n; i++)
		r.found |= is_kept(&r.s, i) && is_removed_by(&r.s, i, p->func, p->object);
	selection_free(&r.s);
	return ret || r.found;
}

/* ---- Why a word is refused ------------------------------------------------------------------- */

#define NAMED	3u	/* programs that a reason lists */

struct traced {
	char programs[160];
	size_t nprograms, nlibraries;
	const char *last;
};

static int traced_fn(void *arg, const struct uft_function *f)
{
	struct traced *t = arg;
	size_t len = strlen(t->programs);

	if (f->object == t->last)	/* those of an object come together */
		return 0;
	t->last = f->object;
	if (!f->is_program)
		t->nlibraries++;
	else if (t->nprograms++ < NAMED)
		snprintf(t->programs + len, sizeof(t->programs) - len, "%s%.40s", len ? ", " : "", f->object);
	return 0;
}

/* Writes into @e why @w is refused, and where its functions were searched. */
static void explain_unknown(struct uft_handle *h, struct edit *e, const struct word *w)
{
	struct traced t = { .last = NULL };
	char more[32] = "";
	size_t n;

	if (w->nth) {
		snprintf(e->reason, sizeof(e->reason),
			 "Function not found: available_filter_functions has no line %llu", (unsigned long long)w->nth);
		return;
	}
	uft_session_functions(h->t->session, NULL, traced_fn, &t);
	if (t.nprograms > NAMED)
		snprintf(more, sizeof(more), ", %zu more", t.nprograms - NAMED);
	n = (size_t)snprintf(e->reason, sizeof(e->reason), "Function not found: '%.200s' matches no function of %s%s",
			     w->text, t.nprograms ? t.programs : "a traced program", more);
	if (t.nlibraries)
		snprintf(e->reason + n, sizeof(e->reason) - n, " and %zu librar%s", t.nlibraries,
			 t.nlibraries == 1 ? "y" : "ies");
	uft_clean(e->reason, strlen(e->reason), 0);
}

/* Adds the words of a write to the list. Returns the bytes before the first refused word, or its error. */
static ssize_t take_words(struct uft_handle *h, struct edit *e, const char *p, size_t n)
{
	struct word_batch b = { 0 };
	int wrong = split_words(e, p, n, &b);
	long good = word_batch_check(h->t, e->is_long ? &e->known : NULL, &b);
	ssize_t ret = (ssize_t)n;

	if (good >= 0 && ((size_t)good < b.n || wrong)) {
		e->npart = 0;
		h->wrong = "Not a function's name, a glob or GLOB:mod:OBJECT, or too long";
		h->wrong_at = (size_t)good < b.n ? b.word[good].at : e->wrong_at;
		ret = good ? (ssize_t)b.word[good - 1].end : wrong ? wrong : -EINVAL;
		if (!good && (size_t)good < b.n) {
			explain_unknown(h, e, &b.word[good]);
			h->wrong = e->reason;
			ret = -EINVAL;
		}
	}
	for (long i = 0; i < good; i++) {
		if (!has_removed(h, e, &b.word[i], &b.p[i])) {
			e->npart = 0;
			snprintf(e->reason, sizeof(e->reason),
				 "'%.200s' removes nothing: it matches no function of the list", b.word[i].text);
			h->wrong = e->reason;
			h->wrong_at = b.word[i].at;
			ret = i ? (ssize_t)b.word[i - 1].end : -EINVAL;
			break;
		}
		put_word(e, b.word[i].text);
	}
	word_batch_free(&b);
	return good < 0 ? good : e->words.error ? e->words.error : ret;
}

/* Adds the incomplete last word of a write, if it matches. */
static int take_part(struct uft_tree *t, struct edit *e)
{
	struct word_batch b = { 0 };
	int ret = 0;

	e->part[e->npart] = '\0';
	if (trigger_is(e->part))
		return 0;
	if (e->npart)
		ret = word_batch_add(&b, e->part, 0, 0);
	if (!ret && e->npart) {
		long good = word_batch_check(t, e->is_long ? &e->known : NULL, &b);

		ret = good > 0 ? 0 : good ? (int)good : -EINVAL;
		if (!ret)
			put_word(e, b.word[0].text);
	}
	word_batch_free(&b);
	return ret;
}

static int edit_tell(struct uft_handle *h, struct edit *e)
{
	size_t n = e->words.n;
	int ret;

	take_part(h->t, e);		/* may be the begin of a word that goes on in the next write */
	ret = edit_apply(h, e);
	e->words.n = n;
	return ret;
}

ssize_t store_functions(struct uft_handle *h, const char *p, size_t n)
{
	struct edit *e = h->priv, before = *e;
	size_t command = 0, before_it = list_of(&h->at) == LIST_FILTER && !e->npart ? find_command(p, n, &command) : n;
	ssize_t taken = finish_command(h, e, p, n);
	int is_pending, ret = 0;

	if (taken)
		return taken;
	if (command && before_it == strspn(p, " \t\n"))
		return do_command(h, p, before_it, command);
	n = before_it;
	taken = take_words(h, e, p, n);
	is_pending = n && n % PART_BYTES == 0 && taken == (ssize_t)n;

	if (taken >= 0 && !is_pending)
		ret = edit_tell(h, e);
	if (ret) {
		e->words.n = before.words.n;
		memcpy(e->part, before.part, before.npart);
		e->npart = before.npart;
		e->is_pending = 0;	/* after a refusal the old list stays */
		return ret;
	}
	if (taken >= 0)
		e->is_pending = e->is_long = is_pending;
	return taken;
}

int release_functions(struct uft_handle *h)
{
	struct edit *e = h->priv;
	int ret = 0;

	if (!e)
		return 0;
	ret = do_part(h, e);
	if (!ret && e->is_pending)
		ret = edit_tell(h, e);
	free(e->words.p);
	free(e->known.hash);
	free(e);
	return ret;
}

/* ---- All functions --------------------------------------------------------------------------- */

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

static void show_users(struct tree_text *out, const struct uft_function *f)
{
	show_name(out, f);
	text_printf(out, " (%d)\n", f->is_armed);
}

static int enabled_fn(void *arg, const struct uft_function *f)
{
	if (f->is_armed)
		show_users(arg, f);
	return 0;
}

int show_enabled_functions(const struct place *at, struct tree_text *out)
{
	return uft_session_functions(at->t->session, NULL, enabled_fn, out);
}

static int touched_fn(void *arg, const struct uft_function *f)
{
	if (f->is_touched)
		show_users(arg, f);
	return 0;
}

int show_touched_functions(const struct place *at, struct tree_text *out)
{
	return uft_session_functions(at->t->session, NULL, touched_fn, out);
}

struct total { uint64_t functions, objects; const char *last; };

static int total_fn(void *arg, const struct uft_function *f)
{
	struct total *t = arg;

	t->functions++;
	t->objects += f->object != t->last;	/* those of an object come together */
	t->last = f->object;
	return 0;
}

int show_dyn_ftrace_total_info(const struct place *at, struct tree_text *out)
{
	struct total sum = { 0 };
	int ret = uft_session_functions(at->t->session, NULL, total_fn, &sum);

	text_printf(out, "%llu pages:%llu groups: %llu\n", (unsigned long long)sum.functions,
		    (unsigned long long)((sum.functions * sizeof(struct uft_patch) + UFT_PAGE - 1) / UFT_PAGE),
		    (unsigned long long)sum.objects);
	return ret;
}
