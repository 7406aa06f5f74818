/* SPDX-License-Identifier: MIT */
/*
 * expression.c - `us-$ts0*2`: fields, variables and constants joined by + - * /, and -(expression)
 *
 * As in the kernel an expression splits at its last + or -, else at its last * or /, so that equal ones join from the
 * left. At most three operators. A `$name` is a variable of this or of another histogram. A variable of the same text
 * that is a plain field stands for that field. A variable of another histogram is a reference, whose value is looked up
 * by the key when an event comes. The lookup for an expression removes the value: the next event finds it only if it
 * was set again.
 */
#include "hist/hist_internal.h"

#include <errno.h>
#include <stdio.h>

/* ---- Variables ------------------------------------------------------------------------------- */

struct hist_field *variable_of(const struct uft_hist *h, const char *name)
{
	for (uint32_t i = 0; i < h->nvals + h->nkeys; i++)
		if (h->field[i] && h->field[i]->flags & F_VAR && !strcmp(h->field[i]->var, name))
			return h->field[i];
	return NULL;
}

int variable_is_there(const struct uft_hist *h, const char *name)
{
	if (variable_of(h, name))
		return 1;
	for (const struct uft_hist *o = h->set->first; o; o = o->next)
		if (o->type == h->type && variable_of(o, name))
			return 1;
	return 0;
}

/* The first of the event's histograms that has the variable. */
static struct hist_field *variable_of_event(const struct uft_hist_set *set, const struct uft_event_type *type,
					    const char *name, struct uft_hist **of)
{
	for (struct uft_hist *o = set->first; o; o = o->next) {
		struct hist_field *v = o->type == type ? variable_of(o, name) : NULL;

		if (v) {
			*of = o;
			return v;
		}
	}
	return NULL;
}

/* The variable of an event that onmatch() names. *is_wrong: two onmatch() have it, even of one event. */
static struct hist_field *variable_of_match(struct uft_hist *h, const char *name, struct uft_hist **of, int *is_wrong)
{
	struct hist_field *found = NULL;

	for (uint32_t i = 0; i < h->nactions; i++) {
		const struct action *a = h->action[i];
		const struct uft_event_type *type =
			a->handler == ON_MATCH ? h->set->env.find_event(h->set->env.arg, a->system, a->event) : NULL;
		struct uft_hist *in;
		struct hist_field *v = type ? variable_of_event(h->set, type, name, &in) : NULL;

		if (v && found) {
			hist_fail(h, -EINVAL,
				  "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable",
				  name);
			*is_wrong = 1;
			return NULL;
		}
		if (v) {
			found = v;
			*of = in;
		}
	}
	return found;
}

/* The variable of any other event; none if two have it. */
static struct hist_field *variable_of_any(struct uft_hist *h, const char *name, struct uft_hist **of)
{
	const struct uft_event_type *type = NULL;

	for (struct uft_hist *o = h->set->first; o; o = o->next) {
		if (!variable_of(o, name) || o->type == type)
			continue;
		if (type) {
			hist_fail(h, -EINVAL,
				  "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable",
				  name);
			return NULL;
		}
		type = o->type;
	}
	return type ? variable_of_event(h->set, type, name, of) : NULL;
}

struct hist_field *variable_find(struct uft_hist *h, const char *system, const char *event, const char *name,
				 struct uft_hist **of)
{
	struct hist_field *v = NULL;
	int is_wrong = 0;

	if (system && event) {
		const struct uft_event_type *type = h->set->env.find_event(h->set->env.arg, system, event);

		return type ? variable_of_event(h->set, type, name, of) : NULL;
	}
	v = variable_of_match(h, name, of, &is_wrong);
	return v || is_wrong ? v : variable_of_any(h, name, of);
}

struct hist_field *reference_make(struct uft_hist *h, struct uft_hist *of, const struct hist_field *target,
				  const char *system, const char *event)
{
	struct hist_field *r;

	if (h->nrefs == sizeof(h->ref) / sizeof(h->ref[0]))
		return NULL;
	r = field_new(F_VAR_REF, NULL);
	if (!r)
		return NULL;
	r->flags |= target->flags & (F_TIMESTAMP | F_USECS | F_STRING | F_STACK);
	r->of = of;
	r->target = target;
	r->size = target->size;
	r->is_signed = target->is_signed;
	r->type = strdup(target->type);
	r->system = system ? strdup(system) : NULL;
	r->event = event ? strdup(event) : NULL;
	if ((system && event ? asprintf(&r->name, "%s.%s.%s", system, event, target->var) :
		asprintf(&r->name, "%s", target->var)) < 0)
		r->name = NULL;
	if (!r->name || !r->type || (system && !r->system) || (event && !r->event)) {
		field_free(r);
		return NULL;
	}
	r->ref = h->nrefs;
	h->ref[h->nrefs++] = r;
	if (of != h)
		of->used++;
	return r;
}

/* A copy for use as an operand or value: the list of references owns the original. */
static struct hist_field *reference_copy(const struct hist_field *r, uint32_t flags, const char *var)
{
	struct hist_field *c = field_new(flags | (r->flags & ~(uint32_t)F_VAR), var);

	if (!c)
		return NULL;
	c->of = r->of;
	c->target = r->target;
	c->ref = r->ref;
	c->size = r->size;
	c->is_signed = r->is_signed;
	c->type = strdup(r->type);
	c->name = strdup(r->name);
	if (c->type && c->name)
		return c;
	field_free(c);
	return NULL;
}

/* ---- Atoms ----------------------------------------------------------------------------------- */

/* Reads `.buckets=N`. 0: there is none. */
static int take_buckets(const char *text, uint64_t *buckets)
{
	char *end;

	text += strlen("bucket");
	text += *text == 's';
	if (*text++ != '=' || !*text || *text == '-')
		return 0;
	errno = 0;
	*buckets = strtoull(text, &end, 0);
	return !errno && !*end && *buckets;
}

static uint32_t modifier_flag(const char *text, const char *name, uint32_t flags)
{
	static const struct { const char *text; uint32_t flag; } of[] = {
		{ "hex", F_HEX }, { "sym", F_SYM }, { "symXoffset", F_SYM_OFFSET }, { "execname", F_EXECNAME },
		{ "syscall", F_SYSCALL },
		{ "stacktrace", F_STACK }, { "log2", F_LOG2 }, { "usecs", F_USECS }, { "percent", F_PERCENT },
		{ "graph", F_GRAPH },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		if (strcmp(text, of[i].text))
			continue;
		if (of[i].flag == F_EXECNAME && strcmp(name, "common_pid"))
			return 0;
		if (of[i].flag & (F_PERCENT | F_GRAPH) && flags & (F_KEY | F_VAR))
			return 0;
		return of[i].flag;
	}
	return 0;
}

/* Parses a field with its modifier, and adds its flags. */
static int parse_field(struct uft_hist *h, char *text, uint32_t *flags, uint64_t *buckets,
		       const struct uft_event_field **out)
{
	char *modifier = text, *name = strsep(&modifier, ".");
	const struct uft_event_field *f = NULL;

	*out = NULL;
	if (modifier && !strncmp(modifier, "bucket", strlen("bucket"))) {
		if (!take_buckets(modifier, buckets)) {
			modifier += strlen("bucket");
			modifier += *modifier == 's';
			modifier += *modifier == '=';
			return hist_fail(h, -EINVAL, "Invalid field modifier", modifier);
		}
		*flags |= F_BUCKET;
	} else if (modifier) {
		uint32_t flag = modifier_flag(modifier, name, *flags);

		if (!flag)
			return hist_fail(h, -EINVAL, "Invalid field modifier", modifier);
		*flags |= flag;
	}
	if (!strcmp(name, "common_timestamp")) {
		*flags |= F_TIMESTAMP;
		h->has_timestamps = 1;
		h->attrs.is_usecs |= (*flags & F_USECS) != 0;
	} else if (!strcmp(name, "common_stacktrace")) {
		*flags |= F_STACK;
	} else if (!strcmp(name, "common_cpu")) {
		*flags |= F_CPU;
	} else if (!strcmp(name, "hitcount")) {
		*flags |= F_HITCOUNT;
	} else {
		f = field_find(h->type, name);
		if (f && !f->size && !strcasecmp(name, "cpu")) {
			*flags |= F_CPU;
		} else if (f && !f->size && !strcasecmp(name, "stacktrace")) {
			*flags |= F_STACK;
			f = NULL;
		} else if (!f || !f->size) {
			return hist_fail(h, -EINVAL, "Couldn't find field", name);
		} else if (field_is_stack(f)) {
			*flags |= F_STACK;
		} else if (*flags & F_STACK) {
			return hist_fail(h, -EINVAL, "Invalid field modifier", name);
		}
	}
	*out = f;
	return 0;
}

static int is_reference(const char *text)
{
	return text[0] == '$' && text[1];
}

int is_own_event(const struct uft_hist *h, const char *system, const char *event)
{
	return !system || (event && !strcmp(system, h->type->system) && !strcmp(event, h->type->name));
}

/* The field of a variable `$x` of this text whose expression is a plain field. */
static const char *local_field(const struct uft_hist *h, const char *text)
{
	for (uint32_t i = 0; is_reference(text) && i < h->attrs.nvars; i++) {
		const char *e = h->attrs.expr[i];

		if (!strcmp(h->attrs.var[i], text + 1) && !strpbrk(e, "+-*/") && !is_reference(e))
			return e;
	}
	return NULL;
}

static int parse_constant(struct uft_hist *h, const char *text, uint32_t flags, const char *var,
			  struct hist_field **out)
{
	uint64_t v;
	char *end;

	*out = NULL;
	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || *end)
		return hist_fail(h, -EINVAL, "Expecting numeric literal", text);
	*out = field_new(flags | F_CONST, var);
	if (!*out)
		return -ENOMEM;
	(*out)->constant = v;
	(*out)->size = 8;
	(*out)->type = strdup("u64");
	return (*out)->type ? 0 : -ENOMEM;
}

/* 1: *out is a reference; 0: there is no such variable, or no variable at all. */
static int parse_reference(struct uft_hist *h, const char *system, const char *event, const char *text, uint32_t flags,
			   const char *var, struct hist_field **out)
{
	struct uft_hist *of;
	struct hist_field *target, *r;

	if (!is_reference(text))
		return 0;
	target = variable_find(h, system, event, text + 1, &of);
	r = target ? reference_make(h, of, target, system, event) : NULL;
	if (!r) {
		hist_fail(h, -EINVAL, "Couldn't find variable", text + 1);
		return 0;
	}
	*out = var ? field_new(F_ALIAS | flags | (r->flags & (F_STRING | F_STACK)), var) :
		reference_copy(r, flags, NULL);
	if (!*out)
		return -ENOMEM;
	if (!var)
		return 1;
	(*out)->operand[0] = reference_copy(r, 0, NULL);
	(*out)->size = r->size;
	(*out)->is_signed = r->is_signed;
	(*out)->type = strdup(r->type);
	return (*out)->operand[0] && (*out)->type ? 1 : -ENOMEM;
}

int expression_atom(struct uft_hist *h, char *text, uint32_t *flags, const char *var, struct hist_field **out)
{
	const char *system = NULL, *event = NULL, *local;
	const struct uft_event_field *f;
	char *dot = strchr(text, '.'), *copy;
	uint64_t buckets = 0;
	int ret;

	*out = NULL;
	if (text[0] >= '0' && text[0] <= '9')
		return parse_constant(h, text, *flags, var, out);
	if (dot && strchr(dot + 1, '.')) {
		system = strsep(&text, ".");
		event = strsep(&text, ".");
	}
	local = is_own_event(h, system, event) ? local_field(h, text) : NULL;
	ret = local ? 0 : parse_reference(h, system, event, text, *flags, var, out);
	if (ret)
		return ret < 0 ? ret : 0;
	copy = strdup(local ? local : text);
	ret = copy ? parse_field(h, copy, flags, &buckets, &f) : -ENOMEM;
	free(copy);
	ret = ret ? ret : field_make(f, *flags, var, out);
	if (!ret)
		(*out)->buckets = buckets;
	if (ret == -EINVAL && !h->errors->n)
		hist_fail(h, ret, "Couldn't find field", text);
	return ret;
}

/* ---- Expressions ----------------------------------------------------------------------------- */

/* The operator at which the text splits; NULL: none. *is_minus: the text is -(...). */
static char *find_operator(char *text, int *is_minus)
{
	char *minus = strrchr(text, '-'), *plus = strrchr(text, '+'), *times = strrchr(text, '*'),
	     *by = strrchr(text, '/');
	char *last = minus > plus ? minus : plus;

	*is_minus = 0;
	if (minus && minus == text) {
		*is_minus = 1;
		return minus;
	}
	if (last)
		return last;
	return times > by ? times : by;
}

static void append_operand(char *to, size_t room, const struct hist_field *f)
{
	const char *modifier = f->flags & (F_VAR_REF | F_CONST | F_EXPR) ? NULL : field_modifier(f);
	size_t n = strlen(to);

	if (f->flags & F_CONST)
		snprintf(to + n, room - n, "%llu", (unsigned long long)f->constant);
	else
		snprintf(to + n, room - n, "%s%s%s%s", f->flags & F_VAR_REF ? "$" : "", field_name(f),
			 modifier ? "." : "", modifier ? modifier : "");
}

/* Makes the text of an expression of these operands. */
static int set_name(struct hist_field *f)
{
	char text[TEXT_BYTES] = "";
	size_t n;

	if (f->op == 'm')
		strcpy(text, "-(");
	append_operand(text, sizeof(text) - 2, f->operand[0]);
	n = strlen(text);
	if (f->op == 'm') {
		strcpy(text + n, ")");
	} else {
		text[n] = f->op;
		text[n + 1] = '\0';
		append_operand(text, sizeof(text), f->operand[1]);
	}
	f->name = strdup(text);
	return f->name ? 0 : -ENOMEM;
}

static int take_operand(struct uft_hist *h, char *text, uint32_t *nsub, struct hist_field **out)
{
	char *shown = strdup(text);
	int ret = shown ? expression_parse(h, text, 0, NULL, nsub, out) : -ENOMEM;

	if (!ret && (*out)->flags & (F_STRING | F_STACK))
		ret = hist_fail(h, -EINVAL, "String type can not be an operand in expression", shown);
	free(shown);
	return ret;
}

static int set_kind(struct hist_field *e)
{
	const struct hist_field *a = e->operand[0], *b = e->operand[1];

	e->flags |= F_EXPR | ((a->flags | (b ? b->flags : 0)) & (F_TIMESTAMP | F_USECS));
	e->type = strdup(a->type);
	e->size = a->size;
	e->is_signed = a->is_signed;
	return e->type ? set_name(e) : -ENOMEM;
}

static int parse_minus(struct uft_hist *h, char *text, uint32_t flags, const char *var, uint32_t *nsub,
		       struct hist_field **out)
{
	char *from = strchr(text, '('), *end = strrchr(text, ')');
	struct hist_field *e;
	int ret;

	if (*nsub > MAX_SUBEXPR)
		return hist_fail(h, -EINVAL, "Too many subexpressions (3 max)", text);
	if (!from || !end)
		return -EINVAL;
	if (end[1])
		return hist_fail(h, -EINVAL, "Unary minus not supported in sub-expressions", from + 1);
	*end = '\0';
	e = field_new(flags, var);
	if (!e)
		return -ENOMEM;
	e->op = 'm';
	ret = take_operand(h, from + 1, nsub, &e->operand[0]);
	ret = ret ? ret : set_kind(e);
	if (ret)
		field_free(e);
	else
		*out = e;
	return ret;
}

/* Refuses an expression of times in nanoseconds and in microseconds, as far as the text tells the units. */
static int check_units(struct uft_hist *h, const struct hist_field *a, const struct hist_field *b)
{
	uint32_t of_a = a->flags & F_VAR_REF ? a->target->flags : a->flags,
		 of_b = b->flags & F_VAR_REF ? b->target->flags : b->flags;

	if (!((of_a ^ of_b) & F_USECS))
		return 0;
	return hist_fail(h, -EINVAL, "Timestamp units in expression don't match", "");
}

static void read_once(struct uft_hist *h, struct hist_field *f)
{
	if (f->flags & F_VAR_REF)
		h->ref[f->ref]->is_read_once = 1;
}

/* Replaces two constants by their result. */
static void fold(struct hist_field *e)
{
	e->constant = e->op == '+' ? e->operand[0]->constant + e->operand[1]->constant : e->op == '-' ?
	e->operand[0]->constant - e->operand[1]->constant :
		      e->op == '*' ? e->operand[0]->constant * e->operand[1]->constant :
		      e->operand[0]->constant / e->operand[1]->constant;
	field_free(e->operand[0]);
	field_free(e->operand[1]);
	e->operand[0] = e->operand[1] = NULL;
	free(e->name);
	e->name = NULL;
	e->op = 0;
	e->flags = (e->flags & F_VAR) | F_CONST;
}

int expression_parse(struct uft_hist *h, char *text, uint32_t flags, const char *var, uint32_t *nsub,
		     struct hist_field **out)
{
	struct hist_field *e;
	char *at, op;
	int is_minus, ret;

	*out = NULL;
	if (*nsub > MAX_SUBEXPR)
		return hist_fail(h, -EINVAL, "Too many subexpressions (3 max)", text);
	at = find_operator(text, &is_minus);
	if (!at)
		return expression_atom(h, text, &flags, var, out);
	++*nsub;
	if (is_minus)
		return parse_minus(h, text, flags, var, nsub, out);
	op = *at;
	*at = '\0';
	if (!*text || !at[1])
		return -EINVAL;
	e = field_new(flags, var);
	if (!e)
		return -ENOMEM;
	e->op = op;
	ret = take_operand(h, text, nsub, &e->operand[0]);
	ret = ret ? ret : take_operand(h, at + 1, nsub, &e->operand[1]);
	ret = ret ? ret : check_units(h, e->operand[0], e->operand[1]);
	if (!ret && op == '/' && e->operand[1]->flags & F_CONST && !e->operand[1]->constant)
		ret = hist_fail(h, -EDOM, "Division by zero", at + 1);
	if (!ret) {
		read_once(h, e->operand[0]);
		read_once(h, e->operand[1]);
		ret = set_kind(e);
	}
	if (ret) {
		field_free(e);
		return ret;
	}
	if (e->operand[0]->flags & e->operand[1]->flags & F_CONST)
		fold(e);
	*out = e;
	return 0;
}
