// SPDX-License-Identifier: MIT
/*
 * test_handlers.c - the handlers and hooks in assembly: registers that they keep, the stack that they use; requests of
 * the exec hooks
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "runtime/arch/arch.h"
#include "graph_sites.h"

/* All registers that a caller may keep anywhere, through both handlers, both paths. */
static void registers(void)
{
	uint64_t in[15], out[15];

	for (int i = 0; i < 15; i++)
		in[i] = 0x0101010101010101ull * (unsigned)(i + 1);
	__asm__ volatile(
		"push %%rbp\n\tpush %%rbx\n\tpush %1\n\tpush %0\n\tmov %0,%%rbp\n\t"
		"mov (%%rbp),%%rax\n\tmov 8(%%rbp),%%rbx\n\tmov 16(%%rbp),%%rcx\n\tmov 24(%%rbp),%%rdx\n\t"
		"mov 32(%%rbp),%%rsi\n\tmov 40(%%rbp),%%rdi\n\tmov 48(%%rbp),%%r8\n\tmov 56(%%rbp),%%r9\n\t"
		"mov 64(%%rbp),%%r10\n\tmov 72(%%rbp),%%r11\n\tmov 80(%%rbp),%%r12\n\tmov 88(%%rbp),%%r13\n\t"
		"mov 96(%%rbp),%%r14\n\tmov 104(%%rbp),%%r15\n\tmov 112(%%rbp),%%rbp\n\t"
		"call bare\n\t"
		"push %%rbp\n\tmov 16(%%rsp),%%rbp\n\t"		/* out */
		"mov %%rax,(%%rbp)\n\tmov %%rbx,8(%%rbp)\n\tmov %%rcx,16(%%rbp)\n\tmov %%rdx,24(%%rbp)\n\t"
		"mov %%rsi,32(%%rbp)\n\tmov %%rdi,40(%%rbp)\n\tmov %%r8,48(%%rbp)\n\tmov %%r9,56(%%rbp)\n\t"
		"mov %%r10,64(%%rbp)\n\tmov %%r11,72(%%rbp)\n\tmov %%r12,80(%%rbp)\n\tmov %%r13,88(%%rbp)\n\t"
		"mov %%r14,96(%%rbp)\n\tmov %%r15,104(%%rbp)\n\tpop %%rax\n\tmov %%rax,112(%%rbp)\n\t"
		"add $16,%%rsp\n\tpop %%rbx\n\tpop %%rbp\n\t"
		: : "r"(in), "r"(out)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
		  "memory", "cc");
	for (int i = 0; i < 15; i++)
		CHECK_EQ(out[i], in[i]);
}
void bare(void);
__asm__(".text\n.balign 16\n.globl bare\nbare:\n\t.rept 8\n\tnop\n\t.endr\n\tjmp *bare_target(%rip)\n"
	"bare_ret:\n\tret\n"
	"call_pre:\n\tlea -128(%rsp),%rsp\n\tcall uft_asm_hook_syscall_pre\n\tlea 128(%rsp),%rsp\n\tret\n"
	"call_post:\n\tcall uft_asm_hook_syscall_post\n\tret\n"
	"call_unwind:\n\tcall uft_asm_hook_unwind\n\tret\n"
	"call_rbrk:\n\tcall uft_asm_hook_rbrk\n\tret\n");
extern const char bare_ret[], call_pre[], call_post[], call_unwind[], call_rbrk[];
const void *bare_target = bare_ret;

static uint32_t requested[8];
static int answer;
int agent_request(uint32_t kind, const uint64_t *args, uint32_t nargs, int wait)
{
	(void)args, (void)nargs, (void)wait;
	requested[kind]++;
	return answer;
}

/* The hooks keep everything, whatever they are called for. */
static void test_hook_registers(void)
{
	start((struct lab_config){ 0 });
	mid(1);
	bare_target = call_pre;
	registers();
	bare_target = call_post;
	registers();
	bare_target = call_unwind;
	registers();
	bare_target = call_rbrk;
	registers();
	CHECK_EQ(requested[UFT_REQ_OBJECTS], 1);
	/* Whether a result is an error decides over a request; the registers here are 0x0101.. and so on. */
	CHECK_EQ(requested[UFT_REQ_EXEC_FAILED], 0);
	bare_target = bare_ret;
	lab_free(finish());
}

/*
 * exec: a request before and, if it fails, one after; none if there is no file to execute or children are not
 * followed.
 */
static void test_hook_exec(void)
{
	uint64_t regs[6] = { (uint64_t)"/bin/true" }, at[6] = { 3, (uint64_t)"", 0, 0, 0x1000 };

	start((struct lab_config){ 0 });
	trace_hook_syscall_pre(SYS_execve, regs);
	trace_hook_syscall_pre(SYS_execveat, at);
	CHECK_EQ(requested[UFT_REQ_EXEC], 2);
	trace_hook_syscall_post(SYS_execve, -ENOEXEC, regs);
	CHECK_EQ(requested[UFT_REQ_EXEC_FAILED], 1);
	/* Nor for what is not there, until it is. */
	regs[0] = (uint64_t)"/nonexistent/program";
	for (int i = 0; i < 2; i++) {
		trace_hook_syscall_pre(SYS_execve, regs);
		CHECK_EQ(requested[UFT_REQ_EXEC], 2);
		if (!i)
			trace_hook_syscall_post(SYS_execve, -ENOENT, regs);
		CHECK_EQ(requested[UFT_REQ_EXEC_FAILED], 1);
	}
	regs[0] = (uint64_t)"/bin/true";
	trace_hook_syscall_pre(SYS_execve, regs);
	CHECK_EQ(requested[UFT_REQ_EXEC], 3);
	trace_hook_syscall_post(SYS_execve, -ENOENT, regs);	/* its interpreter, say */
	CHECK_EQ(requested[UFT_REQ_EXEC_FAILED], 2);
	lab_arena()->children = 0;
	trace_hook_syscall_pre(SYS_execve, regs);
	CHECK_EQ(requested[UFT_REQ_EXEC], 3);
}

/* @regs of an exec, @at of its environment: @n variables of @env and two of ours; after a failure as before. */
static void exec_with(uint32_t nr, uint64_t *regs, int at, char **env, uint64_t n, const char *preload)
{
	char **its;

	regs[at] = (uint64_t)env;
	trace_hook_syscall_pre(nr, regs);
	its = (char **)regs[at];
	CHECK(its != env);
	for (uint64_t i = 0; i < n; i++)
		CHECK(its[i] == env[i]);
	CHECK(!strcmp(its[n], preload));
	CHECK(!strcmp(its[n + 1], "UFT_ARENA=1000?/x"));
	CHECK(!its[n + 2]);
	trace_hook_syscall_post(SYS_execve, -EACCES, regs);
	CHECK_EQ(regs[at], (uint64_t)env);
}

/* Another tracer has the task: the environment brings the runtime. */
static void test_hook_exec_preload(void)
{
	enum { MANY = 1000 };
	static char *many[MANY + 1], *few[] = { "A=1", "LD_PRELOAD=a.so b.so", "B", NULL },
		*own[] = { "UFT_ARENA=2000:/y", NULL };
	static char *twice[] = { "LD_PRELOAD=a.so", "LD_PRELOAD=", NULL };
	uint64_t regs[6] = { (uint64_t)"/bin/true" }, at[6] = { 3, (uint64_t)"/bin/true" };
	char *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), **last;

	start((struct lab_config){ 0 });
	strcpy(lab_arena()->preload, "LD_PRELOAD=/libuft.so");
	strcpy(lab_arena()->start, "UFT_ARENA=1000?/x");
	answer = UFT_EXEC_PRELOAD;
	for (int i = 0; i < MANY; i++)
		many[i] = i % 2 ? "NAME=value" : "";
	exec_with(SYS_execve, regs, 2, few, 3, "LD_PRELOAD=/libuft.so:a.so b.so");
	exec_with(SYS_execve, regs, 2, many, MANY, "LD_PRELOAD=/libuft.so");
	exec_with(SYS_execveat, at, 3, few, 3, "LD_PRELOAD=/libuft.so:a.so b.so");
	exec_with(SYS_execve, regs, 2, twice, 2, "LD_PRELOAD=/libuft.so:");
	exec_with(SYS_execve, regs, 2, few + 3, 0, "LD_PRELOAD=/libuft.so");
	/* Words and a short text at the end of memory. */
	munmap(edge + 4096, 4096);
	strcpy(edge + 4094, "C");
	last = (char **)(edge + 4096 - 16 - 2 * sizeof(*last));
	last[0] = edge + 4094;
	exec_with(SYS_execve, regs, 2, last, 1, "LD_PRELOAD=/libuft.so");
	/* None; one that cannot be read; one into a session that the program itself names. */
	regs[2] = 0;
	trace_hook_syscall_pre(SYS_execve, regs);
	CHECK(!strcmp(((char **)regs[2])[0], "LD_PRELOAD=/libuft.so"));
	trace_hook_syscall_post(SYS_execve, -EACCES, regs);
	CHECK_EQ(regs[2], 0);
	regs[2] = (uint64_t)edge + 4096;
	trace_hook_syscall_pre(SYS_execve, regs);
	CHECK_EQ(regs[2], (uint64_t)edge + 4096);
	regs[2] = (uint64_t)own;
	trace_hook_syscall_pre(SYS_execve, regs);
	CHECK_EQ(regs[2], (uint64_t)own);
	answer = 0;
	munmap(edge, 4096);
}

static void test_registers(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH };

	start((struct lab_config){ 0 });
	lab_arm(bare, PROBE, LAB_GRAPH, 0);
	registers();		/* slow enter: the thread is unknown */
	registers();		/* fast */
	p.max_depth = 5;
	lab_params_full(&p);
	registers();		/* slow handlers, accepted */
	p.tracer = UFT_TRACER_NOP;
	lab_params_full(&p);
	registers();		/* declined */
	lab_arm(bare, PROBE, LAB_FUNCTION, 0);
	registers();
	lab_params(UFT_TRACER_FUNCTION);
	registers();
	registers();
	lab_free(finish());
}

/* Beside another tracer: of the number of both, of the first tracer's alone, and of one that no fast path takes. */
static void test_registers_beside(void)
{
	static const struct uft_tracer_params beside[] = {
		{ .tracer = UFT_TRACER_GRAPH, .has_events = UFT_EVENTS_FUNC },
		{ .tracer = UFT_TRACER_GRAPH, .has_events = UFT_EVENTS_PROFILE },
		{ .tracer = UFT_TRACER_PROFILE, .has_events = UFT_EVENTS_FUNC },
	};
	static const int actions[] = { UFT_ACT_FUNC, UFT_ACT_PROFILE, 0 };

	start((struct lab_config){ 0 });
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		for (size_t k = 0; k < sizeof(actions) / sizeof(actions[0]); k++) {
			lab_params_full(&beside[i]);
			lab_arm(bare, PROBE, LAB_GRAPH, actions[k]);
			registers();
			registers();
			lab_arm(bare, PROBE, LAB_FUNCTION, 0);
			registers();
		}
	lab_free(finish());
}

/* The function tracer alone wants leaf(), beside the graph: the parent of its tail call is tail()'s hook. */
static void test_func_beside(void)
{
	struct uft_tracer_params p = { .tracer = UFT_TRACER_GRAPH, .has_events = UFT_EVENTS_FUNC };
	struct lab_events *ev;

	start((struct lab_config){ 0 });
	lab_params_full(&p);
	lab_arm(mid, MID, LAB_GRAPH, UFT_ACT_FUNC);
	lab_arm(tail, TAIL, LAB_GRAPH, 0);
	lab_arm(leaf, LEAF, LAB_FUNCTION, 0);
	for (int i = 0; i < 10; i++) {
		tail(1);
		mid(1);
	}
	ev = finish();
	CHECK_EQ(lab_count(ev, self(), UFT_REC_ENTRY, TAIL), 10);
	CHECK_EQ(lab_count(ev, self(), UFT_REC_ENTRY, MID), 10);
	CHECK_EQ(lab_count(ev, self(), UFT_REC_FUNC, MID), 10);
	CHECK_EQ(lab_count(ev, self(), UFT_REC_FUNC, lab_text_id(LEAF)), 30);
	CHECK_EQ(lab_count(ev, self(), UFT_REC_FUNC, -1), 40);
	for (size_t i = 0; i < ev->n; i++)
		CHECK(ev->e[i].kind != UFT_REC_FUNC || !lab_is_hook(ev->e[i].w1));
	lab_free(ev);
}

/* How deep the slow paths go: what UFT_SLOW_STACK in trace.S promises. */
#define SLOW_STACK 2048
#define FAST_STACK 64
static char painted[65536] __attribute__((aligned(16)));
static uint64_t painted_used;

static void painted_body(void)
{
	char *base = __builtin_frame_address(0);

	for (volatile char *p = painted; p < base - 384; p++)
		*p = (char)0xa5;
	leaf(1);
	if (!sigsetjmp(env, 1))
		jumper(0);
	leaf(1);
	for (char *p = painted; p < base; p++)
		if ((unsigned char)*p != 0xa5) {
			painted_used = (uint64_t)(base - p);
			return;
		}
}

static uint64_t paint(void)
{
	ucontext_t here, there;

	CHECK(!getcontext(&there));
	there.uc_stack.ss_sp = painted;
	there.uc_stack.ss_size = sizeof(painted);
	there.uc_link = &here;
	makecontext(&there, painted_body, 0);
	CHECK(!swapcontext(&here, &there));
	return painted_used;
}

static void stack_use(struct lab_config c, uint32_t tracer)
{
	struct uft_tracer_params p = { .tracer = tracer, .max_depth = 100, .stacks = UFT_STACKS_FUNC };

	start_full(c, &p);
	for (uint32_t i = 0; tracer == UFT_TRACER_FUNCTION && i < 2; i++)
		lab_arm(i ? (void *)jumper : (void *)leaf, i ? JUMPER : LEAF, LAB_FUNCTION, 0);
	paint();		/* binds what it calls */
	paint();
	printf("     %lu bytes of stack at most\n", painted_used);
	CHECK(painted_used > 512 && painted_used <= 384 + FAST_STACK + SLOW_STACK);
}

static void test_stack_use(void)
{
	stack_use((struct lab_config){ 0 }, UFT_TRACER_GRAPH);
}

/* The walk of callers has a window of its own. */
static void test_stack_use_walk(void)
{
	stack_use((struct lab_config){ 0 }, UFT_TRACER_FUNCTION);
}

static void test_stack_use_walk_exchange(void)
{
	stack_use((struct lab_config){ .no_rseq = 1 }, UFT_TRACER_FUNCTION);
}

static void test_stack_use_exchange(void)
{
	stack_use((struct lab_config){ .no_rseq = 1 }, UFT_TRACER_GRAPH);
}

static const struct lab_case cases[] = {
	{ "registers", test_registers }, { "registers_beside", test_registers_beside },
	{ "func_beside", test_func_beside }, { "stack_use_walk", test_stack_use_walk },
	{ "stack_use_walk_exchange", test_stack_use_walk_exchange }, { "stack_use", test_stack_use },
	{ "stack_use_exchange", test_stack_use_exchange }, { "hook_registers", test_hook_registers },
	{ "hook_exec", test_hook_exec }, { "hook_exec_preload", test_hook_exec_preload }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(cases, argc > 1 ? argv[1] : NULL);
}
