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

/* What the rules may know of who writes. They switch its graph, and say whether the record is written. */
static int is_accepted(const struct event_rules *rules, struct trace_task *t, uint32_t turn, const void *record, uint32_t bytes)
{
	struct uft_record r = { .payload = record, .bytes = bytes, .tid = t->tid };

	if (t->rseq) {
		r.cpu = arch_rseq_cpu(uft_ring_fast.rseq_offset);
		r.known |= r.cpu < uft_ring_fast.ncpus ? UFT_FACT_CPU : 0;
	}
	if (!(uft_load(&uft_rt.slice->flags) & UFT_SLICE_OTHER_NS))
		r.known |= UFT_FACT_TID;
	if (rules->facts & EVENT_RULES_THREAD)
		event_rules_switch(rules, &r, t, turn);
	return event_rules_accept(rules, &r);
}

/* @rules: what asks for who writes, or NULL. @slot: of the call's return address; @fp: its frame pointer. */
static __attribute__((noinline)) void write_slowly(uint32_t id, const uint64_t *words, uint32_t n, uint32_t bytes, const struct event_rules *rules,
						   uint64_t slot, uint64_t fp)
{
	const struct uft_tracer_params *p;
	struct trace_task t;

	task_begin(&t);
	p = trace_params();
	if (t.th && !t.mute && trace_is_recording() && trace_task_is_wanted(&t, p) && (!rules || is_accepted(rules, &t, p->graph_turn, words, bytes))) {
		struct ring_op op = {
			.word0 = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(id, n), 0), .word1 = words[0], .more = words + 1,
			.bytes = 8 + 8 * n, .flags = RING_OP_EVENT, .key = ARCH_HAS_OWN || p->stacks & UFT_STACKS_TRACEPOINT ? 0 : t.key,
		};

		if (task_write(&t, &op) == RING_WRITTEN && p->stacks & UFT_STACKS_TRACEPOINT)
			stack_write_tracepoint(&t, slot, fp);
	}
	task_end(&t);
}

static inline void write_accepted(uint32_t id, const uint64_t *record, unsigned long bytes, const struct event_rules *rules,
				  const uint64_t *frame)
{
	static const uint64_t nothing[1];
	const uint64_t *words = bytes ? record : nothing;
	uint32_t n = bytes ? (uint32_t)((bytes + 7) / 8) : 1;

	if (!id || (!ARCH_HAS_OWN && !rules && uft_asm_event_write((uint32_t)UFT_REC_EVENT << UFT_REC_VALUE_BITS | UFT_EVENT_VALUE(id, n), words, 8 * n)))
		return;
	if (!trace_is_out())
		write_slowly(id, words, n, (uint32_t)bytes, rules, (uint64_t)(frame + 1), frame[0]);
}

/*
 * Context: probe, from code of the program. Most records may be rejected, and mostly nothing of who writes matters
 * for that: it is done before anything is saved or looked up.
 */
static void tracepoint_write(struct uft_tracepoint *tp, const void *record, unsigned long bytes)
{
	const uint64_t *frame = __builtin_frame_address(0);	/* the caller's frame pointer, its return address */
	uint32_t id = uft_load(&tp->id);
	const struct event_rules *rules = event_rules_of(id);

	if (!record || bytes > 8 * MAX_WORDS) {
		if (!trace_is_out())
			trace_count(UFT_CNT_EVENT_SIZE, 1);
		return;
	}
	if (rules && !rules->facts) {
		if (!event_rules_accept(rules, &(struct uft_record){ .payload = record, .bytes = (uint32_t)bytes }))
			return;
		rules = NULL;
	}
	write_accepted(id, record, bytes, rules, frame);
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
	int ret = plat_peek(tp, &magic, sizeof(magic));

	if (ret == -ENOSYS && plat_is_readable(tp)) {	/* emulators of programs */
		magic = tp->magic;
		ret = 0;
	}
	if (ret || magic != UFT_TRACEPOINT_MAGIC)
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
