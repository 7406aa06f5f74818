// SPDX-License-Identifier: MIT
/* test_profile.c - the profile: alone, beside the graph, of other functions than the graph */
#include "runtime/arch/arch.h"
#include "graph_sites.h"

/* Sums over all blocks. */
static struct uft_profile profile_of(uint32_t id)
{
	const struct uft_arena *a = uft_rt.arena;
	struct uft_profile sum = { 0 };

	for (uint32_t block = 0; block < UFT_PROFILE_BLOCKS(a->ncpus); block++) {
		const struct uft_profile *p = (const void *)((const char *)uft_rt.slice + a->profile_offset);

		p += block * a->profile_ids + id;
		sum.hits += p->hits;
		sum.total += p->total;
		sum.self += p->self;
		sum.squares += p->squares;
		sum.min = p->min > sum.min ? p->min : sum.min;
		sum.max = p->max > sum.max ? p->max : sum.max;
	}
	return sum;
}

static void test_profile(void)
{
	struct uft_profile o, m, l;
	struct lab_events *ev;

	start((struct lab_config){ 0 });
	lab_params(UFT_TRACER_PROFILE);
	in_outer = spin;
	for (int i = 0; i < 10; i++)
		outer(1);
	o = profile_of(OUTER);
	m = profile_of(MID);
	l = profile_of(LEAF);
	CHECK_EQ(o.hits, 10);
	CHECK_EQ(m.hits, 10);
	CHECK_EQ(l.hits, 30);
	CHECK(o.total >= 10 * 200000 && o.self >= 10 * 200000);
	CHECK(o.self + m.total + 0 <= o.total);			/* and ten leaves of its own */
	CHECK(o.total - o.self - m.total <= l.total);
	CHECK(m.self + l.total >= m.total);
	CHECK(~o.min >= 200000 && o.max >= ~o.min && o.max <= o.total);
	CHECK(o.squares >= 10 * ((200000 >> UFT_PROFILE_SQ_SHIFT) * (uint64_t)(200000 >> UFT_PROFILE_SQ_SHIFT)));
	ev = finish();
	CHECK_EQ(ev->n, 0);
	lab_free(ev);
}

/* Beside the graph the profile counts calls that are too deep for it. Off, it counts none, open calls included. */
static const struct uft_tracer_params beside_graph = {
	.tracer = UFT_TRACER_GRAPH, .max_depth = 2, .has_events = UFT_EVENTS_PROFILE,
};

static void profile_off(void)
{
	struct uft_tracer_params p = beside_graph;

	p.has_events = 0;
	lab_params_full(&p);
}

static void test_profile_beside(void)
{
	struct uft_profile o;
	struct lab_events *ev;
	struct lab_replay r;

	start_full((struct lab_config){ 0 }, &beside_graph);
	lab_arm(outer, OUTER, LAB_GRAPH, UFT_ACT_PROFILE);
	lab_arm(mid, MID, LAB_GRAPH, UFT_ACT_PROFILE | UFT_ACT_NOT_GRAPH);
	lab_arm(leaf, LEAF, LAB_GRAPH, UFT_ACT_PROFILE);
	lab_arm(rec, REC, LAB_GRAPH, UFT_ACT_PROFILE);
	for (int i = 0; i < 10; i++)
		outer(1);
	rec(100);
	in_outer = profile_off;
	o = profile_of(OUTER);
	outer(1);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[OUTER], 11);
	CHECK_EQ(r.calls[MID], 0);
	/* mid() is no call of the graph's: those below it are not too deep. */
	CHECK_EQ(r.calls[LEAF], 33);
	CHECK_EQ(r.calls[REC], 2);
	CHECK_EQ(r.depth_max, 2);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(profile_of(OUTER).hits, 11);
	CHECK_EQ(profile_of(OUTER).total, o.total);
	CHECK_EQ(profile_of(MID).hits, 11);
	CHECK_EQ(profile_of(LEAF).hits, 32);		/* one call comes when it is off */
	CHECK_EQ(profile_of(REC).hits, 101);
	lab_free(ev);
}

/*
 * Each has sites of its own: time goes to the next caller that the profile counts; below a root the graph has all
 * that it would have.
 */
static void test_profile_sites(void)
{
	struct uft_tracer_params p = {
		.tracer = UFT_TRACER_GRAPH, .has_roots = UFT_ROOTS_ONLY,
		.has_events = UFT_EVENTS_PROFILE | UFT_EVENTS_SELF,
	};
	struct uft_profile o, l;
	struct lab_events *ev;
	struct lab_replay r;

	start_full((struct lab_config){ 0 }, &p);
	lab_arm(outer, OUTER, LAB_GRAPH, UFT_ACT_PROFILE);
	lab_arm(mid, MID, LAB_GRAPH, UFT_ACT_ROOT);
	lab_arm(leaf, LEAF, LAB_GRAPH, UFT_ACT_PROFILE);
	in_outer = spin;
	for (int i = 0; i < 10; i++)
		outer(1);
	o = profile_of(OUTER);
	l = profile_of(LEAF);
	CHECK_EQ(o.hits, 10);
	CHECK_EQ(l.hits, 30);
	CHECK_EQ(profile_of(MID).hits, 0);
	CHECK(o.total >= 10 * 200000 && o.total == o.self);	/* UFT_EVENTS_SELF */
	p.has_events = UFT_EVENTS_PROFILE;
	lab_params_full(&p);
	lab_arm(leaf, LEAF, LAB_GRAPH, UFT_ACT_PROFILE | UFT_ACT_NOT_GRAPH);
	for (int i = 0; i < 10; i++)
		outer(1);
	ev = finish();
	CHECK_REPLAY(ev, self(), &r);
	CHECK_EQ(r.calls[OUTER], 0);
	CHECK_EQ(r.calls[MID], 20);
	CHECK_EQ(r.calls[LEAF], 20);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(profile_of(OUTER).total - o.total, profile_of(OUTER).self - o.self + profile_of(LEAF).total - l.total);
	CHECK_EQ(profile_of(LEAF).hits, 60);
	lab_free(ev);
}

static const struct lab_case cases[] = {
	{ "profile", test_profile }, { "profile_beside", test_profile_beside },
	{ "profile_sites", test_profile_sites }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
