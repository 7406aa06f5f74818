/* SPDX-License-Identifier: MIT */
/*
 * events.c - set_event, available_events, events/: which events are recorded, and which of them a filter lets through
 *
 * The events are those of the session's table (symbol/event_type.h), which grows while programs run. An instance
 * enables events for itself: the session records what any instance enables (ops.c), and each buffer shows its own
 * events. An event that functions switch (trigger_event.c) is recorded all the time: set_event lists it as on, and its
 * own file shows the present state and that it may change: `0*`, `1*`. events/ftrace/ describes the records of the
 * tracers and cannot be switched, as in the kernel. A refused filter removes the previous filter; the event's file
 * shows the refused text with the mistake until the next write.
 *
 * set_event keeps and shows a word with `:mod:OBJECT` until a program maps the object: then the events of the object
 * are on. A word whose OBJECT is a glob is kept for good.
 */
#include "symbol/array.h"
#include "symbol/event_filter.h"
#include "tree/files/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int show_nothing(const struct place *at, struct tree_text *out)
{
	(void)at, (void)out;
	return 0;
}

/* ---- On and off ------------------------------------------------------------------------------ */

static void show_name(const struct uft_event_type *type, struct tree_text *out)
{
	text_printf(out, "%s:%s\n", type->system, type->name);
}

int show_available_events(const struct place *at, struct tree_text *out)
{
	const struct uft_event_table *types = tree_types(at->t);

	for (uint32_t i = 0; i < uft_event_table_count(types); i++)
		if (uft_event_table_at(types, i))
			show_name(uft_event_table_at(types, i), out);
	return 0;
}

static int is_on(const struct instance *in, uint32_t index)
{
	return uft_event_set_has(&in->set.events, index) || trigger_switches(in, index);
}

int show_set_event(const struct place *at, struct tree_text *out)
{
	const struct uft_event_table *types = tree_types(at->t);

	for (uint32_t i = 0; i < uft_event_table_count(types); i++)
		if (uft_event_table_at(types, i) && is_on(at->in, i))
			show_name(uft_event_table_at(types, i), out);
	if (at->in->event_mods)
		text_put(out, at->in->event_mods, strlen(at->in->event_mods));
	return 0;
}

/* The events that are on now, after the pending switches by functions. 0, -ENOMEM. */
static int events_on(struct instance *in, struct uft_event_set *out)
{
	if (trigger_switches_any(in))
		tree_pull(in->t);
	return trigger_events_on(in, out);
}

/* Takes ownership of @events. @is_changed: other settings have changed as well. */
static int set_events(struct uft_handle *h, struct instance *in, struct uft_event_set *events, int is_changed)
{
	struct uft_event_set on = { NULL, 0 }, was = in->set.events;
	struct settings set = in->set;
	struct uft_error err = { "" };
	int ret = trigger_events_on(in, &on);

	if (!ret && !is_changed && uft_event_set_equal(events, &on)) {
		uft_event_set_free(events);
		uft_event_set_free(&on);
		return 0;
	}
	set.events = *events;
	ret = ret ? ret : tree_apply(in, &set, &err);
	if (!ret) {
		trigger_said(in, &on, events);
		uft_event_set_free(&was);
	} else {
		uft_event_set_free(events);
	}
	uft_event_set_free(&on);
	if (ret && ret != -EBUSY && h && h->t->opts.warning && err.text[0])
		/* the kernel does not report tasks here: the text has the remedy */
		h->t->opts.warning(h->t->opts.arg, err.text);
	return ret;
}

/* ---- Words of set_event ---------------------------------------------------------------------- */

/* The object of a word, behind its `:mod:`; NULL: the word names none. */
static const char *object_of(const char *word, size_t n)
{
	const char *mod = n ? memmem(word, n, ":mod:", 5) : NULL;

	return mod && mod + 5 < word + n ? mod + 5 : NULL;
}

static int is_glob(const char *p, size_t n)
{
	return memchr(p, '*', n) || memchr(p, '?', n) || memchr(p, '[', n);
}

/* Does a type of the table belong to @object, a name or a glob? */
static int is_known_object(const struct uft_event_table *types, const char *object, size_t n)
{
	char word[UFT_TREE_NAME + 8];
	int len = n < UFT_TREE_NAME ? snprintf(word, sizeof(word), ":mod:%.*s", (int)n, object) : 0;

	for (uint32_t i = 0; len && i < uft_event_table_count(types); i++)
		if (uft_event_table_at(types, i) && uft_event_matches(word, (size_t)len, uft_event_table_at(types, i)))
			return 1;
	return 0;
}

/* Finds the line of @mods that equals the word; NULL: none. */
static char *find_mod(char *mods, const char *word)
{
	size_t n = strlen(word);

	for (char *line = mods; line && *line; line += strcspn(line, "\n") + 1)
		if (strcspn(line, "\n") == n && !memcmp(line, word, n))
			return line;
	return NULL;
}

/* The word as set_event shows it: with the kernel's `*` where a part was left out. malloc'd, NULL: no memory. */
static char *mod_text(const char *word, size_t n)
{
	const char *mod = object_of(word, n) - 5, *colon = memchr(word, ':', (size_t)(mod - word));
	size_t system = (size_t)((colon ? colon : mod) - word), event = colon ? (size_t)(mod - colon - 1) : 0;
	int has_event = colon || !system || (system == 1 && *word == '*');
	char *text = NULL;

	if (asprintf(&text, "%.*s%s%.*s%.*s", system ? (int)system : 1, system ? word : "*", has_event ? ":" : "",
		     event ? (int)event : has_event, event ? colon + 1 : "*", (int)(word + n - mod), mod) < 0)
		return NULL;
	return text;
}

/* Keeps the word in *mods, or removes it (@is_not). 0, -EINVAL: there was none to remove; -ENOMEM. */
static int keep_mod(char **mods, const char *word, size_t n, int is_not)
{
	char *text = mod_text(word, n), *line = text ? find_mod(*mods, text) : NULL, *grown;
	int ret = !text ? -ENOMEM : is_not && !line ? -EINVAL : 0;

	if (!ret && is_not) {
		size_t len = strlen(text) + 1;

		memmove(line, line + len, strlen(line + len) + 1);
	} else if (!ret && !line) {
		if (asprintf(&grown, "%s%s\n", *mods ? *mods : "", text) < 0) {
			ret = -ENOMEM;
		} else {
			free(*mods);
			*mods = grown;
		}
	}
	free(text);
	return ret;
}

/*
 * Adds the events of one word, without its `!`, to *events or removes them. A word for a later object goes into *mods.
 * 0; -EINVAL: the word matches no event; -ENOMEM.
 */
static int take_word(const struct uft_event_table *types, const char *word, size_t n, int is_not,
		     struct uft_event_set *events, char **mods)
{
	const char *object = object_of(word, n);
	size_t nobject = object ? (size_t)(word + n - object) : 0;
	int found = 0, ret;

	for (uint32_t i = 0; i < uft_event_table_count(types); i++) {
		const struct uft_event_type *type = uft_event_table_at(types, i);

		if (!type || !uft_event_matches(word, n, type))
			continue;
		found = 1;
		if (uft_event_set_change(events, i, !is_not))
			return -ENOMEM;
	}
	if (!object || (!is_glob(object, nobject) && (found || is_known_object(types, object, nobject))))
		return found ? 0 : -EINVAL;
	ret = keep_mod(mods, word, n, is_not);
	return ret == -EINVAL && found ? 0 : ret;
}

/*
 * As in the kernel each word counts by itself: words before a wrong one take effect, and the write ends there. *taken:
 * bytes before the wrong word.
 */
static int take_words(struct uft_handle *h, const char *p, size_t n, struct uft_event_set *events, char **mods,
		      size_t *taken)
{
	for (size_t at = 0, len; at < n; at += len) {
		int is_not, ret;

		len = (size_t)text_is_gap(p[at]);
		if (len)
			continue;
		while (at + len < n && !text_is_gap(p[at + len]))
			len++;
		is_not = p[at] == '!';
		ret = take_word(tree_types(h->t), p + at + is_not, len - (size_t)is_not, is_not, events, mods);
		if (ret == -EINVAL) {
			h->wrong = "Event not found";
			h->wrong_at = at;
		}
		if (ret)
			return ret;
		*taken = at + len + (at + len < n);	/* with the blank that ends it */
	}
	*taken = n;
	return 0;
}

/* Takes ownership of @events and @mods. */
static int set_words(struct uft_handle *h, struct instance *in, struct uft_event_set *events, char *mods)
{
	char *was = in->event_mods;
	int ret;

	in->event_mods = mods;
	ret = set_events(h, in, events, strcmp(mods ? mods : "", was ? was : "") != 0);
	if (ret)
		in->event_mods = was;
	free(ret ? mods : was);
	return ret;
}

int truncate_set_event(const struct place *at)
{
	struct uft_event_set none = { NULL, 0 };

	if (trigger_switches_any(at->in))
		tree_pull(at->in->t);
	return set_words(NULL, at->in, &none, NULL);
}

/* Takes words; a `!` in front of a word switches its events off. */
ssize_t store_set_event(struct uft_handle *h, const char *p, size_t n)
{
	struct uft_event_set events = { NULL, 0 };
	char *mods = h->at.in->event_mods ? strdup(h->at.in->event_mods) : NULL;
	int ret = h->at.in->event_mods && !mods ? -ENOMEM : events_on(h->at.in, &events);
	size_t taken = 0;

	ret = ret ? ret : take_words(h, p, n, &events, &mods, &taken);
	if (ret == -ENOMEM || (ret && !taken)) {
		uft_event_set_free(&events);
		free(mods);
		return ret;
	}
	ret = set_words(h, h->at.in, &events, mods);
	return ret ? ret : (ssize_t)taken;
}

/* ---- New types ------------------------------------------------------------------------------- */

/* Switches on the types of one object that kept words of @in match. 1: some are on now. */
static int take_found(struct instance *in, const struct uft_event_type *const *type, uint32_t n)
{
	int found = 0;

	for (char *line = in->event_mods, *next; line && *line; line = next) {
		size_t len = strcspn(line, "\n");
		const char *object = object_of(line, len);
		int is_its = 0;

		next = line + len + 1;
		for (uint32_t i = 0; i < n; i++) {
			if (!type[i])
				continue;
			is_its |= uft_event_matches(object - 5, (size_t)(line + len - object) + 5, type[i]);
			if (uft_event_matches(line, len, type[i]))
				found |= uft_event_set_change(&in->set.events, type[i]->index, 1) == 0;
		}
		if (is_its && !is_glob(object, (size_t)(line + len - object))) {
			memmove(line, next, strlen(next) + 1);
			next = line;
		}
	}
	return found;
}

void event_types_found(struct uft_tree *t, const struct uft_event_type *const *type, uint32_t n)
{
	if (t->in_apply) {
		if (array_resize(t->found, t->nfound + n))
			return;
		memcpy(t->found + t->nfound, type, n * sizeof(*type));
		t->nfound += n;
		return;
	}
	for (struct instance *in = t->instances; in; in = in->next)
		if (take_found(in, type, n))
			share_choose_events(in, uft_live_clock(in->live));
}

void event_types_settle(struct uft_tree *t)
{
	const struct uft_event_type **found = t->found;
	uint32_t n = t->nfound;

	t->found = NULL;
	t->nfound = 0;
	if (n)
		event_types_found(t, found, n);
	free(found);
}

/* ---- Files of events ------------------------------------------------------------------------- */

/* Is a file about this type: its own, its system's, or all? */
static int is_about(const struct place *at, const struct uft_event_type *type)
{
	if (!type)
		return 0;
	if (at->row->pub.scope & UFT_SCOPE_EVENT)
		return type->index == at->index;
	return !(at->row->pub.scope & UFT_SCOPE_SYSTEM) || type->system_index == at->index;
}

/* `X`: some events are on, some off; `?`: there are no events. */
int show_events_enable(const struct place *at, struct tree_text *out)
{
	const struct uft_event_table *types = tree_types(at->t);
	int on = 0, off = 0;

	for (uint32_t i = 0; i < uft_event_table_count(types); i++)
		if (is_about(at, uft_event_table_at(types, i)))
			is_on(at->in, i) ? on++ : off++;
	text_printf(out, "%s\n", !on && !off ? "?" : !on ? "0" : !off ? "1" : "X");
	return 0;
}

ssize_t store_events_enable(struct uft_handle *h, const char *p, size_t n)
{
	const struct uft_event_table *types = tree_types(h->t);
	struct uft_event_set events = { NULL, 0 };
	uint64_t on;
	int ret = text_number_in(p, n, 0, 1, &on);

	ret = ret ? ret : events_on(h->at.in, &events);
	for (uint32_t i = 0; i < uft_event_table_count(types) && !ret; i++)
		if (is_about(&h->at, uft_event_table_at(types, i)))
			ret = uft_event_set_change(&events, i, on != 0);
	if (ret) {
		uft_event_set_free(&events);
		return ret;
	}
	ret = set_events(h, h->at.in, &events, 0);
	return ret ? ret : (ssize_t)n;
}

int show_event_enable(const struct place *at, struct tree_text *out)
{
	struct uft_event_set on = { NULL, 0 };
	int ret = events_on(at->in, &on);

	if (!ret)
		text_printf(out, "%d%s\n", uft_event_set_has(&on, at->index),
			    trigger_switches(at->in, at->index) || trigger_wants_event(at->in, at->index) ? "*" : "");
	uft_event_set_free(&on);
	return ret;
}

ssize_t store_event_enable(struct uft_handle *h, const char *p, size_t n)
{
	return store_events_enable(h, p, n);
}

/* The same id as in the file format. */
int show_event_id(const struct place *at, struct tree_text *out)
{
	struct tree_text format = { 0 };
	const char *id;
	int ret = show_format(at, &format);

	if (ret)
		return ret;
	text_put(&format, "", 1);
	id = format.error ? NULL : strstr(format.p, "\nID: ");
	if (id)
		text_printf(out, "%d\n", atoi(id + 5));
	free(format.p);
	return id ? 0 : -ENOMEM;
}

/* ---- Filters --------------------------------------------------------------------------------- */

/*
 * The text that the file of a refused filter shows, in the form of the kernel's append_filter_err(): the caret is below
 * the mistake, or directly after the text. NULL: no memory.
 */
static char *refused_text(const char *text, const struct uft_filter_error *err)
{
	struct tree_text out = { 0 };
	size_t len = strlen(text);

	if (!strcmp(err->what, "Error"))
		text_printf(&out, "%s\nError: (0)\n", text);
	else
		text_printf(&out, "%s\n%*s^\nparse_error: %s\n", text, (int)(err->at < len ? err->at : len), "",
			    err->what);
	text_put(&out, "", 1);
	if (!out.error)
		return out.p;
	free(out.p);
	return NULL;
}

/*
 * New filters of some events. @text: the filter, malloc'd; NULL: none. @refused: the text that the file shows instead,
 * or NULL.
 */
struct filters { struct filter_change { uint32_t index; char *text, *refused; } *v; uint32_t n, cap; };

static void free_filters(struct filters *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		free(f->v[i].text);
		free(f->v[i].refused);
	}
	free(f->v);
}

/* Takes ownership of the texts. */
static int add_filter(struct filters *f, uint32_t index, char *text, char *refused)
{
	if (array_reserve(f->v, f->cap, f->n + 1)) {
		free(text);
		free(refused);
		return -ENOMEM;
	}
	f->v[f->n++] = (struct filter_change){ index, text, refused };
	return 0;
}

/* A list of texts by place with room for @n of them. NULL: no memory. */
static char **grown_texts(char *const *from, uint32_t nfrom, uint32_t n)
{
	char **to = calloc(n + 1, sizeof(*to));

	if (to && nfrom)
		memcpy(to, from, (nfrom < n ? nfrom : n) * sizeof(*to));
	return to;
}

/* Sets all of @f or none. */
static int set_filters(struct instance *in, struct filters *f)
{
	struct settings set = in->set;
	uint32_t n = in->set.nevent_filters;
	char **was = in->set.event_filter, **error;
	int ret;

	for (uint32_t i = 0; i < f->n; i++)
		n = f->v[i].index >= n ? f->v[i].index + 1 : n;
	set.event_filter = grown_texts(was, in->set.nevent_filters, n);
	set.nevent_filters = n;
	error = grown_texts(in->event_error, in->nevent_errors, n > in->nevent_errors ? n : in->nevent_errors);
	ret = set.event_filter && error ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < f->n && !ret; i++) {
		char *old = set.event_filter[f->v[i].index];

		set.event_filter[f->v[i].index] = f->v[i].text;
		f->v[i].text = old;
	}
	ret = ret ? ret : tree_apply(in, &set, NULL);
	if (ret) {
		for (uint32_t i = 0; set.event_filter && error && i < f->n; i++)	/* the new ones go with @f */
			f->v[i].text = set.event_filter[f->v[i].index];
		free(set.event_filter);
		free(error);
		return ret;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		char *old = error[f->v[i].index];

		error[f->v[i].index] = f->v[i].refused;
		f->v[i].refused = old;
	}
	free(was);
	free(in->event_error);
	in->event_error = error;
	in->nevent_errors = n > in->nevent_errors ? n : in->nevent_errors;
	return 0;
}

/* Checks a filter. Returns as uft_event_filter_make(). */
static int try_filter(const struct uft_event_type *type, const char *text, struct uft_filter_error *err)
{
	struct uft_program *f;
	int ret = uft_event_filter_make(type, text, &f, err);

	if (!ret)
		free(f);
	return ret;
}

/*
 * Copies one write without trailing blanks; leading blanks stay, as in the kernel. malloc'd; NULL: the error
 * is in *ret.
 */
static char *take_filter(const char *p, size_t n, int *ret)
{
	const char *text = p;
	char *copy;

	text_strip(&text, &n);
	n = n ? (size_t)(text + n - p) : 0;
	*ret = n >= UFT_FILTER_BYTES ? -EINVAL : memchr(p, '\0', n) ? -EINVAL : 0;
	copy = *ret ? NULL : strndup(p, n);
	*ret = *ret || copy ? *ret : -ENOMEM;
	return copy;
}

/* `0` removes a filter. */
static int is_none(const char *text)
{
	return !strcmp(text + strspn(text, " \t\n"), "0");
}

int show_event_filter(const struct place *at, struct tree_text *out)
{
	const char *refused = at->index < at->in->nevent_errors ? at->in->event_error[at->index] : NULL;
	const char *text = at->index < at->in->set.nevent_filters ? at->in->set.event_filter[at->index] : NULL;

	text_printf(out, "%s\n", refused ? refused : text ? text : "none");
	return 0;
}

ssize_t store_event_filter(struct uft_handle *h, const char *p, size_t n)
{
	const struct uft_event_type *type = uft_event_table_at(tree_types(h->t), h->at.index);
	struct uft_filter_error err = { "Error", 0 };
	struct filters f = { NULL, 0, 0 };
	int ret, undone, is_out;
	char *text = take_filter(p, n, &ret), *refused = NULL;

	if (!text && n >= UFT_FILTER_BYTES)
		h->wrong = "Filter has more than 4095 bytes, as many as a kernel takes";
	if (!text)
		return ret;
	if (!type) {	/* the event was removed, and the file is still open */
		free(text);
		return -ENODEV;
	}
	is_out = is_none(text);
	ret = is_out ? 0 : try_filter(type, text, &err);
	if (ret && ret != -ENOMEM) {
		refused = refused_text(text, &err);
		ret = refused ? ret : -ENOMEM;
	}
	if (is_out || ret) {
		free(text);
		text = NULL;
	}
	undone = ret == -ENOMEM ? ret : add_filter(&f, type->index, text, refused);
	undone = undone ? undone : set_filters(h->at.in, &f);
	free_filters(&f);
	if (ret && !undone) {
		h->wrong = err.what;
		h->wrong_at = err.at;
	}
	return undone ? undone : ret ? ret : (ssize_t)n;
}

int show_system_filter(const struct place *at, struct tree_text *out)
{
	(void)at;
	text_printf(out, "### global filter ###\n# Use this to set filters for multiple events.\n"
		    "# Only events with the given fields will be affected.\n# If no events are modified, an error message will be displayed here\n");
	return 0;
}

static const struct uft_filter_error of_none = { "Couldn't find or set field in one of a subsystem's events", 0 };

/* Gives the event the filter @text if its fields allow, else none; then its file shows why. 0, -ENOMEM. */
static int fit_filter(struct filters *f, const struct uft_event_type *type, const char *text)
{
	struct uft_filter_error err;
	int ret = !is_none(text) ? try_filter(type, text, &err) : 0;
	char *refused = ret ? refused_text(text, &of_none) : NULL, *its = !ret && !is_none(text) ? strdup(text) : NULL;

	if (ret == -ENOMEM || (ret && !refused) || (!ret && !its && !is_none(text))) {
		free(refused);
		free(its);
		return -ENOMEM;
	}
	return add_filter(f, type->index, its, refused);
}

/*
 * Events that have the filter's fields get the filter; all others of the system lose theirs. As in the kernel the write
 * is not refused, but error_log (which keeps 8 entries) has one entry for each event that did not take the filter.
 */
ssize_t store_system_filter(struct uft_handle *h, const char *p, size_t n)
{
	const struct uft_event_table *types = tree_types(h->t);
	struct filters f = { NULL, 0, 0 };
	uint32_t nrefused = 0;
	size_t len = n;
	int ret;
	char *text = take_filter(p, n, &ret);

	for (uint32_t i = 0; text && !ret && i < uft_event_table_count(types); i++)
		if (is_about(&h->at, uft_event_table_at(types, i)))
			ret = fit_filter(&f, uft_event_table_at(types, i), text);
	free(text);
	text_strip(&p, &len);
	h->wrong = of_none.what;
	for (uint32_t i = 0; !ret && i < f.n && nrefused < 8; i++)
		if (f.v[i].refused) {
			error_note(h, p, len);
			nrefused++;
		}
	ret = ret ? ret : set_filters(h->at.in, &f);
	free_filters(&f);
	return ret ? ret : (ssize_t)n;
}

void event_free(struct instance *in)
{
	for (uint32_t i = 0; i < in->set.nevent_filters; i++)
		free(in->set.event_filter[i]);
	for (uint32_t i = 0; i < in->nevent_errors; i++)
		free(in->event_error[i]);
	free(in->set.event_filter);
	free(in->event_error);
	free(in->event_mods);
	uft_event_set_free(&in->set.events);
}

void event_forget(struct uft_tree *t, uint32_t event)
{
	for (struct instance *in = t->instances; in; in = in->next) {
		int had_filter = event < in->set.nevent_filters && in->set.event_filter[event];

		if (had_filter) {
			free(in->set.event_filter[event]);
			in->set.event_filter[event] = NULL;
		}
		if (event < in->nevent_errors) {
			free(in->event_error[event]);
			in->event_error[event] = NULL;
		}
		if (had_filter)
			tree_apply(in, &in->set, NULL);
	}
}
