// SPDX-License-Identifier: MIT
/*
 * test_abort.c - a signal at every instruction of the probe side
 *
 * A tracer puts a breakpoint on one instruction of the runtime after the other, lets the scenario run, and at the
 * breakpoint delivers a signal there: so each rseq section is aborted at each of its instructions, and each gap between
 * two of them is hit. The handler is traced itself. It returns, or jumps away, or (then it is not traced) leaves frames
 * of calls that jumped, or walks the stack; on the interrupted stack or on another. Between passes the rings get a clock
 * that is a turn of its low half behind, and then another task's context.
 * Single-stepping would not do: every step aborts the section, so it never gets past its first instruction.
 *
 * Beside another tracer's calls (BESIDE_*), mid() is not the second one's.
 *
 * The result must be exact: every body that ran has its ENTRY, every ENTRY one end, no return is lost. A handler that
 * jumps away may leave one ENTRY whose body never ran.
 */
#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime/ring/ring.h"
#include "lab.h"

enum { LEAF, MID, JUMPER, TAIL, MCOUNT, HANDLER, CO, SELF_TAIL, NSITES };

/* Shared with the tracer. */
static struct shared {
	uint64_t address;
	uint64_t hits;
} *shared;

#define SHALLOW	2u	/* of max_depth: calls are passed by */
#define EVER	(~0ull)	/* of thresh */

enum beside { ALONE, BESIDE_FUNC, BESIDE_SUMS };	/* a second tracer: function, the profile */
enum signal_place { ON_STACK, BELOW, ABOVE };	/* where the handler runs, seen from the stack it interrupts */

static struct mode {
	const char *name;
	enum signal_place place;
	int jump, messy, walk, look, no_rseq, func, profile, slow, late, keep, counts;
	enum beside beside;
	uint32_t depth;
	uint64_t thresh;
	size_t expect_hits;
} mode;

static uint64_t bodies[NSITES];
static int bad;
static sigjmp_buf away, env;
static int jump_away;

/* ---- Traced functions --------------------------------------------------------------------- */

LAB_SITE long leaf(long x);
LAB_SITE long leaf(long x)
{
	bodies[LEAF]++;
	return x + 1;
}

LAB_SITE long mid(long x);
LAB_SITE long mid(long x)
{
	bodies[MID]++;
	return leaf(x) + leaf(x) + 0 * bodies[MID];
}

LAB_SITE void jumper(long depth);
LAB_SITE void jumper(long depth)
{
	bodies[JUMPER]++;
	if (!depth)
		siglongjmp(env, 1);
	jumper(depth - 1);
	__asm__ volatile("");
}

LAB_SITE long tail(long x);
__asm__(".text\n.balign 16\n.globl tail\n.type tail,@function\ntail:\n\t.rept 8\n\tnop\n\t.endr\n"
	"\tlock incq tail_bodies(%rip)\n\tcmpq $100,late(%rip)\n\tjne 1f\n\tint3\n1:\tjmp leaf\n");
uint64_t tail_bodies;

/* Calls itself in the place of its return: its entry's hook is what it finds in the slot. */
LAB_SITE long self_tail(long n);
__asm__(".text\n.balign 16\n.globl self_tail\n.type self_tail,@function\nself_tail:\n\t.rept 8\n\tnop\n\t.endr\n"
	"\tlock incq tail_bodies(%rip)\n\tcmp late(%rip),%rdi\n\tjne 1f\n\tint3\n1:\tdec %rdi\n\tjnz self_tail\n\tret\n");
uint64_t late;		/* let the tracer arm the breakpoint there; IN_TAIL: in tail() */
#define IN_TAIL	100

LAB_SITE long mcount_site(long x);
__asm__(".text\n.balign 16\n.globl mcount_fn\n.type mcount_fn,@function\nmcount_fn:\n\tpush %rbp\n\tmov %rsp,%rbp\n"
	".globl mcount_site\nmcount_site:\n\t.rept 8\n\tnop\n\t.endr\n\tlock incq mcount_bodies(%rip)\n"
	"\tcall leaf\n\tleave\n\tret\n");
long mcount_fn(long x);
uint64_t mcount_bodies;

LAB_SITE void handler(int sig);
LAB_SITE void handler(int sig)
{
	bodies[HANDLER]++;
	mid(sig);
	if (jump_away)
		siglongjmp(away, 1);
	__asm__ volatile("");
}

/* Not traced: nothing of its own shows that calls inside were left. */
static void messy_handler(int sig)
{
	sigjmp_buf saved;

	(void)sig;
	memcpy(&saved, &env, sizeof(env));
	if (!sigsetjmp(env, 1))
		jumper(1);
	memcpy(&env, &saved, sizeof(env));
}

/*
 * Asks an unwinder who is there, and has no event of its own: what is hooked again is so by the next event of
 * what it interrupted.
 */
static void walk_handler(int sig)
{
	(void)sig;
	trace_hook_unwind(__builtin_frame_address(0), NULL);
}

/*
 * Another task may write here as soon as we are left: with a fast path only if the ring's context is its own. Not while
 * ours is half written, nor if we never come back.
 */
static void look_handler(int sig)
{
	(void)sig;
	for (uint32_t i = 0; ARCH_HAS_RSEQ && i < uft_rt.arena->ncpus; i++) {
		const struct uft_ring *r = lab_ring(0, i);
		const struct ring_cpu *c = &uft_ring_fast.cpu[i];

		if (r->ctx_pos < r->commit || !(c->key || c->event_key))
			continue;
		fprintf(stderr, "ring %u: another's context at %lu, keys %lx %lx\n", i, r->ctx_pos, c->key,
			c->event_key);
		bad = 1;
	}
}

/* As if fast paths with that key were the last to write, where anybody wrote: an empty ring has no context. */
static void set_keys(uint64_t key)
{
	for (uint32_t i = 0; ARCH_HAS_RSEQ && i < uft_rt.arena->ncpus; i++)
		uft_ring_fast.cpu[i].key = uft_ring_fast.cpu[i].event_key = lab_ring(0, i)->commit ? key : 0;
}

static ucontext_t co_main, co_self;
static char co_stack[65536], signal_stack[65536];

LAB_SITE void co_body(void);
LAB_SITE void co_body(void)
{
	bodies[CO]++;
	mid(1);
	swapcontext(&co_self, &co_main);
	mid(1);
}

static void co_entry(void)
{
	co_body();
}

/* ---- Scenarios ---------------------------------------------------------------------------- */

static void graph_scenario(void)
{
	mid(1);
	tail(1);
	self_tail(3);
	mcount_fn(1);
	if (!sigsetjmp(env, 1))
		jumper(2);
	mid(1);
	getcontext(&co_self);
	co_self.uc_stack.ss_sp = co_stack;
	co_self.uc_stack.ss_size = sizeof(co_stack);
	co_self.uc_link = &co_main;
	makecontext(&co_self, co_entry, 0);
	swapcontext(&co_main, &co_self);
	mid(1);
	swapcontext(&co_main, &co_self);
	trace_hook_unwind(__builtin_frame_address(0), NULL);
	leaf(1);
}

static void func_scenario(void)
{
	mid(1);
	mcount_fn(1);
	mid(1);
}

static uint64_t all_bodies(void)
{
	uint64_t n = tail_bodies + mcount_bodies;

	for (int i = 0; i < NSITES; i++)
		n += bodies[i];
	return n;
}

static void check_graph(const struct lab_events *ev)
{
	uint64_t entered = 0, back = 0, left = 0;
	struct lab_replay r;

	if (lab_replay(ev, (uint32_t)getpid(), &r)) {
		fprintf(stderr, "%s\n", r.why);
		bad = 1;
	}
	bad |= r.open != 0 || (mode.depth && r.depth_max > mode.depth);
	for (int i = 0; i < NSITES; i++) {
		bad |= r.entered[i] != r.calls[i] + r.left[i] || r.back[i] > r.left[i];
		entered += r.entered[i];
		back += r.back[i];
		left += r.left[i];
	}
	if (mode.depth == SHALLOW)
		bad |= !entered || entered >= all_bodies();
	else if (jump_away && shared->hits)
		bad |= entered - all_bodies() > 1;
	else if (mode.keep)	/* coroutines are, too */
		bad |= entered != all_bodies() || back;
	else if (mode.walk)	/* what returned unseen was left */
		bad |= entered != all_bodies();
	else	/* Left for good are three frames of jumper a round. */
		bad |= entered != all_bodies() || left - back != r.left[JUMPER] || r.left[JUMPER] != bodies[JUMPER];
	if (bad)
		fprintf(stderr, "%lu entered, %lu bodies, %lu left, %lu back, %lu open\n", entered, all_bodies(), left,
			back, r.open);
}

/* Each call that returned is one record if it took the least time, none if it took less than for ever. */
static void check_thresh(const struct lab_events *ev)
{
	uint64_t n = lab_count(ev, (uint32_t)getpid(), UFT_REC_CALL, -1), returned = all_bodies() - bodies[JUMPER];

	bad |= lab_count(ev, (uint32_t)getpid(), UFT_REC_ENTRY, -1) ||
	       lab_count(ev, (uint32_t)getpid(), UFT_REC_EXIT, -1);
	if (mode.thresh == EVER)
		bad |= n != 0;
	else if (mode.walk || (jump_away && shared->hits))	/* what returned unseen after a walk has no record */
		bad |= n > returned;
	else
		bad |= n != returned;
	if (bad)
		fprintf(stderr, "%lu calls, %lu bodies that returned\n", n, returned);
}

static void check_func(const struct lab_events *ev)
{
	uint64_t n = lab_count(ev, (uint32_t)getpid(), UFT_REC_FUNC, -1);

	if (n - all_bodies() > (uint64_t)(jump_away && shared->hits)) {
		fprintf(stderr, "%lu events, %lu bodies\n", n, all_bodies());
		bad = 1;
	}
}

/* Of a second tracer's: each call but mid()'s has one, which names who the call returns to at last. */
static void check_beside_func(const struct lab_events *ev)
{
	uint64_t n = lab_count(ev, (uint32_t)getpid(), UFT_REC_FUNC, -1), bodies_of = all_bodies() - bodies[MID];

	for (size_t i = 0; i < ev->n; i++)
		bad |= ev->e[i].kind == UFT_REC_FUNC && (lab_is_hook(ev->e[i].w1) || ev->e[i].value == MID);
	if (bad || n - bodies_of > (uint64_t)(jump_away && shared->hits)) {
		fprintf(stderr, "%lu events, %lu bodies\n", n, bodies_of);
		bad = 1;
	}
}

static struct uft_profile *profile_entries(size_t *n)
{
	const struct uft_arena *a = uft_rt.arena;

	*n = UFT_PROFILE_BLOCKS(a->ncpus) * a->profile_ids;
	return (struct uft_profile *)((char *)uft_rt.slice + a->profile_offset);
}

/*
 * Each call is counted once, wherever the signal came, and no record is written; its time is where the handler
 * returns.
 */
static void check_sums(uint64_t counted)
{
	uint64_t n = 0, ids = uft_rt.arena->profile_ids;
	size_t nentries;
	const struct uft_profile *p = profile_entries(&nentries);

	for (uint64_t id = 0; id < ids; id++) {
		struct uft_profile sum = { 0 };

		for (size_t i = id; i < nentries; i += ids) {
			sum.hits += p[i].hits;
			sum.total += p[i].total;
			sum.self += p[i].self;
			sum.min = p[i].min > sum.min ? p[i].min : sum.min;
			sum.max = p[i].max > sum.max ? p[i].max : sum.max;
		}
		n += sum.hits;
		bad |= mode.beside == BESIDE_SUMS && id == MID && (sum.hits || sum.total || sum.self);
		if (!jump_away && (sum.self > sum.total || sum.total > sum.hits * sum.max || sum.max > sum.total ||
				   (sum.max && sum.max < ~sum.min))) {
			fprintf(stderr, "function %lu: %lu calls, total %lu, self %lu, max %lu\n", id, sum.hits,
				sum.total, sum.self, sum.max);
			bad = 1;
		}
	}
	/*
	 * A handler that jumps away may have come between a body's entry and its count, or between the count
	 * and the body.
	 */
	bad |= n - counted + 1 > (jump_away && shared->hits ? 2 : 1) || (!jump_away && n != counted);
	if (bad)
		fprintf(stderr, "%lu calls, %lu bodies\n", n, counted);
}

static void check_profile(const struct lab_events *ev)
{
	bad |= lab_count(ev, (uint32_t)getpid(), UFT_REC_ENTRY, -1) ||
	       lab_count(ev, (uint32_t)getpid(), UFT_REC_EXIT, -1);
	check_sums(all_bodies());
	if (mode.beside)
		check_beside_func(ev);
}

static void check_beside_graph(const struct lab_events *ev)
{
	check_graph(ev);
	if (mode.beside == BESIDE_FUNC)
		check_beside_func(ev);
	else
		check_sums(all_bodies() - bodies[MID]);
}

/* Where the breakpoint is, for messages. */
static const char *symbol;
static uint64_t symbol_start;

static void plant(void)
{
	__asm__ volatile("int3" ::: "memory");
}

/* One instruction, one way of handling: the tracer arms it at the first int3 and takes it back at the next. */
static void one(uint64_t address, void (*scenario)(void), void (*check)(const struct lab_events *ev))
{
	volatile unsigned old = 0;
	struct lab_events *ev;
	uint64_t start = __builtin_ia32_rdtsc();

	size_t nentries;
	struct uft_profile *entries = profile_entries(&nentries);

	lab_clear();
	set_keys(0);
	memset(entries, 0, nentries * sizeof(*entries));
	memset(bodies, 0, sizeof(bodies));
	tail_bodies = mcount_bodies = 0;
	shared->address = address;
	shared->hits = 0;
	if (!late)
		plant();
	for (volatile int pass = 0; pass < 3; pass++) {
		if (!sigsetjmp(away, 1))
			scenario();
		for (int i = 0;
		     pass == 0 && i < 16 && !mode.no_rseq && !mode.keep && !mode.thresh && !mode.profile &&
			     !mode.counts &&
		     !old; i++) {
			leaf(1);
			old = lab_old_clock();
		}
		if (pass == 1)
			lab_other_context();
		if (pass == 1 && mode.look)
			set_keys(1ull << 48 | 64 | (mode.counts ? RING_KEY_COUNTS : 0));	/* another task's */
	}
	shared->address = 0;	/* an int3 takes a breakpoint back, too */
	plant();
	/* Once more without a signal: nothing may be broken now. */
	scenario();
	leaf(1);
	ev = lab_decode();
	if (ev->damaged || ev->backwards != old || ev->lost_counted || lab_counter(UFT_CNT_LOST_RETURN)) {
		fprintf(stderr, "at %s+%#lx: damaged %lu backwards %lu lost %lu lost returns %lu\n", symbol,
			address - symbol_start, ev->damaged,
			ev->backwards, ev->lost_counted, lab_counter(UFT_CNT_LOST_RETURN));
		exit(1);
	}
	check(ev);
	for (size_t i = 0; i < ev->n; i++)
		bad |= ev->e[i].clock < start;
	if (bad) {
		fprintf(stderr, "with a signal at %s+%#lx\n", symbol, address - symbol_start);
		exit(1);
	}
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		CHECK_EQ(lab_counter(i), 0);
	lab_free(ev);
}

/* ---- The runtime's instructions ----------------------------------------------------------- */

static const char *const prefixes[] = {
	"uft_asm_", "uft_func_slow", "uft_enter_slow", "uft_exit_slow", "uft_mcount_enter_slow", "fg_", "task_",
	"ring_",
	"exch_", "aside_", "unwind_", "thread_find", "thread_identify", "trace_hook_unwind", "plat_peek",
	"trace_params", "plat_signals_",
	"keep_", "past_", "profile_", "uft_profile_", "trace_task_is_wanted", "trace_is_recording", "trace_graph_",
};

static int is_ours(const char *name)
{
	/* Labels inside functions end up here, too; they have no size. */
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return 1;
	return 0;
}

/* Calls f for the address of each instruction of the runtime. */
static size_t each_instruction(void (*f)(uint64_t address, void *arg), void *arg)
{
	extern char __executable_start[];
	int fd = open("/proc/self/exe", O_RDONLY);
	off_t bytes = lseek(fd, 0, SEEK_END);
	const char *file = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	const Elf64_Ehdr *eh = (const void *)file;
	const Elf64_Shdr *sh = (const void *)(file + eh->e_shoff);
	uint64_t base = eh->e_type == ET_DYN ? (uint64_t)__executable_start : 0;
	size_t n = 0;
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int i = 0; i < eh->e_shnum; i++) {
		const Elf64_Sym *sym = (const void *)(file + sh[i].sh_offset);
		const char *names = file + sh[sh[i].sh_link].sh_offset;

		if (sh[i].sh_type != SHT_SYMTAB)
			continue;
		for (size_t k = 0; k < sh[i].sh_size / sizeof(*sym); k++) {
			uint64_t at = base + sym[k].st_value, end = at + sym[k].st_size;
			ZydisDecodedInstruction in;

			if (ELF64_ST_TYPE(sym[k].st_info) != STT_FUNC || !is_ours(names + sym[k].st_name))
				continue;
			symbol = names + sym[k].st_name;
			symbol_start = at;
			for (; at < end; at += in.length) {
				if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, (const void *)at, end - at,
										&in))) {
					in.length = 1;
					continue;
				}
				f(at, arg);
				n++;
			}
		}
	}
	close(fd);
	return n;
}

struct run {
	void (*scenario)(void);
	void (*check)(const struct lab_events *ev);
	size_t hit;
};

static void run_instruction(uint64_t address, void *arg)
{
	struct run *r = arg;

	one(address, r->scenario, r->check);
	r->hit += shared->hits;
}

static void run_all(void)
{
	struct lab_config c = { .sub_bytes = 256, .ring_bytes = 65536, .no_rseq = mode.no_rseq };
	struct run r = { mode.func ? func_scenario : graph_scenario, mode.func ? check_func : mode.profile ?
		check_profile : mode.beside ? check_beside_graph : mode.thresh ? check_thresh : check_graph, 0 };
	struct sigaction sa = { .sa_handler = mode.walk ? walk_handler : mode.look ? look_handler :
				mode.messy ? messy_handler : handler,
				.sa_flags = mode.place == ON_STACK ? 0 : SA_ONSTACK };
	struct uft_tracer_params p = { .tracer = mode.func ? UFT_TRACER_FUNCTION : mode.profile ? UFT_TRACER_PROFILE :
		UFT_TRACER_GRAPH };
	enum lab_state state = mode.func ? LAB_FUNCTION : LAB_GRAPH;
	int action = mode.beside == BESIDE_FUNC ? UFT_ACT_FUNC : mode.beside ? UFT_ACT_PROFILE : mode.keep;
	size_t n;

	jump_away = mode.jump;
	late = mode.late == 1 ? 2 : mode.late;
	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	lab_init(&c);
	lab_arm(leaf, LEAF, state, action);
	lab_arm(mid, MID, state, mode.beside ? 0 : action);
	lab_arm(jumper, JUMPER, state, action);
	if (!mode.func)
		lab_arm(tail, TAIL, state, action);
	if (!mode.func)
		lab_arm(self_tail, SELF_TAIL, state, action);
	lab_arm(mcount_site, MCOUNT, mode.func ? LAB_MFUNCTION : LAB_MGRAPH, action);
	lab_arm(handler, HANDLER, state, action);
	lab_arm(co_body, CO, state, action);
	p.max_depth = mode.depth;
	p.thresh = mode.thresh;
	p.counts = mode.counts;
	p.has_events = mode.beside == BESIDE_FUNC ? UFT_EVENTS_FUNC : mode.beside ? UFT_EVENTS_PROFILE : 0;
	/* Kept is all, as the limit is 0; hidden is nothing. */
	p.has_roots = mode.keep ? UFT_ROOTS_ONLY : mode.slow ? UFT_ROOTS_NOT : 0;
	lab_params_full(&p);
	leaf(1);	/* the thread's state is made once */
	n = each_instruction(run_instruction, &r);
	printf("     %zu instructions, a signal at %zu of them\n", n, r.hit);
	CHECK(r.hit >= mode.expect_hits);
}

/* Everything on a stack below the main one, so that the signal stack, on the main one, is above. */
static void run_below(void)
{
	static char stack[1 << 20];
	ucontext_t here, there;

	CHECK(!getcontext(&there));
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, run_all, 0);
	swapcontext(&here, &there);
}

static void run_mode(void)
{
	char above[65536];
	stack_t ss = { .ss_sp = mode.place == ABOVE ? above : signal_stack, .ss_size = sizeof(above) };

	CHECK(!sigaltstack(&ss, NULL));
	if (mode.place == ABOVE)
		run_below();
	else
		run_all();
}

/* ---- The tracer --------------------------------------------------------------------------- */

static void poke(pid_t pid, uint64_t at, uint8_t byte, uint8_t *old)
{
	long word = ptrace(PTRACE_PEEKTEXT, pid, at & ~7ull, 0);
	unsigned shift = (unsigned)(at & 7) * 8;

	if (old)
		*old = (uint8_t)(word >> shift);
	word = (long)(((uint64_t)word & ~(0xffull << shift)) | (uint64_t)byte << shift);
	CHECK(!ptrace(PTRACE_POKETEXT, pid, at & ~7ull, word));
}

static int trace_loop(pid_t pid)
{
	uint64_t armed = 0, last = 0;
	uint8_t old = 0;
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(!ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL));
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	for (;;) {
		struct user_regs_struct regs;
		int sig;

		CHECK(waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status)) {
			fprintf(stderr, "killed by signal %d, breakpoint was at %#lx\n", WTERMSIG(status), last);
			return 1;
		}
		sig = WSTOPSIG(status);
		if (sig == SIGTRAP) {
			sig = 0;
			CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
			if (armed && regs.rip == armed + 1) {
				regs.rip = armed;
				CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs));
				shared->hits++;
				shared->address = 0;
				sig = SIGUSR1;
			}
			if (armed)
				poke(pid, armed, old, NULL);
			armed = 0;
			if (!sig && shared->address) {
				armed = last = shared->address;
				poke(pid, armed, 0xcc, &old);
			}
		} else if (sig == SIGSEGV) {
			ptrace(PTRACE_GETREGS, pid, 0, &regs);
			fprintf(stderr, "SIGSEGV at %#llx, breakpoint was at %#lx\n", regs.rip, last);
		}
		CHECK(!ptrace(PTRACE_CONT, pid, 0, sig));
	}
}

static void traced(void)
{
	pid_t pid;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(77);
		raise(SIGSTOP);
		run_mode();
		exit(0);
	}
	exit(trace_loop(pid));
}

static const struct mode modes[] = {
	{ .name = "func_return", .func = 1, .expect_hits = 400 },
	{ .name = "func_jump", .func = 1, .jump = 1, .expect_hits = 400 },
	{ .name = "func_look", .func = 1, .look = 1, .expect_hits = 200 },
	{ .name = "graph_return", .expect_hits = 1200 },
	{ .name = "graph_jump", .jump = 1, .expect_hits = 1200 },
	{ .name = "graph_return_below", .place = BELOW, .expect_hits = 1200 },
	{ .name = "graph_jump_below", .place = BELOW, .jump = 1, .expect_hits = 1200 },
	{ .name = "graph_return_above", .place = ABOVE, .expect_hits = 1200 },
	{ .name = "graph_jump_above", .place = ABOVE, .jump = 1, .expect_hits = 1200 },
	{ .name = "slow_return", .slow = 1, .expect_hits = 1200 },
	{ .name = "slow_jump", .slow = 1, .jump = 1, .expect_hits = 1200 },
	{ .name = "depth_return", .depth = 100, .expect_hits = 1200 },
	{ .name = "depth_jump_above", .depth = 100, .place = ABOVE, .jump = 1, .expect_hits = 1200 },
	{ .name = "depth_messy", .depth = 100, .messy = 1, .expect_hits = 1200 },
	{ .name = "depth_walk", .depth = 100, .walk = 1, .expect_hits = 1200 },
	{ .name = "shallow_return", .depth = SHALLOW, .expect_hits = 1200 },
	{ .name = "shallow_jump", .depth = SHALLOW, .jump = 1, .expect_hits = 1200 },
	{ .name = "shallow_messy_above", .depth = SHALLOW, .place = ABOVE, .messy = 1, .expect_hits = 1200 },
	{ .name = "shallow_tail", .depth = SHALLOW, .late = 1, .expect_hits = 1200 },
	{ .name = "thresh_return", .thresh = EVER, .expect_hits = 1000 },
	{ .name = "thresh_jump", .thresh = EVER, .jump = 1, .expect_hits = 1000 },
	{ .name = "thresh_messy", .thresh = EVER, .messy = 1, .expect_hits = 1000 },
	{ .name = "thresh_all", .thresh = 1, .expect_hits = 1000 },
	{ .name = "thresh_all_above", .thresh = 1, .place = ABOVE, .expect_hits = 1000 },
	{ .name = "thresh_all_jump", .thresh = 1, .jump = 1, .expect_hits = 1000 },
	{ .name = "thresh_walk", .thresh = 1, .walk = 1, .expect_hits = 1000 },
	{ .name = "thresh_tail", .thresh = 1, .late = 1, .expect_hits = 1000 },
	{ .name = "profile_return", .profile = 1, .expect_hits = 1700 },
	{ .name = "profile_return_above", .profile = 1, .place = ABOVE, .expect_hits = 1700 },
	{ .name = "profile_jump", .profile = 1, .jump = 1, .expect_hits = 1700 },
	{ .name = "profile_messy", .profile = 1, .messy = 1, .expect_hits = 1700 },
	{ .name = "profile_walk", .profile = 1, .walk = 1, .expect_hits = 1700 },
	{ .name = "profile_tail", .profile = 1, .late = 1, .expect_hits = 1700 },
	{ .name = "profile_exchange", .profile = 1, .no_rseq = 1, .expect_hits = 1000 },
	{ .name = "tail_return", .late = 1, .expect_hits = 1200 },
	{ .name = "tail_jump", .late = 1, .jump = 1, .expect_hits = 1200 },
	{ .name = "graph_messy", .messy = 1, .expect_hits = 1200 },
	{ .name = "graph_messy_above", .place = ABOVE, .messy = 1, .expect_hits = 1200 },
	{ .name = "slow_messy", .slow = 1, .messy = 1, .expect_hits = 1200 },
	{ .name = "graph_walk", .walk = 1, .expect_hits = 1200 },
	{ .name = "graph_walk_above", .place = ABOVE, .walk = 1, .expect_hits = 1200 },
	{ .name = "slow_walk", .slow = 1, .walk = 1, .expect_hits = 1200 },
	{ .name = "tail_walk", .late = 1, .walk = 1, .expect_hits = 1200 },
	{ .name = "count_func_return", .counts = 1, .func = 1, .expect_hits = 400 },
	{ .name = "count_func_jump", .counts = 1, .func = 1, .jump = 1, .expect_hits = 400 },
	{ .name = "count_func_look", .counts = 1, .func = 1, .look = 1, .expect_hits = 200 },
	{ .name = "count_return", .counts = 1, .expect_hits = 1200 },
	{ .name = "count_return_above", .counts = 1, .place = ABOVE, .expect_hits = 1200 },
	{ .name = "count_jump", .counts = 1, .jump = 1, .expect_hits = 1200 },
	{ .name = "count_messy", .counts = 1, .messy = 1, .expect_hits = 1200 },
	{ .name = "count_walk", .counts = 1, .walk = 1, .expect_hits = 1200 },
	{ .name = "count_tail", .counts = 1, .late = 1, .expect_hits = 1200 },
	{ .name = "beside_return", .beside = BESIDE_FUNC, .expect_hits = 1200 },
	{ .name = "beside_jump", .beside = BESIDE_FUNC, .jump = 1, .expect_hits = 1200 },
	{ .name = "beside_messy", .beside = BESIDE_FUNC, .messy = 1, .expect_hits = 1200 },
	{ .name = "beside_return_above", .beside = BESIDE_FUNC, .place = ABOVE, .expect_hits = 1200 },
	{ .name = "beside_walk", .beside = BESIDE_FUNC, .walk = 1, .expect_hits = 1200 },
	{ .name = "beside_tail", .beside = BESIDE_FUNC, .late = 1, .expect_hits = 1200 },
	{ .name = "beside_look", .beside = BESIDE_FUNC, .look = 1, .expect_hits = 1200 },
	{ .name = "beside_tail_look", .beside = BESIDE_FUNC, .late = IN_TAIL, .look = 1, .expect_hits = 1000 },
	{ .name = "sums_return", .beside = BESIDE_SUMS, .expect_hits = 1700 },
	{ .name = "sums_jump", .beside = BESIDE_SUMS, .jump = 1, .expect_hits = 1700 },
	{ .name = "sums_messy", .beside = BESIDE_SUMS, .messy = 1, .expect_hits = 1700 },
	{ .name = "sums_return_above", .beside = BESIDE_SUMS, .place = ABOVE, .expect_hits = 1700 },
	{ .name = "sums_walk", .beside = BESIDE_SUMS, .walk = 1, .expect_hits = 1700 },
	{ .name = "sums_tail", .beside = BESIDE_SUMS, .late = 1, .expect_hits = 1700 },
	{ .name = "profile_func_return", .profile = 1, .beside = BESIDE_FUNC, .expect_hits = 1700 },
	{ .name = "profile_func_jump", .profile = 1, .beside = BESIDE_FUNC, .jump = 1, .expect_hits = 1700 },
	{ .name = "profile_func_messy", .profile = 1, .beside = BESIDE_FUNC, .messy = 1, .expect_hits = 1700 },
	{ .name = "profile_func_walk", .profile = 1, .beside = BESIDE_FUNC, .walk = 1, .expect_hits = 1700 },
	{ .name = "profile_func_tail", .profile = 1, .beside = BESIDE_FUNC, .late = 1, .expect_hits = 1700 },
	{ .name = "profile_func_tail_look", .profile = 1, .beside = BESIDE_FUNC, .late = IN_TAIL, .look = 1,
	  .expect_hits = 1000 },
	{ .name = "keep_return", .keep = LAB_KEPT, .expect_hits = 1000 },
	{ .name = "keep_return_above", .keep = LAB_KEPT, .place = ABOVE, .expect_hits = 1000 },
	{ .name = "keep_jump", .keep = LAB_KEPT, .jump = 1, .expect_hits = 1000 },
	{ .name = "keep_messy", .keep = LAB_KEPT, .messy = 1, .expect_hits = 1000 },
	{ .name = "keep_exchange", .keep = LAB_KEPT, .no_rseq = 1, .expect_hits = 1000 },
	{ .name = "exchange_messy", .no_rseq = 1, .messy = 1, .expect_hits = 1000 },
	{ .name = "exchange_return", .no_rseq = 1, .expect_hits = 1000 },
	{ .name = "exchange_jump", .no_rseq = 1, .jump = 1, .expect_hits = 1000 },
};

int main(int argc, char **argv)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		const struct lab_case c[] = { { modes[i].name, traced }, { NULL, NULL } };

		mode = modes[i];
		failed |= lab_main(c, argc > 1 ? argv[1] : NULL);
	}
	return failed;
}
