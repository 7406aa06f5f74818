// SPDX-License-Identifier: MIT
/*
 * budget.c - keep the cost of tracing within the user's limit
 *
 * Every BUDGET_MS the session measures each target (cost.c): its CPU time, its events by function, and the cost of
 * tracing that follows from these. Over the limit, functions are dropped until the rest would have fitted: their sites
 * become idle by an ordinary UFT_CMD_PATCH, in every target of the image, until the user changes the spec. Each drop is
 * announced with the function's rate at that moment, so that a recording can tell what it lacks.
 *
 * Order of the drops: functions with high cost and little code first. A call of a small function tells least, and its
 * events take most of its time, so a function's cost counts in full at 0 bytes and half at SMALL_BYTES. Functions that
 * would save next to nothing stay, unless no other is left. Roots (-g) always stay: without them no graph is recorded.
 *
 * Difference from the kernel: ftrace has no such limit.
 */
#include "control/arm/budget.h"
#include "control/arm/arm.h"
#include "symbol/host.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES	64.0
#define MIN_GAIN	256.0	/* a function that saves a smaller part of the excess is not worth a drop */
#define MAX_FUNCTIONS	4096
#define MIN_CPU_NS	10e6	/* a shorter CPU time tells nothing about shares */

/* ---- The decision: numbers in, marks out --------------------------------------------------- */

static double score(const struct budget_fn *f)
{
	return f->cost_ns * SMALL_BYTES / (SMALL_BYTES + f->size);
}

static int by_score(const void *a, const void *b)
{
	double x = score(a), y = score(b);

	return x < y ? 1 : x > y ? -1 : 0;
}

struct excess { double cost_ns, events; };

static struct excess excess_of(const struct budget_load *load, const struct budget_limit *limit)
{
	double own = load->cpu_ns - load->cost_ns;

	/* The cost is an estimate, and may exceed the CPU time. */
	if (own < load->cpu_ns / 100)
		own = load->cpu_ns / 100;
	return (struct excess){
		.cost_ns = limit->share > 0 && load->cpu_ns >= MIN_CPU_NS ? load->cost_ns - limit->share * own : 0,
		.events = limit->rate > 0 ? load->events - limit->rate * load->wall_ns / 1e9 : 0,
	};
}

static int is_over(const struct excess *e)
{
	return e->cost_ns > 0 || e->events > 0;
}

/* Returns 1 if dropping the function saves enough. @all: the excess before any drop. */
static int helps(const struct budget_fn *f, const struct excess *left, const struct excess *all, double min_gain)
{
	return (left->cost_ns > 0 && f->cost_ns > all->cost_ns * min_gain) ||
	       (left->events > 0 && f->events > all->events * min_gain);
}

size_t budget_choose(struct budget_fn *fn, size_t n, const struct budget_load *load, const struct budget_limit *limit,
		     int *fits)
{
	struct excess all = excess_of(load, limit), left = all;
	size_t dropped = 0;

	if (is_over(&all))
		qsort(fn, n, sizeof(*fn), by_score);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < n && is_over(&left); i++) {
			if (fn[i].is_dropped || !helps(&fn[i], &left, &all, pass ? 0 : 1 / MIN_GAIN))
				continue;
			fn[i].is_dropped = 1;
			left.cost_ns -= fn[i].cost_ns;
			left.events -= fn[i].events;
			dropped++;
		}
	*fits = !is_over(&left);
	return dropped;
}

/* ---- Drops --------------------------------------------------------------------------------- */

static void announce(struct uft_session *s, const struct target *t, const struct budget_fn *f,
		     const struct budget_load *load, int why)
{
	const struct uft_mapped *m = &t->space->img->obj[f->object];
	const struct uft_func *func = uft_object_func(m->obj, m->stub_addr[f->site] - m->bias);
	char *name = func && func->name ? uft_name_shown(func->name) : NULL;
	struct uft_drop d = {
		.img = t->space->img, .pid = t->pid, .stub_id = m->first_stub_id + f->site, .clock = session_clock(s),
		.calls_per_s = (uint64_t)(f->calls * 1e9 / load->wall_ns), .why = why,
		.cost_ppm = load->cpu_ns > 0 ? (uint32_t)(1e6 * f->cost_ns / load->cpu_ns) : 0,
		.name = name ? name : func && func->name ? func->name : "a function without a name",
	};

	if (s->ev.dropped)
		s->ev.dropped(s->ev.arg, &d);
	free(name);
}

static void patch_all(struct uft_session *s, const struct space *sp, uint32_t object)
{
	for (struct target *t = s->targets; t; t = t->next)
		if (t->space == sp && !t->is_over && object < t->nobj && t->obj[object].is_mapped)
			command_patch(s, t, object, 0);
}

static void restart_all(struct uft_session *s, const struct space *sp)
{
	for (struct target *t = s->targets; t; t = t->next)
		if (t->space == sp)
			cost_restart(s, t);
}

static void drop(struct uft_session *s, struct target *t, const struct budget_fn *fn, size_t n,
		 const struct budget_load *load)
{
	uint8_t touched[UFT_MAX_OBJECTS] = { 0 };

	for (size_t i = 0; i < n; i++)
		if (fn[i].is_dropped) {
			t->space->obj[fn[i].object].want[fn[i].site] = WANT_NOT;
			touched[fn[i].object] = 1;
		}
	for (uint32_t o = 0; o < t->space->nobj; o++)
		if (touched[o])
			patch_all(s, t->space, o);
	restart_all(s, t->space);
	for (size_t i = 0; i < n; i++)
		if (fn[i].is_dropped)
			announce(s, t, &fn[i], load, s->spec->limit.share > 0 ? UFT_DROP_BUDGET : UFT_DROP_RATE);
}

static void look(struct uft_session *s, struct target *t)
{
	struct budget_fn *fn = malloc(MAX_FUNCTIONS * sizeof(*fn));
	struct budget_load load;
	size_t n = fn ? cost_measure(s, t, &load, fn, MAX_FUNCTIONS) : 0;
	int fits = 1;

	if (n && budget_choose(fn, n, &load, &s->spec->limit, &fits))
		drop(s, t, fn, n, &load);
	if (!fits)
		session_warn_of(s, t->slice,
				"tracing process %d still costs more than the limit, and no function is left to drop",
				t->pid);
	free(fn);
}

void budget_poll(struct uft_session *s)
{
	uint64_t now = now_ns();

	if (!s->spec || (s->spec->limit.share <= 0 && s->spec->limit.rate <= 0) || now < s->next_budget_ns)
		return;
	s->next_budget_ns = now + BUDGET_MS * 1000000ull;
	for (struct target *t = s->targets; t; t = t->next)
		if (target_takes_commands(t))
			look(s, t);
}
