/* SPDX-License-Identifier: MIT */
/*
 * stack_trace.c - stack_tracer_enabled, stack_max_size, stack_trace: the deepest stack
 *
 * The runtime measures the stack at each traced function entry, and each process keeps its deepest stack
 * (runtime/trace/tracers/stack.c). When a file is read and when a process ends, we update the deepest stack of all
 * processes, ended ones included. Names are looked up when the file is read.
 *
 * Differences from the kernel: the stack tracer runs only while the tracer is nop, and else both are EBUSY, as a site
 * does one thing. The depth counts from the outermost frame that can be found, which is a little below the top of a
 * main thread's stack (arguments, environment).
 */
#include "symbol/shared.h"
#include "tree/files/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tree_stack {
	const struct uft_image **live;	/* by slice */
	/* image of the deepest stack, with a reference: its process may have ended; NULL: none */
	const struct uft_image *img;
	struct uft_stack_max max;
};

static struct uft_stack_max uft_shared *max_of(struct uft_tree *t, uint32_t slice)
{
	const struct uft_arena *a = uft_session_arena(t->session);

	return &((struct uft_slice uft_shared *)((uint8_t uft_shared *)a + a->slice_offset + slice * a->slice_bytes))
			->stack;
}

/* Takes the deepest stack of one process. The target may be writing it now, or may have written nonsense. */
static void collect(struct uft_tree *t, uint32_t slice)
{
	const struct uft_stack_max uft_shared *from = max_of(t, slice);
	struct tree_stack *s = t->stack;
	struct uft_stack_max copy;
	uint32_t seq;

	for (int tries = 0; tries < 1000; tries++) {
		seq = SHARED_LOAD_ACQUIRE(&from->seq);
		if (seq & 1)
			continue;
		shared_read(&copy, from, sizeof(copy));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (SHARED_LOAD(&from->seq) == seq)
			break;
		seq |= 1;
	}
	if (seq & 1 || !copy.n || copy.n > 1 + UFT_STACK_MAX || copy.depth <= s->max.depth ||
	    copy.depth != copy.frame[0].depth)
		return;
	s->max = copy;
	uft_session_hold_image(t->session, s->live[slice], 1);
	uft_session_hold_image(t->session, s->img, -1);
	s->img = s->live[slice];
}

static void collect_all(struct uft_tree *t)
{
	uint32_t n = uft_session_arena(t->session)->nslices;

	for (uint32_t i = 0; t->stack && i < n; i++)
		if (t->stack->live[i])
			collect(t, i);
}

/* NULL: no memory. */
static struct tree_stack *stack_get(struct uft_tree *t)
{
	if (!t->stack && (t->stack = calloc(1, sizeof(*t->stack)))) {
		t->stack->live = calloc(uft_session_arena(t->session)->nslices, sizeof(t->stack->live[0]));
		if (!t->stack->live)
			stack_free(t);
	}
	return t->stack;
}

void stack_begin(struct uft_tree *t, uint32_t slice, const struct uft_image *img)
{
	/* The slices behind are the session's own. */
	if (slice < uft_session_arena(t->session)->nslices && stack_get(t))
		t->stack->live[slice] = img;
}

void stack_end(struct uft_tree *t, uint32_t slice)
{
	if (!t->stack || slice >= uft_session_arena(t->session)->nslices || !t->stack->live[slice])
		return;
	collect(t, slice);
	t->stack->live[slice] = NULL;
	shared_clear(max_of(t, slice), sizeof(struct uft_stack_max));	/* the next process begins with none */
}

void stack_free(struct uft_tree *t)
{
	if (t->stack)
		free(t->stack->live);
	free(t->stack);
	t->stack = NULL;
}

/* ---- Files ----------------------------------------------------------------------------------- */

int show_stack_tracer_enabled(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%d\n", at->in->set.is_measuring);
	return 0;
}

ssize_t store_stack_tracer_enabled(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	uint64_t on = 0;
	int ret = text_number(p, n, 10, &on);

	if (ret)
		return ret;
	set.is_measuring = on != 0;
	if (set.is_measuring == h->at.in->set.is_measuring)
		return (ssize_t)n;
	return store_settings(h, &set, 0, n);
}

int show_stack_max_size(const struct place *at, struct tree_text *out)
{
	collect_all(at->t);
	text_printf(out, "%lld\n", at->t->stack ? (long long)at->t->stack->max.depth : 0ll);
	return 0;
}

/* The functions can still be read until there is a deeper stack, as in the kernel. */
ssize_t store_stack_max_size(struct uft_handle *h, const char *p, size_t n)
{
	uint32_t nslices = uft_session_arena(h->t->session)->nslices;
	struct tree_stack *s = stack_get(h->t);		/* there may have been no process yet */
	uint64_t size;
	int ret = s ? text_number(p, n, 10, &size) : -ENOMEM;

	if (ret)
		return ret;
	collect_all(h->t);
	for (uint32_t i = 0; i < nslices; i++)
		if (s->live[i])
			SHARED_STORE(&max_of(h->t, i)->depth, size);
	s->max.depth = size;
	return (ssize_t)n;
}

/* ` => function+0x1/0x2`: the address is that of the call, since the return address may be in another function. */
static void put_place(struct tree_text *out, struct uft_resolver *names, const struct uft_image *img, uint64_t addr)
{
	const struct uft_sym *sym = uft_resolve_addr(names, img, addr - 1);

	text_printf(out, "%s+0x%llx/0x%llx\n", sym->name, (unsigned long long)(addr - sym->addr),
		    (unsigned long long)sym->size);
}

int show_stack_trace(const struct place *at, struct tree_text *out)
{
	struct uft_resolver *names = uft_resolver_alloc();
	const struct tree_stack *s = at->t->stack;
	uint32_t n;

	if (!names)
		return -ENOMEM;
	collect_all(at->t);
	n = s ? s->max.n : 0;
	text_printf(out, "        Depth    Size   Location    (%u entries)\n        -----    ----   --------\n", n);
	if (!n && !at->in->set.is_measuring)
		text_printf(out,
			    "#\n#  Stack tracer disabled\n#\n# To enable the stack tracer\n# 'echo 1 > stack_tracer_enabled'\n#\n");
	for (uint32_t i = 0; i < n; i++) {
		uint64_t depth = s->max.frame[i].depth, size = i + 1 < n ? depth - s->max.frame[i + 1].depth : depth;

		text_printf(out, "%3u) %8lld   %5lld   ", i, (long long)depth, (long long)size);
		if (i) {
			put_place(out, names, s->img, s->max.frame[i].addr);
		} else {
			const struct uft_sym *sym =
				uft_resolve_id(names, s->img, (uint32_t)s->max.frame[0].addr & UFT_REC_VALUE_MAX);

			text_printf(out, "%s+0x0/0x%llx\n", sym->name, (unsigned long long)sym->size);
		}
	}
	uft_resolver_free(names);
	return 0;
}
