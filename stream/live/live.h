/* SPDX-License-Identifier: MIT */
/*
 * live.h - the rings of a running session as a source of events
 *
 * Drains the targets' records, keeps the newest (or the oldest) within a limit for each CPU, as the kernel's ring
 * buffer does, and gives them out in two ways: as a snapshot, which is a stream of its own, and to one consumer.
 * Theory: buffer.c.
 */
#ifndef UFT_STREAM_LIVE_H
#define UFT_STREAM_LIVE_H

#include "stream/select/shown.h"
#include "stream/stream.h"
#include "symbol/event_set.h"
#include "symbol/event_type.h"

struct uft_live;
struct uft_live_opts {
	uint64_t cpu_bytes;	/* limit for each CPU */
	struct uft_event_table *events;	/* the session's types */
	int overwrite;		/* when full: 1: overwrite the oldest records; 0: drop the newest */
	int is_tap;		/* grows beyond the limit until uft_live_watch() has read it, which trims it */
	/* uft_session_clock(), if records have an emulator's clock; NULL: the processor's */
	void (*clock)(void *arg, uint64_t clock[2], uint64_t ns[2]);
	void *clock_arg;
};

/* Of one CPU, or of all: uft_live_stats(). */
struct uft_live_stats {
	uint64_t entries;	/* in the buffer, counted at the call */
	uint64_t overrun;	/* overwritten by newer events */
	uint64_t dropped;	/* dropped because the buffer or a ring was full */
	/*
	 * of these, the number that a kernel would count: with the oldest kept, only events overwritten by newer ones
	 */
	uint64_t missing;
	uint64_t read;		/* consumed */
	uint64_t bytes;		/* held */
	uint64_t oldest_ns, now_ns;
	enum uft_stamp stamp;	/* of the two times */
};

int uft_live_create(const struct uft_arena *arena, const struct uft_live_opts *opts, struct uft_live **out);
void uft_live_destroy(struct uft_live *l);		/* snapshots may outlive it */

/*
 * Call in the session's thread. Makes another buffer, empty at first, of the records that @leader drains. Destroy it
 * before the leader. Calls about slices, tasks and draining go to the leader, and also act on the buffers that follow
 * it.
 */
int uft_live_follow(struct uft_live *leader, const struct uft_live_opts *opts, struct uft_live **out);
void uft_live_unfollow(struct uft_live *l);
/* 1: takes no new records but markers; the buffer keeps its content. */
void uft_live_mute(struct uft_live *l, int on);
/* The same for CPUs whose bit is set. A marker of such a CPU returns -EBADF. */
#define UFT_LIVE_CPUS	1024u
void uft_live_cpus(struct uft_live *l, const uint64_t off[UFT_LIVE_CPUS / 64]);
/* Hides events from one clock of uft_live_clock() to another. Events at the two clocks themselves are shown. */
int uft_live_hide(struct uft_live *l, uint64_t clock);		/* 0, -ENOMEM */
void uft_live_show(struct uft_live *l, uint64_t clock);
uint64_t uft_live_clock(const struct uft_live *l);	/* 0: an emulator's clock is not known yet */
/*
 * @since: uft_live_clock(), now or earlier: choices made since then are replaced. @view: or NULL. 0, -ENOMEM: nothing
 * has changed.
 */
int uft_live_choose(struct uft_live *l, uint64_t since, uint32_t hidden, const struct uft_live_view *view);
/* Chooses events by name. Before the first choice all are shown. */
int uft_live_choose_events(struct uft_live *l, uint64_t since, const struct uft_live_events *events);	/* 0, -ENOMEM */
/* shows the one stack, or event by name, of this clock; call mostly by rising clocks */
void uft_live_show_one(struct uft_live *l, uint64_t clock);
/*
 * Shows events that uft_live_watch() has not seen, without waiting: of @types those in @shown, whatever was chosen
 * when.
 */
void uft_live_settle(struct uft_live *l, const struct uft_event_set *types, const struct uft_event_set *shown);
/*
 * From now on @tap gets what the session writes into @l itself as well (marks, user events), and the consumer of @l
 * gets no event that uft_live_watch() has not seen. NULL: it gets all of them again.
 */
void uft_live_watched(struct uft_live *l, struct uft_live *tap);
/* Consumes @tap, and calls @fn for each event in turn, on behalf of @l. @fn must not call live.h for @tap. */
void uft_live_watch(struct uft_live *tap, struct uft_live *l,
		    void (*fn)(void *arg, const struct uft_event *e, uint64_t clock), void *arg);

/* ---- The session's thread ---- */
int uft_live_slice(struct uft_live *l, uint32_t slice, const struct uft_image *img);
int uft_live_slice_end(struct uft_live *l, uint32_t slice);	/* drains the rest, then DEAD -> FREE */
/* Least number of ended tasks whose names are kept; the latest stay: uft_live_keep_names(). */
#define UFT_LIVE_NAMES	16384u
int uft_live_task(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm);
/* Task @tid in records of @slice has the number @outer in the session. 0, -ENOMEM. */
int uft_live_outer(struct uft_live *l, uint32_t slice, uint32_t tid, uint32_t outer);
uint64_t uft_live_pull(struct uft_live *l);		/* drains committed records; returns bytes */
/* Call before draining: records from @clock on may still be written late. UINT64_MAX: none. */
void uft_live_until(struct uft_live *l, uint64_t clock);
/* returns the clock up to which drained records are given out: no older record comes */
uint64_t uft_live_certain(struct uft_live *l);

/* ---- Any thread ---- */
#define UFT_LIVE_ALL	UINT32_MAX
void uft_live_clear(struct uft_live *l, uint32_t cpu);	/* in the session's thread, if buffers follow */
void uft_live_limit(struct uft_live *l, uint64_t cpu_bytes, int overwrite);
void uft_live_limit_cpu(struct uft_live *l, uint32_t cpu, uint64_t bytes);	/* of one CPU; 0: the limit of all */
/*
 * Times are those of @id from now on, CLOCK_MONOTONIC or _RAW, plus @shift_ns, given as @stamp. Clear the buffer first.
 * @name: the clock's name in a trace.dat; stays valid.
 */
struct uft_live_clock { const char *name; clockid_t id; int64_t shift_ns; enum uft_stamp stamp; };
void uft_live_use_clock(struct uft_live *l, const struct uft_live_clock *c);
uint64_t uft_live_now(struct uft_live *l);	/* the time that an event would have now */
void uft_live_keep_names(struct uft_live *l, uint32_t n);	/* of at least @n tasks, also of buffers that follow */
/*
 * Calls @fn for the @most tasks that were named last, in the order of their numbers. @fn must not call live.h. 0,
 * -ENOMEM.
 */
int uft_live_tasks(struct uft_live *l, size_t most, void (*fn)(void *arg, uint32_t pid, uint32_t tid, const char *comm),
		   void *arg);
void uft_live_stats(struct uft_live *l, uint32_t cpu, struct uft_live_stats *out);
/* Returns lost and overwritten events of all CPUs, without counting entries. Only uft_live_clear() lowers it. */
uint64_t uft_live_missing(struct uft_live *l);
/*
 * Writes a user's text into the stream of events, cut at UFT_LIVE_MARK_MAX, or raw data of at most UFT_LIVE_RAW_MAX: a
 * kernel's bounds, by which each is a record of 4072 bytes. A sub-buffer of one page has room for a text, but not for
 * the last 8 bytes of data. Returns the bytes taken.
 */
#define UFT_LIVE_MARK_MAX	4054u
#define UFT_LIVE_RAW_MAX	4064u
/*
 * @is_raw: a number of 4 bytes and data, never cut: -EINVAL if they are more than the limit. -EBADF: there is no room,
 * and nothing is overwritten: counted as dropped.
 */
long uft_live_mark(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t cpu, const char *text, size_t n,
		   int is_raw);

/* The same for an event by name, with its payload. 0, -E2BIG, -ENOMEM, -EBADF. */
int uft_live_event(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t cpu, uint32_t id, const void *payload,
		   size_t n);

/* Makes a stream of the present content. @cpu: or UFT_LIVE_ALL. Its info has events, lost (stats' missing), ncpus. */
int uft_live_snapshot(struct uft_live *l, uint32_t cpu, struct uft_stream **out);
/*
 * Call in the session's thread. Moves the content up to the clock @until to a buffer of its own, for snapshots and
 * clear until it is destroyed. @cpu: or UFT_LIVE_ALL. Every event is in one of the two buffers then.
 */
#define UFT_LIVE_NOW	UINT64_MAX
int uft_live_take(struct uft_live *l, uint32_t cpu, uint64_t until, struct uft_live **out);
uint64_t uft_live_bytes(struct uft_live *l, uint32_t cpu);		/* held for one CPU */
/*
 * The consumer. Between begin and end all other calls for @l wait, so consume little at a time. The stream lives as
 * long as @l; its batches end where the order of events is not certain yet. Events are consumed when a batch returned
 * them; their texts, payloads and stacks are freed after the end.
 */
struct uft_stream *uft_live_begin(struct uft_live *l, uint32_t cpu);
/* Between the two: returns how many events of the CPU were overwritten unread since the last call. */
uint64_t uft_live_untold(struct uft_live *l, uint32_t cpu);
void uft_live_end(struct uft_live *l);
int uft_live_is_empty(struct uft_live *l, uint32_t cpu);		/* 1: the consumer has no event */

#endif
