/* SPDX-License-Identifier: MIT */
/*
 * session.h - targets and what to trace in them
 *
 * One session owns one arena and any number of targets. All calls come from one thread (ptrace demands
 * it). Nothing here writes files or formats text: readers get the rings from the arena, and the images.
 */
#ifndef UFT_CONTROL_SESSION_H
#define UFT_CONTROL_SESSION_H

#include <sys/types.h>

#include "symbol/error.h"
#include "symbol/event_filter.h"
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
	int perf_map;		/* write names of our code to /tmp/perf-PID.map: perf_map.c */
	int preload;		/* the program is started with LD_PRELOAD instead of ptrace: preload.c */
	const char *const *emulator;	/* the same, by these words before it; NULL: none */
	int watchdog;		/* check every fault of a target: watchdog.c */
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
	uint32_t mode, pad;		/* on each CPU in turn, on any CPU, or a thread for each CPU */
	uint64_t cpus_off[UFT_SPIN_CPUS / 64];	/* not on these */
};

/*
 * One user of targets' calls, or of events that the session records: as the kernel's ftrace_ops and fgraph_ops.
 * Lists are NULL-terminated, or NULL.
 */
struct uft_ops {
	uint32_t tracer;		/* enum uft_tracer */
	const char *const *filter;	/* -l */
	const char *const *notrace;	/* -n */
	const char *const *roots;	/* -g */
	const char *const *hidden;	/* neither these nor their callees are in the graph */
	/* `PATTERN`: roots whose graph is kept only if the call took keep_ns[] or longer; */
	const char *const *keep;
	const uint64_t *keep_ns;	/* parallel; at most 127 different ones */
	const char *const *stack_of;	/* record a stack with each call of these functions, if they are traced */
	const uint32_t *pids; size_t npids;	/* -P */
	const uint32_t *not_pids; size_t nnot_pids;	/* tasks that are not recorded */
	int are_pids_of_calls;		/* both lists are for calls only: tracepoints are recorded in every task */
	/*
	 * Processes that those in pids or not_pids make from now on, and theirs, are in them as well, as long
	 * as kin stays this number.
	 */
	int is_forking; uint32_t kin;
	uint32_t max_depth;
	uint64_t thresh_ns;
	/* enum uft_events of every call: of the graph; CPU and SELF of the profile, too */
	uint32_t events;
	uint32_t stacks;		/* enum uft_stacks: records that a stack follows */
	int is_bare;			/* latency tracers: trace only the functions that they need */
	/* osnoise: width is its runtime, window its period; a thread for each CPU */
	struct uft_hwlat_opts hwlat, osnoise;
	const char *const *watch;	/* mmiotrace: NAME|ADDRESS[,BYTES][:w] of memory */
	uint64_t sample_ns;		/* sysprof: CPU time between two samples, 0: a millisecond */
	int has_switches;		/* record also when threads leave and get a CPU, as sched_switch */
	/* of the graph; not 0: record only threads that an event switched on under this number */
	uint32_t graph_turn;
};

struct uft_hist_row;

/*
 * A type of uft_session_types() whose events are recorded if the filter accepts them. With several entries for one
 * index, an event is recorded if any accepts it. An entry with another action records nothing: an accepted event
 * triggers the action.
 */
struct uft_event_want {
	uint32_t index;
	const char *filter;		/* NULL: none */
	struct uft_event_tasks tasks;	/* and accepts the task. The lists are read in the call only */
	uint32_t action;		/* enum uft_rule_action; 0: UFT_RULE_RECORD */
	uint32_t count, key;		/* of other actions: as of struct uft_event_rule */
	/*
	 * Of UFT_RULE_HIST: by which the target counts it, if nothing else is wanted of the event; else, and where it
	 * cannot, it is recorded. So each event is either in a map or a record. Read in the call only.
	 */
	const struct uft_hist_row *row;
};

/*
 * Everything that targets have to record. Targets write one stream of records for all ops; readers show to each of the
 * ops its own records, by kind, function and task.
 */
struct uft_trace_spec {
	const struct uft_ops *ops; size_t nops;	/* in any order; none: nothing is traced */
	/* Tracepoints that are on: words of set_event; the last match of a type decides, `!`: off. NULL: none */
	const char *const *trace_events;
	const char *const *event_filters;	/* parallel, or NULL; of each word a filter, NULL: all */
	const struct uft_event_want *events; size_t nevents;	/* the same of types that are known; by rising index */
	uint32_t tasks;			/* enum uft_tasks: forks, execs, exits, beside other events or alone */
	uint64_t min_size;		/* skip functions of fewer bytes */
	uint32_t budget_ppm;		/* cost at most, in millionths of the program's own CPU time; 0 no limit */
	uint64_t max_rate;		/* events a second and target; 0 no limit */
	/* clocks only order the records of a task: fast paths read no clock where they can avoid it */
	int counts;
	int is_unchecked;		/* patterns may match nothing: the caller has checked them */
	/* all or nothing: if one target cannot be switched over, all are switched back */
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
	pid_t pid;			/* the process over the limit; the function is dropped in the whole image */
	uint32_t why;
};

#define UFT_PLAIN_NREASONS	16
#define UFT_PLAIN_NO_GRAPH	15	/* the reason of those that the function tracer can trace */
/* Part of a sentence: why such a function is not traced; "": no such reason. */
const char *uft_plain_skip_text(unsigned reason);

struct uft_session_stats {
	uint64_t sites, armed, skipped;			/* over live images */
	uint64_t skip_reason[UFT_SKIP_NKINDS];
	uint64_t plain_skip[UFT_PLAIN_NREASONS];	/* unprepared functions: wanted, but not traced, by reason */
	/* a selected STT_GNU_IFUNC: its callers call the implementation that it chose; the session's, or NULL */
	const char *chooser, *chooser_object;
	/* what such names begin with in that object, behind two underscores; "": unknown */
	char chosen[4];
	uint64_t counters[UFT_NCOUNTERS];		/* summed over slices */
	uint32_t targets_live, targets_total, not_followed;
	uint32_t attached;				/* running processes attached to */
	uint32_t ended_unarmed;				/* those that ended before their sites were armed, and */
	pid_t ended_pid;				/* the first of them */
	/* the longest time that a thread was stopped by one attach: at once, and in all */
	uint64_t stop_ns_max, stop_ns_sum;
};

/*
 * A named event reported by the kernel, also of a task that is not recorded. @child: of a fork, the new task.
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
	/* called before the first event of this type comes */
	void (*event_type)(void *arg, const struct uft_event_type *type);
	/* The launched program is armed and its loader runs: time for postponed work. */
	void (*released)(void *arg);
	void (*dropped)(void *arg, const struct uft_drop *drop);
	/* A fault in our memory or at a site; all code is restored. @text: the report, of many lines. */
	void (*fault)(void *arg, pid_t pid, const char *text);
	void (*warning)(void *arg, const char *text);	/* each warning once */
};

struct uft_session;
int uft_session_create(const struct uft_session_opts *opts, const struct uft_session_events *ev,
		       struct uft_session **out, struct uft_error *err);
const struct uft_arena *uft_session_arena(const struct uft_session *s);
/*
 * A target's slice as a file. Unlike the mapping, a read allocates no page: unwritten parts, and those that the target
 * has cut off, read as zeros, also on a full file system. Context: control.
 */
struct uft_slice_file { int fd; uint64_t at; };
int uft_slice_open(const struct uft_session *s, uint32_t slice, struct uft_slice_file *f);	/* 0 or -errno */
void uft_slice_read(const struct uft_slice_file *f, uint64_t offset, void *to, size_t bytes);
/*
 * Calls @fn for each nonzero sum of @n functions from @first on, in each block, until it does not return 0; returns
 * that.
 */
typedef int uft_sums_fn(void *arg, uint32_t id, uint32_t block, const struct uft_profile *p);
int uft_slice_sums(const struct uft_session *s, const struct uft_slice_file *f, uint32_t first, uint32_t n,
		   uft_sums_fn *fn, void *arg);
/* keeps their memory allocated, which the target relies on */
void uft_slice_clear_sums(const struct uft_session *s, const struct uft_slice_file *f);
void uft_slice_close(struct uft_slice_file *f);
/* Keeps an image from slice_begin after its slice_end: @by is 1 to hold it, -1 to release it. NULL: no image. */
void uft_session_hold_image(struct uft_session *s, const struct uft_image *img, int by);
/* the table of event types: it grows while programs run */
struct uft_event_table *uft_session_types(const struct uft_session *s);

/* Sets the open file that .rescue gets. Returns 0 or -errno. */
int uft_session_rescue_into(struct uft_session *s, int fd);

/*
 * Checks that these ops can run at once. Returns 0, or -EBUSY with the reason in @err (plan/arbiter.c). Any thread.
 */
int uft_ops_check(const struct uft_ops *ops, size_t nops, struct uft_error *err);

/* Checks a list for uft_ops.watch. Returns 0, -EINVAL or -E2BIG, with the reason in @err. Any thread. */
int uft_watch_check(const char *const *watch, struct uft_error *err);

/*
 * Sets the specification, for running targets (one batch of changes each) and for later images. Before a launch,
 * patterns are checked when the program starts. Returns 0; -ENOENT: a filter matches nothing in any live image (@err
 * has similar names); -EBUSY: see uft_ops_check().
 */
int uft_session_trace(struct uft_session *s, const struct uft_trace_spec *spec, struct uft_error *err);

/* 0: recording is off: sites stay armed, rings take no records, threads of the session's own tracers pause; 1: on. */
void uft_session_record(struct uft_session *s, int on);
/*
 * Makes targets of fork children that have announced themselves, also of those that have ended. A child announces
 * itself before its first record, so after this call all records written before it can be read.
 */
void uft_session_adopt(struct uft_session *s);
/*
 * Writes the kernel's events of targets to the rings, before these are drained. Returns a clock: no older event comes
 * later; UINT64_MAX: no kernel event is wanted.
 */
uint64_t uft_session_gather(struct uft_session *s);
/* Sets which task events have stacks (enum uft_tasks). Returns 0, or -errno and in @err why that is not possible. */
#define UFT_TASKS_STACKS	(UFT_TASKS_FORK | UFT_TASKS_EXIT)
int uft_session_check_stacks(struct uft_error *err);
/* Histograms emit at the clock of an event that they looked at, programs (user_events) at the present one. */
enum uft_emitter { UFT_EMITTER_HIST, UFT_EMITTER_PROGRAM, UFT_NEMITTERS };
/* Before the first uft_session_emit(), whose caller may hold locks of buffers. 0, -ENOMEM: no slice is free. */
int uft_session_emit_open(struct uft_session *s, enum uft_emitter by);
/*
 * Records an event of task @pid, @tid at @clock on @cpu. @id: of its type; @bytes: at most UFT_EVENT_PAYLOAD_MAX.
 * Clocks of an emitter must ascend. Returns 0; -EAGAIN: recording is off; -ENOBUFS: counted as lost.
 */
int uft_session_emit(struct uft_session *s, enum uft_emitter by, uint32_t cpu, uint64_t clock, uint32_t pid,
		     uint32_t tid, uint32_t id, const void *payload, size_t bytes);
/* From any thread: a uft_session_poll() that sleeps returns. */
void uft_session_wake(struct uft_session *s);

/* Before a start: searches an object for everything but sites, and keeps the results. Any thread. */
void uft_session_look_ahead(struct uft_object *obj);

/* Starts argv with the runtime in it, armed, and lets it run. stdin/out/err are inherited. */
int uft_session_launch(struct uft_session *s, char *const argv[], pid_t *pid, struct uft_error *err);
/*
 * Two pairs of an emulated program's clock and CLOCK_MONOTONIC, of its hello and of now; clock 0: not known
 * yet. Any thread.
 */
void uft_session_clock(void *session, uint64_t clock[2], uint64_t ns[2]);

/*
 * Attaches to a running process and arms it. Stops one thread for less than a millisecond, and where unprepared code is
 * rewritten all threads for a few. Returns 0 or -errno, and then the process is unchanged; -EEXIST: this session traces
 * it already.
 */
int uft_session_attach(struct uft_session *s, pid_t pid, struct uft_error *err);

pid_t uft_session_process_of(pid_t tid);		/* the process of a thread; 0: there is no such task */

/*
 * Returns 1 if this machine lets us attach. If not, a program that is started gets the runtime by its loader, as with
 * opts->preload.
 */
int uft_session_can_attach(void);

/* After attaching: checks that the spec matches something in the targets. 0, or -ENODATA, -ENOENT and why in @err. */
int uft_session_check(struct uft_session *s, struct uft_error *err);

/* Serves requests, ptrace stops, ends of targets; sleeps at most timeout_ms. 1 while a target lives, 0 none. */
int uft_session_poll(struct uft_session *s, int timeout_ms);
/* Wait status of the launched program, -1 while it runs. */
int uft_session_status(const struct uft_session *s);
/* A process that the session waits for when the launched program has ended, with its name; 0: none that is known. */
pid_t uft_session_waits_for(const struct uft_session *s, char *name, size_t size);
void uft_session_stats(struct uft_session *s, struct uft_session_stats *out);
/*
 * Detaches from all targets, which go on, and frees the session. A warning tells what remains in a target. Rings are
 * not drained any more. Returns the wait status of the launched program if the session has reaped it; -1: it runs on,
 * or the caller has to wait for it.
 */
int uft_session_destroy(struct uft_session *s);

/*
 * Without a session: has the session that traces process @name (a number or a program's name) detach from it. -ESRCH:
 * none traces it.
 */
int uft_detach(const char *name, struct uft_error *err);

/*
 * Opens the file that a process has mapped from @start to @end; @path is its path in maps. -ENOENT: the file was
 * removed, and we may not read it any more. The message names the file.
 */
int uft_process_file(pid_t pid, uint64_t start, uint64_t end, const char *path, struct uft_object **out,
		     struct uft_error *err);

#endif
