/* SPDX-License-Identifier: MIT */
/*
 * session.h - targets and what to trace in them
 *
 * One session owns one arena and any number of targets. All calls come from one thread (ptrace demands
 * it). Nothing here writes files or formats text: who wants the rings takes the arena and the images.
 */
#ifndef UFT_CONTROL_SESSION_H
#define UFT_CONTROL_SESSION_H

#include <sys/types.h>

#include "symbol/error.h"
#include "symbol/event_type.h"
#include "symbol/image.h"
#include "uft/abi.h"

struct uft_session_opts {
	uint32_t ring_bytes;	/* per ring, 0: default */
	uint32_t ring_max;	/* what a ring may grow to; 0: the default, or with ring_bytes not at all */
	uint32_t sub_bytes;	/* 0: default */
	uint32_t nexch;		/* exchange rings, 0: default; keep needs as many as slow calls run at once */
	int overwrite;		/* flight recorder */
	int no_children;	/* do not follow fork and exec */
	/* slice_begin's image may be freed behind its slice_end, unless it is held: uft_session_hold_image() */
	int forgets_images;
	int perf_map;		/* names of our code into /tmp/perf-PID.map: perf_map.c */
	int preload;		/* the program is started with LD_PRELOAD instead of ptrace: preload.c */
	const char *const *emulator;	/* the same, by these words before it; NULL: none */
	int watchdog;		/* look at every fault of a target: watchdog.c */
	int int3;		/* with the watchdog: int3 at entries that no jump fits: int3.c */
	/*
	 * What uft_session_launch() will be asked to start: the kernel makes its image while the session is
	 * made. Not one instruction of it runs before, and if it cannot be started, launch says so. NULL: not
	 * known yet.
	 */
	char *const *program;
	/*
	 * Called when this process was killed, in another one that was forked by uft_session_create() and has
	 * left all targets: it saves what the rings hold. @head: the arena's first page as it was at that
	 * fork, @file: see below.
	 */
	void (*rescue)(const struct uft_arena *head, void *arena, int file);
};

/* Of the tracer hwlat: a thread of ours looks at the clock for @width_us of each @window_us. */
enum uft_hwlat_mode { UFT_HWLAT_ROUND_ROBIN, UFT_HWLAT_NONE, UFT_HWLAT_PER_CPU };
#define UFT_SPIN_CPUS	1024
struct uft_hwlat_opts {
	uint64_t width_us, window_us;	/* 0: half a second of each */
	uint32_t mode, pad;		/* on the CPUs in turn, where the kernel likes, or a thread for each */
	uint64_t cpus_off[UFT_SPIN_CPUS / 64];	/* not on these */
};

/*
 * One user of targets' calls, or of what the session sees by itself: as the kernel's ftrace_ops and fgraph_ops.
 * Lists are NULL-terminated, or NULL.
 */
struct uft_ops {
	uint32_t tracer;		/* enum uft_tracer */
	const char *const *filter;	/* -l */
	const char *const *notrace;	/* -n */
	const char *const *roots;	/* -g */
	const char *const *hidden;	/* not in the graph, nor what they call */
	/* `PATTERN`: roots whose graph is kept only if the call took keep_ns[] or longer; */
	const char *const *keep;
	const uint64_t *keep_ns;	/* parallel; at most 127 different ones */
	const char *const *stack_of;	/* a stack behind each call of these functions, of those that are traced */
	const uint32_t *pids; size_t npids;	/* -P */
	const uint32_t *not_pids; size_t nnot_pids;	/* tasks that are not recorded */
	int are_pids_of_calls;		/* both lists are of calls alone: tracepoints are recorded in every task */
	/*
	 * Processes that those in pids or not_pids make from now on, and theirs, are in them as well, as long
	 * as kin stays this number.
	 */
	int is_forking; uint32_t kin;
	uint32_t max_depth;
	uint64_t thresh_ns;
	/* enum uft_events of every call: of the graph; CPU and SELF of the profile, too */
	uint32_t events;
	uint32_t stacks;		/* enum uft_stacks: what a stack is recorded behind */
	int is_bare;			/* latency tracers: only what they are made of, of no function else */
	/* osnoise: width is its runtime, window its period; a thread for each CPU */
	struct uft_hwlat_opts hwlat, osnoise;
	const char *const *watch;	/* mmiotrace: NAME|ADDRESS[,BYTES][:w] of memory */
	uint64_t sample_ns;		/* sysprof: CPU time between two samples, 0: a millisecond */
	int has_switches;		/* beside calls: when threads leave a CPU and get one, as sched_switch */
	/* of the graph, not 0: only in threads that an event switched on while it was this number */
	uint32_t graph_turn;
};

struct uft_hist_row;

/*
 * A type of uft_session_types() that is recorded, if the filter lets it through. The same index several times:
 * what any of them lets through. Those with another action ask for no record: what the filter lets through does it.
 */
struct uft_event_want {
	uint32_t index;
	const char *filter;		/* NULL: none */
	uint32_t action;		/* enum uft_rule_action; 0: UFT_RULE_RECORD */
	uint32_t count, key;		/* of other actions: as of struct uft_event_rule */
	/*
	 * Of UFT_RULE_HIST: by which the target counts it, if nothing else is wanted of the event; else, and where it
	 * cannot, it is recorded. So each event is either in a map or a record. Read in the call only.
	 */
	const struct uft_hist_row *row;
};

/*
 * All that is wanted of the targets. Targets write one stream of records for all ops; readers show each of what it
 * asked for, by kind, function and task.
 */
struct uft_trace_spec {
	const struct uft_ops *ops; size_t nops;	/* in any order; none: nothing is traced */
	/* Tracepoints that are on: words of set_event; the last that means a type decides, `!`: not. NULL: none */
	const char *const *trace_events;
	const char *const *event_filters;	/* parallel, or NULL; of each word a filter, NULL: all */
	const struct uft_event_want *events; size_t nevents;	/* the same of types that are known; by rising index */
	uint32_t tasks;			/* enum uft_tasks: beside anything, or alone: forks, execs, ends */
	uint64_t min_size;		/* skip functions of fewer bytes */
	uint32_t budget_ppm;		/* cost at most, in millionths of the program's own CPU time; 0 no limit */
	uint64_t max_rate;		/* events a second and target; 0 no limit */
	/* records need an order in each task, and no time: fast paths read no clock, where they can do without */
	int counts;
	int is_unchecked;		/* patterns may match nothing: what they mean was looked at by the caller */
	/* a target that cannot be switched over has all of them switched back: nothing has changed */
	int is_whole;
};

/* A function that is not traced any more because of budget_ppm or max_rate, until the next uft_session_trace(). */
enum uft_drop_why { UFT_DROP_BUDGET = 1, UFT_DROP_RATE = 2 };
struct uft_drop {
	const struct uft_image *img;
	const char *name;
	uint64_t clock;			/* from then on */
	uint64_t calls_per_s;		/* at that moment, estimated from a part of the records */
	uint32_t stub_id, cost_ppm;	/* cost: of the target's CPU time at that moment */
	pid_t pid;			/* in which it was too much; it is dropped in all of the image */
	uint32_t why;
};

#define UFT_PLAIN_NREASONS	16
#define UFT_PLAIN_NO_GRAPH	15	/* the reason of those that the function tracer can trace */
/* For a sentence: why such a function was left alone; "": no such reason. */
const char *uft_plain_skip_text(unsigned reason);

struct uft_session_stats {
	uint64_t sites, armed, skipped;			/* over live images */
	uint64_t skip_reason[UFT_SKIP_NKINDS];
	uint64_t plain_skip[UFT_PLAIN_NREASONS];	/* functions that nobody prepared: wanted, but left alone */
	/* STT_GNU_IFUNC, by a pattern: who calls it calls what it chose; the session's, or NULL */
	const char *chooser, *chooser_object;
	/* what such names begin with in that object, behind two underscores; "": unknown */
	char chosen[4];
	uint64_t counters[UFT_NCOUNTERS];		/* summed over slices */
	uint32_t targets_live, targets_total, not_followed;
	uint32_t attached;				/* running processes attached to */
	uint32_t ended_unarmed;				/* those that ended before their sites were armed, and */
	pid_t ended_pid;				/* the first of them */
	/* the longest that any thread was stopped for one, at once and in all */
	uint64_t stop_ns_max, stop_ns_sum;
};

/*
 * An event that has a name, as the kernel tells of it: also of who is not recorded. @child: of a fork, the
 * task that was made.
 */
struct uft_told_event { uint32_t id, pid, tid, child; uint64_t clock; };

/* Called from uft_session_poll(); any may be NULL. */
struct uft_session_events {
	void *arg;
	/* @pid: as its records name it, by its own pid namespace */
	void (*slice_begin)(void *arg, uint32_t slice, pid_t pid, pid_t ppid, const struct uft_image *img);
	void (*slice_end)(void *arg, uint32_t slice, pid_t pid);
	/* @pid, @tid: with outer() as the session names them, else as their records do */
	void (*task)(void *arg, pid_t pid, pid_t tid, pid_t ppid, const struct uft_image *img, const char *comm);
	/*
	 * In another pid namespace than the session's: records of @slice call a task @tid, which is @outer here. Of the
	 * process itself it comes behind slice_begin, of other threads when they are found.
	 */
	void (*outer)(void *arg, uint32_t slice, pid_t tid, pid_t outer);
	/*
	 * Types of one object that a target has mapped are in the table from now on. Called before they are
	 * switched on, from wherever the session arms.
	 */
	void (*events_found)(void *arg, const struct uft_event_type *const *type, uint32_t n);
	/* From uft_session_gather(), too: before its record is in a ring. A task's own come in their order. */
	void (*told)(void *arg, const struct uft_told_event *e);
	/* its events may come: before the first does */
	void (*event_type)(void *arg, const struct uft_event_type *type);
	/* The program that is launched is armed and on its way, its loader before it: time for what was put off. */
	void (*released)(void *arg);
	void (*dropped)(void *arg, const struct uft_drop *drop);
	/* A fault in our memory or at a site; all was put back. @text: the report, of many lines. */
	void (*fault)(void *arg, pid_t pid, const char *text);
	void (*warning)(void *arg, const char *text);	/* what could not be followed, once each */
};

struct uft_session;
int uft_session_create(const struct uft_session_opts *opts, const struct uft_session_events *ev,
		       struct uft_session **out, struct uft_error *err);
const struct uft_arena *uft_session_arena(const struct uft_session *s);
/*
 * A target's slice as a file: what its target has not written is not made by reading it, as it would be through the
 * mapping, and reads as zeros, also where the file system is full. So does what the target cut off. Context: control.
 */
struct uft_slice_file { int fd; uint64_t at; };
int uft_slice_open(const struct uft_session *s, uint32_t slice, struct uft_slice_file *f);	/* 0 or -errno */
void uft_slice_read(const struct uft_slice_file *f, uint64_t offset, void *to, size_t bytes);
/* Sums that are not zero, of @n functions from @first on, of each block. Ends with what @fn returns, if not 0. */
typedef int uft_sums_fn(void *arg, uint32_t id, uint32_t block, const struct uft_profile *p);
int uft_slice_sums(const struct uft_session *s, const struct uft_slice_file *f, uint32_t first, uint32_t n,
		   uft_sums_fn *fn, void *arg);
/* keeps their memory, which the target counts on */
void uft_slice_clear_sums(const struct uft_session *s, const struct uft_slice_file *f);
void uft_slice_close(struct uft_slice_file *f);
/* An image that slice_begin gave stays behind its slice_end while it is held: @by 1 more, or -1. NULL: no image. */
void uft_session_hold_image(struct uft_session *s, const struct uft_image *img, int by);
/* the table of event types: it grows while programs run */
struct uft_event_table *uft_session_types(const struct uft_session *s);

/* The open file that .rescue gets. 0 or -errno. */
int uft_session_rescue_into(struct uft_session *s, int fd);

/*
 * Can these run at once? 0; -EBUSY and the sentence, the only place that says what excludes what (plan/arbiter.c).
 * Any thread.
 */
int uft_ops_check(const struct uft_ops *ops, size_t nops, struct uft_error *err);

/* Is it a list for uft_ops.watch? 0; -EINVAL, -E2BIG with the sentence. Any thread. */
int uft_watch_check(const char *const *watch, struct uft_error *err);

/* Sets what is traced, now (running targets are switched over in one batch each) and in images to come.
 * -ENOENT: a filter matches nothing in any live image (err says what is near). Before launch: checked then. -EBUSY: see
 * uft_ops_check(). */
int uft_session_trace(struct uft_session *s, const struct uft_trace_spec *spec, struct uft_error *err);

/* 0: rings take nothing although sites stay armed, and threads of the session's own tracers rest; 1: they do. */
void uft_session_record(struct uft_session *s, int on);
/*
 * Fork children that have said that they are there become targets now, also those that have ended: a child says so
 * before its first record, so all that was recorded before this call can be read behind it.
 */
void uft_session_adopt(struct uft_session *s);
/*
 * What the kernel has told of targets goes into the rings, before they are emptied. Returns a clock before
 * which no more of it will come; UINT64_MAX: nothing is asked of it.
 */
uint64_t uft_session_gather(struct uft_session *s);
/* Which events of tasks have stacks (enum uft_tasks), and may they have them here? 0, or -errno and why not. */
#define UFT_TASKS_STACKS	(UFT_TASKS_FORK | UFT_TASKS_EXIT)
int uft_session_check_stacks(struct uft_error *err);
/* Before the first uft_session_emit(), whose caller may hold locks of buffers. 0, -ENOMEM: no slice is free. */
int uft_session_emit_open(struct uft_session *s);
/*
 * A record of an event that is made of others: of task @pid, @tid at @clock on @cpu. @id: of its type; @bytes: at
 * most UFT_EVENT_PAYLOAD_MAX. By rising clocks. 0, -EAGAIN: nothing is recorded now; -ENOBUFS: counted as lost.
 */
int uft_session_emit(struct uft_session *s, uint32_t cpu, uint64_t clock, uint32_t pid, uint32_t tid, uint32_t id,
		     const void *payload, size_t bytes);
/* From any thread: a uft_session_poll() that sleeps returns. */
void uft_session_wake(struct uft_session *s);

/* Ahead of a start: what will be asked of an object besides its sites is looked for and kept. Any thread. */
void uft_session_look_ahead(struct uft_object *obj);

/* Starts argv with the runtime in it, armed, and lets it run. stdin/out/err are inherited. */
int uft_session_launch(struct uft_session *s, char *const argv[], pid_t *pid, struct uft_error *err);
/*
 * Two pairs of an emulated program's clock and CLOCK_MONOTONIC, of its hello and of now; clock 0: not known
 * yet. Any thread.
 */
void uft_session_clock(void *session, uint64_t clock[2], uint64_t ns[2]);

/*
 * Puts the runtime into a running process, armed. -EEXIST: it is traced by this session. Stops one thread for
 * less than a millisecond, and all of them for a few where plain code is rewritten; on an error the process
 * is as it was.
 */
int uft_session_attach(struct uft_session *s, pid_t pid, struct uft_error *err);

pid_t uft_session_process_of(pid_t tid);		/* whose thread it is; 0: there is no such task */

/*
 * Does this machine let us do that? If not, a program that is started gets the runtime by its loader, as with
 * opts->preload.
 */
int uft_session_can_attach(void);

/* After attaching: does the spec match anything in what is traced? -ENODATA, -ENOENT and why not. */
int uft_session_check(struct uft_session *s, struct uft_error *err);

/* Serves requests, ptrace stops, ends of targets; sleeps at most timeout_ms. 1 while a target lives, 0 none. */
int uft_session_poll(struct uft_session *s, int timeout_ms);
/* Wait status of the launched program, -1 while it runs. */
int uft_session_status(const struct uft_session *s);
/* A process that the session waits for when the launched program has ended, with its name; 0: none that is known. */
pid_t uft_session_waits_for(const struct uft_session *s, char *name, size_t size);
void uft_session_stats(struct uft_session *s, struct uft_session_stats *out);
/* Leaves every target as it was found, frees. Targets go on. What remains in one is said by a warning. Nobody drains
 * rings any more. The wait status of the launched program, if the session has reaped it; -1: it goes on, or the caller
 * has to wait for it. */
int uft_session_destroy(struct uft_session *s);

/* Not of this session: whoever traces process @who, a number or a program's name, leaves it. -ESRCH nobody does. */
int uft_detach(const char *who, struct uft_error *err);

/*
 * The file that a process has mapped from @start to @end, @path by its maps. -ENOENT: it has gone, and we may
 * not read it any more. What is said then names the file.
 */
int uft_process_file(pid_t pid, uint64_t start, uint64_t end, const char *path, struct uft_object **out,
		     struct uft_error *err);

#endif
