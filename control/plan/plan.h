/* SPDX-License-Identifier: MIT */
/* plan.h - which functions a specification means, in one image. Context: control, the session's thread. */
#ifndef UFT_CONTROL_PLAN_H
#define UFT_CONTROL_PLAN_H

#include "control/proc/proc.h"
#include "control/session.h"
#include "symbol/names.h"

struct uft_session;
struct target;
struct plain;
struct space;
struct space_obj;

/* ---- spec.c -------------------------------------------------------------------------------- */

struct budget_limit {			/* what tracing may cost: arm/budget.c */
	double share;			/* cost over the program's own CPU time, 0: no limit */
	double rate;			/* events a second, 0: no limit */
};

struct spec {
	uint32_t tracer;		/* what targets are told: enum uft_tracer up to PROFILE */
	uint32_t events;		/* the tracer whose functions write events as well; NOP none */
	int is_bare;			/* with events: no functions but those */
	int is_inits;			/* only functions that are called when their object is loaded, of every object */
	uint32_t own;			/* the tracer made of the session's own events; NOP none */
	uint64_t own_thresh_ns;
	struct uft_hwlat_opts spin;
	struct access_range *watch;	/* of mmiotrace (watch_list.h) */
	uint32_t nwatch;
	uint64_t sample_ns;
	int has_stacks;			/* of samples */
	int has_switches;		/* of sched_switch, or beside calls */
	uint32_t tasks;			/* enum uft_tasks */
	uint32_t generation;		/* of this spec; 0: none was given yet */
	struct uft_pattern *filter, *notrace, *roots, *hidden, *keep, *stack_of;
	char **filter_text, **notrace_text, **roots_text, **hidden_text, **keep_text, **stack_of_text;
	size_t nfilter, nnotrace, nroots, nhidden, nkeep, nstack_of;
	struct uft_words *filter_words, *notrace_words, *root_words, *hidden_words, *stack_words;	/* the same, to try a function against them */
	uint8_t *keep_index;		/* by keep pattern: of its limit in params.keep[] */
	uint64_t keep_ns[UFT_NKEEP];
	uint64_t thresh_ns;
	uint64_t min_size;		/* bytes: smaller functions are not selected */
	struct budget_limit limit;
	struct uft_tracer_params params;
	uint64_t since[sizeof(((struct uft_tracer_params *)0)->pids) / sizeof(uint32_t)];	/* pid_inherit.c: by params.pids, when it came to be there */
	struct spec *beside;		/* spec_select.c */
};
/* What a site should be: enum uft_site_state, WANT_ROOT, or WANT_NOT (not selected). */
#define WANT_ROOT	0x10
#define WANT_KEEP_SHIFT	5	/* bits 5-7: index of the root's limit, 0 none; of others UFT_SITE_ARGS, _MASK, _HIDE */
#define WANT_FUNC	(UFT_SITE_FUNC >> 2 << WANT_KEEP_SHIFT)
#define WANT_PROFILE	(UFT_SITE_PROFILE >> 2 << WANT_KEEP_SHIFT)
#define WANT_NOT_GRAPH	(WANT_ROOT | UFT_SITE_HIDE >> 2 << WANT_KEEP_SHIFT)	/* UFT_SITE_NOT_GRAPH */
#define WANT_NOT	0xff
int spec_make(const struct uft_trace_spec *in, struct spec **out, struct uft_error *err);
void spec_free(struct spec *sp);
/* spec_select.c: what all of @in->beside want, into @sp, which is made of @in. */
int spec_make_beside(const struct uft_trace_spec *in, struct spec *sp, struct uft_error *err);
int spec_take_own(const struct uft_trace_spec *own, struct spec *sp, struct uft_error *err);	/* the same of the session's own events */
static inline int spec_has_func(const struct spec *sp)	/* are there records with callers? */
{
	return sp->tracer == UFT_TRACER_FUNCTION || sp->params.has_events & UFT_EVENTS_FUNC;
}
/* Fills want[obj->nsite]. Names are read only when there are patterns. Returns sites selected, or -errno. */
long spec_select(const struct spec *sp, struct uft_object *obj, uint8_t *want, struct uft_error *err);
/* The same for its plain functions (unprepared.c). @is_program: a pattern need not name the object. */
long spec_select_plain(const struct spec *sp, struct uft_object *obj, const struct space_obj *o, int is_program,
		       uint8_t *want, struct uft_error *err);
/* spec.c: the same of one, without those beside it. */
long spec_select_own(const struct spec *sp, struct uft_object *obj, uint8_t *want, struct uft_error *err);
long spec_select_own_plain(const struct spec *sp, struct uft_object *obj, const struct space_obj *o, int is_program,
			   uint8_t *want, struct uft_error *err);
/* Is a stack recorded behind each call of the function at @func? Its object's names are read. */
int spec_wants_stack(const struct spec *sp, struct uft_object *obj, uint64_t func);
/* Does a filter or root pattern name the object by `:mod:`? */
int spec_names_object(const struct spec *sp, struct uft_object *obj);
/* Each pattern must select a site of one of the spaces; else -ENOENT and a sentence with the nearest names. */
int spec_check(const struct spec *sp, struct space *const *spaces, size_t nspaces, struct uft_error *err);
/* Why nothing of the space can be traced, for a message. */
void spec_explain_none(const struct space *sp, char *text, size_t size);

/* ---- image_plan.c: an image and what is planned for it ------------------------------------------- */

#define PLAIN_NO_GRAPH	15		/* reasons are enum entry_skip, and this one */

struct space_obj {
	uint8_t *want;			/* by stub index, from spec generation `planned` */
	uint32_t planned;
	uint32_t nusable;
	uint8_t *sent;			/* by stub index: what any target of the space was last told, or WANT_NOT */
	struct uft_hook *hook;		/* runtime addresses */
	uint32_t nhook;
	int has_hooks;			/* looked for */
	int unwind_error;		/* -errno: an unwinder that it has could not be hooked in some target */
	int is_reported, is_hold_reported; /* hooks that failed were mentioned; those that failed although all stood */
	unsigned own_calls;		/* the space's when its sites were first sent: a site's kind does not change */
	int has_own_calls;
	struct plain *plain;		/* its functions that nobody prepared; NULL: they were never asked for */
	uint32_t nplain;		/* those wanted that can be traced */
	uint32_t plain_skip[PLAIN_NO_GRAPH + 1];	/* those wanted that cannot */
	const struct uft_func *chooser;	/* a function that a pattern selects and that only chooses another, or NULL */
	uint64_t stub_base, code_base, tramp_base, tramp_end;	/* as a target was told last; 0 never */
	struct uft_stack_row *row;	/* unwind_rows.c; malloc'd */
	uint32_t nrow;
	int has_rows;			/* made, maybe none */
};

struct space {
	struct space *next;
	struct uft_image *img;
	struct space_obj *obj;		/* parallel to img->obj */
	uint32_t nobj;
	uint32_t next_text_id, next_stub_id;
	unsigned own_calls;		/* enum uft_call_name: what any object exports; calls by that name are its own */
	uint32_t spec_sent;		/* generation of the spec with which its first target was armed */
	int is_changed;			/* another one came after it: fork children may be of either time */
	uint8_t auxv[UFT_AUXV_MAX];	/* the identity of an address space: fork children have the same */
	size_t auxv_bytes;
	uint64_t rbrk, rdebug;		/* runtime addresses in the interpreter; 0 none */
	uint64_t dynamic;		/* the program's PT_DYNAMIC, for DT_DEBUG */
	uint64_t rseq_symbol;		/* runtime address of __rseq_offset; 0 none */
	uint64_t boot;			/* runtime address of the blob's uft_boot */
	int is_dynamic;			/* has an interpreter */
	int rseq_known;
	uint64_t *ahead[2];		/* room for stub_addr and site_addr of the program, made while its sites were looked for */
	size_t nahead;
	int started;			/* all objects of the start are known: constructors may run */
};
/* What a caller of space_create() does as soon as the program's file is open, while its sites are still looked for. */
struct space_ahead {
	void (*program)(void *arg, const struct space *sp, const struct uft_object *program, uint64_t bias);
	void *arg;
};
/* @hello: what the process says of itself (checked by the caller); NULL: the kernel is asked. @ahead may be NULL. */
int space_create(struct uft_session *s, pid_t pid, const struct uft_hello *hello, const struct space_ahead *ahead, struct space **out,
		 struct uft_error *err);
void space_free(struct space *sp);
void space_drop(struct uft_session *s, struct space *sp);	/* nobody came to use it */
/* Adds one object; returns its index, or -errno. */
int space_add(struct uft_session *s, struct space *sp, struct uft_object *obj, uint64_t bias);
/* Brings want[] of an object up to the session's spec. */
int space_plan(struct uft_session *s, struct space *sp, uint32_t index, struct uft_error *err);

/* ---- hooks.c ------------------------------------------------------------------------------- */

/* Places in an object that the runtime must know of; fills o->hook. */
int hooks_are_known(const struct uft_object *obj);	/* 0: none but the loader's and unwinders on this architecture yet */
int hooks_find(struct space_obj *o, const struct uft_mapped *m);
int hooks_add_loader(struct space_obj *o, const struct uft_mapped *m, uint64_t rbrk);	/* @rbrk: as linked */

/* ---- unwind_rows.c ---------------------------------------------------------------------------------- */

/* Rows of @u's functions, by address (abi.h); *out malloc'd. 0 or -ENOMEM. */
int stacks_make_rows(const struct uft_unwind *u, size_t nunwind, struct uft_stack_row **out, uint32_t *n);
/* Of an object, once; it may have none. 0, or -errno the first time. */
int stacks_make(struct space *sp, uint32_t object);

/* ---- spec.c ---------------------------------------------------------------------------------------- */

void session_set_times(struct uft_session *s, struct spec *sp);	/* what a tracer wants in units of the clock */

#endif
