// SPDX-License-Identifier: MIT
/*
 * test_chain.c - functions that call each other by tail calls: one slot, many entries, the same few hooks again and again
 *
 * ping and pong jump to each other, then yield inside a coroutine. So their entries are set aside, or stay on the array of a thread
 * that has no event any more. They return in order, one by one; or the slot gets its true address at a detach, or for an
 * unwinder, and they are not met at all. All that also if the clock did not tick meanwhile.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "runtime/arch/arch.h"
#include "runtime/trace/tracers/tracers.h"
#include "graph_sites.h"

enum { PING = CO, PONG = PROBE, PANG = NSITES, DEEP };

#define TABLE_FULL	(3u << 16)	/* as many as are set aside at most */

LAB_SITE long ping(long n);
LAB_SITE long pong(long n);
LAB_SITE long pang(long n);
__asm__(".text\n"
	".balign 16\n.globl ping\n.type ping,@function\nping:\n\t.rept 8\n\tnop\n\t.endr\n\tdec %rdi\n\tjs rested\n\tjmp pong\n"
	".balign 16\n.globl pong\n.type pong,@function\npong:\n\t.rept 8\n\tnop\n\t.endr\n\tdec %rdi\n\tjs rested\n\tjmp ping\n"
	/* Yields; then more of them in the same slot, or pang alone, or back. */
	"rested:\n\tsub $8,%rsp\n\tcall rest\n\tadd $8,%rsp\n\tmov %rax,%rdi\n\ttest %rax,%rax\n\tjns ping\n"
	"\tcmp $-2,%rax\n\tje pang\n\tmov $42,%eax\n\tret\n"
	".balign 16\n.globl pang\n.type pang,@function\npang:\n\t.rept 8\n\tnop\n\t.endr\n\tdec %rdi\n\tjmp rested\n");

int agent_request(uint32_t kind, const uint64_t *args, uint32_t nargs, int wait)
{
	(void)kind, (void)args, (void)nargs, (void)wait;
	return 0;
}

static ucontext_t co_main, co_self;
static char stack[65536];
static long again, result, turns = 3;
static int in_a_tick;
static uint64_t *slot;

/* As if no tick had passed since the first of them was entered. */
static void same_tick(void)
{
	for (struct uft_thread *th = thread_first(); th; th = th->next)
		for (struct fg_entry *e = th->base; e < th->top; e++)
			e->clock = th->base->clock;
}

long rest(void);
long rest(void)
{
	/* above our frame's two words and what `rested` skips */
	slot = (uint64_t *)__builtin_frame_address(0) + 3;
	if (in_a_tick)
		same_tick();
	swapcontext(&co_self, &co_main);
	return --again < 0 ? -1 : turns;
}

static void body(void)
{
	result = ping(3);
}

static void begin(long more)
{
	start((struct lab_config){ 0 });
	lab_arm(ping, PING, LAB_GRAPH, 0);
	lab_arm(pong, PONG, LAB_GRAPH, 0);
	lab_arm(pang, PANG, LAB_GRAPH, 0);
	again = more;
	CHECK(!getcontext(&co_self));
	co_self.uc_stack.ss_sp = stack;
	co_self.uc_stack.ss_size = sizeof(stack);
	co_self.uc_link = &co_main;
	makecontext(&co_self, body, 0);
}

static void resume(void)
{
	CHECK(!swapcontext(&co_main, &co_self));
}

static void *resume_here(void *events)
{
	resume();
	if (events)
		mid(1);		/* where it is seen that the thread has left them */
	return NULL;
}

static void in_thread(void *(*run)(void *), void *arg)
{
	pthread_t th;

	CHECK(!pthread_create(&th, NULL, run, arg));
	pthread_join(th, NULL);
}

static void resume_in_thread(void *events)
{
	in_thread(resume_here, events);
}

/* How many of them have returned through us. */
static uint64_t returned(const struct lab_events *ev)
{
	uint64_t n = 0;

	for (int id = PING; id <= PONG; id++)
		n += lab_count(ev, 0, UFT_REC_EXIT, id) + lab_count(ev, 0, UFT_REC_EXIT_LEFT, id);
	return n;
}

static void end(uint64_t entered, uint64_t back)
{
	struct lab_events *ev;

	CHECK_EQ(result, 42);
	ev = finish();
	CHECK_EQ(lab_count(ev, 0, UFT_REC_ENTRY, PING) + lab_count(ev, 0, UFT_REC_ENTRY, PONG), entered);
	CHECK_EQ(returned(ev), back);
	lab_free(ev);
}

static void unhook(void)
{
	trace_leave();
	CHECK(trace_unhook() > 0);
	CHECK_EQ(trace_unhook(), 0);
}

static void test_order(void)
{
	begin(0);
	resume();
	mid(1);
	resume();
	end(4, 4);
}

/* The later ones are set aside first. */
static void test_order_moved(void)
{
	begin(1);
	resume();
	resume_in_thread(&again);
	mid(1);
	resume();
	end(8, 8);
}

static void test_unhook(void)
{
	begin(0);
	resume();
	mid(1);
	unhook();
	resume();
	end(4, 0);
}

static void test_unhook_on_array(void)
{
	begin(0);
	resume();
	unhook();
	resume();
	end(4, 0);
}

/* On the arrays of two threads, the upper ones return to the lower ones. */
static void test_unhook_on_two(void)
{
	begin(1);
	resume();
	resume_in_thread(NULL);
	unhook();
	resume();
	end(8, 0);
}

/* Some are set aside, those that return to them are on an array; and the other way round. */
static void test_unhook_half_aside(void)
{
	begin(1);
	resume();
	mid(1);
	resume_in_thread(NULL);
	unhook();
	resume();
	end(8, 0);
}

static void test_unhook_other_half_aside(void)
{
	begin(1);
	resume();
	resume_in_thread(&again);
	unhook();
	resume();
	end(8, 0);
}

static int has_true_address(void)
{
	return *slot > (uint64_t)body && *slot < (uint64_t)body + 64;
}

/* What an unwinder on the coroutine's stack finds. */
static void test_unwind(void)
{
	begin(0);
	resume();
	mid(1);
	CHECK(!has_true_address());
	trace_hook_unwind(stack, NULL);
	CHECK(has_true_address());
	resume();
	end(4, 0);
}

/* The thread that entered them has ended, and a new one gets its thread pointer. */
static void test_thread_ended(void)
{
	struct trace_task t = { .mute = 1, .blocked = 1, .tid = self() };

	begin(0);
	resume_in_thread(NULL);
	for (struct uft_thread *th = thread_first(); th; th = th->next)
		thread_reset(&t, th->tp);
	mid(1);
	resume();
	end(4, 4);
}

static __attribute__((noinline)) void wipe(void)
{
	volatile uint64_t below[(6 << 20) / 8];

	for (size_t i = 0; i < sizeof(below) / 8; i++)
		below[i] = 0;
}

/* Leaves 100,000 frames for good, of which nothing stands on the stack any more. */
static void *leave_many(void *unused)
{
	if (!sigsetjmp(env, 0))
		jumper(100000);
	wipe();
	mid(1);
	return unused;
}

/* The set-aside table is full and swept. */
static void test_swept(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .thresh = ~0ull };

	begin(0);
	lab_params_full(&p);
	resume();
	mid(1);
	leave_many(NULL);
	in_thread(leave_many, NULL);
	in_thread(leave_many, NULL);
	resume();
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL), 0);
	CHECK_EQ(result, 42);
	lab_free(finish());
}

static sem_t has_resumed, may_end;

static void *resume_and_stay(void *unused)
{
	resume();
	sem_post(&has_resumed);
	sem_wait(&may_end);
	return unused;
}

/*
 * The same while those that return to them, with another hook in the slot, are on the array of a thread that
 * has no event any more.
 */
static void test_swept_on_array(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .thresh = ~0ull };
	pthread_t th;

	sem_init(&has_resumed, 0, 0);
	sem_init(&may_end, 0, 0);
	turns = -2;
	begin(1);
	lab_params_full(&p);
	resume();
	mid(1);
	CHECK(!pthread_create(&th, NULL, resume_and_stay, NULL));
	sem_wait(&has_resumed);
	leave_many(NULL);
	in_thread(leave_many, NULL);
	in_thread(leave_many, NULL);
	resume();
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL), 0);
	CHECK_EQ(result, 42);
	sem_post(&may_end);
	pthread_join(th, NULL);
	lab_free(finish());
}

/* ---- The table is full of frames that live: coroutines, deep in calls. */

#define DEEP_BYTES	(16u << 20)

static ucontext_t co_deep;
static long deep_calls;

LAB_SITE long deep(long n);
LAB_SITE long deep(long n)
{
	long r = n > 1 ? deep(n - 1) : swapcontext(&co_deep, &co_main);

	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

static void deep_body(void)
{
	deep(deep_calls);
}

/* Returns the stack on which @n calls wait now. */
static char *set_aside(long n)
{
	char *its = mmap(NULL, DEEP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(its != MAP_FAILED);
	CHECK(!getcontext(&co_deep));
	co_deep.uc_stack.ss_sp = its;
	co_deep.uc_stack.ss_size = DEEP_BYTES;
	deep_calls = n;
	makecontext(&co_deep, deep_body, 0);
	CHECK(!swapcontext(&co_main, &co_deep));
	mid(1);
	return its;
}

/* Room is left for @n. Returns the stack of half of them. */
static char *begin_full(long more, long n)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .thresh = ~0ull };
	char *its;

	begin(more);
	lab_arm(deep, DEEP, LAB_GRAPH, 0);
	lab_params_full(&p);
	its = set_aside(TABLE_FULL / 2);
	set_aside(TABLE_FULL / 2 - n);
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL), 0);
	return its;
}

static void end_full(uint64_t refused)
{
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL), refused);
	CHECK_EQ(result, 42);
	lab_free(finish());
}

/* What has no room returns unseen, to where the last of them would have. */
static void test_full(void)
{
	begin_full(0, 0);
	resume();
	mid(1);
	CHECK(has_true_address());
	resume();
	end_full(4);
}

static void test_full_half(void)
{
	begin_full(0, 2);
	resume();
	mid(1);
	CHECK(has_true_address());
	resume();
	end_full(2);
}

/* The later ones are in the table, the earlier ones have no room; and the later ones are still on an array. */
static void test_full_other_half(void)
{
	begin_full(1, 4);
	resume();
	resume_in_thread(&again);
	mid(1);
	CHECK(has_true_address());
	resume();
	end_full(4);
}

static void test_full_on_array(void)
{
	pthread_t th;

	sem_init(&has_resumed, 0, 0);
	sem_init(&may_end, 0, 0);
	begin_full(1, 0);
	resume();
	CHECK(!pthread_create(&th, NULL, resume_and_stay, NULL));
	sem_wait(&has_resumed);
	mid(1);
	CHECK(has_true_address());
	resume();
	sem_post(&may_end);
	pthread_join(th, NULL);
	end_full(4);
}

/*
 * A call that is set aside while the table is full does not look through it each time: so calls that have died
 * meanwhile are found later.
 */
static void test_full_sweeps(void)
{
	char *its = begin_full(0, 0);

	set_aside(1);
	memset(its, 0, DEEP_BYTES);
	set_aside(4095);
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL), 4096);
	set_aside(100);
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL), 4096);
	lab_free(finish());
}

/*
 * Left for good by many rounds: what is dead is dropped, or the table would fill, and the newest chain still
 * returns.
 */
static void test_dead(void)
{
	begin(0);
	for (int i = 0; i < 1000; i++) {
		makecontext(&co_self, body, 0);
		resume();
		mid(1);
	}
	resume();
	CHECK_EQ(lab_counter(UFT_CNT_SHADOW_FULL), 0);
	end(4000, 4);
}

static void test_order_in_a_tick(void)
{
	in_a_tick = 1;
	test_order();
}

static void test_unhook_in_a_tick(void)
{
	in_a_tick = 1;
	test_unhook();
}

static void test_unhook_on_array_in_a_tick(void)
{
	in_a_tick = 1;
	test_unhook_on_array();
}

static void test_unwind_in_a_tick(void)
{
	in_a_tick = 1;
	test_unwind();
}

static void test_dead_in_a_tick(void)
{
	in_a_tick = 1;
	test_dead();
}

static const struct lab_case cases[] = {
	{ "order", test_order }, { "order_moved", test_order_moved }, { "unhook", test_unhook },
	{ "unhook_on_array", test_unhook_on_array }, { "unhook_on_two", test_unhook_on_two },
	{ "unhook_half_aside", test_unhook_half_aside }, { "unhook_other_half_aside", test_unhook_other_half_aside },
	{ "unwind", test_unwind }, { "dead", test_dead }, { "thread_ended", test_thread_ended },
	{ "swept", test_swept },
	{ "swept_on_array", test_swept_on_array }, { "full", test_full }, { "full_half", test_full_half },
	{ "full_other_half", test_full_other_half }, { "full_on_array", test_full_on_array },
	{ "full_sweeps", test_full_sweeps },
	{ "order_in_a_tick", test_order_in_a_tick },
	{ "unhook_in_a_tick", test_unhook_in_a_tick }, { "unhook_on_array_in_a_tick", test_unhook_on_array_in_a_tick },
	{ "unwind_in_a_tick", test_unwind_in_a_tick }, { "dead_in_a_tick", test_dead_in_a_tick }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
