/* SPDX-License-Identifier: MIT */
/*
 * action.c - actions of a histogram: HANDLER(...).ACTION(...)
 *
 *	onmatch(SYSTEM.EVENT)	another event has set its variables at this key
 *	onmax($VAR)		the variable is larger than ever at this key
 *	onchange($VAR)		the variable differs from its value before
 *
 *	SYNTH(PARAM,..), trace(SYNTH,PARAM,..)	make a synthetic event
 *	save(FIELD,..)		keep fields of this event beside the value
 *	snapshot()		take a snapshot
 *
 * A parameter is a variable, `$x`, or a field. A field of this event becomes a variable without a name. A field of
 * onmatch()'s event needs a histogram of that event that has it: one is added, with the keys of a compatible histogram,
 * which must exist.
 */
#include "hist/hist_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

static char *strip(char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	for (n = strlen(text); n && isspace((unsigned char)text[n - 1]); n--)
		text[n - 1] = '\0';
	return text;
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Keeps a copy of the action's text; NULL stays NULL. */
static int keep(char **to, const char *text)
{
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

static int parse_params(struct uft_hist *h, char *text, struct action *a)
{
	int is_first = 1, ret = 0;

	while (text && !ret) {
		char *param;

		if (a->nparams == MAX_PARAMS)
			return hist_fail(h, -EINVAL, "Too many action params", "");
		param = strip(strsep(&text, ","));
		if (strlen(param) < 2)
			return hist_fail(h, -EINVAL, "Invalid action param", param);
		if (is_first && a->has_trace_word)
			ret = keep(&a->synth_name, param);
		else
			ret = keep(&a->param[a->nparams++], param);
		is_first = 0;
	}
	return ret;
}

static int parse_action(struct uft_hist *h, char *text, struct action *a)
{
	char *name, *params;
	int ret;

	strsep(&text, ".");
	name = text ? strsep(&text, "(") : NULL;
	if (!name || !text)
		return hist_fail(h, -EINVAL, "No action found", "");
	params = strsep(&text, ")");
	ret = keep(&a->name, name);
	if (ret)
		return ret;
	a->kind = has_prefix(name, "save") ? ACT_SAVE : has_prefix(name, "snapshot") ? ACT_SNAPSHOT : ACT_TRACE;
	if (a->kind == ACT_SNAPSHOT && !text)
		return hist_fail(h, -EINVAL, "No closing paren found", params);
	a->has_trace_word = a->kind == ACT_TRACE && has_prefix(name, "trace");
	if (a->kind != ACT_SNAPSHOT)
		ret = parse_params(h, params, a);
	if (!ret && a->kind == ACT_TRACE && a->has_trace_word && !a->synth_name)
		ret = hist_fail(h, -EINVAL, "Invalid action param", "");
	if (!ret && a->handler == ON_MATCH && a->kind != ACT_TRACE)
		return hist_fail(h, -EINVAL, "Handler doesn't support action", name);
	return ret;
}

static int parse_match(struct uft_hist *h, char *text, struct action *a)
{
	char *event = strsep(&text, ")"), *system;

	if (!text)
		return hist_fail(h, -EINVAL, "No closing paren found", event);
	system = strsep(&event, ".");
	if (!event)
		return hist_fail(h, -EINVAL, "Missing subsystem", system);
	if (!h->set->env.find_event(h->set->env.arg, system, event))
		return hist_fail(h, -EINVAL, "Invalid subsystem or event name", event);
	if (keep(&a->system, system) || keep(&a->event, event))
		return -ENOMEM;
	return parse_action(h, text, a);
}

static int parse_tracked(struct uft_hist *h, char *text, struct action *a)
{
	char *var = strsep(&text, ")");

	if (!text)
		return -EINVAL;
	return keep(&a->var, var) ? -ENOMEM : parse_action(h, text, a);
}

int actions_parse(struct uft_hist *h)
{
	int ret = 0;

	for (uint32_t i = 0; i < h->attrs.nactions && !ret; i++) {
		struct action *a = calloc(1, sizeof(*a));
		char *text = h->attrs.action[i];

		if (!a)
			return -ENOMEM;
		h->action[h->nactions++] = a;
		a->handler = has_prefix(text, "onmatch(") ? ON_MATCH : has_prefix(text, "onmax(") ? ON_MAX : ON_CHANGE;
		text = strchr(text, '(') + 1;
		ret = a->handler == ON_MATCH ? parse_match(h, text, a) : parse_tracked(h, text, a);
	}
	return ret;
}

void text_actions(const struct uft_hist *h, const struct uft_hist_sink *to)
{
	static const char *const word[] = { "onmatch", "onmax", "onchange" };

	for (uint32_t i = 0; i < h->nactions; i++) {
		const struct action *a = h->action[i];
		const char *comma = "";

		hist_printf(to, ":%s(", word[a->handler]);
		if (a->handler == ON_MATCH)
			hist_printf(to, "%s.%s).%s(", a->system, a->event, a->name);
		else
			hist_printf(to, "%s).%s(", a->var, a->name);
		if (a->synth_name) {
			hist_printf(to, "%s", a->synth_name);
			comma = ",";
		}
		for (uint32_t k = 0; k < a->nparams; k++, comma = ",")
			hist_printf(to, "%s%s", comma, a->param[k]);
		hist_printf(to, ")");
	}
}

static int is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The event's name in `trace(NAME,...)` and `NAME(...)`, which are the same action. */
static const char *name_of(const struct action *a)
{
	return a->kind == ACT_TRACE && a->synth_name ? a->synth_name : a->name;
}

int actions_are_same(const struct uft_hist *a, const struct uft_hist *b)
{
	if (a->nactions != b->nactions)
		return 0;
	for (uint32_t i = 0; i < a->nactions; i++) {
		const struct action *x = a->action[i], *y = b->action[i];

		if (x->handler != y->handler || x->kind != y->kind || x->nparams != y->nparams ||
		    !is_same_text(name_of(x), name_of(y)) || !is_same_text(x->system, y->system) ||
		    !is_same_text(x->event, y->event) || !is_same_text(x->var, y->var))
			return 0;
		for (uint32_t k = 0; k < x->nparams; k++)
			if (strcmp(x->param[k], y->param[k]))
				return 0;
	}
	return 1;
}

/* ---- Making: the histogram is no other's yet ------------------------------------------------- */

static void free_field_var(struct field_var *v)
{
	field_free(v->var);
	field_free(v->val);
	free(v);
}

/* Counts the variables that exist so far, and those that onmax and onchange compare with. */
static uint32_t count_variables(const struct uft_hist *h)
{
	return h->attrs.nvars + h->ntracked + h->nfield_vars + h->nsave_vars;
}

static int make_field_var(struct uft_hist *h, const char *name, struct field_var **out)
{
	char *copy = strdup(name);
	struct field_var *v = calloc(1, sizeof(*v));
	uint32_t flags = 0;
	int ret = copy && v ? expression_atom(h, copy, &flags, NULL, &v->val) : -ENOMEM;

	free(copy);
	*out = NULL;
	if (ret == -EINVAL)
		hist_fail(h, ret, "Couldn't parse field variable", name);
	if (!ret && (variable_is_there(h, name) || count_variables(h) >= MAX_VARS))
		ret = hist_fail(h, -EINVAL, "Couldn't create or find variable", name);
	if (!ret) {
		v->var = field_new(F_VAR | (v->val->flags & (F_STRING | F_STACK)), name);
		ret = v->var ? keep(&v->var->type, v->val->type) : -ENOMEM;
	}
	if (ret) {
		if (v)
			free_field_var(v);
		return ret;
	}
	v->var->size = v->val->size;
	*out = v;
	return 0;
}

static int make_save(struct uft_hist *h, struct action *a)
{
	if (h->nsave_vars)
		return hist_fail(h, -EEXIST, "Can't have more than one save() action per hist", "");
	for (uint32_t i = 0; i < a->nparams; i++) {
		int ret = make_field_var(h, a->param[i], &h->save_var[h->nsave_vars]);

		if (ret == -EINVAL)
			hist_fail(h, ret, "Couldn't create field variable", a->param[i]);
		if (ret)
			return ret;
		h->nsave_vars++;
	}
	return 0;
}

/* A histogram of the event whose keys have the same types as ours. */
static const struct uft_hist *compatible(const struct uft_hist *h, const struct uft_event_type *type)
{
	for (const struct uft_hist *o = h->set->first; o; o = o->next) {
		int is_one = o->type == type && o->nkeys == h->nkeys;

		for (uint32_t i = 0; is_one && i < h->nkeys; i++) {
			const struct hist_field *a = h->field[h->nvals + i], *b = o->field[o->nvals + i];

			is_one = a->size == b->size && a->is_signed == b->is_signed && !strcmp(a->type, b->type);
		}
		if (is_one)
			return o;
	}
	return NULL;
}

/* Makes a field of the other event a variable of a histogram that is added there. */
static struct hist_field *field_of_match(struct uft_hist *h, const char *system, const char *event, const char *name,
					 struct uft_hist **of)
{
	const struct uft_event_type *type = h->set->env.find_event(h->set->env.arg, system, event);
	const struct uft_hist *like = type ? compatible(h, type) : NULL;
	char var[TEXT_BYTES], text[2 * TEXT_BYTES] = "keys=";
	struct hist_field *v;

	if (!type) {
		hist_fail(h, -EINVAL, "Event file not found", name);
		return NULL;
	}
	if (!like) {
		hist_fail(h, -EINVAL, "Matching event histogram not found", name);
		return NULL;
	}
	snprintf(var, sizeof(var), "synthetic_%s", name);
	v = variable_find(h, system, event, var, of);
	if (v)
		return v;
	for (uint32_t i = 0; i < like->nkeys; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? "," : "",
			 field_name(like->field[like->nvals + i]));
	snprintf(text + strlen(text), sizeof(text) - strlen(text), ":%s=%s", var, name);
	if (!h->set->env.add_to || h->set->env.add_to(h->set->env.arg, like, text)) {
		if (!field_find(type, name))
			hist_fail(h, -EINVAL, "Couldn't find field", name);
		hist_fail(h, -EINVAL, "Couldn't create histogram for field", name);
		return NULL;
	}
	v = variable_find(h, system, event, var, of);
	if (!v)
		hist_fail(h, -EINVAL, "Couldn't find synthetic variable", name);
	return v;
}

static struct hist_field *find_param_variable(struct uft_hist *h, const struct action *a, const char *system,
					      const char *event, const char *name, struct uft_hist **of)
{
	struct hist_field *v = system ? NULL : variable_of(h, name);

	*of = h;
	if (v)
		return v;
	if (!system && a->handler == ON_MATCH) {
		system = a->system;
		event = a->event;
	}
	v = variable_find(h, system, event, name, of);
	if (!v)
		hist_fail(h, -EINVAL, "Couldn't find param", name);
	return v;
}

static struct hist_field *find_param_field(struct uft_hist *h, const struct action *a, const char *system,
					   const char *event, const char *name, struct uft_hist **of)
{
	struct field_var *v;

	*of = h;
	if (is_own_event(h, system, event) && !make_field_var(h, name, &v)) {
		h->field_var[h->nfield_vars++] = v;
		return v->var;
	}
	if (!system && a->handler == ON_MATCH) {
		system = a->system;
		event = a->event;
	}
	return event ? field_of_match(h, system, event, name, of) : NULL;
}

/* May the value be that field of the event? As in the kernel, the field of a variable without a name has no sign. */
static int fits(const struct uft_synth *s, uint32_t i, const struct hist_field *v)
{
	const struct uft_synth_field *f = i < s->nfields ? &s->field[i] : NULL;

	if (!f)
		return 0;
	if (strstr(v->type, "char[") && f->is_string && f->is_dynamic)
		return 1;
	if (strstr(v->type, "long[") && f->is_stack)
		return 1;
	return !strcmp(f->type, v->type) || (f->size == v->size && (f->is_string || f->is_signed == v->is_signed));
}

static int make_param(struct uft_hist *h, struct action *a, uint32_t i)
{
	char *copy = strdup(a->param[i]), *rest = copy, *system = NULL, *event = NULL;
	struct uft_hist *of = NULL;
	struct hist_field *v, *r;
	uint32_t errors = h->errors ? h->errors->n : 0;
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	if (strchr(rest, '.')) {
		system = strsep(&rest, ".");
		event = strsep(&rest, ".");
	}
	if (!rest) {
		free(copy);
		return -EINVAL;
	}
	v = *rest == '$' ? find_param_variable(h, a, system, event, rest + 1, &of) :
		find_param_field(h, a, system, event, rest, &of);
	if (v && h->errors)	/* the other event's has it */
		h->errors->n = errors;
	if (!v)
		ret = -EINVAL;
	else if (!fits(a->synth, i, v))
		ret = hist_fail(h, -EINVAL, "Param type doesn't match synthetic event field type", rest);
	r = ret ? NULL : reference_make(h, of, v, system, event);
	if (!ret && !r)
		ret = -ENOMEM;
	if (!ret)
		a->ref[i] = r->ref;
	free(copy);
	return ret;
}

static int make_trace(struct uft_hist *h, struct action *a)
{
	const char *name = a->synth_name ? a->synth_name : a->name;
	int ret = 0;

	a->synth = h->set->env.synths ? uft_synth_find(h->set->env.synths, name, strlen(name)) : NULL;
	if (!a->synth)
		return hist_fail(h, -EINVAL, "Couldn't find synthetic event", name);
	a->synth->refs++;
	for (uint32_t i = 0; i < a->nparams && !ret; i++)
		ret = make_param(h, a, i);
	if (!ret && a->nparams != a->synth->nfields)
		ret = hist_fail(h, -EINVAL, "Param count doesn't match synthetic event field count", a->synth->name);
	return ret;
}

static int make_tracked(struct uft_hist *h, struct action *a)
{
	struct uft_hist *of = h;
	struct hist_field *v;

	if (a->var[0] != '$')
		return hist_fail(h, -EINVAL, "For onmax(x) or onchange(x), x must be a variable", a->var);
	v = variable_of(h, a->var + 1);
	if (!v)
		v = variable_find(h, NULL, NULL, a->var + 1, &of);
	if (!v)
		return hist_fail(h, -EINVAL, "Couldn't find onmax or onchange variable", a->var + 1);
	if (count_variables(h) >= MAX_VARS)
		return hist_fail(h, -EINVAL, "Couldn't create onmax or onchange variable", "");
	h->ntracked++;
	a->tracked = reference_make(h, of, v, NULL, NULL);
	return a->tracked ? 0 : -ENOMEM;
}

int actions_make(struct uft_hist *h)
{
	int ret = 0;

	for (uint32_t i = 0; i < h->nactions && !ret; i++) {
		struct action *a = h->action[i];

		ret = a->handler == ON_MATCH ? 0 : make_tracked(h, a);
		if (!ret && a->kind == ACT_TRACE)
			ret = make_trace(h, a);
		else if (!ret && a->kind == ACT_SAVE)
			ret = make_save(h, a);
	}
	return ret;
}

void actions_free(struct uft_hist *h)
{
	for (uint32_t i = 0; i < h->nactions; i++) {
		struct action *a = h->action[i];

		if (a->synth)
			a->synth->refs--;
		for (uint32_t k = 0; k < a->nparams; k++)
			free(a->param[k]);
		free(a->system);
		free(a->event);
		free(a->var);
		free(a->name);
		free(a->synth_name);
		free(a);
	}
	for (uint32_t i = 0; i < h->nfield_vars; i++)
		free_field_var(h->field_var[i]);
	for (uint32_t i = 0; i < h->nsave_vars; i++)
		free_field_var(h->save_var[i]);
}

/* ---- An entry -------------------------------------------------------------------------------- */

void field_var_store(const struct uft_hist *h, const struct field_var *v, uint64_t *element,
		     const struct uft_hist_record *rec, const uint64_t *refs)
{
	variable_store(h, v->var, element, field_value(h, v->val, rec, refs));
}

static void emit(const struct uft_hist *h, const struct action *a, const struct uft_hist_record *rec,
		 const uint64_t *refs)
{
	struct uft_synth_value v[MAX_PARAMS];
	uint64_t payload[UFT_EVENT_PAYLOAD_MAX / 8];
	size_t n;

	for (uint32_t i = 0; i < a->nparams; i++) {
		struct hist_value from = field_value(h, h->ref[a->ref[i]], rec, refs);

		v[i] = (struct uft_synth_value){ from.number, from.p, from.bytes };
	}
	n = uft_synth_pack(a->synth, v, (uint8_t *)payload, sizeof(payload));
	if (n && h->set->env.emit)
		h->set->env.emit(h->set->env.arg, a->synth, payload, n, rec);
}

/* Does the value make the action run? Then later values are compared with it. */
static int is_news(const struct uft_hist *h, struct action *a, uint64_t *element, uint64_t v)
{
	uint64_t bit = 1ull << a->track_bit;
	uint64_t *at = a->kind == ACT_SNAPSHOT ? &a->fired : &element[a->track_word];
	int is_set = a->kind == ACT_SNAPSHOT ? a->has_fired : (element[h->set_word] & bit) != 0;

	uint64_t was = is_set ? *at : 0;

	if (a->handler == ON_MAX ? v <= was : v == was)
		return 0;
	*at = v;
	if (a->kind == ACT_SNAPSHOT) {
		a->has_fired = 1;
		a->fired_element = element;
	} else {
		element[h->set_word] |= bit;
	}
	return 1;
}

void actions_run(struct uft_hist *h, uint64_t *element, const struct uft_hist_record *rec, const uint64_t *refs)
{
	for (uint32_t i = 0; i < h->nactions; i++) {
		struct action *a = h->action[i];

		if (a->handler != ON_MATCH && !is_news(h, a, element, refs[a->tracked->ref]))
			continue;
		if (a->kind == ACT_TRACE)
			emit(h, a, rec, refs);
		else if (a->kind == ACT_SNAPSHOT && h->set->env.snapshot)
			h->set->env.snapshot(h->set->env.arg, rec);
		for (uint32_t k = 0; a->kind == ACT_SAVE && k < h->nsave_vars; k++)
			field_var_store(h, h->save_var[k], element, rec, refs);
	}
}
