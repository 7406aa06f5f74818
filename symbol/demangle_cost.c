/* SPDX-License-Identifier: MIT */
/*
 * demangle_cost.c - estimate the cost of demangling a hostile name
 *
 * libiberty bounds neither its time nor, in a few places, its pointers, and a limit of the text does not bound work
 * that prints nothing. So names that cause such work are found before:
 *
 * - C++, parsing: the arguments of a template parameter in a conversion operator (cvT_I...E) are parsed twice at
 *   each level. CONVERSION_ARGS of them are allowed.
 * - C++, printing: substitutions make the tree a DAG. A pack expansion searches its whole operand for a pack;
 *   template parameters may lead to parameters of outer templates, again and again; lists of empty packs print nothing.
 *   Each node's cost is computed once, with a template parameter at the cost of the dearest argument, and an expansion
 *   at that of the longest pack: an upper bound of the visited nodes. A tree above TREE_COST is refused.
 * - C++, memory: the printer has one array on its stack of all templates times all references to parameters.
 * - C++, pointers: the size of a pack in a lambda's parameters is looked up in a template that is not there; in one
 *   with a template head so is a parameter, if a function type or another encoding put other templates in its place.
 * - Rust: the binder `for<'a, ...>` counts up to 2^64, also where nothing is printed; chains of back references,
 *   skipped paths and Punycode, which is decoded in quadratic time, cost more than they print. So the name is first
 *   parsed here, without text: it may take RUST_STEPS, of which each lifetime of a binder is one.
 *
 * A name with FEW_REFS references expands to less than 3^(FEW_REFS / 3) parts, so it needs no tree.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "symbol/demangle_cost.h"

#define CONVERSION_ARGS		8u
#define FEW_REFS		36u
#define RUST_FEW_REFS		12u
#define TREE_COST		(1u << 21)	/* visits of nodes */
#define TREE_DEPTH		3000u
#define SCOPES			8u		/* templates whose arguments name parameters */
#define COPIES			8192u		/* templates times references; 64 bytes of stack each */
#define RUST_STEPS		(1u << 20)	/* bytes read, lifetimes counted */
#define RUST_DEPTH		1024u		/* the library's bound */

/* ---- C++: the text ---- */

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_base36(char c)
{
	return is_digit(c) || (c >= 'A' && c <= 'Z');
}

int demangle_parse_is_bounded(const char *name, size_t len)
{
	const char *at = strstr(name, "cv"), *end = name + len;
	unsigned n = 0;

	for (; at && at < end; at++) {
		const char *p = at + 1;

		if (*at != 'T')
			continue;
		while (p < end && is_base36(*p))
			p++;
		n += p + 1 < end && p[0] == '_' && p[1] == 'I';
		if (n > CONVERSION_ARGS) /* GUARD(demangle_conversion_args) */
			return 0;
	}
	return 1;
}

/* Does the name hold the size of a pack (sZ, sP), perhaps? */
static int has_size_of_pack(const char *name)
{
	return strstr(name, "sZ") || strstr(name, "sP");
}

/* Each reference (S_, T_ and their like) ends with `_`, each list of arguments begins with `I`: there are no more. */
int demangle_needs_tree(const char *name)
{
	size_t refs = 0, lists = 0;
	int has_pack = 0;

	for (const char *at = name + 2; *at; at++) {
		if (*at > 'Z' && *at != '_' && *at != 's')
			continue;
		switch (*at) {
		case '_':
			refs++;
			break;
		case 'I':
			lists++;
			break;
		case 'U':
			if (at[1] == 'l' && at[2] == 'T')
				return 1;
			break;
		case 's':
			if (at[1] == 'Z' || at[1] == 'P')
				return 1;
			has_pack |= at[1] == 'p';
			break;
		case 'D':
			has_pack |= at[1] == 'p';
			break;
		case 'T':
			has_pack |= at[1] == '_' || is_base36(at[1]);
			break;
		}
	}
	return has_pack && (refs > FEW_REFS || refs * lists > COPIES); /* GUARD(demangle_tree) */
}

/*
 * A name with `sr` is tried in its old and its new form in turn, but the call that makes a tree tries only one. Without
 * a tree: no expansion, no scope but the function's own, no lambda, so that all work shows in the text.
 */
int demangle_is_plain(const char *name)
{
	size_t lists = 0, refs = 0;

	if (!strstr(name, "sr") || has_size_of_pack(name) || strstr(name, "Dp") || strstr(name, "sp") ||
	    strstr(name, "cv") || strstr(name, "Ul") || strchr(name + 2, 'Z'))
		return 0;
	for (const char *at = name; *at; at++) {
		lists += *at == 'I';
		refs += *at == 'R' || *at == 'O';
	}
	return lists * refs <= COPIES;
}

/* ---- C++: the tree ---- */

enum { HAS_PARAM = 1, HAS_SIZE = 2, HAS_FUNCTION = 4, HAS_SCOPE = 8, HAS_CONVERSION = 16 };

struct cost {
	uint32_t print, plain;		/* nodes that printing visits; the same where parameters are not looked up */
	uint32_t find;			/* nodes that the search for a pack visits */
	uint8_t has, state;
};
enum { IS_NEW, IS_OPEN, IS_DONE };

struct tree {
	struct demangle_component *node;
	struct cost *cost;		/* by index in node */
	size_t n;
	uint32_t param;			/* cost of a template parameter */
	uint32_t pack;			/* length of the longest pack */
	uint32_t refs, templates;
	int has_size, is_refused;
};

static uint32_t plus(uint32_t a, uint32_t b)
{
	return a + b < a || a + b > 2 * TREE_COST ? 2 * TREE_COST : a + b;
}

static uint32_t times(uint32_t a, uint32_t b)
{
	uint64_t product = (uint64_t)a * b;

	return product > 2 * TREE_COST ? 2 * TREE_COST : (uint32_t)product;
}

/* NULL: not a node. A member of an unknown kind of node need not be a pointer. */
static struct demangle_component *child(const struct tree *t, struct demangle_component *dc)
{
	uintptr_t at = (uintptr_t)dc - (uintptr_t)t->node;

	return dc && at / sizeof(*dc) < t->n && at % sizeof(*dc) == 0 ? dc : NULL;
}

static void children(const struct tree *t, struct demangle_component *dc, struct demangle_component *of[2])
{
	of[0] = of[1] = NULL;
	switch (dc->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
	case DEMANGLE_COMPONENT_FIXED_TYPE:
		break;
	case DEMANGLE_COMPONENT_CTOR:
		of[0] = child(t, dc->u.s_ctor.name);
		break;
	case DEMANGLE_COMPONENT_DTOR:
		of[0] = child(t, dc->u.s_dtor.name);
		break;
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		of[0] = child(t, dc->u.s_extended_operator.name);
		break;
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		of[0] = child(t, dc->u.s_unary_num.sub);
		break;
	default:
		of[0] = child(t, dc->u.s_binary.left);
		of[1] = child(t, dc->u.s_binary.right);
	}
}

static int is_reference_to_param(const struct demangle_component *dc)
{
	return (dc->type == DEMANGLE_COMPONENT_REFERENCE || dc->type == DEMANGLE_COMPONENT_RVALUE_REFERENCE) &&
	       dc->u.s_binary.left && dc->u.s_binary.left->type == DEMANGLE_COMPONENT_TEMPLATE_PARAM;
}

static void see_lambda(struct tree *t, const struct demangle_component *dc, const struct cost *parms)
{
	if (parms->has & HAS_SIZE) /* GUARD(demangle_lambda_size) */
		t->is_refused = 1;
	if (dc->u.s_unary_num.sub && dc->u.s_unary_num.sub->type == DEMANGLE_COMPONENT_TEMPLATE_HEAD &&
	    parms->has & (HAS_FUNCTION | HAS_SCOPE))
		t->is_refused = 1;
}

static struct cost node_cost(struct tree *t, struct demangle_component *dc, const struct cost *l, const struct cost *r)
{
	struct cost c = { plus(1, plus(l->print, r->print)), plus(1, plus(l->plain, r->plain)),
			  plus(1, plus(l->find, r->find)), l->has | r->has, IS_DONE };

	switch (dc->type) {
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM: {
		long number = dc->u.s_number.number;
		uint32_t steps = number < 0 || (size_t)number > t->n ? (uint32_t)t->n : (uint32_t)number;

		c.print = plus(plus(t->param, steps), 1 + t->pack);
		c.find = c.plain = plus(1, steps);
		c.has = HAS_PARAM;
		break;
	}
	case DEMANGLE_COMPONENT_PACK_EXPANSION:
		c.print = plus(times(l->print, t->pack ? t->pack : 1), plus(1 + t->pack, l->find));
		c.find = 1;
		break;
	case DEMANGLE_COMPONENT_LAMBDA:		/* its parameters are shown as auto:1, auto:2, ... */
		see_lambda(t, dc, l);
		c.print = c.plain;
		c.has &= ~HAS_PARAM;
		c.find = 1;
		break;
	case DEMANGLE_COMPONENT_REFERENCE:
	case DEMANGLE_COMPONENT_RVALUE_REFERENCE:
		if (is_reference_to_param(dc))
			c.print = plus(c.print, t->refs);
		break;
	case DEMANGLE_COMPONENT_UNARY:
		if (t->has_size) {	/* the library itself has the operator's code */
			c.print = plus(c.print, plus(r->find, t->pack));
			c.has |= HAS_SIZE;
		}
		break;
	case DEMANGLE_COMPONENT_FUNCTION_TYPE:
	case DEMANGLE_COMPONENT_ARRAY_TYPE:
		c.has |= HAS_FUNCTION;
		break;
	case DEMANGLE_COMPONENT_TYPED_NAME:
		c.has |= HAS_SCOPE;
		break;
	case DEMANGLE_COMPONENT_CONVERSION:
		c.has |= HAS_SCOPE | HAS_CONVERSION;
		break;
	default:
		break;
	}
	return c;
}

/* Counts what determines the cost of parameters and expansions. */
static void count_node(struct tree *t, struct demangle_component *dc)
{
	t->templates += dc->type == DEMANGLE_COMPONENT_TEMPLATE;
	t->refs += (uint32_t)is_reference_to_param(dc);
	if (dc->type == DEMANGLE_COMPONENT_TEMPLATE_ARGLIST && dc->u.s_binary.left &&
	    dc->u.s_binary.left->type == DEMANGLE_COMPONENT_TEMPLATE_ARGLIST) {
		const struct demangle_component *a = dc->u.s_binary.left;
		uint32_t n = 0;

		for (; a && a->type == DEMANGLE_COMPONENT_TEMPLATE_ARGLIST && n < t->n; a = a->u.s_binary.right)
			n++;
		t->pack = n > t->pack ? n : t->pack;
	}
}

static const struct cost *walk(struct tree *t, struct demangle_component *dc, unsigned depth,
			       void (*count)(struct tree *, struct demangle_component *))
{
	static const struct cost none;
	struct demangle_component *of[2];
	struct cost *c = dc ? &t->cost[dc - t->node] : NULL;

	if (!c || t->is_refused || c->state == IS_DONE)
		return c ? c : &none;
	if (depth > TREE_DEPTH || c->state == IS_OPEN) {
		t->is_refused = 1;
		return &none;
	}
	c->state = IS_OPEN;
	if (count)
		count(t, dc);
	children(t, dc, of);
	*c = node_cost(t, dc, walk(t, of[0], depth + 1, count), walk(t, of[1], depth + 1, count));
	return c;
}

static uint32_t walk_again(struct tree *t, struct demangle_component *root)
{
	memset(t->cost, 0, t->n * sizeof(*t->cost));
	return walk(t, root, 0, NULL)->print;
}

/* Returns the template whose arguments are in scope in the function type of @typed; NULL: none. */
static struct demangle_component *scope_of(const struct demangle_component *typed)
{
	struct demangle_component *dc = typed->u.s_binary.left;

	while (dc)
		switch (dc->type) {
		case DEMANGLE_COMPONENT_LOCAL_NAME:
			dc = dc->u.s_binary.right;
			break;
		case DEMANGLE_COMPONENT_DEFAULT_ARG:
			dc = dc->u.s_unary_num.sub;
			break;
		case DEMANGLE_COMPONENT_RESTRICT_THIS:
		case DEMANGLE_COMPONENT_VOLATILE_THIS:
		case DEMANGLE_COMPONENT_CONST_THIS:
		case DEMANGLE_COMPONENT_REFERENCE_THIS:
		case DEMANGLE_COMPONENT_RVALUE_REFERENCE_THIS:
		case DEMANGLE_COMPONENT_TRANSACTION_SAFE:
		case DEMANGLE_COMPONENT_NOEXCEPT:
		case DEMANGLE_COMPONENT_THROW_SPEC:
			dc = dc->u.s_binary.left;
			break;
		default:
			return dc->type == DEMANGLE_COMPONENT_TEMPLATE ? dc : NULL;
		}
	return NULL;
}

/* Returns a template in which parameters are looked up: of an encoding, or around a conversion operator. */
static struct demangle_component *scope_at(const struct tree *t, size_t i)
{
	struct demangle_component *dc = &t->node[i];

	if (t->cost[i].state != IS_DONE)
		return NULL;
	if (dc->type == DEMANGLE_COMPONENT_TYPED_NAME)
		return scope_of(dc);
	return dc->type == DEMANGLE_COMPONENT_TEMPLATE && t->cost[i].has & HAS_CONVERSION ? dc : NULL;
}

/* Returns the dearest arguments of a scope; sets @outer to the number of those that name parameters themselves. */
static uint32_t dearest_args(const struct tree *t, uint32_t *outer)
{
	uint32_t most = 1;

	*outer = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct demangle_component *scope = scope_at(t, i), *args = scope ? scope->u.s_binary.right : NULL;
		const struct cost *c = args ? &t->cost[args - t->node] : NULL;

		if (!c)
			continue;
		most = c->print > most ? c->print : most;
		*outer += (c->has & HAS_PARAM) != 0;
	}
	return most;
}

static int is_bounded(struct tree *t, struct demangle_component *root)
{
	uint32_t all, outer = 0;

	t->param = 1;
	all = walk(t, root, 0, count_node)->print;
	if (t->is_refused)
		return 0;
	if ((uint64_t)t->refs * t->templates > COPIES) /* GUARD(demangle_copies) */
		return 0;
	if (t->pack || t->refs)
		all = walk_again(t, root);
	if (!(t->cost[root - t->node].has & HAS_PARAM))
		return all <= TREE_COST;
	/* A parameter's argument may name a parameter of the scope around, and so on. */
	for (uint32_t level = 0; level <= outer; level++) {
		t->param = dearest_args(t, &outer);
		if (outer > SCOPES)
			return 0;
		all = walk_again(t, root);
	}
	return all <= TREE_COST; /* GUARD(demangle_tree_cost, 1) */
}

int demangle_tree_is_bounded(const char *name, struct demangle_component *root, struct demangle_component *nodes,
			     size_t n)
{
	struct tree t = { .node = nodes, .cost = calloc(n, sizeof(*t.cost)), .n = n,
			  .has_size = has_size_of_pack(name) };
	int ret = t.cost && is_bounded(&t, root);

	free(t.cost);
	return ret;
}

/* ---- Rust: the grammar of v0, with the order in which libiberty follows it, but without text ---- */

struct rust {
	const char *s;			/* behind _R */
	size_t n, at;
	unsigned depth;
	uint32_t steps;
	int is_bad, is_silent;		/* silent: back references are not followed */
};

static void rust_type(struct rust *r);
static void rust_path(struct rust *r);

static void pay(struct rust *r, uint64_t steps)
{
	if (steps > RUST_STEPS - r->steps) /* GUARD(demangle_rust_steps) */
		r->is_bad = 1;
	else
		r->steps += (uint32_t)steps;
}

static char rust_peek(const struct rust *r)
{
	return r->at < r->n ? r->s[r->at] : 0;
}

static int rust_eat(struct rust *r, char c)
{
	if (rust_peek(r) != c)
		return 0;
	r->at++;
	return 1;
}

static char rust_next(struct rust *r)
{
	char c = rust_peek(r);

	pay(r, 1);
	if (c)
		r->at++;
	else
		r->is_bad = 1;
	return c;
}

static uint64_t rust_base62(struct rust *r)
{
	uint64_t x = 0;

	if (rust_eat(r, '_'))
		return 0;
	while (!r->is_bad && !rust_eat(r, '_')) {
		char c = rust_next(r);

		if (is_digit(c))
			x = x * 62 + (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'z')
			x = x * 62 + 10 + (uint64_t)(c - 'a');
		else if (c >= 'A' && c <= 'Z')
			x = x * 62 + 36 + (uint64_t)(c - 'A');
		else
			r->is_bad = 1;
	}
	return x + 1;
}

static void rust_disambiguator(struct rust *r)
{
	if (rust_eat(r, 's'))
		rust_base62(r);
}

static void rust_ident(struct rust *r)
{
	int is_punycode = rust_eat(r, 'u');
	char c = rust_next(r);
	size_t n = (size_t)(c - '0');

	if (!is_digit(c)) {
		r->is_bad = 1;
		return;
	}
	while (c != '0' && is_digit(rust_peek(r)) && !r->is_bad)
		n = n * 10 + (size_t)(rust_next(r) - '0');
	rust_eat(r, '_');
	if (r->at > r->n || n > r->n - r->at) {
		r->is_bad = 1;
		return;
	}
	r->at += n;
	if (is_punycode && !r->is_silent)	/* its letters are inserted one by one */
		pay(r, (uint64_t)n * n / 8);
}

static void rust_binder(struct rust *r)
{
	uint64_t n = rust_eat(r, 'G') ? rust_base62(r) + 1 : 0;

	pay(r, n);
}

/* Parses at the place that a `B` names; its number is read here. */
static void rust_backref(struct rust *r, void (*parse)(struct rust *))
{
	uint64_t target = rust_base62(r);
	size_t back = r->at;

	if (r->is_silent || r->is_bad)
		return;
	r->at = target > r->n ? r->n : (size_t)target;
	parse(r);
	r->at = back;
}

static int rust_enter(struct rust *r)
{
	if (r->is_bad || ++r->depth > RUST_DEPTH)
		r->is_bad = 1;
	return !r->is_bad;
}

static void rust_const(struct rust *r)
{
	if (!rust_enter(r))
		return;
	if (rust_eat(r, 'B'))
		rust_backref(r, rust_const);
	else if (rust_next(r) != 'p')
		while (!r->is_bad && rust_next(r) != '_')
			;
	r->depth--;
}

static void rust_arg(struct rust *r)
{
	if (rust_eat(r, 'L'))
		rust_base62(r);
	else if (rust_eat(r, 'K'))
		rust_const(r);
	else
		rust_type(r);
}

static void rust_list(struct rust *r, void (*parse)(struct rust *))
{
	while (!r->is_bad && !rust_eat(r, 'E'))
		parse(r);
}

static void rust_trait(struct rust *r)
{
	rust_path(r);
	while (!r->is_bad && rust_eat(r, 'p')) {
		rust_ident(r);
		rust_type(r);
	}
}

static void rust_type(struct rust *r)
{
	char tag;

	if (!rust_enter(r))
		return;
	tag = rust_next(r);
	switch (tag) {
	case 'R': case 'Q':
		if (rust_eat(r, 'L'))
			rust_base62(r);
		rust_type(r);
		break;
	case 'P': case 'O': case 'S':
		rust_type(r);
		break;
	case 'A':
		rust_type(r);
		rust_const(r);
		break;
	case 'T':
		rust_list(r, rust_type);
		break;
	case 'F':
		rust_binder(r);
		rust_eat(r, 'U');
		if (rust_eat(r, 'K') && !rust_eat(r, 'C'))
			rust_ident(r);
		rust_list(r, rust_type);
		if (!r->is_bad && !rust_eat(r, 'u'))
			rust_type(r);
		break;
	case 'D':
		rust_binder(r);
		rust_list(r, rust_trait);
		if (!rust_eat(r, 'L'))
			r->is_bad = 1;
		else
			rust_base62(r);
		break;
	case 'B':
		rust_backref(r, rust_type);
		break;
	default:
		if (tag >= 'a' && tag <= 'z')
			break;		/* a basic type, or one unknown to the library */
		r->at--;
		rust_path(r);
	}
	r->depth--;
}

static void rust_path(struct rust *r)
{
	int was_silent = r->is_silent;
	char tag;

	if (!rust_enter(r))
		return;
	tag = rust_next(r);
	switch (tag) {
	case 'C':
		rust_disambiguator(r);
		rust_ident(r);
		break;
	case 'N':
		rust_next(r);
		rust_path(r);
		rust_disambiguator(r);
		rust_ident(r);
		break;
	case 'M': case 'X':
		rust_disambiguator(r);
		r->is_silent = 1;
		rust_path(r);
		r->is_silent = was_silent;
		/* fall through */
	case 'Y':
		rust_type(r);
		if (tag != 'M')
			rust_path(r);
		break;
	case 'I':
		rust_path(r);
		rust_list(r, rust_arg);
		break;
	case 'B':
		rust_backref(r, rust_path);
		break;
	default:
		r->is_bad = 1;
	}
	r->depth--;
}

/* Few `B`, and no `G` behind `F` or `D`, which a binder needs. */
static int rust_is_plain(const char *name)
{
	size_t refs = 0;

	for (const char *at = name + 2; *at; at++) {
		refs += *at == 'B';
		if (*at == 'G' && (at[-1] == 'F' || at[-1] == 'D'))
			return 0;
	}
	return refs <= RUST_FEW_REFS;
}

int demangle_rust_is_bounded(const char *name)
{
	struct rust r = { .s = name + 2, .n = strcspn(name + 2, ".") };

	if (rust_is_plain(name))
		return 1;
	rust_path(&r);
	if (!r.is_bad && r.at < r.n) {	/* the crate that instantiated it */
		r.is_silent = 1;
		rust_path(&r);
	}
	return !r.is_bad;
}
