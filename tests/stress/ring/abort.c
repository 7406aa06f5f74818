/* SPDX-License-Identifier: MIT */
/*
 * abort.c - arm64: the sections of ring.S, taken away at every instruction
 *
 *	abort
 *
 * A tracer puts a breakpoint on one instruction after the other; who runs into it gets a signal there, whose handler writes to the same
 * ring, or finds itself on another CPU. Then the section must have begun anew if it was inside (more often where the kernel took the CPU away as well); and
 * the rings hold each record once. That for each way through the writer: with room, without the context, with a new sub-buffer that says
 * what was lost, with many words, and for a call of the graph as a whole (the push, two records, and its handlers' own).
 *
 * tests/unit/ring/test_abort.c does this on x86-64 with all of the probe side, which decides there what fast paths may do. Here those have
 * no sections.
 */
#include <elf.h>
#include <linux/rseq.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/ring/ring.h"
#include "runtime/trace/tracers/tracers.h"
#include "tests/unit/ring/lab.h"

#define MORE_WORDS	3
#define FULL		14	/* records of two words in a sub-buffer of 256 bytes */
#define BREAKPOINT	0xd4200000u	/* brk #0; who asks for one uses brk #1 */

extern const uint32_t uft_asm_ring_write_start[], uft_asm_ring_write_end[], uft_asm_push_start[], uft_asm_push_end[];

enum how { BY_SIGNAL, BY_MOVE, NHOWS };
enum way { ROOM, CONTEXT, SUB_BUFFER, MORE, NWAYS };

static struct shared {
	uint64_t address;	/* where the next breakpoint shall be */
	uint64_t hits;
	enum how how;
} *shared;

static uint64_t in_handler;	/* what its records bring */

LAB_SITE long leaf(long x);
LAB_SITE long leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

LAB_SITE long mid(long x);
LAB_SITE long mid(long x)
{
	return leaf(x) + leaf(x + 1);
}

/* The runtime's own loop is ring_write(); here its turns are counted. */
static unsigned write_one(enum uft_rec_kind kind, uint64_t value, unsigned words)
{
	static const uint64_t more[MORE_WORDS] = { 1, 2, 3 };
	struct ring_op op = { .word0 = UFT_REC_WORD(kind, value, 0), .word1 = value, .bytes = words * 8ull,
		.pid = (uint32_t)getpid(), .tid = (uint32_t)gettid(),
			      .more = more };
	unsigned retries = 0;
	int ret;

	op.guard = &op.word0;
	op.expect = op.word0;
	op.receipt = &op.own_receipt;
	op.clock = &op.own_clock;
	while ((ret = uft_asm_ring_write(&op)) == RING_RETRY || (ret == RING_UNBACKED && !ring_back(op.ring, op.need)))
		retries += ret == RING_RETRY;
	CHECK_EQ(ret, RING_WRITTEN);
	CHECK(ring_is_committed(op.receipt));
	return retries;
}

/* The ring of this CPU may have to be begun, which the writer does not do by itself. */
static void begin_ring(void)
{
	struct ring_op op = { .word0 = UFT_REC_WORD(UFT_REC_FUNC, 1, 0), .word1 = 1, .bytes = 16,
		.pid = (uint32_t)getpid(), .tid = (uint32_t)gettid() };

	CHECK_EQ(ring_write(&op, 1), RING_WRITTEN);
}

static void handler(int sig)
{
	(void)sig;
	in_handler++;
	write_one(UFT_REC_FUNC, 7, 2);
	mid(1);
}

/* At the first the tracer arms the breakpoint, at the next it takes it back. */
static void tell(uint64_t address)
{
	shared->address = address;
	__asm__ volatile("brk #1" ::: "memory");
}

/* In every ring: where this runs is not known before. */
static void prepare(enum way way)
{
	lab_clear();
	for (int i = 0; i < 3; i++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		begin_ring();
		for (int k = 1; k < (way == SUB_BUFFER ? FULL : 2); k++)
			write_one(UFT_REC_FUNC, 1, 2);
		if (way == SUB_BUFFER)
			lab_ring(0, (uint32_t)i)->lost += 5;
	}
	if (way == CONTEXT)
		lab_other_context();
}

/* One instruction of the writer. Returns whether it was run into. */
static uint64_t one_write(const uint32_t *at, enum way way, enum how how)
{
	int is_inside = at >= uft_asm_ring_write_start && at < uft_asm_ring_write_end;
	enum uft_rec_kind kind = way == MORE ? UFT_REC_EVENT : UFT_REC_FUNC;
	uint32_t words = way == MORE ? 2 + MORE_WORDS : 2,
		 value = way == MORE ? UFT_EVENT_VALUE(UFT_EVENT_CALL, words - 1) : 9;
	unsigned retries;
	struct lab_events *ev;

	prepare(way);
	in_handler = shared->hits = 0;
	shared->how = how;
	tell((uint64_t)at);
	retries = write_one(kind, value, words);
	tell(0);
	ev = lab_decode();
	if (retries < shared->hits * (unsigned)is_inside || ev->damaged || ev->backwards ||
	    in_handler != (how == BY_SIGNAL) * shared->hits ||
	    lab_count(ev, 0, UFT_REC_FUNC, 7) != in_handler || lab_count(ev, 0, kind, value) != 1 ||
	    ev->lost != 5 * (way == SUB_BUFFER)) {
		fprintf(stderr,
			"instruction %td of the section, way %d, %s: %u retries, %lu hits, damaged %lu, backwards %lu\n",
			at - uft_asm_ring_write_start, way, how ? "moved" : "a signal", retries, shared->hits,
			ev->damaged, ev->backwards);
		exit(1);
	}
	lab_free(ev);
	return shared->hits;
}

/* One instruction of a push, or of the writer, under calls of the graph. */
static uint64_t one_call(const uint32_t *at, enum how how)
{
	struct lab_events *ev;
	struct lab_replay r;

	prepare(ROOM);
	in_handler = shared->hits = 0;
	shared->how = how;
	tell((uint64_t)at);
	mid(1);
	tell(0);
	mid(1);
	ev = lab_decode();
	CHECK_EQ(ev->damaged + ev->backwards, 0);
	CHECK_REPLAY(ev, (uint32_t)gettid(), &r);
	CHECK_EQ(r.open, 0);
	CHECK_EQ(r.calls[1], 2 + in_handler);
	CHECK_EQ(r.calls[0], 2 * (2 + in_handler));
	CHECK_EQ(in_handler, shared->hits * (how == BY_SIGNAL));
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		CHECK_EQ(lab_counter(i), 0);
	lab_free(ev);
	return shared->hits;
}

static void run_all(void)
{
	struct lab_config c = { .sub_bytes = 256, .ring_bytes = 65536, .no_own = 1, .flags = UFT_RING_OVERWRITE };
	struct sigaction sa = { .sa_handler = handler };
	uint64_t hits[2] = { 0, 0 };
	int known = 0;

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	lab_init(&c);
	lab_arm(leaf, 0, LAB_GRAPH, 0);
	lab_arm(mid, 1, LAB_GRAPH, 0);
	lab_params(UFT_TRACER_GRAPH);
	for (int i = 0; i < 10000 && !known; i++) {	/* until the runtime knows that the kernel knows the thread */
		mid(1);
		for (uint32_t k = 0; k < uft_rt.arena->ncpus; k++)
			known |= lab_ring(0, k)->commit != 0;
	}
	CHECK(known);
	for (enum how how = 0; how < NHOWS; how++) {
		for (const uint32_t *at = uft_asm_ring_write_start - 4; at < uft_asm_ring_write_end + 3; at++) {
			for (enum way way = 0; way < NWAYS; way++)
				hits[0] += one_write(at, way, how);
			hits[1] += one_call(at, how);
		}
		for (const uint32_t *at = uft_asm_push_start - 4; at < uft_asm_push_end + 3; at++)
			hits[1] += one_call(at, how);
	}
	printf("abort: %zu instructions, %lu times run into by writes, %lu by calls\n",
	       uft_asm_ring_write_end - uft_asm_ring_write_start +
	       (uft_asm_push_end - uft_asm_push_start), hits[0], hits[1]);
	CHECK(hits[0] > 400 && hits[1] > 100);
}

/* ---- The tracer --------------------------------------------------------------------------- */

static uint64_t *pc_of(pid_t pid, int request)
{
	static uint64_t regs[34];	/* x0 - x30, sp, pc, pstate */
	struct iovec v = { regs, sizeof(regs) };

	CHECK(!ptrace(request, pid, NT_PRSTATUS, &v));
	return &regs[32];
}

static uint32_t poke(pid_t pid, uint64_t at, uint32_t word)
{
	uint64_t old = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, at & ~7ull, 0);
	unsigned shift = (unsigned)(at & 4) * 8;

	CHECK(!ptrace(PTRACE_POKETEXT, pid, at & ~7ull, (old & ~(0xffffffffull << shift)) | (uint64_t)word << shift));
	return (uint32_t)(old >> shift);
}

static void move(pid_t pid)
{
	cpu_set_t now;
	int cpu = 0;

	CHECK(!sched_getaffinity(pid, sizeof(now), &now));
	while (!CPU_ISSET(cpu, &now))
		cpu++;
	CPU_ZERO(&now);
	CPU_SET(!cpu, &now);	/* it runs on one alone */
	CHECK(!sched_setaffinity(pid, sizeof(now), &now));
}

static int trace_loop(pid_t pid)
{
	uint64_t armed = 0;
	uint32_t old = 0;
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(!ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL));
	for (int sig = 0;;) {
		uint64_t *pc;

		CHECK(!ptrace(PTRACE_CONT, pid, 0, sig));
		CHECK(waitpid(pid, &status, 0) == pid);
		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		sig = WSTOPSIG(status);
		if (sig != SIGTRAP)
			continue;
		sig = 0;
		pc = pc_of(pid, PTRACE_GETREGSET);
		if (armed)
			poke(pid, armed, old);
		if (armed && *pc == armed) {
			shared->hits++;
			if (shared->how == BY_SIGNAL)
				sig = SIGUSR1;
			else
				move(pid);
			armed = 0;
			continue;
		}
		*pc += 4;
		pc_of(pid, PTRACE_SETREGSET);
		armed = shared->address;
		if (armed)
			old = poke(pid, armed, BREAKPOINT);
	}
}

int main(void)
{
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return 77;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(77);
		raise(SIGSTOP);
		run_all();
		exit(0);
	}
	return trace_loop(pid);
}
