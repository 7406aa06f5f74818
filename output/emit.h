/* SPDX-License-Identifier: MIT */
/*
 * emit.h - objects that all writers use: events in batches, text in a big buffer, names ready to copy
 *
 * Three small objects, each owned by one writer on its stack and used by one thread:
 *   struct emit_source  pulls events from a stream
 *   struct emit_buf     collects text and hands it to a FILE in large pieces; the first error sticks
 *   struct emit_names   per function and per task: text and length, control characters masked
 * Masking: a program chooses its own thread and function names, which must not bring escape sequences or extra
 * lines to the reader's terminal. The kernel prints them raw. Context: control.
 */
#ifndef UFT_OUTPUT_EMIT_H
#define UFT_OUTPUT_EMIT_H

#include <errno.h>
#include <stdio.h>

#include "output/digits.h"
#include "stream/stream.h"

/* ---- Events ---- */

#define EMIT_BATCH	256

struct emit_source {
	struct uft_stream *st;
	size_t next, n;
	struct uft_event ev[EMIT_BATCH];
};

static inline void emit_source_init(struct emit_source *src, struct uft_stream *st)
{
	src->st = st;
	src->next = src->n = 0;
}


/* The next event, valid until the next call, or NULL: the end. */
static inline const struct uft_event *emit_source_next(struct emit_source *src)
{
	if (src->next == src->n) {
		src->next = 0;
		src->n = uft_stream_batch(src->st, src->ev, EMIT_BATCH);
		if (!src->n)
			return NULL;
	}
	return &src->ev[src->next++];
}

/* ---- Text ---- */

#define EMIT_FLUSH	(64u << 10)

struct emit_buf {
	char *text;
	size_t len, cap;
	FILE *out;
	int (*sink)(void *ctx, const char *text, size_t n);	/* instead of out: 0 or -errno */
	void *ctx;
	int error;		/* negative errno of the first failure; later text is dropped */
};

int emit_buf_init(struct emit_buf *b, FILE *out);
void emit_buf_free(struct emit_buf *b);
int emit_buf_grow(struct emit_buf *b, size_t room);
/* Writes the first @n bytes out and moves the rest to the front. */
void emit_buf_flush(struct emit_buf *b, size_t n);

/* Room for @n bytes at the end, NULL without memory (b->error is set). Commit with emit_buf_end(). */
static inline char *emit_buf_room(struct emit_buf *b, size_t n)
{
	if (b->cap - b->len < n && emit_buf_grow(b, n) < 0)
		return NULL;
	return b->text + b->len;
}

static inline void emit_buf_end(struct emit_buf *b, const char *end)
{
	b->len = (size_t)(end - b->text);
}

int emit_buf_puts(struct emit_buf *b, const char *text);

/* Copies @n bytes to @at, where there is room; returns their end. */
static inline char *emit_put(char *at, const char *text, size_t n)
{
	memcpy(at, text, n);
	return at + n;
}
#define EMIT_PUT(at, literal)	emit_put(at, literal, sizeof(literal) - 1)

/* ---- Names ---- */

struct emit_text {
	const char *text;
	uint32_t len;
};

struct emit_task {
	uint32_t context_len, proc_len;
	char context[48];	/* `%16s-%-7d ` of the default format */
	char proc[32];		/* centred `comm-pid` of the graph's task switch */
};

struct emit_names {
	struct emit_text *func;		/* by uft_sym.index */
	size_t nfunc;
	char **masked;			/* copies that had to be made */
	size_t nmasked;
	struct emit_task **task;	/* by uft_task.index */
	size_t ntasks;
};

void emit_names_init(struct emit_names *names);
void emit_names_free(struct emit_names *names);
const struct emit_text *emit_names_add_func(struct emit_names *names, const struct uft_sym *sym);
const struct emit_task *emit_names_add_task(struct emit_names *names, const struct uft_task *task);

/* Text of a function; NULL only without memory. @sym may be NULL. */
static inline const struct emit_text *emit_func(struct emit_names *names, const struct uft_sym *sym)
{
	if (sym && sym->index < names->nfunc && names->func[sym->index].text)
		return &names->func[sym->index];
	return emit_names_add_func(names, sym);
}

/* The task's texts; NULL only without memory. */
static inline const struct emit_task *emit_task(struct emit_names *names, const struct uft_task *task)
{
	if (task->index < names->ntasks && names->task[task->index])
		return names->task[task->index];
	return emit_names_add_task(names, task);
}

#endif
