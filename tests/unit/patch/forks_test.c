/* SPDX-License-Identifier: MIT */
/*
 * forks_test.c - fork children that are born between any two stores of an order by bits
 *
 * We step through our own changes. Wherever a block or a variable of the runtime has changed, and at times between, children are
 * born of which some pages (the blocks, the records, the code) are as they were when forks were ordered last: what a fork
 * beside running threads may leave. Each has to be able to take everything back.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime/patch/bytes/bytes.h"
#include "tests/unit/patch/kit.h"

#define N	256u
#define NB	(N / PATCH_BLOCK)
#define TRAP	0x100
enum { STEP = 1, FEW_CHILDREN };	/* all children, or those behind a change of a variable */
enum { OLD_BLOCKS = 1, OLD_RECORDS = 2, OLD_CODE = 4, OLD_ALL = 7 };

struct state {
	struct patch_block block[NB];
	struct patch_site site[N];
	uint8_t text[N * KIT_SLOT];
};

/* What changes by stepping itself lies apart from the variables that are compared. */
#define OWN __attribute__((section("stepper")))
extern char __data_start[], _end[], __start_stepper[], __stop_stepper[];
static OWN struct state ordered = { .text = { 0 } };
static OWN struct patch_block before[NB] = { { 0 } };
static OWN char variables[1 << 20] = { 0 };
static OWN struct kit_text t = { 0 };
static OWN struct patch_object *o = NULL;
static OWN volatile int is_stepping = 0;
static OWN unsigned steps = 0, born = 0;

static int note_change(char *copy, const char *now, size_t n)
{
	if (!memcmp(copy, now, n))
		return 0;
	memcpy(copy, now, n);
	return 1;
}

/* On either side of the stepper's. */
static int variables_changed(void)
{
	size_t below = (size_t)(__start_stepper - __data_start), above = (size_t)(_end - __stop_stepper);

	CHECK(below + above <= sizeof(variables));
	return note_change(variables, __data_start, below) | note_change(variables + below, __stop_stepper, above);
}

/* No blocks yet: as blocks without members. */
static const struct patch_block *blocks(void)
{
	static OWN struct patch_block none[NB] = { { 0 } };

	return o->block ? o->block : none;
}

static int blocks_changed(void)
{
	return note_change((char *)before, (const char *)blocks(), sizeof(before));
}

static void __attribute__((noreturn)) be_child(int old)
{
	uint64_t refused = kit_counters[UFT_CNT_SITE_REFUSED];

	if (old & OLD_BLOCKS && o->block)
		memcpy(o->block, ordered.block, sizeof(ordered.block));
	if (old & OLD_RECORDS)
		memcpy(o->site, ordered.site, sizeof(ordered.site));
	if (old & OLD_CODE) {
		mprotect(t.base, t.bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
		memcpy(t.base, ordered.text, t.bytes);
	}
	patch_after_fork();
	patch_disarm();
	_exit(memcmp(t.base, t.copy, t.bytes) ? 1 : kit_counters[UFT_CNT_SITE_REFUSED] != refused ? 2 : 0);
}

/* With any pages that are old, or with old blocks. */
static void bear(int all)
{
	int old, status;

	for (old = all ? 0 : OLD_BLOCKS; old < (all ? OLD_ALL : OLD_BLOCKS + 1); old++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			be_child(old);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(!status, "child %u, old pages %d: status %x", born, old, status);
		born++;
	}
}

static void look(const ucontext_t *c)
{
	const uint8_t *pc = (const uint8_t *)c->uc_mcontext.gregs[REG_RIP];

	steps++;
	if (is_stepping == FEW_CHILDREN) {
		if (variables_changed())
			bear(0);
	} else if (blocks_changed() || steps % 2999 == 0) {
		bear(1);
	} else if (variables_changed()) {
		bear(0);
	}
	if (pc[0] == 0x0f && pc[1] == 0x05 && c->uc_mcontext.gregs[REG_RAX] == SYS_mprotect) {
		memcpy(ordered.block, blocks(), sizeof(ordered.block));
		memcpy(ordered.site, o->site, sizeof(ordered.site));
		memcpy(ordered.text, t.base, t.bytes);
	}
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)sig;
	(void)info;
	if (!is_stepping) {
		c->uc_mcontext.gregs[REG_EFL] &= ~TRAP;
		return;
	}
	c->uc_mcontext.gregs[REG_EFL] |= TRAP;
	look(c);
}

static void step(int on)
{
	if (on) {
		blocks_changed();
		variables_changed();
		memcpy(ordered.block, blocks(), sizeof(ordered.block));
		memcpy(ordered.site, o->site, sizeof(ordered.site));
		memcpy(ordered.text, t.base, t.bytes);
	}
	is_stepping = on;
	if (on)
		raise(SIGTRAP);
}

static long bitmap_order(uint32_t object, unsigned state, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t word[NB] = { a, b, c, d };

	return patch_bits(object, &(struct uft_site_order){ .form = UFT_SITES_KNOWN, .state = (uint8_t)state }, word,
			  64 * NB, 0);
}

static void test_forks(uint32_t object, unsigned st8_ok)
{
	const struct kit_site *k = kit_sites;
	struct uft_cmd_object c;
	struct uft_patch p[N], some[8];
	unsigned i;

	uft_rt.st8_ok = st8_ok;
	while (strcmp(k->name, "nop5"))
		k++;
	kit_text_make(&t, N);
	for (i = 0; i < N; i++)
		p[i] = (struct uft_patch){ .addr = kit_emit(&t, i, k, i % 32), .stub = i,
			.kind_len = UFT_KIND_LEN(k->kind, k->len),
					   .state = UFT_FUNCTION, .action = k->action };
	kit_text_seal(&t);
	kit_object(&t, object, N, &c);
	o = object_find(object);
	CHECK(patch_change(object, p, N, 0, NULL) == N);
	if (object == 1)
		step(FEW_CHILDREN);	/* the first run of all: its variables were 0 */
	CHECK(bitmap_order(object, UFT_IDLE, ~0ull, 0, 0, 0) == PATCH_BLOCK);
	step(0);
	CHECK(bitmap_order(object, UFT_IDLE, 0, ~0ull, ~0ull, ~0ull) == N - PATCH_BLOCK);
	CHECK(bitmap_order(object, UFT_FUNCTION, 0xffffffff, ~0ull, ~0ull, 0) == 160);

	step(STEP);	/* the first members are outside its window */
	CHECK(bitmap_order(object, UFT_FUNCTION, 0xffffffffull << 32, 0, 0, ~0ull) == 96);
	CHECK(bitmap_order(object, UFT_IDLE, 0xffffffffull << 32, ~0ull, 0, 0) == 96);
	step(0);

	/* a list of some, the others of whose blocks are as they were */
	for (i = 0; i < 8; i++) {
		some[i] = p[40 + 16 * i];
		some[i].state = UFT_FUNCTION;
	}
	step(STEP);
	CHECK(patch_change(object, some, 8, 0, NULL) == 6);
	step(0);
	patch_change(object, p, N, 0, NULL);
	CHECK(bitmap_order(object, UFT_IDLE, ~0ull, ~0ull, ~0ull, ~0ull) == N);
	/* so that members differ from what they become */
	CHECK(bitmap_order(object, UFT_FUNCTION, ~0ull, ~0ull, ~0ull, ~0ull) == N);
	step(STEP);
	patch_disarm();
	step(0);
	CHECK(!memcmp(t.base, t.copy, t.bytes));
	patch_object_gone(object);
	kit_text_free(&t);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	kit_thread_init();
	CHECK(!patch_init());
	CHECK(!sigaction(SIGTRAP, &sa, NULL));
	test_forks(1, 1);
	test_forks(2, 0);
	CHECK(born > 500, "%u", born);
	printf("%u children, %u steps\n", born, steps);
	return 0;
}
