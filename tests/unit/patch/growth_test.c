/* SPDX-License-Identifier: MIT */
/*
 * growth_test.c - fork children that are born while the memory of a batch grows
 *
 * The test steps through its own changes. Behind each instruction that has changed a variable of batch.c, and behind
 * each unmapping, a child is born, which has to restore all sites.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime/patch/bytes/bytes.h"
#include "tests/unit/patch/kit.h"

#define N	300u		/* sites; the first room for items and for windows is for 256 */
#define FEW	8u		/* that are changed first */
#define GAP	144u		/* slots from site to site: nine pages, so each has a window of its own */
#define OBJECT	1u
#define TRAP	0x100

#define NEAR	192u		/* bytes: the variables of batch.c lie around the one of them that others may read */

/* Variables that change by stepping lie apart from those. */
#define OWN __attribute__((section("stepper")))
static OWN char before[2 * NEAR] = { 0 };
static OWN volatile int is_stepping = 0;
static OWN unsigned steps = 0, born = 0, is_unmapping = 0, unmapped = 0;
static struct kit_text t;
static struct uft_patch sites[N];

static int variables_changed(void)
{
	const char *now = (const char *)((uintptr_t)&batch_segment - NEAR);

	if (!memcmp(before, now, sizeof(before)))
		return 0;
	memcpy(before, now, sizeof(before));
	return 1;
}

static void change(struct uft_patch *p, uint32_t n, unsigned state)
{
	for (uint32_t i = 0; i < n; i++)
		p[i].state = (uint8_t)state;
	CHECK(patch_change(OBJECT, p, n, 0, NULL) >= 0);
	for (uint32_t i = 0; i < n; i++)
		CHECK(p[i].status == UFT_ST_OK, "site %u: status %u", i, p[i].status);
}

/* The child changes less than its parent does, so what its parent had before is enough for it. */
static void __attribute__((noreturn)) be_child(void)
{
	patch_after_fork();
	change(sites, FEW, UFT_ORIGINAL);
	_exit(memcmp(t.base, t.copy, FEW * GAP * KIT_SLOT) != 0);
}

static void bear(void)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid)
		be_child();
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(!status, "child %u, at step %u: status %x", born, steps, status);
	born++;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	const uint8_t *pc = (const uint8_t *)c->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	if (!is_stepping) {
		c->uc_mcontext.gregs[REG_EFL] &= ~TRAP;
		return;
	}
	c->uc_mcontext.gregs[REG_EFL] |= TRAP;
	steps++;
	if (variables_changed() | is_unmapping) {
		unmapped += is_unmapping;
		bear();
	}
	is_unmapping = pc[0] == 0x0f && pc[1] == 0x05 && c->uc_mcontext.gregs[REG_RAX] == SYS_munmap;
}

/* The same for the first @n sites, step by step. */
static void change_by_steps(uint32_t n, unsigned state)
{
	variables_changed();
	is_stepping = 1;
	raise(SIGTRAP);
	change(sites, n, state);
	is_stepping = 0;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	const struct kit_site *k = kit_sites;
	struct uft_cmd_object c;

	kit_thread_init();
	CHECK(!patch_init());
	CHECK(!sigaction(SIGTRAP, &sa, NULL));
	while (strcmp(k->name, "nop5"))
		k++;
	kit_text_make(&t, N * GAP);
	for (uint32_t i = 0; i < N; i++)
		sites[i] = (struct uft_patch){ .addr = kit_emit(&t, i * GAP, k, 0), .stub = i,
			.kind_len = UFT_KIND_LEN(k->kind, k->len), .action = k->action };
	kit_text_seal(&t);
	kit_object(&t, OBJECT, N, &c);
	change_by_steps(FEW, UFT_FUNCTION);	/* the first memory of all */
	change(sites + FEW, N - FEW, UFT_FUNCTION);	/* new sites of a process with one thread: no batch */
	change_by_steps(N, UFT_IDLE);		/* more memory, and the old is unmapped */
	CHECK(unmapped == 2 && born > 300, "%u unmappings, %u children", unmapped, born);
	patch_disarm();
	CHECK(!memcmp(t.base, t.copy, t.bytes), "not as found");
	printf("%u children, %u steps\n", born, steps);
	return 0;
}
