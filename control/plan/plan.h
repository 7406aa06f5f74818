/* SPDX-License-Identifier: MIT */
/* plan.h - select the functions of a specification, in one image. Context: control, the session's thread. */
#ifndef UFT_CONTROL_PLAN_H
#define UFT_CONTROL_PLAN_H

#include "program/hist_row.h"
#include "program/program.h"
#include "control/proc/proc.h"
#include "control/session.h"
#include "symbol/tracepoint.h"
#include "symbol/names.h"

struct uft_session;
struct target;
struct unprepared;
struct space;
struct space_obj;

/* ---- spec.c -------------------------------------------------------------------------------- */

struct budget_limit {			/* what tracing may cost: arm/budget.c */
	double share;			/* cost over the program's own CPU time, 0: no limit */
	double rate;			/* events a second, 0: no limit */
};

/*
 * A spec's actions. An action without a limit has its ops as its number. So a number means the same in each spec, and a
 * site gets a new number only if its ops change. Actions with limits have the numbers behind these.
 */
#define ACTION_KEPT		UFT_ACT_KEEP	/* the first with a limit */
#define ACTION_LIMITS		(UFT_NACTIONS - ACTION_KEPT - 1u)	/* WANT_NOT's number is no action's */
struct spec {
	uint32_t tracer;		/* the tracer that targets run: enum uft_tracer up to PROFILE */
	uint32_t events;		/* the tracer whose functions write events as well; NOP none */
	int is_bare;			/* with events: only the functions that write them */
	/* only constructors, of every object */
	int is_inits;
	uint32_t own;			/* tracers made of the session's own events: bits 1 << enum uft_tracer */
	struct spec_spin { struct uft_hwlat_opts opts; uint64_t thresh_ns; } hwlat, osnoise;
	struct access_range *watch;	/* of mmiotrace (watch_list.h) */
	uint32_t nwatch;
	uint64_t sample_ns;
	int has_stacks;			/* of samples */
	int has_switches;		/* of sched_switch, or beside calls */
	uint32_t tasks;			/* enum uft_tasks */
	/* which tracepoints are on: words, with a filter or NULL, */
	char **event_words, **event_filters; size_t nevent_words;
	/* and types, by rising index: struct uft_event_want */
	struct spec_event { uint32_t index; char *filter; struct uft_event_tasks tasks; uint32_t action, count,
		key; struct uft_hist_row row; } *event; size_t nevents;
	struct spec_rules *rules; uint32_t nrules;	/* event_rules.c: by index of the type */
	uint32_t generation;		/* of this spec; 0: no spec was set yet */
	struct uft_pattern *filter, *notrace, *roots, *hidden, *keep, *stack_of;
	char **filter_text, **notrace_text, **roots_text, **hidden_text, **keep_text, **stack_of_text;
	size_t nfilter, nnotrace, nroots, nhidden, nkeep, nstack_of;
	/* the same, to try a function against them */
	struct uft_words *filter_words, *notrace_words, *root_words, *hidden_words, *stack_words;
	uint8_t *keep_action;		/* by keep pattern */
	uint64_t keep_ns[ACTION_LIMITS];	/* of the actions from ACTION_KEPT on */
	uint32_t nlimits;
	uint64_t thresh_ns;
	uint64_t min_size;		/* bytes: smaller functions are not selected */
	struct budget_limit limit;
	struct uft_tracer_params params;
	/* pid_inherit.c: by index of params.pids, when that pid was added */
	uint64_t since[sizeof(((struct uft_tracer_params *)0)->pids) / sizeof(uint32_t)];
	struct spec *beside;		/* arbiter.c: the next of the ops; only its functions count there */
};
/*
 * The wanted state of a site: enum uft_site_state, and above it the number of its action; or WANT_NOT (not selected).
 */
#define WANT_ACTION_SHIFT	8
#define WANT_STATE(want)	((want) & 0xffu)
#define WANT_ACTION(want)	((want) >> WANT_ACTION_SHIFT)
#define WANT_OF(state, action)	((uint16_t)((state) | (unsigned)(action) << WANT_ACTION_SHIFT))
#define WANT_NOT		0xffffu		/* all bits, so that memset() makes it */
uint32_t spec_ops(const struct spec *sp, uint16_t want);	/* enum uft_action_ops */
/* arbiter.c: makes the specs of all ops. Returns 0, or -errno with the reason in @err. */
int spec_make(const struct uft_trace_spec *in, struct spec **out, struct uft_error *err);
/* spec.c: makes the spec of one of the ops; members that belong to all ops are 0. */
int spec_make_one(const struct uft_ops *op, struct spec **out, struct uft_error *err);
void spec_free(struct spec *sp);
int spec_copy_events(const struct uft_trace_spec *from, struct spec *sp);	/* 0, -ENOMEM */
int spec_wants_event(const struct spec *sp, const struct uft_event_type *type);
/* The word that decides about @type, the last one that means it; nevent_words: none does. Does a word want events? */
size_t spec_last_word(const struct spec *sp, const struct uft_event_type *type);
int spec_has_word(const struct spec *sp, size_t word);
/* The first of event[] that has the index of @type or a higher one. */
size_t spec_first_event(const struct spec *sp, const struct uft_event_type *type);
/* event_rules.c: what targets get for events of @type; *out is the spec's, NULL: no rules. 0, -ENOMEM. */
/* For events that the session records itself: 1 if a filter accepts the record, or the type has no filter. */
int spec_accepts_event(struct spec *sp, const struct uft_event_type *type, const struct uft_record *r);
int spec_event_rules(struct spec *sp, const struct uft_event_type *type, const struct uft_event_rules **out);
void spec_rules_free(struct spec *sp);
static inline int spec_has_own(const struct spec *sp, uint32_t tracer)
{
	return sp->own >> tracer & 1;
}
static inline int spec_has_func(const struct spec *sp)	/* 1: FUNC records are written */
{
	return sp->tracer == UFT_TRACER_FUNCTION || sp->params.has_events & UFT_EVENTS_FUNC;
}
/* Fills want[obj->nsite]. Names are read only when there are patterns. Returns sites selected, or -errno. */
long spec_select(const struct spec *sp, struct uft_object *obj, uint16_t *want, struct uft_error *err);
/* The same for functions without compiler support (unprepared.c). @is_program: a pattern need not name the object. */
long spec_select_plain(const struct spec *sp, struct uft_object *obj, const struct space_obj *o, int is_program,
		       uint16_t *want, struct uft_error *err);
/* spec_match.c: the same for @sp alone, without the specs beside it. */
long spec_select_own(const struct spec *sp, struct uft_object *obj, uint16_t *want, struct uft_error *err);
long spec_select_own_plain(const struct spec *sp, struct uft_object *obj, const struct space_obj *o, int is_program,
			   uint16_t *want, struct uft_error *err);
/* Returns 1 if a stack follows each call of the function at @func. Reads the names of its object. */
int spec_wants_stack(const struct spec *sp, struct uft_object *obj, uint64_t func);
/* Does a filter or root pattern name the object by `:mod:`? */
int spec_names_object(const struct spec *sp, struct uft_object *obj);
/* Checks that each pattern selects a function of one of the spaces. 0, or -ENOENT and the nearest names in @err. */
int spec_check(const struct spec *sp, struct space *const *spaces, size_t nspaces, struct uft_error *err);
/* Writes why no function of the space can be traced, for a message. */
void spec_explain_none(const struct space *sp, char *text, size_t size);

/* ---- image_plan.c: an image and what is planned for it ------------------------------------------- */

#define PLAIN_NO_GRAPH	15		/* reasons are enum entry_skip, and this one */

struct space_obj {
	uint16_t *want;			/* by stub index, from spec generation `planned` */
	uint32_t planned;
	uint32_t nusable;
	uint16_t *sent;			/* by stub index: the state last sent to any target of the space, or WANT_NOT */
	struct uft_hook *hook;		/* runtime addresses */
	uint32_t nhook;
	int has_hooks;			/* hooks_find() has run */
	int unwind_error;		/* -errno: an unwinder of the object could not be hooked in some target */
	/* the user was warned of failed hooks; of those that failed while all tasks were stopped */
	int is_reported, is_hold_reported;
	/* the space's when its sites were first sent: a site's kind does not change */
	unsigned own_calls;
	int has_own_calls;
	/* functions without compiler support; NULL: no spec has asked for them */
	struct unprepared *plain;
	uint32_t nplain;		/* of those, selected ones that can be traced */
	uint32_t plain_skip[PLAIN_NO_GRAPH + 1];	/* and selected ones that cannot, by reason */
	const struct uft_func *chooser;	/* a selected function that only chooses an implementation (ifunc), or NULL */
	struct uft_found_events found;	/* its tracepoints (arm/tracepoints.c), */
	const struct uft_event_type **type;	/* and the type of each; NULL: refused */
	int has_events;			/* its tracepoints were searched for */
	uint64_t stub_base, code_base, tramp_base, tramp_end;	/* as a target answered last; 0: none has */
	struct uft_stack_row *row;	/* unwind_rows.c; malloc'd */
	uint32_t nrow;
	int has_rows;			/* stacks_make() has run; there may be none */
};

struct space {
	struct space *next;
	struct uft_image *img;
	struct space_obj *obj;		/* parallel to img->obj */
	uint32_t nobj;
	uint32_t next_text_id, next_stub_id;
	/* enum uft_call_name: names that an object exports; calls by these names go to that object */
	unsigned own_calls;
	/* path of a library that traces the program itself (uftrace's), by the same places; NULL: none */
	const char *other_tracer;
	uint32_t spec_sent;		/* generation of the spec with which its first target was armed */
	/* the spec changed since: a fork child may have been made before or after that */
	int is_changed;
	uint8_t auxv[UFT_AUXV_MAX];	/* the identity of an address space: fork children have the same */
	size_t auxv_bytes;
	uint64_t rbrk, rdebug;		/* runtime addresses in the interpreter; 0 none */
	uint64_t dynamic;		/* the program's PT_DYNAMIC, for DT_DEBUG */
	uint64_t rseq_symbol;		/* runtime address of __rseq_offset; 0 none */
	uint64_t boot;			/* runtime address of the blob's uft_boot */
	int is_dynamic;			/* has an interpreter */
	int rseq_known;
	int is_preloaded;		/* the loader loaded the runtime, which stays mapped: no ptrace (preload.c) */
	uint64_t jit_bytes;		/* of perf-PID.map, all its processes': jit_names.c */
	int started;			/* all objects of the start are known: constructors may have run */
	int was_used;			/* a target has had it */
	int is_unneeded;		/* forget_spaces.c */
	uint32_t holders;		/* users of the space that are no targets */
	uid_t uid;			/* of its first process; what children of other users brought: */
	uint32_t nforeign, foreign_ids;
};
/* space_create() calls this as soon as the program's file is open, before it looks for sites. */
struct space_ahead {
	void (*program)(void *arg, const struct space *sp, const struct uft_object *program, uint64_t bias);
	void *arg;
};
/*
 * Makes a space for the image of a process, from the files that it has mapped. @hello: the auxiliary vector that an
 * emulated program has sent; NULL: the kernel's is used. @ahead may be NULL. Returns 0 or -errno.
 */
int space_create(struct uft_session *s, pid_t pid, const struct uft_hello *hello, const struct space_ahead *ahead,
		 struct space **out, struct uft_error *err);
void space_free(struct space *sp);
void space_drop(struct uft_session *s, struct space *sp);	/* frees a space that no target uses */
/*
 * Adds an object that process @pid has loaded; returns its index, or -errno. For processes of another user than the
 * space's first, children that gave up rights, there is a quarter of the room (-EDQUOT), and they change nothing for
 * relatives' objects.
 */
int space_add_of(struct uft_session *s, struct space *sp, pid_t pid, struct uft_object *obj, uint64_t bias);
/*
 * Fills want[] of an object by the session's spec, if that is newer. Returns the number of sites selected, or
 * -errno.
 */
int space_plan(struct uft_session *s, struct space *sp, uint32_t index, struct uft_error *err);

/* ---- hooks.c ------------------------------------------------------------------------------- */

/* 0: on this architecture only the loader and unwinders are hooked. */
int hooks_are_known(const struct uft_object *obj);
/* Finds the places of an object that the runtime must hook, into o->hook. 0 or -errno. */
int hooks_find(struct space_obj *o, const struct uft_mapped *m);
/* Adds the place that the loader calls when its list changes. @rbrk: as linked. 0 or -errno. */
int hooks_add_loader(struct space_obj *o, const struct uft_mapped *m, uint64_t rbrk);

/* ---- unwind_rows.c ---------------------------------------------------------------------------------- */

/* Makes the rows of an object, once; it may have none. 0; -errno, in the first call only. */
int stacks_make(struct space *sp, uint32_t object);

/* ---- spec.c ---------------------------------------------------------------------------------------- */

/* converts the spec's times to units of the targets' clock */
void session_set_times(struct uft_session *s, struct spec *sp);

#endif
