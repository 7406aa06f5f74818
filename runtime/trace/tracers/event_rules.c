/* SPDX-License-Identifier: MIT */
/*
 * event_rules.c - run the session's small programs that decide which records of an event are written
 *
 * A list of rules is copied out of the command area, checked (program/verify.c), and then put into the table at its
 * event, in one store. Any thread may be in the old list at any time, so lists are never freed; equal lists are kept
 * once, however often filters go back and forth. If too much is kept, the event has no rules from then on: each record
 * is written, and the session, which filters as well, leaves it out.
 *
 * Switching. A rule of a graph trigger marks the thread that fires the event, or removes the mark
 * (uft_thread.graph_turn); graph_filter.c checks the mark. So threads do not affect each other, and a signal handler's
 * event switches its own thread. A vfork child, which borrows its parent's thread pointer, switches nothing, and a fork
 * child begins without a mark. The mark is the number of the triggers: when they are removed it means nothing. How
 * often a rule may still switch is counted for the process, whichever list the rule is in.
 *
 * Programs that ask about numbers, texts, the thread and its CPU alone also become quick steps (program/quick.h), which
 * tracepoint.c runs first. Lists with deep steps, and lists without any, have `need` above each record's size. So for
 * numbers alone tracepoint.c takes the fast way, and needs no further test of the sort of list. Of a list with deep
 * steps it asks first what may reject alone (enum event_rules_first): the thread, whose answer is kept, or a text.
 *
 * Counting. A list of one rule may count records that it accepts in a map of the slice (program/hist_row.h) instead of
 * writing them. A record is written if the map has no room or no memory, or if the rule needs a number that is not
 * known here. The session counts each record that comes, so an event is counted once, whichever list a thread is in.
 *
 * Facts. Thread and CPU are known here only if they are the session's own numbers: not the thread's in another pid
 * namespace, nor a CPU without rseq. Only the session knows a thread's name and the names of functions; a program then
 * takes the branch that leads to "write it".
 *
 * Context: control; probe for event_rules_accept().
 */
#include "runtime/base/mem.h"
#include "runtime/trace/tracers/tracers.h"

#define KEPT_BYTES	(1u << 20)

const struct event_rules **event_rules_table;
static struct event_rules *all;
static uint32_t kept;			/* bytes of lists */
static void *scratch;

/* How often the rules with a key may still switch. Never freed. */
struct ration { struct ration *next; uint32_t key, left; };
static struct ration *rations;

static const struct uft_program *program_of(const struct uft_event_rule *r)
{
	return (const struct uft_program *)(r + 1);
}

/* The next rule of a list that does not count. */
static const struct uft_event_rule *next_rule(const struct uft_event_rule *r)
{
	return (const struct uft_event_rule *)((const char *)(r + 1) + r->program_bytes);
}

static void *hist_region(void)
{
	return (char *)uft_rt.slice + uft_rt.arena->hist_offset;
}

/* Makes the memory of the map (see runtime/ring/memory.c for the reason). 1: it has memory. */
static int hist_back(struct event_hist *h)
{
	const struct uft_hist_row *row = &h->row;
	uintptr_t at = (uintptr_t)hist_region() + row->offset, from = at & -(uintptr_t)UFT_PAGE;
	size_t bytes = uft_hist_map_bytes(row->bits, row->key_words + 1u + row->nsums);
	uint32_t is_there =
		plat_reserve(from, (at + bytes - from + UFT_PAGE - 1) & -(size_t)UFT_PAGE) ? HIST_SCARCE : HIST_BACKED;

	uft_store_release(&h->state, is_there);
	return is_there == HIST_BACKED;
}

int event_rules_count(const struct event_rules *r, const struct uft_record *record)
{
	const struct uft_event_rule *rule = (const struct uft_event_rule *)r->list;
	struct event_hist *h = r->hist;
	uint32_t state = uft_load_acquire(&h->state);

	if (rule->program_bytes && !uft_program_run(program_of(rule), record))
		return 0;
	if (h->facts & ~record->known || state == HIST_SCARCE || (state == HIST_UNBACKED && !hist_back(h)))
		return 1;
	return !uft_hist_row_count(&h->row, hist_region(), record); /* GUARD(hist_row_written, 0) */
}

void event_rules_forked(void)
{
	for (struct event_rules *r = all; r; r = r->next)
		if (r->hist)
			uft_store(&r->hist->state, (uint32_t)HIST_UNBACKED);
}

int event_rules_accept(const struct event_rules *r, const struct uft_record *record)
{
	const struct uft_event_rule *rule = (const struct uft_event_rule *)r->list;

	for (uint32_t i = 0; i < r->nrules; i++, rule = next_rule(rule))
		if (rule->action == UFT_RULE_RECORD &&
		    (!rule->program_bytes || uft_program_run(program_of(rule), record)))
			return 1;
	return 0;
}

static struct ration *find_ration(uint32_t key)
{
	struct ration *r = uft_load_acquire(&rations);

	while (r && r->key != key)
		r = r->next;
	return r;
}

/* Takes one of the times that are left. 0: none is left. */
static int spend(const struct uft_event_rule *rule)
{
	struct ration *r = rule->count ? find_ration(rule->key) : NULL;
	uint32_t left;

	if (!rule->count)
		return 1;
	do {
		left = r ? uft_load(&r->left) : 0;
	} while (left && !uft_cas(&r->left, left, left - 1) /* GUARD(rule_count, left) */);
	return left != 0;
}

void event_rules_switch(const struct event_rules *r, const struct uft_record *record, struct trace_task *t,
			uint32_t turn)
{
	const struct uft_event_rule *rule = (const struct uft_event_rule *)r->list;

	if (t->guest)
		return;
	for (uint32_t i = 0; i < r->nrules; i++, rule = next_rule(rule)) {
		uint32_t to = rule->action == UFT_RULE_GRAPH ? turn : 0;

		if (rule->action == UFT_RULE_RECORD || t->th->graph_turn == to)
			continue;
		if (rule->program_bytes && !uft_program_run(program_of(rule), record))
			continue;
		if (spend(rule))
			uft_store(&t->th->graph_turn, to);
	}
}

static const struct uft_hist_row *row_of(const struct uft_event_rule *r)
{
	return (const struct uft_hist_row *)((const char *)(r + 1) + r->program_bytes);
}

/* For a rule that counts, alone in its list, with @bytes behind it. */
static int is_good_count(const struct uft_event_rule *r, size_t bytes, uint32_t nrules)
{
	return nrules == 1 && r->count == sizeof(struct uft_hist_row) && r->count <= bytes - r->program_bytes &&
	       uft_hist_row_is_good(row_of(r), uft_rt.arena->hist_bytes);
}

/* Checks a private copy of the list: 0 and the facts that it needs, or -EINVAL. */
static int check(const uint64_t *list, uint32_t bytes, uint32_t nrules, uint32_t *facts)
{
	const char *at = (const char *)list, *end = at + bytes;

	*facts = 0;
	for (uint32_t i = 0; i < nrules; i++) {
		const struct uft_event_rule *rule = (const struct uft_event_rule *)at;

		if ((size_t)(end - at) < sizeof(*rule) || rule->program_bytes > (size_t)(end - at) - sizeof(*rule) ||
		    rule->program_bytes % 8 || rule->action < UFT_RULE_RECORD || rule->action > UFT_RULE_HIST ||
		    (rule->action == UFT_RULE_HIST && !is_good_count(rule, (size_t)(end - at) - sizeof(*rule), nrules)))
			return -EINVAL;
		if (rule->action == UFT_RULE_HIST)
			*facts |= EVENT_RULES_HIST;
		else if (rule->action != UFT_RULE_RECORD)
			*facts |= EVENT_RULES_THREAD;
		if (rule->program_bytes) {
			if (!uft_program_is_good(program_of(rule), rule->program_bytes) ||
			    program_of(rule)->bytes != rule->program_bytes)
				return -EINVAL;
			*facts |= program_of(rule)->facts;
		}
		at = (const char *)uft_event_rule_next(rule);
	}
	return at == end ? 0 : -EINVAL;
}

/* 0, -ENOMEM. */
static int add_rations(const struct event_rules *r)
{
	const struct uft_event_rule *rule = (const struct uft_event_rule *)r->list;

	for (uint32_t i = 0; i < r->nrules; i++, rule = uft_event_rule_next(rule)) {
		struct ration *made;

		if (rule->action == UFT_RULE_HIST || !rule->count || find_ration(rule->key))
			continue;
		made = plat_alloc(sizeof(*made));
		if (!made)
			return -ENOMEM;
		*made = (struct ration){ .next = rations, .key = rule->key, .left = rule->count };
		uft_store_release(&rations, made);	/* it is complete; partner: find_ration() */
	}
	return 0;
}

/*
 * Makes quick steps of all rules at @to: returns their number, and in *@need the bytes of a record that they need. 0:
 * not all rules can become quick steps.
 */
static uint32_t make_quick(const uint64_t *list, uint32_t nrules, struct uft_quick_step *to, uint32_t *need)
{
	const struct uft_event_rule *rule = (const struct uft_event_rule *)list;
	uint32_t n = 0;

	*need = 0;
	for (uint32_t i = 0; i < nrules; i++, rule = uft_event_rule_next(rule)) {
		n = rule->program_bytes && rule->action == UFT_RULE_RECORD ?
			uft_quick_append(program_of(rule), i + 1 == nrules, to, n, need, list) : 0;
		if (!n)
			return 0;
	}
	return n;
}

/* Finds what to ask first: about the thread, or about a text that rejects if the answer is the wrong one. */
static void find_first(struct event_rules *r, const struct uft_quick_step *s)
{
	if (quick_is_thread(s))
		r->first = RULES_THREAD;
	if (s->size != UFT_QUICK_TEXT || (s->yes != UFT_STEP_REJECT && s->no != UFT_STEP_REJECT))
		return;
	r->first = RULES_TEXT;
	r->text_need = s->at + 4u;
	r->text_at = s->at;
	r->text_shift = (uint32_t)s->mask;
	r->text = (const uint8_t *)r->list + s->from;
	r->text_bytes = (uint32_t)s->span;
	r->text_rejects = s->yes == UFT_STEP_REJECT;
}

/* Prepares the map of the only rule, if that counts. 0, -ENOMEM. */
static int make_hist(struct event_rules *r)
{
	const struct uft_event_rule *rule = (const struct uft_event_rule *)r->list;

	if (!(r->facts & EVENT_RULES_HIST))
		return 0;
	r->hist = plat_alloc(sizeof(*r->hist));
	if (!r->hist)
		return -ENOMEM;
	*r->hist = (struct event_hist){ .row = *row_of(rule) };
	r->hist->facts = uft_hist_row_facts(&r->hist->row) | (rule->program_bytes ? program_of(rule)->facts : 0);
	return 0;
}

/* Keeps a list. NULL: too much is kept, or there is no memory. */
static const struct event_rules *keep(const uint64_t *list, uint32_t bytes, uint32_t nrules, uint32_t facts)
{
	static struct uft_quick_step quick[UFT_QUICK_STEPS];
	struct event_rules *r;
	uint32_t nquick, need;

	for (r = all; r; r = r->next)
		if (r->bytes == bytes && r->nrules == nrules && !memcmp(r->list, list, bytes))
			return r;
	nquick = make_quick(list, nrules, quick, &need);
	if (bytes + nquick * sizeof(*quick) > KEPT_BYTES - kept)
		return NULL;
	r = plat_alloc(sizeof(*r) + bytes + nquick * sizeof(*quick));
	if (!r)
		return NULL;
	kept += bytes + nquick * (uint32_t)sizeof(*quick);
	*r = (struct event_rules){
		.next = all, .nrules = nrules, .bytes = bytes, .facts = facts, .need = nquick ? need : UINT32_MAX,
		.rejected = RULES_ASKED(all ? (all->rejected >> 32) + 1 : 1, UFT_STEP_REJECT),
	};
	r->quick = (struct uft_quick_step *)(r->list + bytes / 8);
	memcpy(r->list, list, bytes);
	memcpy(r->list + bytes / 8, quick, nquick * sizeof(*quick));
	if (nquick)
		find_first(r, r->quick);
	if (make_hist(r))
		return NULL;
	all = r;
	return r;
}

static int put(uint32_t id, const uint64_t *list, uint32_t bytes, uint32_t nrules)
{
	const struct event_rules *r = NULL;
	uint32_t facts;
	int ret = nrules <= UFT_EVENT_RULES_MAX ? check(list, bytes, nrules, &facts) : -EINVAL;

	if (id - UFT_EVENT_FREE >= UFT_EVENT_RULES_IDS)
		return -EINVAL;
	if (!ret && nrules) {
		r = keep(list, bytes, nrules, facts);
		ret = r ? add_rations(r) : -ENOMEM;
	}
	if (r && r->hist)	/* there may be memory by now */
		uft_cas(&r->hist->state, (uint32_t)HIST_SCARCE, (uint32_t)HIST_UNBACKED);
	if (!event_rules_table) {
		const struct event_rules **table = r ? plat_map_sparse(UFT_EVENT_RULES_IDS * sizeof(*table)) : NULL;

		if (!table)
			return r ? -ENOMEM : ret;
		uft_store_release(&event_rules_table, table);
	}
	uft_store_release(&event_rules_table[id - UFT_EVENT_FREE], r);
	return ret;
}

int trace_rules(void *rules, uint32_t n, size_t room)
{
	char *at = rules;
	int failed = 0;

	if (!scratch)
		scratch = plat_map(room);
	if (!scratch)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct uft_event_rules head;

		if (room < sizeof(head))
			return -E2BIG;
		memcpy(&head, at, sizeof(head));
		if (head.bytes < sizeof(head) || head.bytes > room || head.bytes % 8)
			return -E2BIG;
		memcpy(scratch, at + sizeof(head), head.bytes - sizeof(head));
		failed += put(head.id, scratch, head.bytes - (uint32_t)sizeof(head), head.nrules) != 0;
		at += head.bytes;
		room -= head.bytes;
	}
	return failed;
}
