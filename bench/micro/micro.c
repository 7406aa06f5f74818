// SPDX-License-Identifier: MIT
/*
 * micro.c - nanoseconds per event of the probe side, against the floor
 *
 * The floor is exactly `call; rdtsc; shl; or; ret`: what any event with a time stamp costs. Each figure is the
 * median of many runs, taken in turn so that a change of the machine's speed hits all alike; a run counts only if
 * every event is in the ring. A run is so short that the second-level cache holds its records: with a longer one the
 * figure is the memory's, which on a virtual machine doubles from one hour to the next. "loop" is independent calls in
 * a loop, "chain" twelve nested calls.
 */
#include <sched.h>

#include "bench/median.h"
#include "tests/unit/ring/lab.h"

#define RUNS 301
#define CALLS 12000

long micro_leaf(long x);
void micro_floor(void);
__asm__(".text\n.balign 64\n.globl micro_floor\nmicro_floor:\n\trdtsc\n\tshl $32,%rdx\n\tor %rdx,%rax\n\tret\n");

LAB_SITE long micro_leaf(long x)
{
	__asm__ volatile("");
	return x + 1;
}

#define LINK(name, next)				\
	LAB_SITE long name(long x);			\
	LAB_SITE long name(long x)			\
	{						\
		long r = next(x + 1);			\
							\
		__asm__ volatile("" : "+r"(r));		\
		return r + 1;				\
	}
LINK(link1, micro_leaf) LINK(link2, link1) LINK(link3, link2) LINK(link4, link3) LINK(link5, link4) LINK(link6, link5)
LINK(link7, link6) LINK(link8, link7) LINK(link9, link8) LINK(link10, link9) LINK(link11, link10)

static void *const chain[] = { micro_leaf, link1, link2, link3, link4, link5, link6, link7, link8, link9, link10,
	link11 };
#define NCHAIN (sizeof(chain) / sizeof(chain[0]))

static double run_floor(void)
{
	double t = thread_ns();

	for (long i = 0; i < CALLS; i++)
		__asm__ volatile("call micro_floor" ::: "rax", "rdx", "cc", "memory");
	return (thread_ns() - t) / CALLS;
}

static double run_loop(void)
{
	double t = thread_ns();

	for (long i = 0; i < CALLS; i++)
		micro_leaf(i);
	return (thread_ns() - t) / CALLS;
}

static double run_chain(void)
{
	double t = thread_ns();

	for (long i = 0; i < CALLS / (long)NCHAIN; i++)
		link11(i);
	return (thread_ns() - t) / CALLS;
}

#define BATCH 1000
LAB_SITE void micro_root(void);
LAB_SITE void micro_root(void)
{
	for (long i = 0; i < BATCH; i++)
		micro_leaf(i);
	__asm__ volatile("");
}

static double time_roots(void)
{
	double t;

	lab_clear();
	t = thread_ns();
	for (long i = 0; i < CALLS / BATCH; i++)
		micro_root();
	return (thread_ns() - t) / CALLS;
}

/* Calls below roots with a limit that none of them reaches, or that all do. */
static double run_roots(uint64_t limit)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .has_roots = 1,
		.action = { [LAB_KEPT] = { .limit = limit } } };

	lab_arm(micro_root, 60, LAB_GRAPH, LAB_KEPT);
	lab_arm(micro_leaf, 0, LAB_GRAPH, 0);
	lab_params_full(&p);
	return time_roots();
}

/* Calls below a root that is as deep as is wanted, or calls that are never long enough: nothing is recorded of them. */
static double run_limited(uint32_t depth, uint64_t thresh)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .max_depth = depth, .thresh = thresh };

	lab_arm(micro_root, 60, LAB_GRAPH, 0);
	lab_arm(micro_leaf, 0, LAB_GRAPH, 0);
	lab_params_full(&p);
	return time_roots();
}

static void arm(enum lab_state state, uint32_t tracer)
{
	for (uint32_t i = 0; i < NCHAIN; i++)
		lab_arm(chain[i], i, state, 0);
	lab_params(tracer);
	lab_clear();
}

/* The same without a clock. */
static void arm_counts(enum lab_state state, uint32_t tracer)
{
	struct uft_tracer_params p = { .tracer = tracer, .counts = 1 };

	arm(state, tracer);
	lab_params_full(&p);
}

/* A second tracer wants the same calls. @events: what it is; @action: the number of the sites. */
static void arm_beside(uint32_t tracer, uint32_t events, int action)
{
	struct uft_tracer_params p = { .tracer = tracer, .has_events = events };

	for (uint32_t i = 0; i < NCHAIN; i++)
		lab_arm(chain[i], i, LAB_GRAPH, action);
	lab_params_full(&p);
	lab_clear();
}

/* Bytes committed, all rings; checks that no event is missing. */
static void account(const char *what, enum uft_rec_kind kind)
{
	struct lab_events *ev = lab_decode();

	CHECK(!ev->damaged && !ev->backwards && !ev->lost_counted);
	if (lab_count(ev, 0, kind, -1) != CALLS) {
		fprintf(stderr, "micro: %s: %zu events of %d recorded\n", what, lab_count(ev, 0, kind, -1), CALLS);
		exit(1);
	}
	lab_free(ev);
}

/* Nanoseconds of a call, by run. */
static double floor_ns[RUNS], plain[RUNS], func[RUNS], graph[RUNS];
static double plain_chain[RUNS], func_chain[RUNS], graph_chain[RUNS];
static double slow[RUNS], dropped[RUNS], kept[RUNS], deep[RUNS], brief[RUNS];
static double func_counts[RUNS], graph_counts[RUNS], func_counts_chain[RUNS], graph_counts_chain[RUNS];
static double beside[3][RUNS], beside_chain[3][RUNS];

static void measure(int i)
{
	floor_ns[i] = run_floor();
	arm(LAB_IDLE, UFT_TRACER_NOP);
	plain[i] = run_loop();
	plain_chain[i] = run_chain();
	arm(LAB_FUNCTION, UFT_TRACER_FUNCTION);
	func[i] = run_loop();
	account("function", UFT_REC_FUNC);
	lab_clear();
	func_chain[i] = run_chain();
	account("function chain", UFT_REC_FUNC);
	arm(LAB_GRAPH, UFT_TRACER_GRAPH);
	graph[i] = run_loop();
	account("graph", UFT_REC_EXIT);
	lab_clear();
	graph_chain[i] = run_chain();
	account("graph chain", UFT_REC_EXIT);
	arm_counts(LAB_FUNCTION, UFT_TRACER_FUNCTION);
	func_counts[i] = run_loop();
	account("function, counter", UFT_REC_FUNC);
	lab_clear();
	func_counts_chain[i] = run_chain();
	account("function chain, counter", UFT_REC_FUNC);
	arm_counts(LAB_GRAPH, UFT_TRACER_GRAPH);
	graph_counts[i] = run_loop();
	account("graph, counter", UFT_REC_EXIT);
	lab_clear();
	graph_counts_chain[i] = run_chain();
	account("graph chain, counter", UFT_REC_EXIT);
	for (unsigned k = 0; k < 3; k++) {
		int is_sums = k == 1;

		arm_beside(k == 2 ? UFT_TRACER_PROFILE : UFT_TRACER_GRAPH,
			   is_sums ? UFT_EVENTS_PROFILE : UFT_EVENTS_FUNC,
			   is_sums ? UFT_ACT_PROFILE : UFT_ACT_FUNC);
		beside[k][i] = run_loop();
		account("beside", is_sums ? UFT_REC_EXIT : UFT_REC_FUNC);
		lab_clear();
		beside_chain[k][i] = run_chain();
		account("beside, chain", is_sums ? UFT_REC_EXIT : UFT_REC_FUNC);
	}
	arm(LAB_GRAPH, UFT_TRACER_PROFILE);
	slow[i] = run_loop();
	lab_clear();
	dropped[i] = run_roots(1ull << 60);
	CHECK_EQ(lab_counter(UFT_CNT_NOT_KEPT), (i + 1ull) * (CALLS / BATCH));
	kept[i] = run_roots(0);
	deep[i] = run_limited(1, 0);
	brief[i] = run_limited(0, ~0ull);
	lab_arm(micro_root, 60, LAB_IDLE, 0);
}

static void print_beside_graph(const char *what, double *v)
{
	printf("%-28s %7.2f ns  %5.2f x graph call\n", what, median(v, RUNS), median(v, RUNS) / median(graph, RUNS));
}

static void print_medians(void)
{
	const double f = median(floor_ns, RUNS);

	printf("%-28s %7.2f ns\n", "floor", f);
	printf("%-28s %7.2f ns  chain %7.2f ns\n", "idle site", median(plain, RUNS), median(plain_chain, RUNS));
	printf("%-28s %7.2f ns  %5.2f x floor (budget 1.30)  chain %7.2f ns %5.2f x\n", "function event",
	       median(func, RUNS),
	       median(func, RUNS) / f, median(func_chain, RUNS), median(func_chain, RUNS) / f);
	printf("%-28s %7.2f ns  %5.2f x floor (budget 2.50)  chain %7.2f ns %5.2f x\n", "graph call",
	       median(graph, RUNS),
	       median(graph, RUNS) / f, median(graph_chain, RUNS), median(graph_chain, RUNS) / f);
	printf("%-28s %7.2f ns  %5.2f x floor (budget 4 ns)  chain %7.2f ns\n", "function event, counter",
	       median(func_counts, RUNS), median(func_counts, RUNS) / f, median(func_counts_chain, RUNS));
	printf("%-28s %7.2f ns  %5.2f x floor (budget 8 ns)  chain %7.2f ns\n", "graph call, counter",
	       median(graph_counts, RUNS), median(graph_counts, RUNS) / f, median(graph_counts_chain, RUNS));
	printf("%-28s %7.2f ns  %5.2f x floor\n", "profile call", median(slow, RUNS), median(slow, RUNS) / f);
	for (unsigned k = 0; k < 3; k++) {
		static const char *const what[] = { "graph call and function", "graph call and profile",
			"profile call and function" };
		double *alone = k == 2 ? slow : graph;

		printf("%-28s %7.2f ns  %5.2f x %s (budget %s)  chain %7.2f ns\n", what[k], median(beside[k], RUNS),
		       median(beside[k], RUNS) / median(alone, RUNS), k == 2 ? "profile call" : "graph call",
		       k == 1 ? "2.00" : "1.60",
		       median(beside_chain[k], RUNS));
	}
	print_beside_graph("graph call, not kept", dropped);
	print_beside_graph("graph call, kept", kept);
	print_beside_graph("graph call, too deep", deep);
	print_beside_graph("graph call, too short", brief);
}

int main(void)
{
	struct lab_config config = { .ring_bytes = 64 << 20, .sub_bytes = 1 << 16, .flags = 0 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	lab_init(&config);
	for (int warm = 0; warm < 2; warm++) {
		arm(LAB_GRAPH, UFT_TRACER_GRAPH);
		run_loop();
	}
	for (int i = 0; i < RUNS; i++)
		measure(i);
	print_medians();
	return 0;
}
