// SPDX-License-Identifier: MIT
/*
 * alone.c - the runtime where nobody can be asked: a filter kills whoever makes a system call
 *
 * The kernel that holds it is this file: memory is an array, threads are stacks that it switches between with a thread pointer
 * each, an interrupt comes wherever somebody lets it in again, and may switch as well. All of patch/, ring/ and trace/ is there: by
 * commands, sites of this program are armed, switched, disarmed while threads rest inside of traced calls. What it recorded is read by the parent, as the
 * arena is shared.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/arch/arch.h"
#include "runtime/platform/bare/bare.h"
#include "tests/unit/bare/host.h"
#include "tests/unit/ring/lab.h"

#define MEMORY_BYTES	(160ul << 20)	/* most is never touched: a shadow stack is for the worst case */
#define NTHREADS	3u
#define FIRST_TID	100
#define ROUNDS		400
#define OBJECT		1
#define EVERY		7u		/* how many times interrupts are let in until one comes */

static uint8_t memory[MEMORY_BYTES] __attribute__((aligned(4096)));

/* ---- Threads and interrupts ------------------------------------------------------------------------- */

static struct thread {
	uint64_t sp, tp;
	int is_over;
	uint64_t block[64];		/* the thread pointer points into it, and to itself */
	uint64_t stack[8192];
} thread[NTHREADS];
static unsigned running;
static int is_masked, is_in_interrupt;
static int is_changing;		/* sites are: whether who comes now is traced is not said, so nobody comes */
static unsigned lets_in;

enum { LEAF, OUTER, TICK, NSITES };
enum { FUNCTIONS, GRAPH, NPHASES };

/* What ran, for the parent: in the arena. */
static struct report {
	uint64_t body[NPHASES][NSITES];
	uint64_t switches;
} *report;
static unsigned phase;

/*
 * 1: the CPU, or its kernel, has no wrfsbase: then switching is the one thing that is asked for, by
 * arch_prctl(ARCH_SET_FS).
 */
int asks_for_tp;

/* Saves what calls keep, stores the stack pointer at *from, goes on with @sp on the thread pointer @tp. */
void switch_to(uint64_t *from, uint64_t sp, uint64_t tp);
__asm__(".text\n.type switch_to,@function\nswitch_to:\n"
	"\tpush %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
	"\tmov %rsp,(%rdi)\n\tmov %rsi,%rsp\n\tcmpl $0,asks_for_tp(%rip)\n\tjne 1f\n\twrfsbase %rdx\n\tjmp 2f\n"
	"1:\tmov $158,%eax\n\tmov $0x1002,%edi\n\tmov %rdx,%rsi\n\tsyscall\n2:"
	"\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret\n");

static void let_run(unsigned next)
{
	unsigned self = running;

	if (next == self)
		return;
	running = next;
	report->switches++;
	switch_to(&thread[self].sp, thread[next].sp, thread[next].tp);
}

static void yield(void)
{
	for (unsigned i = 1; i < NTHREADS; i++)
		if (!thread[(running + i) % NTHREADS].is_over) {
			let_run((running + i) % NTHREADS);
			return;
		}
}

LAB_SITE void tick(void);
LAB_SITE void tick(void)
{
	report->body[phase][TICK]++;
	__asm__ volatile("");
}

static void block(uint64_t *mask)
{
	*mask = (uint64_t)is_masked;
	is_masked = 1;
}

static void restore(const uint64_t *mask)
{
	is_masked = (int)*mask;
	if (is_masked || is_in_interrupt || is_changing || ++lets_in % EVERY)
		return;
	is_in_interrupt = 1;
	tick();
	is_in_interrupt = 0;
	if (lets_in % (3 * EVERY) == 0)
		yield();
}

static int blocked(uint64_t *mask)
{
	*mask = (uint64_t)is_masked;
	return 0;
}

static int tid(void)
{
	return FIRST_TID + (int)running;
}

static uint32_t cpu(void)
{
	return running % uft_rt.arena->ncpus;
}

/* The others rest where they switched. */
static int is_quiet(uintptr_t *pc, int max)
{
	int n = 0;

	for (unsigned i = 0; i < NTHREADS && n < max; i++)
		if (i != running && !thread[i].is_over)
			pc[n++] = ((const uint64_t *)thread[i].sp)[6];
	return n;
}

void bare_host_start(void)
{
	static struct bare_host host = {
		.tid = tid, .cpu = cpu, .block = block, .restore = restore, .blocked = blocked, .yield = yield,
		.is_quiet = is_quiet,
	};

	bare_init(&host);
	CHECK(!bare_give((uintptr_t)memory, sizeof(memory)));
}

const char *bare_host_lacks(const char *part)
{
	(void)part;
	return NULL;
}

int bare_host_is_met(void)
{
	return 1;
}

/* ---- What is traced --------------------------------------------------------------------------------- */

LAB_SITE long leaf(long x);
LAB_SITE long leaf(long x)
{
	report->body[phase][LEAF]++;
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* Rests in the middle now and then. */
LAB_SITE long outer(long x);
LAB_SITE long outer(long x)
{
	long r;

	report->body[phase][OUTER]++;
	r = leaf(x);
	if (x % 5 == 0)
		yield();
	r += leaf(x);
	__asm__ volatile("" : "+r"(r));
	return r;
}

static void *const functions[] = { leaf, outer, tick };
static struct uft_patch site[NSITES];
static uint8_t found[NSITES][16];
static struct uft_cmd_object object;
static uint64_t done[NTHREADS];		/* rounds */

static void run(void)
{
	for (long i = 0; i < ROUNDS; i++) {
		CHECK(outer(i) == 2 * i + 2);
		done[running]++;
		yield();
	}
	thread[running].is_over = 1;
	for (;;)
		yield();
}

static void make_thread(unsigned i)
{
	struct thread *t = &thread[i];
	uint64_t *sp = t->stack + sizeof(t->stack) / 8;

	*--sp = 0;
	*--sp = (uint64_t)run;
	sp -= 6;
	t->sp = (uint64_t)sp;
	t->tp = (uint64_t)&t->block[32];
	t->block[32] = t->tp;
}

/* ---- The kernel's day ------------------------------------------------------------------------------- */

static void find_sites(void)
{
	uint64_t lo = ~0ull, hi = 0;

	for (unsigned i = 0; i < NSITES; i++) {
		uint8_t *p = functions[i];

		if (!memcmp(p, "\xf3\x0f\x1e\xfa", 4))	/* endbr64 */
			p += 4;
		/* gcc: eight of one byte; clang: one of eight. */
		site[i] = (struct uft_patch){ .addr = (uint64_t)p, .stub = i,
					      .kind_len = UFT_KIND_LEN(*p == 0x90 ? UFT_SITE_NOPS : UFT_SITE_NOP, 8) };
		memcpy(found[i], p, 16);
		lo = (uint64_t)p < lo ? (uint64_t)p : lo;
		hi = (uint64_t)p > hi ? (uint64_t)p : hi;
	}
	object = (struct uft_cmd_object){ .text_start = lo & -4096ull, .text_end = (hi + 8191) & -4096ull,
		.object = OBJECT,
					  .nstubs = NSITES, .first_text_id = 0, .first_stub_id = 0 };
	CHECK(!mprotect((void *)object.text_start, object.text_end - object.text_start,
			PROT_READ | PROT_WRITE | PROT_EXEC));
}

/* As a session does, but that it is done by who waits. Returns where the payload is. */
static void *command(uint32_t op, const void *payload, size_t bytes, uint32_t n)
{
	struct uft_slice *slice = uft_rt.slice;
	struct uft_cmd *cmd = (struct uft_cmd *)((char *)slice + uft_rt.arena->cmd_offset);

	*cmd = (struct uft_cmd){ .op = op, .object = OBJECT, .n = n };
	memcpy((char *)cmd + UFT_CMD_PAYLOAD, payload, bytes);
	CHECK(!agent_poll());
	slice->cmd_seq++;
	is_changing = 1;
	CHECK(agent_poll());
	is_changing = 0;
	CHECK_EQ(slice->cmd_done, slice->cmd_seq);
	CHECK_EQ(slice->cmd_result, 0);
	return (char *)cmd + UFT_CMD_PAYLOAD;
}

static void arm(uint32_t tracer, unsigned state)
{
	const struct uft_tracer_params p = { .tracer = tracer };
	const struct uft_patch *result;

	command(UFT_CMD_TRACER, &p, sizeof(p), 0);
	for (unsigned i = 0; i < NSITES; i++)
		site[i].state = (uint8_t)state;
	result = command(UFT_CMD_PATCH, site, sizeof(site), NSITES);
	for (unsigned i = 0; i < NSITES; i++)
		CHECK_EQ(result[i].status, UFT_ST_OK);
}

static void day(void)
{
	CHECK(!patch_init());
	command(UFT_CMD_OBJECT, &object, sizeof(object), 0);
	arm(UFT_TRACER_FUNCTION, UFT_FUNCTION);
	while (done[1] < ROUNDS / 2)
		yield();
	phase = GRAPH;			/* others rest inside of outer() */
	arm(UFT_TRACER_GRAPH, UFT_GRAPH);
	while (!thread[1].is_over || !thread[2].is_over)
		yield();
	command(UFT_CMD_DISARM, "", 0, 0);
	for (unsigned i = 0; i < NSITES; i++)
		CHECK(!memcmp((void *)site[i].addr, found[i], sizeof(found[i])));
	CHECK_EQ(done[1] + done[2], 2 * ROUNDS);
}

/* Kills the process for every system call but the one that ends it, and the one that a failed CHECK makes to say so. */
static void close_the_gate(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, asks_for_tp ? SYS_arch_prctl : SYS_exit_group, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
}

static int behind_the_gate(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		close_the_gate();
		what();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void ask(void)
{
	syscall(SYS_getppid);
}

static void prepare(void)
{
	struct lab_config c = { .no_rseq = 1, .ring_bytes = 4 << 20 };

	asks_for_tp = !(getauxval(AT_HWCAP2) & 2 /* FSGSBASE */);
	for (unsigned i = 1; i < NTHREADS; i++)
		make_thread(i);
	thread[0].tp = arch_thread_pointer();
	CHECK(!mprotect(memory, sizeof(memory), PROT_READ | PROT_WRITE | PROT_EXEC));
	find_sites();
	lab_init(&c);
	/* nobody asks for a profile */
	report = (struct report *)((char *)uft_rt.slice + uft_rt.arena->profile_offset);
}

/* The filter is one. */
static void test_gate(void)
{
	int status = behind_the_gate(ask);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static void test_day(void)
{
	uint64_t calls[NSITES] = { 0 };
	struct lab_events *ev;
	int status;

	prepare();
	status = behind_the_gate(day);
	CHECK(!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS);
	CHECK_EQ(status, 0);
	ev = lab_decode();
	CHECK_EQ(ev->damaged + ev->backwards + ev->lost_counted, 0);
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		CHECK_EQ(lab_counter(i), i == UFT_CNT_PATCHED ? 3 * NSITES : 0);
	for (uint32_t t = FIRST_TID; t < FIRST_TID + NTHREADS; t++) {
		struct lab_replay r;

		CHECK_REPLAY(ev, t, &r);
		CHECK_EQ(r.open, 0);
		for (unsigned i = 0; i < NSITES; i++)
			calls[i] += r.calls[i];
		CHECK(t == FIRST_TID || (lab_count(ev, t, UFT_REC_FUNC, -1) && r.calls[OUTER]));
	}
	for (unsigned i = 0; i < NSITES; i++) {
		uint64_t behind = site[i].addr + 8 - (object.text_start & ~3ull);

		CHECK(report->body[FUNCTIONS][i] && report->body[GRAPH][i]);
		CHECK_EQ(lab_count(ev, 0, UFT_REC_FUNC, (int64_t)(behind >> 2)), report->body[FUNCTIONS][i]);
		CHECK_EQ(calls[i], report->body[GRAPH][i]);
	}
	printf("     %zu records of %u threads, %lu switches\n", ev->n, NTHREADS, report->switches);
	lab_free(ev);
}

static const struct lab_case cases[] = { { "gate", test_gate }, { "day", test_day }, { NULL, NULL } };

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
