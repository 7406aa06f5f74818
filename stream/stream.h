/* SPDX-License-Identifier: MIT */
/*
 * stream.h - events in time order, whatever their source
 *
 * One iterator over every source: a .uft file, a trace.dat (stream/dat/), live rings; later the kernel's tracefs. A
 * source makes struct uft_event of its bytes; higher folders never see a word of a record.
 */
#ifndef UFT_STREAM_STREAM_H
#define UFT_STREAM_STREAM_H

#include "symbol/error.h"
#include "symbol/event_type.h"
#include "symbol/image.h"

enum uft_event_kind {
	UFT_EV_FUNC,		/* sym, parent */
	UFT_EV_ENTRY,		/* sym, depth */
	UFT_EV_EXIT,		/* sym, depth, duration_ns, self_ns; is_orphan: its entry was not recorded */
	UFT_EV_LEFT,		/* sym, depth, duration_ns so far: a call that was left without a return. If it does
				 * return after all (coroutine), its EXIT comes then, at the depth of that moment */
	UFT_EV_LOST,		/* lost: records lost here */
	UFT_EV_MARK,		/* text, text_bytes: written by a user into trace_marker */
	/*
	 * data, word (PARENT: parent and parent_addr); sym, depth: of the call it belongs to, none if
	 * UFT_EVENT_IS_OWN(data). UFT_EVENT_STACK: stack, and the function that was entered.
	 * UFT_EVENT_IS_NAMED(data): type, payload
	 */
	UFT_EV_DATA,
};

enum uft_event_flags {
	UFT_EVF_ORPHAN	= 1,	/* EXIT: the entry is not in the stream; duration unknown (0) */
	UFT_EVF_CALL	= 2,	/* EXIT made from a CALL record: there is no ENTRY */
	UFT_EVF_MASK	= 4,	/* DATA, of a return: with the blocked signals */
	UFT_EVF_SAMPLE	= 8,	/* FUNC: a sample of sysprof, not a call; DATA: its stack */
	UFT_EVF_TRACEPOINT = 16, /* DATA: the stack of the event with a type before it; no sym */
	/* LEFT: its process ended, or executed another program, during the call (uft_select.ends) */
	UFT_EVF_OPEN	= 32,
	UFT_EVF_LATENCY	= 64,	/* of a kernel: latency has the flags of the moment */
	UFT_EVF_RAW	= 0x80,	/* MARK: a number of 4 bytes and data, written into trace_marker_raw */
};

/* A function that was entered, and its callers, innermost first. */
struct uft_stack {
	uint32_t n;
	struct uft_stack_frame {
		uint64_t addr;		/* of the function; of callers: the return address */
		uint64_t offset;	/* in sym */
		const struct uft_sym *sym;
	} frame[];
};

struct uft_task {
	/* in the session's pid namespace, as far as known: older recordings have the numbers of records */
	uint32_t tid, pid, ppid;
	const char *comm;	/* "<...>" when unknown */
	const char *program;	/* name of its process: of the main thread, or else of the file */
	const struct uft_image *image;
	uint32_t index;		/* dense over the stream: use it for arrays. An exec makes another task */
	uint32_t own_tid, own_pid;	/* in its own pid namespace, as in records */
};

struct uft_event {
	uint64_t ts_ns;		/* CLOCK_MONOTONIC, or as uft_stream_stamp() tells */
	union {
		struct {
			uint64_t duration_ns, self_ns;
			union {
				const struct uft_sym *parent;
				const char *text;	/* MARK */
			};
			union {
				uint64_t lost;
				uint64_t text_bytes;
				uint64_t parent_addr;	/* FUNC */
			};
		};
		uint64_t word[4];	/* DATA: the first of its fields; the rest 0 */
		const struct uft_stack *stack;	/* DATA of UFT_EVENT_STACK: of a call of sym */
		struct {			/* DATA with a type: the kernel's record behind its common fields */
			const struct uft_event_type *type;
			const uint8_t *payload;		/* aligned to 8 */
			uint64_t payload_bytes;		/* with the zeroes that fill its last word */
		};
	};
	const struct uft_task *task;
	const struct uft_sym *sym;
	uint32_t cpu;		/* numbers from info.ncpus on: exchange rings (tasks without a usable rseq area) */
	uint8_t kind, flags;
	uint16_t latency;	/* with UFT_EVF_LATENCY: the kernel's common_flags | common_preempt_count << 8 */
	uint32_t depth;		/* graph: 0 outermost */
	uint32_t data;		/* DATA: enum uft_event_id */
	uint64_t clock;		/* as in the ring; 0: the source has none */
};

/* The unit of ts_ns. Durations are always ns. */
enum uft_stamp {
	UFT_STAMP_NS,
	UFT_STAMP_UPTIME,	/* hundredths of a second since boot, as jiffies are shown to users */
	UFT_STAMP_TICKS,	/* of the rings' clock */
	UFT_STAMP_COUNT,	/* the same, but a count that rises in each task and is no time; durations neither */
};

struct uft_stream;

struct uft_select {		/* a reader's selection; zero: everything */
	uint64_t from_ns, to_ns;		/* relative to the first event */
	int is_from_stamp, is_to_stamp;		/* from_ns, to_ns: a time stamp if not before the first event */
	const uint32_t *tids; size_t ntids;	/* these threads, */
	const uint32_t *pids; size_t npids;	/* and all of these processes */
	const uint32_t *cpus; size_t ncpus;
	const char *const *funcs; size_t nfuncs;	/* patterns of names.h */
	/* EVENT[,EVENT...]:FILTER of events by name; without funcs: only these events */
	const char *const *events; size_t nevents;
	int ends;		/* LEFT events also for calls that were open when their process ended */
	int no_parents;		/* leave uft_event.parent NULL (faster) */
	int needs_times;	/* a recording without times is refused */
};

/* The filter of EVENT:FILTER. NULL: @text is no such selection, but it may be a pattern of functions. */
const char *uft_select_event_filter(const char *text);

/*
 * For object @i in the order of appearance: returns how many functions of calls so far have no name. *obj: NULL: no
 * such object.
 */
uint32_t uft_stream_nameless(const struct uft_stream *st, size_t i, struct uft_object **obj);

/* 0: no event read so far was selected. For streams with a selection. */
int uft_stream_has_found(const struct uft_stream *st);
int uft_stream_has_cpu(const struct uft_stream *st, uint32_t cpu);	/* 1: it has records of that CPU */

struct uft_info {		/* for `uft stat` and headers */
	const char *format;	/* "uft", "trace.dat v6" ... */
	uint64_t events, calls, lost, bytes, duration_ns, first_ns;
	uint64_t realtime_ns;	/* CLOCK_REALTIME when the recording began; 0: not known */
	/* further lost records, of calls that are counted themselves: ends, arguments, results */
	uint64_t lost_parts;
	uint32_t false_losses;	/* loss counters of processes that are too high to be true: each counts as 1 */
	uint64_t overwritten;	/* events overwritten by newer ones (--flight), estimated by bytes */
	uint64_t counters[UFT_NCOUNTERS];
	uint32_t ncpus, ntasks, nobjects, nfuncs, tracer;
	uint32_t ring_bytes;	/* size of one ring */
	int complete;		/* 0: the recorder did not finish the file; 1 it did */
	uint32_t stop;		/* enum uft_stop: the limit that ended the recording */
	uint64_t stop_bytes;	/* the value of that limit */
	uint64_t damaged_bytes;	/* skipped as unreadable */
	const char *cmdline, *hostname, *uname;
};

struct uft_stream;
/* The event types of its events: of a session, or of the recording. */
const struct uft_event_table *uft_stream_events(const struct uft_stream *st);
enum uft_stamp uft_stream_stamp(const struct uft_stream *st);
const char *uft_stream_clock_name(const struct uft_stream *st);	/* the kernel's */
int uft_stream_open(const char *path, const struct uft_select *sel, struct uft_stream **out, struct uft_error *err);
/* Opens another stream of the recording of @st, at its start, faster than anew. Another thread may read @st. */
int uft_stream_open_again(const struct uft_stream *st, const struct uft_select *sel, struct uft_stream **out,
			  struct uft_error *err);
/* Returns 1: *ev filled (valid until the next call); 0: end; negative errno. */
int uft_stream_next(struct uft_stream *st, struct uft_event *ev);
/*
 * The same for up to @max events at a time, which is faster. Returns how many, 0 at the end. Pointers in them stay
 * valid until the stream is closed, but payloads until the next call but one. A read error ends the stream and counts
 * as damage.
 */
size_t uft_stream_batch(struct uft_stream *st, struct uft_event *ev, size_t max);
/*
 * Tells whether what was read so far is all that the selection means: 0; or a sentence and -ESTALE, because somebody
 * has cut off or overwritten the recording meanwhile, or -ENOMEM, because memory was refused for events or names. Call
 * it at the end of reading. That the recording grows is no such change.
 */
int uft_stream_check_file(const struct uft_stream *st, struct uft_error *err);
/* Which file the recording is, and its bytes up to the end of its last whole block, when it was opened. */
struct uft_extent { uint64_t dev, ino, bytes; };
struct uft_extent uft_stream_extent(const struct uft_stream *st);
/*
 * Facts of the whole file, whatever is selected; exact; may scan the file once. `events` are the records of calls
 * (FUNC, ENTRY, EXIT, CALL: not LEFT or LOST) and DATA of its own. `calls` are the records among them that begin a call
 * or stand for one, and the calls that a profile has added up.
 */
const struct uft_info *uft_stream_info(struct uft_stream *st);
/* The tracer of uft_stream_info(), without a scan: the head of the file has it. */
uint32_t uft_stream_tracer(const struct uft_stream *st);
/*
 * The tasks so far, in order of their index; after uft_stream_info() all tasks with records. Copies, valid until the
 * next call.
 */
size_t uft_stream_tasks(struct uft_stream *st, const struct uft_task **out);
size_t uft_stream_images(struct uft_stream *st, const struct uft_image *const **out);

/* Stacks so far without callers, because more different stacks occurred than are kept. */
#define UFT_STREAM_STACKS	(1u << 20)
uint64_t uft_stream_missed_stacks(const struct uft_stream *st);

/* 1: process @pid ended or executed another program at @ns or later: calls of its tasks open at @ns have ended. */
int uft_stream_has_ended(struct uft_stream *st, uint32_t pid, uint64_t ns);

/*
 * One function of a recording made by the profile tracer, added up over CPUs and slices. The runtime only counts then,
 * and writes no events: such a stream has no calls to iterate.
 */
struct uft_profile_row {
	const struct uft_sym *sym;
	uint64_t hits;
	uint64_t total_ns, self_ns;	/* of the hits; total includes callees */
	uint64_t min_ns, max_ns;
	double squares_ns2;		/* sum of the squared durations, as exact as the runtime kept it */
};
/*
 * *out is valid until the stream is closed; 0 rows if another tracer made the recording. Of a selection only functions
 * count, because sums have no time, CPU or task. 0 or -errno.
 */
int uft_stream_profile(struct uft_stream *st, const struct uft_profile_row **out, size_t *n);

/* A function that --budget or --max-rate dropped during the recording. */
struct uft_drop_row {
	const struct uft_sym *sym;
	uint64_t ts_ns;			/* CLOCK_MONOTONIC, as of events */
	uint64_t calls_per_s;		/* then, estimated */
	uint32_t cost_ppm;		/* of the CPU time of process @pid then */
	uint32_t pid, why;		/* 1: --budget, 2: --max-rate */
};
/* Row @i in the order of time; 0: there is none. */
int uft_stream_drop(struct uft_stream *st, size_t i, struct uft_drop_row *out);

/* The recorder was killed, and the records in its rings were appended to the file afterwards. NULL: not so. */
struct uft_rescue {
	uint64_t ts_ns;			/* CLOCK_MONOTONIC, when it was saved */
	uint64_t slices, bytes;		/* processes with records in their rings; bytes of these records */
	uint64_t unknown;		/* of them: processes whose image is not in the file */
};
const struct uft_rescue *uft_stream_rescued(struct uft_stream *st);

/* From now on the stream is at its end when *@stop, which another thread may set, is not 0. */
void uft_stream_end_when(struct uft_stream *st, const int *stop);
double uft_stream_progress(struct uft_stream *st);		/* 0..1 */
void uft_stream_close(struct uft_stream *st);

#endif
