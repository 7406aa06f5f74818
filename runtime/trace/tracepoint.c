/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.c - records of tracepoints
 *
 * The program's own code makes the record (uft/trace_event.h), on its stack, and hands it to
 * uft_tracepoint_write(), whose address the session puts into the tracepoint before its calls lead there. A
 * call that was under way when the tracepoint is switched off finds no writer, or an id of 0, and writes
 * nothing.
 */
#include "runtime/trace/trace.h"
#include "uft/tracepoint.h"

#define MAX_WORDS	255u

struct event_block {
	struct event_block *next;
	uint64_t n;
	uint64_t addr[];
};

static struct event_block *blocks;	/* tracepoints that have a writer, so that a detach finds them */

/* Context: probe, from code of the program. */
static void tracepoint_write(struct uft_tracepoint *tp, const void *record, unsigned long bytes)
{
	const uint64_t *words = record;
	uint64_t none = 0;
	uint32_t n = (uint32_t)((bytes + 7) / 8), id = uft_load(&tp->id);
	const uint64_t *frame = __builtin_frame_address(0);	/* the caller's frame pointer, its return address */
	struct trace_task t;

	if (trace_is_out())
		return;
	if (!record || bytes > 8 * MAX_WORDS) {
		trace_count(UFT_CNT_EVENT_SIZE, 1);
		return;
	}
	if (!n) {
		words = &none;
		n = 1;
	}
	task_begin(&t);
	if (t.th && !t.mute && id && trace_is_recording() && trace_task_is_wanted(&t, trace_params())) {
		struct ring_op op = {
			.word0 = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(id, n), 0), .word1 = words[0], .more = words + 1,
			.bytes = 8 + 8 * n,
		};

		if (task_write(&t, &op) == RING_WRITTEN && trace_params()->stacks & UFT_STACKS_TRACEPOINT)
			stack_write_tracepoint(&t, (uint64_t)(frame + 1), frame[0]);
	}
	task_end(&t);
}

static int is_known(uint64_t addr)
{
	for (const struct event_block *b = blocks; b; b = b->next)
		for (uint64_t i = 0; i < b->n; i++)
			if (b->addr[i] == addr)
				return 1;
	return 0;
}

static int put(uint64_t addr, uint32_t id)
{
	struct uft_tracepoint *tp = (struct uft_tracepoint *)addr;
	uint64_t magic;

	if (plat_peek(tp, &magic, sizeof(magic)) || magic != UFT_TRACEPOINT_MAGIC)
		return -EFAULT;
	uft_store(&tp->id, id);
	uft_store_release(&tp->write, id ? tracepoint_write : NULL);
	return 0;
}

int trace_events(struct uft_event_switch *e, uint32_t n)
{
	struct event_block *b = plat_map(sizeof(*b) + n * sizeof(b->addr[0]));

	if (!b)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (e[i].id && !is_known(e[i].addr))
			b->addr[b->n++] = e[i].addr;
	if (b->n) {
		b->next = blocks;
		uft_store_release(&blocks, b);
	} else {
		plat_unmap(b, sizeof(*b) + n * sizeof(b->addr[0]));
	}
	for (uint32_t i = 0; i < n; i++)
		e[i].status = put(e[i].addr, e[i].id);
	return 0;
}

void trace_events_off(void)
{
	for (const struct event_block *b = blocks; b; b = b->next)
		for (uint64_t i = 0; i < b->n; i++)
			put(b->addr[i], 0);
}
