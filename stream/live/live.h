/* SPDX-License-Identifier: MIT */
/*
 * live.h - the rings of a running session as a source of events
 *
 * Drains records of targets, keeps the newest (or the oldest) within a limit for each CPU, as the
 * kernel's ring buffer does, and hands it out in two ways: a snapshot, which is a stream of its own, and one
 * reader that consumes. Theory: buffer.c.
 */
#ifndef UFT_STREAM_LIVE_H
#define UFT_STREAM_LIVE_H

#include "stream/select/shown.h"
#include "stream/stream.h"
#include "symbol/event_set.h"
#include "symbol/event_type.h"

struct uft_live;
struct uft_live_opts {
	uint64_t cpu_bytes;	/* kept of each CPU */
	struct uft_event_table *events;	/* the session's types */
	int overwrite;		/* when full: 1: overwrite the oldest records; 0: drop the newest */
	/* uft_session_clock(), where records are by an emulator's clock; NULL: by the processor's */
	void (*clock)(void *arg, uint64_t clock[2], uint64_t ns[2]);
	void *clock_arg;
};

/* Of a CPU, or of all: uft_live_stats(). */
struct uft_live_stats {
	uint64_t entries;	/* in the buffer, counted now */
	uint64_t overrun;	/* overwritten by newer ones */
	uint64_t dropped;	/* dropped because the buffer or a ring was full */
	/* of these, what was written as a kernel counts it: with the oldest kept, only what went for newer ones */
	uint64_t missing;
	uint64_t read;		/* consumed */
	uint64_t bytes;		/* held */
	uint64_t oldest_ns, now_ns;
	enum uft_stamp stamp;	/* what the two are */
};

int uft_live_create(const struct uft_arena *arena, const struct uft_live_opts *opts, struct uft_live **out);
void uft_live_destroy(struct uft_live *l);		/* snapshots may outlive it */

/*
 * The session's thread. Makes another buffer, empty at first, of the records that @leader drains; it is destroyed
 * before the leader. Calls about slices, tasks and pulling go to the leader, and also act on the buffers that follow.
 */
int uft_live_follow(struct uft_live *leader, const struct uft_live_opts *opts, struct uft_live **out);
void uft_live_unfollow(struct uft_live *l);
/* 1: no new records but markers are taken; the buffer keeps its content. */
void uft_live_mute(struct uft_live *l, int on);
/* The same for CPUs whose bit is set. A marker of one is -EBADF. */
#define UFT_LIVE_CPUS	1024u
void uft_live_cpus(struct uft_live *l, const uint64_t off[UFT_LIVE_CPUS / 64]);
/* Events from @clock on are not shown, up to @clock: as uft_live_clock() tells. The ends themselves are. */
int uft_live_hide(struct uft_live *l, uint64_t clock);		/* 0, -ENOMEM */
void uft_live_show(struct uft_live *l, uint64_t clock);
uint64_t uft_live_clock(const struct uft_live *l);	/* 0: an emulator has not said it yet */
/*
 * @since: uft_live_clock(), or what that said before: what was chosen since then never was. @view: or NULL.
 * 0, -ENOMEM: as it was before that.
 */
int uft_live_choose(struct uft_live *l, uint64_t since, uint32_t hidden, const struct uft_live_view *view);
/* Before the first choice all events by name are shown. */
int uft_live_choose_events(struct uft_live *l, uint64_t since, const struct uft_live_events *events);	/* 0, -ENOMEM */
/* the stack, or event by name, of this clock is; mostly by rising clocks */
void uft_live_show_one(struct uft_live *l, uint64_t clock);
/* What uft_live_watch() has not seen is shown without waiting: of @types those in @shown, whenever it was chosen. */
void uft_live_settle(struct uft_live *l, const struct uft_event_set *types, const struct uft_event_set *shown);
/* From now on the consumer of @l gets nothing that uft_live_watch() has not seen; 0: it does again. */
void uft_live_watched(struct uft_live *l, int on);
/* Consumes @tap and tells @fn of each event in turn, on behalf of @l. @fn may not call us for @tap. */
void uft_live_watch(struct uft_live *tap, struct uft_live *l,
		    void (*fn)(void *arg, const struct uft_event *e, uint64_t clock), void *arg);

/* ---- The session's thread ---- */
int uft_live_slice(struct uft_live *l, uint32_t slice, const struct uft_image *img);
int uft_live_slice_end(struct uft_live *l, uint32_t slice);	/* takes the rest, then DEAD -> FREE */
/* Least number of ended tasks whose names are kept, the latest ones: uft_live_keep_names(). */
#define UFT_LIVE_NAMES	16384u
int uft_live_task(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm);
/* Records of @slice call a task @tid, and the session calls it @outer. 0, -ENOMEM. */
int uft_live_outer(struct uft_live *l, uint32_t slice, uint32_t tid, uint32_t outer);
uint64_t uft_live_pull(struct uft_live *l);		/* takes what is committed; bytes */
/* Before it: records from @clock on may still be written late. UINT64_MAX: none. */
void uft_live_until(struct uft_live *l, uint64_t clock);
/* the clock up to which what was taken is handed out: nothing older comes */
uint64_t uft_live_certain(struct uft_live *l);

/* ---- Any thread ---- */
#define UFT_LIVE_ALL	UINT32_MAX
void uft_live_clear(struct uft_live *l, uint32_t cpu);	/* the session's thread, where others follow */
void uft_live_limit(struct uft_live *l, uint64_t cpu_bytes, int overwrite);
void uft_live_limit_cpu(struct uft_live *l, uint32_t cpu, uint64_t bytes);	/* of one CPU; 0: what all have */
/* From now on times are those of @id, CLOCK_MONOTONIC or _RAW, and @shift_ns, given out as @stamp. Clear first.
 * @name: as a trace.dat calls it; stays valid. */
struct uft_live_clock { const char *name; clockid_t id; int64_t shift_ns; enum uft_stamp stamp; };
void uft_live_use_clock(struct uft_live *l, const struct uft_live_clock *c);
uint64_t uft_live_now(struct uft_live *l);	/* as an event of now has it */
void uft_live_keep_names(struct uft_live *l, uint32_t n);	/* of @n tasks at least, also of buffers that follow */
/*
 * The tasks that have a name, in the order of their numbers: the @most that were named last. @fn may not call
 * us. 0, -ENOMEM.
 */
int uft_live_tasks(struct uft_live *l, size_t most, void (*fn)(void *arg, uint32_t pid, uint32_t tid, const char *comm),
		   void *arg);
void uft_live_stats(struct uft_live *l, uint32_t cpu, struct uft_live_stats *out);
/* Lost and overwritten events of all CPUs, without counting entries. Only uft_live_clear() makes it fall. */
uint64_t uft_live_missing(struct uft_live *l);
/* A text of a user in the stream of events; what is longer than UFT_LIVE_MARK_MAX is cut. Bytes taken. */
#define UFT_LIVE_MARK_MAX	4000u
/*
 * @is_raw: a number of 4 bytes and data; none is cut, since no more than the limit is written. -EBADF: there
 * is no room, and nothing is overwritten: counted as dropped.
 */
long uft_live_mark(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t cpu, const char *text, size_t n,
		   int is_raw);

/* The same for an event by name: its payload. 0, -E2BIG, -ENOMEM, -EBADF. */
int uft_live_event(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t cpu, uint32_t id, const void *payload,
		   size_t n);

/* A stream of the present content. @cpu: or UFT_LIVE_ALL. Its info: events, lost (what is missing), ncpus. */
int uft_live_snapshot(struct uft_live *l, uint32_t cpu, struct uft_stream **out);
/*
 * The session's thread: what is there up to the clock @until as a buffer of its own, for snapshots and clear
 * until it is destroyed. Of CPU @cpu, or UFT_LIVE_ALL, @l has it no more: every event is in one of the two.
 */
#define UFT_LIVE_NOW	UINT64_MAX
int uft_live_take(struct uft_live *l, uint32_t cpu, uint64_t until, struct uft_live **out);
uint64_t uft_live_bytes(struct uft_live *l, uint32_t cpu);		/* held of one CPU */
/*
 * The consumer. Between begin and end nothing else happens in @l, so: not much at a time. The stream lives as
 * long as @l; its batches end where the order of events is not certain yet. Events are consumed when a batch
 * returned them; texts, payloads and stacks that they refer to are gone behind the end.
 */
struct uft_stream *uft_live_begin(struct uft_live *l, uint32_t cpu);
/* Between the two: events of the CPU overwritten before they were read, since the last call. */
uint64_t uft_live_untold(struct uft_live *l, uint32_t cpu);
void uft_live_end(struct uft_live *l);
int uft_live_is_empty(struct uft_live *l, uint32_t cpu);		/* 1: no event for the consumer */

#endif
