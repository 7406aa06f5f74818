/* SPDX-License-Identifier: MIT */
/*
 * hist.h - histograms of events, as the kernel's `hist:` triggers
 *
 * A histogram belongs to one event type of one set (an instance of the tracing directory). It is made of the text
 * behind `hist:`, takes records of its type in the order of time, and writes its definition and its table as the kernel
 * does. Histograms of a set know each other's variables, so that an event may compute with values that another event
 * has set: `$ts0`, onmatch().
 *
 * The engine asks its user for names and event types through struct uft_hist_env. The user implements filters, `:pause`
 * of a trigger and files.
 *
 * Invariants: every event that comes here is a hit or a drop of its table. Failure: a full map counts drops, which the
 * table shows as the kernel's does (`Dropped:`); a text with a mistake is refused with the kernel's words and
 * positions. Lost records never come here: the caller counts them, and the totals show their number (`Lost:`) unless it
 * is 0.
 *
 * Context: control, one thread at a time for a set. The map alone (program/hist_map.h) is for any context.
 */
#ifndef UFT_HIST_HIST_H
#define UFT_HIST_HIST_H

#include "hist/synthetic.h"
#include "symbol/event_type.h"

struct uft_hist;
struct uft_hist_set;

/* One event. */
struct uft_hist_record {
	const struct uft_event_type *type;
	const uint8_t *payload;		/* behind the common fields */
	size_t bytes;
	uint64_t ts;			/* of the set's clock, ns if that counts ns */
	uint32_t cpu, tid;
	const char *comm;
	const uint64_t *stack;		/* code addresses, the innermost first */
	uint32_t nstack;
	const void *where;		/* the address space, for env.name */
};

struct uft_hist_env {
	void *arg;
	/* Writes the name of a code address, with @has_offset as main+0x4/0x20. Returns bytes; 0: not known. */
	size_t (*name)(void *arg, const void *where, uint64_t addr, int has_offset, char *to, size_t room);
	const struct uft_synth_list *synths;
	/*
	 * Called when a histogram made a synthetic event of @rec. @payload: the event's record behind the common
	 * fields.
	 */
	void (*emit)(void *arg, const struct uft_synth *synth, const void *payload, size_t bytes,
		     const struct uft_hist_record *rec);
	void (*snapshot)(void *arg, const struct uft_hist_record *rec);
	const struct uft_event_type *(*find_event)(void *arg, const char *system, const char *name);
	/*
	 * Called when onmatch() needs a field of another event: adds the histogram @text to that event, with the filter
	 * of @like, one of its histograms. 0, or negative errno.
	 */
	int (*add_to)(void *arg, const struct uft_hist *like, const char *text);
	int is_ns;			/* records' ts counts ns */
};

/* A list of mistakes: the kernel's error_log has one or more for a command. */
#define UFT_HIST_ERRORS	4
struct uft_hist_errors {
	struct { const char *what; size_t at; } v[UFT_HIST_ERRORS];	/* what: static; at: from the `h` of `hist:` */
	uint32_t n;
};

struct uft_hist_set *uft_hist_set_new(const struct uft_hist_env *env);	/* NULL: no memory */
struct uft_hist_env *uft_hist_set_env(struct uft_hist_set *set);
void uft_hist_set_free(struct uft_hist_set *set);	/* it has no histograms any more */

/* Finds the filter of a trigger's text: its `if`; NULL: none; @text: the text is only a filter. */
char *uft_hist_find_filter(char *text);

enum uft_hist_verb { UFT_HIST_PLAIN, UFT_HIST_PAUSE, UFT_HIST_CONT, UFT_HIST_CLEAR };

/**
 * uft_hist_make - make a histogram of a text; it counts no events yet
 * @text:  `keys=...`, without `hist:` and without ` if `
 * @is_not: it is made to find an equal one, which will be removed
 *
 * Returns 0 or the kernel's error, with @errors.
 */
int uft_hist_make(struct uft_hist_set *set, const struct uft_event_type *type, const char *text, int is_not,
		  struct uft_hist **out, struct uft_hist_errors *errors);
/* Makes its actions and adds it to the set; call it when the set has no equal one. 0, or negative errno: free it. */
int uft_hist_join(struct uft_hist *h, struct uft_hist_errors *errors);
void uft_hist_free(struct uft_hist *h);
enum uft_hist_verb uft_hist_verb(const struct uft_hist *h);
int uft_hist_is_same(const struct uft_hist *a, const struct uft_hist *b);	/* filters aside */
int uft_hist_is_used(const struct uft_hist *h);	/* others refer to its variables */
const char *uft_hist_clock(const struct uft_hist *h);	/* the clock that its timestamps are of; NULL: it has none */
const char *uft_hist_name(const struct uft_hist *h);	/* `name=NAME`, or NULL */
int uft_hist_needs_stack(const struct uft_hist *h);
const struct uft_event_type *uft_hist_type(const struct uft_hist *h);
/* Makes a named histogram share the table of @other from now on. */
void uft_hist_share(struct uft_hist *h, struct uft_hist *other);

void uft_hist_update(struct uft_hist *h, const struct uft_hist_record *rec);
void uft_hist_clear(struct uft_hist *h);

/*
 * row.c: describes the keys and sums that a target may add up by itself for each event; the caller sets the place of
 * the map (offset). 0: the histogram needs records. Call it after the histogram has joined.
 */
struct uft_hist_row;
int uft_hist_row(const struct uft_hist *h, struct uft_hist_row *out);
/*
 * Adds events of one key that a target has counted by that row: their number and sums. Hits, or drops of a full table.
 */
void uft_hist_add_counted(struct uft_hist *h, const struct uft_hist_row *row, const uint64_t *key,
			  const uint64_t *counts);

struct uft_hist_sink { void *arg; void (*put)(void *arg, const char *p, size_t n); };
/* Writes `hist:keys=...:size=2048`, then @filter if there is one; without the state. */
void uft_hist_put_definition(const struct uft_hist *h, const char *filter, const struct uft_hist_sink *to);
/* Writes the entries and the totals. @lost: records that may have been for it and were lost. 0, -ENOMEM. */
int uft_hist_put_table(const struct uft_hist *h, uint64_t lost, const struct uft_hist_sink *to);

/* ---- The table for programs: cells.c ---- */

#define UFT_HIST_COLUMNS	88u	/* at most: keys, values, and what actions kept */
enum uft_hist_kind { UFT_HIST_UNKNOWN = '?', UFT_HIST_UNSIGNED = 'u', UFT_HIST_SIGNED = 'i', UFT_HIST_TEXT = 't',
	UFT_HIST_STACK = 's' };

/*
 * Writes the table as words, each ended by a NUL: SYSTEM:EVENT, the definition, `active` or `paused`; numbers, each
 * behind an `n`: lost records, hits, dropped events, columns; the unique names of the columns; the number of entries;
 * and the cells of each entry, in the order of the text. The first letter of a cell is its kind. A stack has a number
 * behind that letter, and as many words follow: its names, innermost first. Returns 0 or -ENOMEM.
 */
int uft_hist_put_cells(const struct uft_hist *h, const char *filter, int is_paused, uint64_t lost,
		       const struct uft_hist_sink *to);

#endif
