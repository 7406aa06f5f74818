/* SPDX-License-Identifier: MIT */
/* tree_internal.h - layout of a tree; the theory is in tree.h and at the top of tree.c */
#ifndef UFT_TREE_INTERNAL_H
#define UFT_TREE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "control/session.h"
#include "hist/hist.h"
#include "output/datsyms.h"
#include "output/output.h"
#include "stream/live/live.h"
#include "symbol/event_type.h"
#include "tree/tree.h"

/* ---- text.c: growing text of a file ---------------------------------------------------------- */

struct tree_text {
	char *p;
	size_t n, cap;
	int error;			/* -ENOMEM sticks */
};
void text_put(struct tree_text *x, const char *p, size_t n);
int text_sink(void *x, const char *p, size_t n);		/* the same as a sink function */
void text_printf(struct tree_text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Reads a number as the kernel's kstrtoul_from_user() does, base 0 or 10: no blanks, one newline may follow, a NUL or
 * the 66th byte ends the text. 0; -EINVAL; -ERANGE: more digits than 64 bits hold, whatever follows them.
 */
int text_number(const char *p, size_t n, int base, uint64_t *out);
/* The same, base 10; -EINVAL: not from @least to @most. */
int text_number_in(const char *p, size_t n, uint64_t least, uint64_t most, uint64_t *out);
/* Does a word of a list end at @c? Blanks and NULs are between words, as in the kernel. */
int text_is_gap(char c);
/* Cuts blanks off both ends of @p, and all from the first NUL on: the kernel reads a string. */
void text_strip(const char **p, size_t *n);

/* ---- table.c: the files ---------------------------------------------------------------------- */

struct instance;
struct place {				/* the object of a file: instance, cpu, option, event */
	struct uft_tree *t;
	struct instance *in;
	const struct row *row;
	uint32_t index;			/* cpu or option */
};

enum row_flags {
	ROW_NAMES	= 1,		/* a directory whose entries are made by mkdir: instances */
	ROW_FROZEN	= 2,		/* shows the snapshot, not the running buffer */
};

/* All run in the owner's thread, except read and poll. A missing member: the file has no such operation. */
struct row {
	struct uft_tree_row pub;
	int (*show)(const struct place *at, struct tree_text *out);	/* all of it */
	/* One write: bytes taken, or negative errno and nothing changed. */
	ssize_t (*store)(struct uft_handle *h, const char *p, size_t n);
	int (*truncate)(const struct place *at);
	int (*open)(struct uft_handle *h);
	int (*release)(struct uft_handle *h);
	ssize_t (*read)(struct uft_handle *h, char *buf, size_t n, uint64_t offset, int flags);
	int (*poll)(struct uft_handle *h);
	int (*ioctl)(struct uft_handle *h, unsigned cmd, uint64_t arg);	/* @arg: an address in the caller's memory */
	uint32_t attr, flags;
	const char *takes;		/* the form of a valid write, for error_log */
};

/*
 * Functions of higher folders that core/ calls. A missing member does nothing. files/table.c has the list, and
 * uft_tree_create() there passes it to a new tree.
 */
struct uft_told_event;
struct settings;
struct tree_part {
	void (*slice_begin)(struct uft_tree *t, uint32_t slice, const struct uft_image *img);
	void (*slice_end)(struct uft_tree *t, uint32_t slice);	/* before another process can get it */
	void (*round)(struct uft_tree *t);			/* after each drain */
	void (*told)(struct uft_tree *t, const struct uft_told_event *e);
	void (*exited)(struct uft_tree *t, int status);		/* the launched program */
	/* an object that declares these types was mapped */
	void (*types_found)(struct uft_tree *t, const struct uft_event_type *const *type, uint32_t n);
	void (*applied)(struct uft_tree *t);			/* at the end of tree_apply(), also after a refusal */
	void (*switched)(struct instance *in, int is_on);	/* tracing_on has changed */
	void (*clock)(struct instance *in, uint32_t clock);	/* records have the time of another clock from now on */
	void (*leave)(struct instance *in);			/* rmdir: before the instance goes */
	void (*instance_free)(struct instance *in);
	void (*tree_free)(struct uft_tree *t);
};
/* Commands of functions; ops.c joins their ops with those of the tracers. */
struct command_ops {
	int (*waits)(const struct instance *in, const struct settings *set);	/* records are looked at for commands */
	/* appends the functions that have a command, or whose stacks are wanted; ends the text */
	int (*put_words)(const struct instance *in, const char *before, int of_stacks, struct tree_text *words);
	int (*has_stacks)(const struct instance *in);	/* it has stacktrace, also if that has no count left */
	int (*wants_event_stacks)(const struct instance *in);	/* a trigger of an event needs its stack */
	/* triggers of events switch the graph: struct uft_ops; 0: none */
	uint32_t (*graph_turn)(const struct instance *in);
	/* Actions that targets run for triggers of the type, into @want (NULL: only counted). Returns how many. */
	size_t (*put_wants)(const struct instance *in, const struct settings *set, uint32_t event,
			    struct uft_event_want *want);
	int (*switches)(const struct instance *in, uint32_t event);	/* functions switch the type of this place */
	int (*switches_any)(const struct instance *in);
	int (*needs)(const struct instance *in, uint32_t event);	/* the type has a trigger */
	int (*has_functions)(const struct instance *in);	/* functions have commands */
	/* adds the types that functions switch; 0, -ENOMEM */
	int (*events)(const struct instance *in, struct uft_event_set *out);
	void (*mute)(const struct instance *in, int on);
	void (*free)(struct instance *in);
};
struct tree_table {
	const struct row *row;
	size_t nrows;
	const struct tree_part *part;
	size_t nparts;
	const struct command_ops *commands;
};
/* Calls a member of each part that has it. */
#define each_part(t, member, ...) do {								\
	for (size_t i_ = 0; i_ < (t)->table->nparts; i_++)					\
		if ((t)->table->part[i_].member)						\
			(t)->table->part[i_].member(__VA_ARGS__);				\
} while (0)

/* ---- node.c ---------------------------------------------------------------------------------- */

/* -ENOENT: its instance is gone. t->lock held */
int node_place(struct uft_tree *t, uft_node node, struct place *out);

/* ---- options.c ------------------------------------------------------------------ */

enum option {
	OPT_PRINT_PARENT, OPT_SYM_OFFSET, OPT_SYM_ADDR, OPT_VERBOSE, OPT_RAW, OPT_HEX, OPT_BIN, OPT_LATENCY,
	OPT_CONTEXT_INFO, OPT_IRQ_INFO, OPT_RECORD_CMD, OPT_RECORD_TGID, OPT_ANNOTATE, OPT_OVERWRITE, OPT_PAUSE,
	OPT_MARKERS,
	OPT_MSG_ONLY, OPT_GRAPH_CPU, OPT_GRAPH_OVERHEAD, OPT_GRAPH_PROC, OPT_GRAPH_DURATION, OPT_GRAPH_ABSTIME,
	OPT_GRAPH_TAIL, OPT_GRAPH_OVERRUN, OPT_GRAPH_IRQS, OPT_GRAPH_RETVAL, OPT_GRAPH_RETVAL_HEX, OPT_GRAPH_RETADDR,
	OPT_GRAPH_ARGS,
	OPT_SLEEP_TIME, OPT_GRAPH_TIME, OPT_DISABLE_ON_FREE, OPT_STACK, OPT_USER_STACK, OPT_USEROBJ, OPT_FUNC_STACK,
	OPT_FUNC_TRACE, OPT_NO_REPEATS, OPT_FIELDS, OPT_DISPLAY_GRAPH, OPT_FUNC_FORK, OPT_EVENT_FORK, OPT_COUNT
};
#define OPT_BIT(o)	(1ull << (o))
struct option_row {
	const char *name;
	enum option bit;
	int is_on;			/* by default */
	uint32_t tracer;		/* the tracer that has the option; NOP: all */
	uint32_t text;			/* enum uft_text_flags */
	uint32_t events;		/* enum uft_events: what is recorded of each call while it is on, */
	uint32_t events_off;		/* and while it is off */
};
const struct option_row *option_row(uint32_t index);	/* NULL: an option of the kernel that has no meaning here, */
const char *option_absent(uint32_t index);		/* for this reason */
uint64_t option_defaults(void);
uint32_t option_text_flags(uint64_t options);	/* enum uft_text_flags */
uint32_t option_events(uint64_t options);	/* enum uft_events */

uint32_t option_count(void);
const char *option_name(uint32_t index);
int option_is_top(uint32_t index);	/* has no file in an instance, as in the kernel */

/* ---- handle.c -------------------------------------------------------------------------------- */

struct uft_handle {
	struct uft_tree *t;
	struct place at;
	struct uft_handle *next;	/* of those that wait: t->waiting */
	int flags;			/* of open(2) */
	pid_t pid, tgid;		/* the task that opened it, or wrote to it last, its process */
	pid_t named, named_tgid;	/* the last writer whose name the buffer has; */
	uint64_t named_began;		/* its start in clock ticks since boot, since its number may be reused */
	struct tree_text text;		/* the text that a reader has begun to read */
	int has_text;
	void *priv;			/* the file's own */
	const char *wrong;		/* reason of a refused write, for error_log; NULL: none */
	size_t wrong_at;		/* position in the write */
	int is_noted;			/* its mistakes are in error_log already */
	atomic_int is_read_waiting;	/* uft_tree_await_read() */
	void (*notify)(void *arg);
	void *notify_arg;
};
/* Notes that task @pid uses @h. Only for names: a task that cannot be looked at counts as a process of its own. */
void handle_look_up(struct uft_handle *h, pid_t pid);
void handle_wake_all(struct uft_tree *t);	/* data came: waiters look again */
/* Waits until data may have come. 0, or -ESHUTDOWN: the tree ends. */
int handle_wait_news(struct uft_handle *h);


/* ---- tree.c ---------------------------------------------------------------------------------- */

#define MAX_PIDS	61	/* the runtime's, of all lists together */
enum pid_list { PIDS_ONLY, PIDS_NOT, NPIDS, PIDS_EVENT_ONLY = NPIDS, PIDS_EVENT_NOT, NALL_PIDS };
enum list { LIST_FILTER, LIST_NOTRACE, LIST_GRAPH, LIST_GRAPH_NOT, LIST_STACK, NLISTS };

struct settings {			/* the settings of an instance */
	char *list[NLISTS];		/* set_ftrace_filter.c: words, each with a newline behind it; malloc'd */
	struct pids { uint32_t pid[MAX_PIDS]; size_t n; } pids[NALL_PIDS];	/* set_ftrace_pid.c */
	int has_event_fork;		/* event_fork.c: its lists of tasks count for events */
	uint32_t kin;			/* number of these lists: a new one after a task was removed */
	struct uft_event_set events;	/* events.c */
	char **event_filter; uint32_t nevent_filters;	/* by place of their types; malloc'd, NULL: none */
	uint32_t tracer;
	uint32_t clock;			/* trace_clock.c; CLOCK_COUNTER */
	int is_on;			/* tracing_on */
	int is_profiling;		/* trace_stat.c */
	int is_measuring;		/* stack_trace.c */
	uint64_t options;		/* bits by option_name() */
	uint64_t buffer_kb;		/* of each cpu */
	uint64_t thresh_us;
	uint64_t max_latency_us;	/* latency tracers: only longer latencies are kept */
	uint64_t cpus_off[UFT_LIVE_CPUS / 64];	/* tracing_cpumask.c */
	uint32_t max_depth;
	struct uft_hwlat_opts hwlat, osnoise;	/* the top's; 0: the default of each */
	uint64_t sample_us;		/* the same */
	char watch[512];		/* mmiotrace_watch.c: of mmiotrace, words with a newline behind each */
};

struct instance {
	struct instance *next;
	struct uft_tree *t;
	uint32_t number;		/* 0: the top; never reused */
	uint32_t place;			/* its share of address slots; may be reused by later instances */
	char name[UFT_TREE_NAME];
	uint64_t mtime_ns;
	uint32_t handles;		/* open; under t->lock */
	/* node.c: of files that chmod or chown changed; under t->lock */
	struct node_attr { uft_node node; uint32_t mode; uid_t uid; gid_t gid; } *attr;
	size_t nattrs;
	int is_going;			/* rmdir has begun: hidden from lookups; under t->lock */
	struct pipe *pipes;		/* trace_pipes open; the owner's, as all that follows */
	size_t nraw;			/* open trace_pipe_raw and snapshot_raw */

	struct settings set;		/* is_on and options are read by others */
	struct uft_live *live;
	struct uft_live *frozen;	/* take.c; NULL: none is allocated; replaced also under t->pipe_lock */
	/* set.max_latency_us counts latencies that ended after this, in the buffer's clock */
	uint64_t latency_from_ns;
	uint64_t cleared_ns;		/* when the buffer was cleared last, in its clock */
	uint32_t buffer_percent;
	uint32_t subbuf_kb;		/* pages of trace_pipe_raw; changed by the owner under t->pipe_lock */
#define SUBBUF_MIN_KB	4u
	int has_shared;			/* ops.c: other instances recorded while its tracer ran */
	int paused;			/* readers of trace that pause recording */
	struct mistake { uint64_t ts_ns; char *text; } mistake[8];	/* mistakes.c, the oldest first */
	size_t nmistakes;

	struct uft_printer *pipe_text;	/* under t->pipe_lock, with what it has printed */
	struct tree_text pipe_out;
	/* trace_pipe_raw.c: pages by cpu, and the symbols of pages handed out; under t->pipe_lock */
	struct raw_pages { struct raw_cpu **cpu; struct dat_syms syms; } raw, frozen_raw;
	/*
	 * events.c: words of set_event with :mod: whose object is not mapped yet, each with a newline; malloc'd, NULL:
	 * none
	 */
	char *event_mods;
	/* events.c: filters that were refused, as their files show them, by place; malloc'd, NULL: none */
	char **event_error; uint32_t nevent_errors;
	struct triggers *triggers;	/* trigger.c; NULL: none */
	struct event_fork *event_fork;	/* event_fork.c; NULL: none */
	uint64_t *cpu_kb;		/* values.c: of a cpu whose buffer has another size; 0: set.buffer_kb */
};

struct uft_tree {
	const struct tree_table *table;
	struct uft_tree_opts opts;
	struct uft_session *session;
	pthread_t owner;
	int has_owner;

	pthread_mutex_t lock;		/* requests, instances, handles that wait; held for moments */
	pthread_cond_t asked, done, data;
	struct request *first, **last;
	int ending;
	uint64_t news;			/* counts rounds that brought data */
	struct uft_handle *waiting;
	struct instance *instances;	/* the top first, then by number */
	uint32_t next_instance, ncpus;
	int status;			/* of the launched program, -1 while it runs */

	/* the instance whose pid lists the targets follow; NULL: none; the owner's */
	const struct instance *told;
	/* processes attached by set_ftrace_pid.c, and the task that was named, which may be a thread; the owner's */
	struct attached { uint32_t pid, named; } *attached;
	size_t nattached;
	uint32_t kins;			/* numbers given to lists of pids */
	uint64_t nmarks;		/* since the last round; the owner's */
	int in_round;			/* of triggers; the owner's */
	int has_events;			/* some event was on once; the owner's */
	int has_event_stacks;		/* and had its stack recorded; the owner's */
	int is_together;		/* writes take effect later, at uft_tree_end_together() */
	int in_apply;			/* tree_apply() runs: new event types wait in */
	const struct uft_event_type **found; uint32_t nfound;	/* events.c; malloc'd; the owner's */
	int is_busy;			/* something records; the owner's */
	uint64_t took;			/* bytes of the last round; the owner's */
	const char *conflict;		/* the setting that made the last write fail with EBUSY; the owner's */
	uint32_t graph_turns;		/* numbers given to turns of graph triggers; the owner's */
	uint32_t graph_keys;		/* and to counts that targets keep; the owner's */
	/* enum uft_events of all graphs and the profile, by the last write; the owner's */
	uint32_t shapes;
	/* the session's reason, if it refused the last write; the owner's */
	struct uft_error refused;
	/*
	 * waiting readers were not yet woken for events up to this clock, since these became readable; 0:
	 * none; the owner's
	 */
	uint64_t fresh;
	struct user_events *user_events;	/* user_events.c; NULL: not used so far; the owner's */
	struct uft_synth_list synths;	/* synthetic_events.c */
	int has_emitted;		/* histograms made events that no buffer has yet; the owner's */
	struct tree_profile *profile;	/* trace_stat.c */
	struct tree_stack *stack;	/* stack_trace.c */
	struct tree_hists *hists;	/* event_hist.c */
	uint32_t dump_on_oops;		/* dump_on_oops.c */
	int32_t sysctl[3];		/* values.c: ftrace_enabled, traceoff_on_warning, kprobes-optimization */
	uint32_t cmdlines;		/* saved_cmdlines.c: how many saved_cmdlines lists */

	pthread_mutex_t pipe_lock;	/* one reader of trace_pipe at a time; before l->lock, never with t->lock */
};

static inline struct uft_event_table *tree_types(const struct uft_tree *t)
{
	return uft_session_types(t->session);
}
static inline uint32_t tree_ncpus(const struct uft_tree *t)
{
	return t->ncpus;
}
/* As uft_tree_create(), with the table. */
int tree_create(const struct uft_tree_opts *opts, const struct tree_table *table, struct uft_tree **out,
		struct uft_error *err);

/* raw_pages.c */
int raw_init(struct instance *in, uint32_t first_slot, uint32_t frozen_slot);
/* events.c. The owner. */
void event_free(struct instance *in);
/* an object that declares these types was mapped */
void event_types_found(struct uft_tree *t, const struct uft_event_type *const *type, uint32_t n);
void event_types_settle(struct uft_tree *t);	/* takes the types found during an apply */
/* ops.c: its buffer shows events by its present settings. 0, -ENOMEM */
int share_choose_events(struct instance *in, uint64_t since);
void raw_free(struct instance *in);
void raw_set_page(struct instance *in, uint32_t kb);	/* drops partly filled pages */
/* drops partly filled pages of the snapshot; UFT_LIVE_ALL: and their names. t->pipe_lock held */
void raw_forget(struct instance *in, uint32_t cpu);
uint64_t buffer_kb(const struct instance *in, uint32_t cpu);	/* values.c */
void pid_leave(struct instance *in);	/* set_ftrace_pid.c: @in has no list any more */
/* settings.c */
int pids_have(const struct pids *list, uint32_t pid);
/* Does the session have to report forks and exits? */
static inline int event_fork_is_asked(const struct settings *set)
{
	return set->options & OPT_BIT(OPT_EVENT_FORK) && (set->pids[PIDS_EVENT_ONLY].n || set->pids[PIDS_EVENT_NOT].n);
}

/* Are events judged here, not by the buffer? */
static inline int event_fork_counts(const struct settings *set)
{
	return set->has_event_fork && (set->pids[PIDS_EVENT_ONLY].n || set->pids[PIDS_EVENT_NOT].n);
}

/* event_fork.c. The owner. */
int event_fork_begin(struct instance *in);
/* @is_anew: @list replaces the list; else it is added */
int event_fork_write(struct instance *in, enum pid_list which, const struct pids *list, int is_anew);
/* appends the list as it is now; 0: the list as the user wrote it holds */
int event_fork_show(const struct instance *in, enum pid_list which, struct tree_text *out);
void event_fork_take(struct uft_tree *t, const struct uft_told_event *e);
/* Does @e, an event with a type, pass the lists of its moment? Asked for types with triggers or function switches. */
int event_fork_passes(const struct instance *in, const struct uft_event *e, uint64_t clock);
void event_fork_forget(struct instance *in, uint64_t clock);		/* events before @clock have been looked at */
void event_fork_free(struct instance *in);
/* Do the written pid lists of events let the task in? Without options/event-fork. */
int event_pids_want(const struct settings *set, uint32_t pid, uint32_t tid);
/* The tasks whose events targets write: all if event-fork adds tasks to the lists. Points into @set. */
struct uft_event_tasks event_tasks(const struct settings *set);
/* mistakes.c: notes a refused write of @h; or a mistake at byte @at of a command of @n bytes, in words of @where. */
void error_note(struct uft_handle *h, const char *p, size_t n);
void error_put(struct instance *in, const char *where, const char *what, const char *command, size_t n, size_t at);
void error_free(struct instance *in);
/* trace_stat.c: a process begins, and ends before its slice is given away. */
void profile_begin(struct uft_tree *t, uint32_t slice, const struct uft_image *img);
void profile_end(struct uft_tree *t, uint32_t slice);
void profile_free(struct uft_tree *t);
/* stack_trace.c: the same. */
void stack_begin(struct uft_tree *t, uint32_t slice, const struct uft_image *img);
void stack_end(struct uft_tree *t, uint32_t slice);
void stack_free(struct uft_tree *t);
/* trace_clock.c: records have the time of another clock from now on */
#define CLOCK_COUNTER	2	/* the kernel's place of counter */
void clock_apply(struct instance *in, uint32_t clock);
void tree_warn(void *tree, const char *text);	/* to the user of the tree */
void tree_clear(struct instance *in, uint32_t cpu);	/* the owner: a cpu's buffer, or UFT_LIVE_ALL */
void tree_pull(struct uft_tree *t);		/* the owner: drains the rings */
void tree_pull_all(struct uft_tree *t);		/* the same, and takes the events that histograms made */
/*
 * For other threads: afterwards the buffer has all records that targets wrote before. A reader that finds no data calls
 * it, or the reader would miss the end.
 */
void tree_pull_now(struct uft_tree *t);
/* Runs @fn(@arg) in the owner's thread and waits for its result. */
int tree_call(struct uft_tree *t, int (*fn)(void *arg), void *arg);
/* ops.c. The owner: switches recording on or off, depending on whether an instance has anything on. */
void tree_record(struct uft_tree *t);
/* The owner: applies @set to the session. On an error nothing has changed. */
int tree_apply(struct instance *in, const struct settings *set, struct uft_error *err);
/* instance.c. The owner: the last of the list; the first is the top. */
int instance_add(struct uft_tree *t, const char *name, struct instance **out);
void instance_free(struct instance *in);
/*
 * ops.c. The owner: applies @set to the session and the buffers, beside the settings of other instances. On an error
 * nothing has changed.
 */
int share_apply(struct instance *in, const struct settings *set, struct uft_error *err);
/* before share_apply(): pending effects, a traceoff too, still go by the present settings */
void share_settle(struct instance *in, const struct settings *set);
void share_mute(struct uft_tree *t);		/* instances with nothing on take no records */
/* its triggers switch the graph, not its tracer */
int share_switches_graph(const struct instance *in, const struct settings *set);
/* function-fork: only targets know new children in time, and each has one list */
int share_is_forking(const struct settings *set);
int share_knows_kin(const struct instance *in);	/* 1: the session knows the tasks on @in's lists by function-fork */
/*
 * take.c. The owner: make an empty snapshot; remove it; fill it with the events up to @until, a time of
 * uft_live_clock().
 */
int snapshot_allocate(struct instance *in);
void snapshot_free(struct instance *in);
void snapshot_clear(struct instance *in, uint32_t cpu);
int snapshot_take(struct instance *in, uint64_t until);
/* in use by a latency tracer, which keeps the worst case there in the kernel */
int snapshot_is_used(const struct instance *in);
/* Passes events up to @until as text to the transport, and removes them from the buffer. @cpu: or UFT_LIVE_ALL. */
int dump_take(struct instance *in, uint32_t cpu, uint64_t until);
/* dump_on_oops.c: of the launched program; ftrace_dump_on_oops */
void dump_on_end(struct uft_tree *t, int status);
/* trigger.c: commands of set_ftrace_filter. The owner. */
int trigger_is(const char *word);		/* any thread */
int trigger_do(struct uft_handle *h, const char *word);	/* -EINVAL: h->wrong, counted from the word */
void trigger_show(const struct instance *in, struct tree_text *out);
int trigger_waits(const struct instance *in, const struct settings *set);	/* records are looked at for commands */
int trigger_has_functions(const struct instance *in);	/* some have commands */
int trigger_wants_event(const struct instance *in, uint32_t event);	/* event_trigger.c: it has a trigger */
int trigger_wants_event_stacks(const struct instance *in);	/* and one of them needs stacks */
uint32_t trigger_graph_turn(const struct instance *in);
size_t trigger_put_wants(const struct instance *in, const struct settings *set, uint32_t event,
			 struct uft_event_want *want);
int trigger_put_words(const struct instance *in, const char *before, int of_stacks, struct tree_text *words);
int trigger_has_stacks(const struct instance *in);	/* it has stacktrace, also if that has no count left */
int trigger_switches(const struct instance *in, uint32_t event);	/* functions switch the type of this place */
int trigger_switches_any(const struct instance *in);
/* adds the types that functions switch; 0, -ENOMEM */
int trigger_events(const struct instance *in, struct uft_event_set *out);
/* adds the types that are on now, by the user or by functions; 0, -ENOMEM */
int trigger_events_on(const struct instance *in, struct uft_event_set *out);
/* notes that the user changed the events that are on from @before to @now */
void trigger_said(struct instance *in, const struct uft_event_set *before, const struct uft_event_set *now);
void trigger_mute(const struct instance *in, int on);
void trigger_switched(struct instance *in, int is_on);	/* tracing_on changes now */
/* event_trigger.c: one write of a trigger file. The owner. */
struct event_command {
	uint32_t event;			/* the place of its type */
	char *text;			/* without blanks around it */
	int is_not;
	struct uft_hist_errors errors;	/* of @command */
	char *command;			/* `hist:...` */
	const char *filter_wrong; size_t filter_at;	/* of @filter; NULL: nothing is */
	char *filter;
	int (*find_clock)(const char *name);	/* its number; -1: there is none */
};
int event_trigger_do(struct instance *in, struct event_command *c);	/* 0, negative errno */
int event_trigger_clear(struct instance *in, uint32_t event);		/* removes its histograms */
void event_trigger_show(const struct instance *in, uint32_t event, struct tree_text *out);
int event_trigger_show_hist(struct instance *in, uint32_t event, struct tree_text *out);
/* as uft_hist_put_cells() */
int event_trigger_put_cells(struct instance *in, uint32_t event, struct tree_text *out);
void event_hists_begin(struct uft_tree *t, uint32_t slice, const struct uft_image *img);	/* event_hist.c */
void event_hists_end(struct uft_tree *t, uint32_t slice);
void event_hists_free(struct uft_tree *t);
void trigger_round(struct uft_tree *t);
int trigger_keep(struct instance *in);	/* look at all events, for options/event-fork. 0, -ENOMEM */
void trigger_free(struct instance *in);

#endif
