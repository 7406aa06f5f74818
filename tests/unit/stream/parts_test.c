/* SPDX-License-Identifier: MIT */
/* parts_test.c - parts of a recording give the events of the whole, and a profile by many threads is that of one */
#include <inttypes.h>

#include "output/output.h"
#include "output/report/aggregate.h"
#include "stream/decode/parts.h"
#include "stream/wire/wire.h"
#include "tests/unit/stream/random_calls.h"

struct digest { uint64_t sum, events; };

static void read_part(struct uft_part *part, struct digest *d, uint64_t *clocks, uint32_t *nclocks)
{
	struct uft_event ev[7];
	size_t n;

	assert_int_equal(uft_part_begin(part), 0);
	while ((n = uft_stream_batch(part->st, ev, 7)) != 0)
		for (size_t i = 0; i < n; i++) {
			const char *name = ev[i].sym ? ev[i].sym->name : "-";
			uint64_t v[] = { ev[i].ts_ns, ev[i].kind, ev[i].flags, ev[i].depth, ev[i].duration_ns,
				ev[i].self_ns,
					 ev[i].task->tid, ev[i].task->index, ev[i].cpu, ev[i].lost };

			d->sum = d->sum * 31 + wire_sum(v, sizeof(v)) + wire_sum(name, strlen(name));
			if (clocks)
				clocks[(*nclocks)++] = ev[i].clock;
			d->events++;
		}
}

static struct uft_stream *open_it(const struct check *c)
{
	struct uft_stream *st;

	assert_int_equal(uft_stream_open(c->path, &(struct uft_select){ .ends = 1, .no_parents = 1 }, &st, NULL), 0);
	return st;
}

/* Divided in three anywhere: after any event, and at clocks without one. */
static void test_events(void **state)
{
	enum { STEPS = 1500 };
	static uint64_t clock[4 * STEPS];

	(void)state;
	for (int round = 0; round < 4; round++) {
		struct digest whole = { 0, 0 };
		struct uft_part all = { 0 };
		uint32_t n = 0;
		struct check c;

		seed = (uint64_t)round + 1;
		random_calls(&c, STEPS, round, round & 1);
		all.st = open_it(&c);
		read_part(&all, &whole, clock, &n);
		uft_stream_close(all.st);
		assert_true(n > STEPS / 2);
		for (uint32_t i = 0; i < n; i += 3) {
			uint64_t from = clock[i], to = clock[i + roll(n - i)] + roll(2);
			struct uft_part part[] = { { .to = from }, { .from = from, .to = to }, { .from = to } };
			struct digest sum = { 0, 0 };

			for (int k = 0; k < 3; k++) {
				part[k].st = open_it(&c);
				read_part(&part[k], &sum, NULL, NULL);
				uft_stream_close(part[k].st);
			}
			assert_int_equal(sum.events, whole.events);
			assert_int_equal(sum.sum, whole.sum);
		}
		check_end(&c);
	}
}

/*
 * Two parts of a recording in which most blocks have no clock: each has half of the events where passing costs
 * nothing.
 */
static void test_shares(void **state)
{
	struct digest sum[2] = { { 0, 0 }, { 0, 0 } };
	struct uft_part part[UFT_PARTS_MAX];
	uint64_t all;
	struct check c;

	(void)state;
	seed = 1;
	random_calls(&c, 20000, 0, 0);
	part[0].st = open_it(&c);
	assert_int_equal(uft_parts_open(part[0].st, 2, &(struct uft_parts_cost){ .read = 1000000 }, part), 2);
	read_part(&part[0], &sum[0], NULL, NULL);
	read_part(&part[1], &sum[1], NULL, NULL);
	uft_stream_close(part[0].st);
	uft_stream_close(part[1].st);
	all = sum[0].events + sum[1].events;
	if (sum[0].events < all * 48 / 100 || sum[0].events > all * 52 / 100)
		fail_msg("%" PRIu64 " of %" PRIu64 " events are in the first part", sum[0].events, all);
	check_end(&c);
}

static char *profile(const struct check *c, unsigned threads)
{
	struct uft_stream *st = open_it(c);
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(uft_output_profile(st, f,
		&(struct uft_report_opts){ .form = UFT_FORM_CSV, .threads = threads }), 0);
	fclose(f);
	uft_stream_close(st);
	return text;
}

static void test_profile(void **state)
{
	unsigned divided = 0;

	(void)state;
	for (unsigned round = 0; round < 15; round++) {
		struct uft_part part[UFT_PARTS_MAX];
		struct check c;
		char *one;
		size_t n;

		seed = round + 100;
		random_calls(&c, 20000, round % 3, 0);
		one = profile(&c, 1);
		assert_true(strstr(one, "func_4") != NULL);
		for (unsigned threads = 2; threads <= UFT_PARTS_MAX; threads++) {
			char *many = profile(&c, threads);

			assert_string_equal(many, one);
			free(many);
		}
		part[0].st = open_it(&c);
		n = uft_parts_open(part[0].st, UFT_PARTS_MAX, &(struct uft_parts_cost){ .read = 150 }, part);
		divided += n > 3;
		uft_parts_close(part, n, 1);
		uft_stream_close(part[0].st);
		free(one);
		check_end(&c);
	}
	assert_true(divided > 10);
}

static char *tree(const struct check *c, enum uft_tree_view view, enum uft_by by, unsigned threads)
{
	struct uft_stream *st = open_it(c);
	struct uft_report_opts o = { .form = UFT_FORM_CSV, .threads = threads, .by = by, .func = "func_2" };
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(uft_output_tree(st, f, view, &o), 0);
	fclose(f);
	uft_stream_close(st);
	return text;
}

/* Adds up @c with room for @max_nodes. Returns how many threads did it, where @threads were allowed; *d: all nodes. */
static unsigned add_up(const struct check *c, unsigned threads, uint32_t max_nodes, struct digest *d)
{
	struct uft_stream *st = open_it(c);
	struct agg a;
	unsigned n;

	assert_int_equal(agg_init(&a), 0);
	a.max_nodes = max_nodes;
	assert_int_equal(agg_add_threads(&a, st, UFT_BY_NONE, threads), 0);
	*d = (struct digest){ 0, a.nnodes };
	for (uint32_t i = 0; i < a.nnodes; i++) {
		const struct agg_node *node = &a.node[i];
		uint64_t v[] = { node->calls, node->total, node->self, node->sum, node->nopen, node->parent, node->is_more,
				 agg_rank(&a, node, 99) };

		d->sum = d->sum * 31 + wire_sum(v, sizeof(v)) + wire_sum(a.func[node->func].key, 1);
	}
	n = a.nthreads;
	agg_free(&a);
	uft_stream_close(st);
	return n;
}

/*
 * More paths than there is room for: in the first part, in another, or only in all together. One thread goes on then,
 * and the sums are those of one.
 */
static void test_bounds(const struct check *c, uint32_t nnodes, unsigned *alone, unsigned *together)
{
	for (uint32_t max_nodes = 8; max_nodes < 2 * nnodes; max_nodes += 1 + nnodes / 12) {
		struct digest one, many;

		add_up(c, 1, max_nodes, &one);
		for (unsigned threads = 2; threads < 5; threads++) {
			++*(add_up(c, threads, max_nodes, &many) == 1 ? alone : together);
			assert_int_equal(many.events, one.events);
			assert_true(many.sum == one.sum);
		}
	}
}

static void test_tree(void **state)
{
	static const enum uft_by by[] = { UFT_BY_NONE, UFT_BY_TASK, UFT_BY_PROCESS, UFT_BY_PROGRAM, UFT_BY_OBJECT,
		UFT_BY_CPU };
	static const enum uft_tree_view view[] = { UFT_VIEW_CALLERS, UFT_VIEW_CALLEES, UFT_VIEW_HISTOGRAM };
	enum { NBY = sizeof(by) / sizeof(by[0]) };
	unsigned divided = 0, alone = 0, together = 0;

	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		struct digest all;
		struct check c;

		seed = round + 200;
		random_calls(&c, 2500, round % 3, 0);
		/*
		 * Trees and flat tables of each group, then the other views. One thread makes flat ones
		 * without paths.
		 */
		for (unsigned i = 0; i < 2 * NBY + sizeof(view) / sizeof(view[0]); i++) {
			enum uft_tree_view v = i < NBY ? UFT_VIEW_TREE : i < 2 * NBY ? UFT_VIEW_FLAT :
				view[i - 2 * NBY];
			enum uft_by group = i < 2 * NBY ? by[i % NBY] : UFT_BY_NONE;
			char *one = tree(&c, v, group, 1);

			assert_true(strchr(one, '\n') != NULL);
			for (unsigned threads = 2; threads <= UFT_PARTS_MAX; threads += 3) {
				char *many = tree(&c, v, group, threads);

				assert_string_equal(many, one);
				free(many);
			}
			free(one);
		}
		divided += add_up(&c, 4, AGG_NODES, &all) > 2;
		test_bounds(&c, (uint32_t)all.events, &alone, &together);
		check_end(&c);
	}
	printf("%u of 6 recordings by several threads; with little room %u alone, %u together\n", divided, alone, together);
	assert_true(divided >= 4);
	assert_true(alone > 100 && together > 50);
}

/* A stream ends when it is told to, wherever it is. */
static void test_end_when(void **state)
{
	struct uft_event ev[7];
	struct uft_stream *st;
	struct check c;
	int stop = 0;

	(void)state;
	seed = 1;
	random_calls(&c, 300, 0, 0);
	st = open_it(&c);
	uft_stream_end_when(st, &stop);
	assert_int_equal(uft_stream_batch(st, ev, 7), 7);
	stop = 1;
	assert_int_equal(uft_stream_batch(st, ev, 7), 0);
	assert_int_equal(uft_stream_next(st, ev), 0);
	uft_stream_close(st);
	check_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_events), cmocka_unit_test(test_shares),
				      cmocka_unit_test(test_profile), cmocka_unit_test(test_tree),
				      cmocka_unit_test(test_end_when) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
