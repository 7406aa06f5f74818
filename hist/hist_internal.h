/* SPDX-License-Identifier: MIT */
/* hist_internal.h - the histogram, its fields and its actions, shared by the files of hist/ */
#ifndef UFT_HIST_INTERNAL_H
#define UFT_HIST_INTERNAL_H

#include <stdlib.h>
#include <string.h>

#include "hist/hist.h"
#include "program/hist_row.h"

#define MAX_KEYS	3u
#define MAX_VALS	3u	/* hitcount is the first */
#define MAX_VARS	16u
#define MAX_FIELDS	(MAX_VALS + MAX_VARS + MAX_KEYS)
#define MAX_SORT	2u
#define MAX_ACTIONS	8u
#define MAX_PARAMS	UFT_SYNTH_FIELDS
#define MAX_SUBEXPR	3u
#define TEXT_BYTES	256u	/* of a string, as a key or a variable */
#define STACK_DEPTH	31u
#define STACK_BYTES	(8u * STACK_DEPTH)
#define MAX_KEY_BYTES	(TEXT_BYTES + STACK_BYTES)

enum field_flags {
	F_KEY = 1, F_VAR = 2, F_HEX = 4, F_SYM = 8, F_SYM_OFFSET = 0x10, F_EXECNAME = 0x20, F_SYSCALL = 0x40,
	F_STACK = 0x80, F_LOG2 = 0x100,
	F_USECS = 0x200, F_BUCKET = 0x400, F_PERCENT = 0x800, F_GRAPH = 0x1000, F_TIMESTAMP = 0x2000, F_CPU = 0x4000,
	F_HITCOUNT = 0x8000,
	F_CONST = 0x10000, F_STRING = 0x20000, F_EXPR = 0x40000, F_VAR_REF = 0x80000, F_ALIAS = 0x100000,
};

static inline int has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* A value or key of a histogram, a variable, or an operand of an expression. Owns all its texts and operands. */
struct hist_field {
	uint32_t flags;
	const struct uft_event_field *field;	/* of the event, or one that all have; NULL: none */
	char *name;			/* of an expression or reference */
	char *var;			/* the variable's name; NULL: no variable */
	char *type;			/* in C, for synthetic events */
	uint32_t size;
	int is_signed;
	char op;			/* + - * /, `m`: unary minus; 0 none */
	struct hist_field *operand[2];
	uint64_t constant, buckets;
	/* in an element: the word of the variable, or of the value's sum; of a key: its first word */
	uint32_t word;
	uint32_t text_word;		/* of a variable that is a text: where that is */
	uint32_t bit;			/* of a variable: its bit in the element's word of set variables */
	/* VAR_REF: */
	struct uft_hist *of;
	const struct hist_field *target;
	uint32_t ref;			/* in the histogram's list of references */
	char *system, *event;
	int is_read_once;
};

/* A variable that takes a field at each update, or when an action runs: of onmatch()'s parameters, of save(). */
struct field_var { struct hist_field *var, *val; };

enum handler { ON_MATCH, ON_MAX, ON_CHANGE };
enum action_kind { ACT_TRACE, ACT_SAVE, ACT_SNAPSHOT };

struct action {
	enum handler handler;
	enum action_kind kind;
	char *system, *event;		/* of onmatch() */
	char *var;			/* of onmax(), onchange(): with its $ */
	char *name;			/* as it was written: save, snapshot, trace, or the synthetic event */
	int has_trace_word;
	char *synth_name;
	char *param[MAX_PARAMS]; uint32_t nparams;
	struct uft_synth *synth;
	uint32_t ref[MAX_PARAMS];	/* in the list of references */
	struct hist_field *tracked;	/* the reference that is compared, */
	uint32_t track_word, track_bit;	/* with this of the element */
	/* of snapshot(): */
	int has_fired;
	uint64_t fired; uint64_t *fired_element;
};

struct hist_table {			/* shared by histograms of one name */
	uint32_t refs;
	struct uft_hist_map map;
	/* names of the addresses in each element's key, by its index; NULL: no key is an address */
	char **label;
	size_t bytes;
};

struct attrs {				/* the parts of a definition; point into a copy of it */
	char *copy, *keys, *vals, *sort, *name, *clock;
	char *assignment[MAX_VARS]; uint32_t nassignments;
	char *action[MAX_ACTIONS]; uint32_t nactions;
	char *var[MAX_VARS], *expr[MAX_VARS]; uint32_t nvars;
	uint32_t bits;
	int no_hitcount, is_usecs;
	enum uft_hist_verb verb;
};

struct uft_hist {
	struct uft_hist_set *set;
	struct uft_hist *next;		/* in the set; only if it has joined */
	int has_joined, is_not;
	const struct uft_event_type *type;
	struct attrs attrs;
	struct hist_field *field[MAX_FIELDS];	/* hitcount, values, variables, then keys */
	uint32_t nvals, nkeys;		/* nvals: with hitcount and variables */
	uint32_t nvars;
	uint32_t key_words, words, set_word, comm_word;	/* of an element; comm_word 0: none */
	struct { uint32_t field; int is_descending; } sort[MAX_SORT]; uint32_t nsort;
	struct hist_field *ref[MAX_PARAMS + MAX_VARS]; uint32_t nrefs;
	struct field_var *field_var[MAX_PARAMS]; uint32_t nfield_vars;
	struct field_var *save_var[MAX_PARAMS]; uint32_t nsave_vars;
	uint32_t ntracked;		/* actions onmax and onchange */
	struct action *action[MAX_ACTIONS]; uint32_t nactions;
	struct hist_table *table;
	uint32_t used;			/* by references of others */
	int has_timestamps;
	/* while the histogram is made: */
	char *command;			/* `hist:` and the text, for places of mistakes */
	struct uft_hist_errors *errors;
};

struct uft_hist_set {
	struct uft_hist_env env;
	struct uft_hist *first;		/* in the order of joining */
};

/* ---- Errors: mistake.c ------------------------------------------------------------------------- */

/* Notes the mistake with the place of @str in the command (its first occurrence), and returns @ret. */
int hist_fail(struct uft_hist *h, int ret, const char *what, const char *str);

/* ---- field.c --------------------------------------------------------------------------------- */

struct hist_value { uint64_t number; const void *p; size_t bytes; };

struct hist_field *field_new(uint32_t flags, const char *var);
void field_free(struct hist_field *f);
/* Fills size, type, operands of one that stands for @field. 0, -ENOMEM, -EINVAL. */
int field_make(const struct uft_event_field *field, uint32_t flags, const char *var, struct hist_field **out);
const struct uft_event_field *field_find(const struct uft_event_type *type, const char *name);
int field_is_stack(const struct uft_event_field *f);	/* of a synthetic event: addresses, the first 0 ends them */
const char *field_name(const struct hist_field *f);
const char *field_modifier(const struct hist_field *f);	/* NULL: none */
struct hist_value field_value(const struct uft_hist *h, const struct hist_field *f, const struct uft_hist_record *rec,
			      const uint64_t *refs);

/* ---- expression.c ---------------------------------------------------------------------------- */

/* Parses a value, variable or key, and changes @text. 0, or negative errno after noting the mistake. */
int expression_parse(struct uft_hist *h, char *text, uint32_t flags, const char *var, uint32_t *nsub,
		     struct hist_field **out);
int is_own_event(const struct uft_hist *h, const char *system, const char *event);	/* or none is named */
int expression_atom(struct uft_hist *h, char *text, uint32_t *flags, const char *var, struct hist_field **out);
/* Finds a variable of some event; NULL: none. @system NULL: of any event, which must be the only one. */
struct hist_field *variable_find(struct uft_hist *h, const char *system, const char *event, const char *name,
				 struct uft_hist **of);
struct hist_field *variable_of(const struct uft_hist *h, const char *name);
struct hist_field *reference_make(struct uft_hist *h, struct uft_hist *of, const struct hist_field *target,
				  const char *system, const char *event);
int variable_is_there(const struct uft_hist *h, const char *name);	/* in one of the same event */

/* ---- action.c -------------------------------------------------------------------------------- */

int actions_parse(struct uft_hist *h);
int actions_make(struct uft_hist *h);
void actions_free(struct uft_hist *h);
void actions_run(struct uft_hist *h, uint64_t *element, const struct uft_hist_record *rec, const uint64_t *refs);
int actions_are_same(const struct uft_hist *a, const struct uft_hist *b);
void field_var_store(const struct uft_hist *h, const struct field_var *v, uint64_t *element,
		     const struct uft_hist_record *rec, const uint64_t *refs);

/* ---- sink.c ---------------------------------------------------------------------------------- */

void text_actions(const struct uft_hist *h, const struct uft_hist_sink *to);	/* action.c */
void hist_printf(const struct uft_hist_sink *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* sort.c: returns the elements in the order of the sort keys. malloc'd; NULL: no memory. */
uint64_t **sort_elements(const struct uft_hist *h, uint32_t *n);

void variable_store(const struct uft_hist *h, const struct hist_field *var, uint64_t *element, struct hist_value v);

#endif
