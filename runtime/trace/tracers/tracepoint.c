/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.c - records of tracepoints
 *
 * The program's own code makes the record (uft/trace_event.h), on its stack, and passes it to uft_tracepoint_write(),
 * whose address the session writes into the tracepoint before its calls lead there. A call that is under way when the
 * tracepoint is switched off finds no writer, or an id of 0, and writes nothing.
 */
#include "runtime/trace/tracers/tracers.h"
#include "uft/tracepoint.h"

#define MAX_WORDS	255u

#define OF_NONE		(~0u)		/* an object's number: none, so the list may serve another object */

struct event_block {
	struct event_block *next;
	uint32_t object;
	uint32_t n, room;
	uint64_t addr[];
};

static struct event_block *blocks;	/* tracepoints that have a writer, so that a detach finds them */

/*
 * Asks the rules, with facts of the writer. Rules switch the thread's graph, or count, and decide whether the record is
 * written.
 */
static int is_accepted(const struct event_rules *rules, struct trace_task *t, uint32_t turn, const void *record,
		       uint32_t bytes)
{
	struct uft_record r = { .payload = record, .bytes = bytes, .tid = t->tid, .pid = t->pid };

	if (t->rseq) {
		r.cpu = arch_rseq_cpu(uft_ring_fast.rseq_offset);
		r.known |= r.cpu < uft_ring_fast.ncpus ? UFT_FACT_CPU : 0;
	}
	if (!(uft_load(&uft_rt.slice->flags) & UFT_SLICE_OTHER_NS))
		r.known |= UFT_FACT_TID;
	if (rules->facts & (EVENT_RULES_THREAD | EVENT_RULES_HIST)) {
		if (rules->hist)
			return event_rules_count(rules, &r);
		event_rules_switch(rules, &r, t, turn);
	}
	return event_rules_accept(rules, &r);
}

/*
 * @high: upper half of the record's first word; @words, @bytes: its other words. @rules: still to be asked, about
 * @record_bytes; or NULL. @slot: of the call's return address; @fp: its frame pointer.
 */
static void write_slowly(uint32_t high, const uint64_t *words, uint64_t bytes, uint64_t slot, uint64_t fp,
			 const struct event_rules *rules, uint32_t record_bytes)
{
	const struct uft_tracer_params *p;
	struct trace_task t;

	task_begin(&t);
	p = trace_params();
	if (t.th && !t.mute && trace_is_recording() &&
	    (p->has_pids & UFT_PIDS_CALLS /* GUARD(pids_of_calls, 0) */ || trace_task_is_wanted(&t, p)) &&
	    (!rules || is_accepted(rules, &t, p->graph_turn, words, record_bytes))) {
		struct ring_op op = {
			.word0 = (uint64_t)high << 32, .word1 = words[0], .more = words + 1,
			.bytes = 8 + (uint32_t)bytes, .flags = RING_OP_EVENT, .key = ARCH_HAS_OWN ||
				p->stacks & UFT_STACKS_TRACEPOINT ? 0 : t.key,
		};

		if (task_write(&t, &op) == RING_WRITTEN && p->stacks & UFT_STACKS_TRACEPOINT)
			stack_write_tracepoint(&t, slot, fp);
	}
	task_end(&t);
}

__attribute__((noinline)) void tracepoint_write_slowly(uint32_t high, const uint64_t *words, uint64_t bytes,
						       uint64_t slot, uint64_t fp)
{
	if (!trace_is_out())
		write_slowly(high, words, bytes, slot, fp, NULL, 0);
}

static inline uint32_t high_of(uint32_t id, uint64_t nwords)
{
	return (uint32_t)UFT_REC_EVENT << UFT_REC_VALUE_BITS | UFT_EVENT_VALUE(id, (uint32_t)nwords);
}

/* Writes words that no rule has to be asked about any more. */
static inline void write_accepted(uint32_t id, const uint64_t *words, uint64_t nwords, const uint64_t *frame)
{
	if (!id)
		return;
#if ARCH_HAS_OWN
	tracepoint_write_slowly(high_of(id, nwords), words, 8 * nwords, (uint64_t)(frame + 1), frame[0]);
#else
	(void)frame;
	uft_asm_event_write(high_of(id, nwords), words, 8 * nwords);
#endif
}

/* Writes a record that is empty or too large, or whose rules quick steps cannot answer. */
static __attribute__((noinline)) void write_oddly(uint32_t id, const void *record, unsigned long bytes,
						  const struct event_rules *rules, const uint64_t *frame)
{
	static const uint64_t nothing[1];
	const uint64_t *words = bytes ? record : nothing;
	uint64_t nwords = bytes ? (bytes + 7) / 8 : 1;

	if (!record || nwords > MAX_WORDS) {
		if (!trace_is_out())
			trace_count(UFT_CNT_EVENT_SIZE, 1);
		return;
	}
	if (rules && rules->facts) {
		if (id && !trace_is_out())
			write_slowly(high_of(id, nwords), words, 8 * nwords, (uint64_t)(frame + 1), frame[0], rules,
				     (uint32_t)bytes);
		return;
	}
	if (!rules || event_rules_accept(rules, &(struct uft_record){ .payload = record, .bytes = (uint32_t)bytes }))
		write_accepted(id, words, nwords, frame);
}

/*
 * The step from which the rules have to be run for the thread. It keeps the answer: rules are never freed, and its
 * number stays.
 */
static inline uint32_t ask_thread(struct uft_thread *th, const struct event_rules *rules, const struct uft_record *r)
{
	uint64_t asked = uft_load(&th->rules_asked);

	if (asked >> 32 != rules->rejected >> 32) {
		asked = RULES_ASKED(rules->rejected >> 32, uft_quick_ask_thread(rules->quick, r, rules->list));
		uft_store(&th->rules_asked, asked);
	}
	return (uint32_t)asked;
}

/* Writes a record whose rules have deep steps. */
static __attribute__((noinline)) void write_deep(uint32_t id, const void *record, unsigned long bytes,
						 const struct event_rules *rules, const uint64_t *frame)
{
	struct uft_record r = { .payload = record, .bytes = (uint32_t)bytes };
	int is_known = 1;
	uint32_t i = 0;

	if (rules->facts) {
		struct uft_thread *th = thread_known();

		is_known = th != NULL;
		if (is_known) {
			r.tid = uft_load(&th->tid);
			r.pid = uft_load(&uft_rt.slice->pid);
			i = ask_thread(th, rules, &r);
		}
		if (rules->facts & UFT_FACT_CPU) {
			is_known = is_known && ring_has_rseq();
			r.cpu = is_known ? arch_rseq_cpu(uft_ring_fast.rseq_offset) : 0;
		}
	}
	if (!is_known || !record || bytes - 1 >= 8 * MAX_WORDS || bytes < (rules->need & ~UFT_QUICK_DEEP))
		write_oddly(id, record, bytes, rules, frame);
	else if (uft_quick_run_deep(rules->quick, i, &r, rules->list))
		write_accepted(id, record, (bytes + 7) / 8, frame);
}

/*
 * Writes a record if the first question, which may reject alone, does not. A function of its own, so that
 * tracepoint_write() needs no more registers; most records end here, and nothing is saved before.
 */
static __attribute__((noinline)) void write_rarely(uint32_t id, const void *record, unsigned long bytes,
						   const struct event_rules *rules, const uint64_t *frame)
{
	if (rules && rules->first == RULES_THREAD) {
		const struct uft_thread *th = thread_known();

		if (th && uft_load(&th->rules_asked) == rules->rejected)
			return;
	} else if (rules && rules->first == RULES_TEXT) {
		if (record && bytes >= rules->text_need && bytes <= 8 * MAX_WORDS &&
		    quick_is_text(record, (uint32_t)bytes, rules->text_at, rules->text_shift, rules->text,
				  rules->text_bytes) == rules->text_rejects)
			return;
	} else if (!rules || rules->need - UFT_QUICK_DEEP >= UINT32_MAX - UFT_QUICK_DEEP) {
		write_oddly(id, record, bytes, rules, frame);
		return;
	}
	write_deep(id, record, bytes, rules, frame);
}

/*
 * Context: probe, from code of the program. Most records may be rejected, mostly without any fact of the writer: so
 * that comes before anything is saved or looked up. The way through this function and uft_asm_event_write() saves no
 * register, because each call on it is its function's last.
 */
static void tracepoint_write(struct uft_tracepoint *tp, const void *record, unsigned long bytes)
{
	const uint64_t *frame = __builtin_frame_address(0);	/* the caller's frame pointer, its return address */
	uint32_t id = uft_load(&tp->id);
	const struct event_rules *rules = event_rules_of(id);

	if (!record || bytes - 1 >= 8 * MAX_WORDS || (rules && bytes < rules->need)) {
		write_rarely(id, record, bytes, rules, frame);
		return;
	}
	if (!rules || uft_quick_run(rules->quick, record))
		write_accepted(id, record, (bytes + 7) / 8, frame);
}

static int is_known(uint32_t object, uint64_t addr)
{
	for (const struct event_block *b = blocks; b; b = b->next)
		for (uint32_t i = 0; b->object == object && i < b->n; i++)
			if (b->addr[i] == addr)
				return 1;
	return 0;
}

/* A block with room for @n events, for no object yet. */
static struct event_block *block_new(uint32_t n)
{
	struct event_block *b;

	for (b = blocks; b; b = b->next)
		if (b->object == OF_NONE && b->room >= n)
			return b;
	b = plat_map(sizeof(*b) + n * sizeof(b->addr[0]));
	if (!b)
		return NULL;
	b->object = OF_NONE;
	b->room = n;
	b->next = blocks;
	uft_store_release(&blocks, b);
	return b;
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

int trace_events(uint32_t object, struct uft_event_switch *e, uint32_t n)
{
	struct event_block *b = block_new(n);

	if (!b)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (e[i].id && !is_known(object, e[i].addr))
			b->addr[b->n++] = e[i].addr;
	if (b->n)
		uft_store_release(&b->object, object);
	for (uint32_t i = 0; i < n; i++)
		e[i].status = put(e[i].addr, e[i].id);
	return 0;
}

void trace_events_gone(uint32_t object)
{
	for (struct event_block *b = blocks; b; b = b->next)
		if (b->object == object) {
			b->object = OF_NONE;
			b->n = 0;
		}
}

void trace_events_off(void)
{
	for (const struct event_block *b = blocks; b; b = b->next)
		for (uint32_t i = 0; i < b->n; i++)
			put(b->addr[i], 0);
}
