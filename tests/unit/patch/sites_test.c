/* SPDX-License-Identifier: MIT */
/*
 * sites_test.c - every kind of site, at every offset of a cache line, from every state to every other
 *
 * After each switch: the status, the bytes (as an independent walk through them sees it), the bytes around, and
 * what a call does. Run with one thread (nops are coalesced), with another one running (they are not), and with
 * another one that comes after the first change (what was armed before must be switchable after), with stores of eight bytes trusted or not, by mprotect and through /proc/self/mem.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/bare/host.h"
#include "tests/unit/patch/kit.h"

#define NOFF	64u

static int is_quiet_run;	/* no second thread */
static int is_armed_quiet;	/* a second thread comes when all sites have been armed once */

static uint64_t thunk(const struct uft_cmd_object *o, unsigned i)
{
	return o->tramp_base + 4096 + i * 16;
}

static int is_last(uint64_t at)
{
	unsigned last = uft_rt.no_mprotect ? 7 : 63;

	return (at & last) == last;
}

/* Kinds and offsets whose bytes as found can neither go nor come back while threads run (site.c says why). */
static int has_quiet_ends(const struct kit_site *k, uint64_t site)
{
	unsigned block = uft_rt.no_mprotect ? 8 : 16;

	if (UFT_SITE_IS_OWN(k->kind))
		return site / block != (site + k->len - 1) / block || (uft_rt.no_mprotect && !uft_rt.st8_ok);
	return k->bytes[0] == 0xff && is_last(site);
}

/* Must step @s to @state be refused? 1 yes; 0 no; -1 it may be: some bytes happen to be the same. */
static int is_refused(const struct kit_site *k, uint64_t site, unsigned s, unsigned state)
{
	if (is_quiet_run)
		return 0;
	if (k->kind == UFT_SITE_PREPAD) {
		/* The jump before the entry stays there, or has gone and does not come back. */
		if (is_last(site - 5))
			return state == UFT_ORIGINAL;
		return s > 7 && state != UFT_ORIGINAL && state != UFT_IDLE;
	}
	if (!has_quiet_ends(k, site))
		return 0;
	if (is_armed_quiet)
		return state == UFT_ORIGINAL;
	return UFT_SITE_IS_OWN(k->kind) ? -1 : 1;
}

/*
 * Follows jumps from @at until they leave the site's own memory; returns the thunk, sets *ret to what was
 * called from.
 */
static uint64_t follow(const struct uft_cmd_object *o, uint64_t at, uint64_t *ret)
{
	int hops;

	*ret = 0;
	for (hops = 0; hops < 8; hops++) {
		const uint8_t *p = (const uint8_t *)at;
		unsigned pfx = 0;

		if (at >= o->tramp_base && at < o->tramp_base + 8192)
			return at;
		while (p[pfx] == 0x67 || p[pfx] == 0x2e)
			pfx++;
		if (p[pfx] == 0xe8 && !*ret)
			*ret = at + pfx + 5;
		if (p[pfx] == 0xe8 || p[pfx] == 0xe9)
			at = at + pfx + 5 + (int64_t)(int32_t)uft_get32(p + pfx + 1);
		else if (p[0] == 0xeb)
			at = at + 2 + (int8_t)p[1];
		else if (p[0] == 0x50 || p[0] == 0xff)		/* aux code */
			return at;
		else
			return 0;
		p = (const uint8_t *)at;
		if (at >= o->stub_base && at < o->tramp_end && p[0] == 0xff && p[1] == 0x25) {	/* by a cell */
			at = *(const uint64_t *)(at + 6 + (int64_t)(int32_t)uft_get32(p + 2));
			p = (const uint8_t *)at;
			if (!memcmp(p, "\x48\x8d\x64\x24\x08\xe9", 6))	/* lea 8(%rsp),%rsp; jmp */
				at += 10 + (uint64_t)(int64_t)(int32_t)uft_get32(p + 6);
		}
		if (at >= o->stub_base && at < o->tramp_end)
			return at;
	}
	return 0;
}

static void check_bytes(const struct kit_text *t, const struct kit_site *k, const struct uft_cmd_object *o,
			uint64_t site, uint32_t stub, unsigned state)
{
	size_t slot = (size_t)((site - (uint64_t)t->base) / KIT_SLOT * KIT_SLOT),
	       at = (size_t)(site - (uint64_t)t->base);
	size_t from = at - (k->kind == UFT_SITE_PREPAD ? 5 : 0), to = at + k->len, i;
	uint64_t ret, end;

	for (i = slot; i < slot + KIT_SLOT; i++)
		if (i < from || i >= to || state == UFT_ORIGINAL)
			CHECK(t->base[i] == t->copy[i], "%s offset %lu state %u: byte %ld is %02x, was %02x", k->name,
			      (unsigned long)(site & 63), state, (long)(i - at), t->base[i], t->copy[i]);
	if (state == UFT_IDLE && k->kind == UFT_SITE_PREPAD && ((uint8_t *)site)[1] == UFT_OP_STC)
		CHECK(((uint8_t *)site)[0] == k->bytes[0] && !memcmp((uint8_t *)site + 2, k->bytes + 2, k->len - 2u));
	else if (state == UFT_IDLE && !UFT_SITE_IS_OWN(k->kind))
		CHECK(uft_insn_nops_length((uint8_t *)site, k->len, NULL) == k->len, "%s at %lu", k->name,
		      (unsigned long)(site & 63));
	if (state == UFT_IDLE && k->kind == UFT_SITE_NOPS && is_quiet_run &&
	    (site & (uft_rt.no_mprotect ? 7 : 63)) != (uft_rt.no_mprotect ? 7 : 63))
		CHECK(uft_insn_nop_length((uint8_t *)site, k->len) >= 5, "%s is not coalesced", k->name);
	/* While threads run they may rest between one-byte nops: those stay. */
	if (state == UFT_IDLE && k->kind == UFT_SITE_NOPS && !is_quiet_run && !is_armed_quiet)
		CHECK(!memcmp(t->base + at, t->copy + at, k->len), "%s at %lu", k->name, (unsigned long)(site & 63));
	if (state != UFT_FUNCTION && state != UFT_GRAPH)
		return;
	end = follow(o, site, &ret);
	if (state == UFT_GRAPH) {
		CHECK(end == o->stub_base + stub * UFT_STUB_BYTES, "%s at %lu leads to %lx", k->name,
		      (unsigned long)(site & 63), (unsigned long)end);
		CHECK(((uint8_t *)end)[15] == (k->action & UFT_ACT_ROOT));
		CHECK(!k->prologue || ret == site + k->len);
	} else if (!UFT_SITE_IS_OWN(k->kind) && end < o->stub_base) {
		CHECK(end == thunk(o, k->prologue ? 1 : 0) && ret == site + k->len, "%s at %lu: %lx, back to %lx",
		      k->name, (unsigned long)(site & 63), (unsigned long)end, (unsigned long)ret);
	}
}

static void check_call(const struct kit_text *t, const struct kit_site *k, const struct uft_cmd_object *o,
		       uint32_t stub, unsigned offset, uint64_t site, unsigned state)
{
	uint64_t funcs = kit_funcs, enters = kit_enters, exits = kit_exits, own = kit_own_calls;
	int calls_own = UFT_SITE_IS_OWN(k->kind) ||
		(state == UFT_ORIGINAL && (k->kind == UFT_SITE_FENTRY_CALL || k->kind == UFT_SITE_MCOUNT_CALL));

	kit_last_id = ~0ull;
	CHECK(kit_call(t, stub, k, offset, 41) == 42, "%s at %u state %u", k->name, offset, state);
	CHECK(kit_funcs - funcs == (state == UFT_FUNCTION), "%s at %u state %u", k->name, offset, state);
	CHECK(kit_enters - enters == (state == UFT_GRAPH) && kit_exits - exits == (state == UFT_GRAPH),
	      "%s at %u state %u", k->name, offset, state);
	CHECK(kit_own_calls - own == (uint64_t)calls_own, "%s at %u state %u", k->name, offset, state);
	if (state == UFT_FUNCTION)
		CHECK((uint32_t)kit_last_id == o->first_text_id +
		      (uint32_t)((site + k->len - (o->text_start & ~3ull)) >> 2), "%s at %u", k->name, offset);
	if (state == UFT_GRAPH)
		CHECK((uint32_t)kit_last_id == o->first_stub_id + stub, "%s at %u", k->name, offset);
	if (state == UFT_FUNCTION || state == UFT_GRAPH)
		CHECK(kit_last_parent - (uint64_t)kit_call < 4096, "%s at %u: parent %lx", k->name, offset,
		      (unsigned long)kit_last_parent);
	if (calls_own)
		CHECK(kit_own_self == site + k->len, "%s at %u state %u: own function called from %lx, not %lx",
		      k->name, offset, state, (unsigned long)kit_own_self, (unsigned long)(site + k->len));
	if (calls_own && !k->prologue && state != UFT_GRAPH)
		CHECK(kit_own_parent - (uint64_t)kit_call < 4096, "%s at %u", k->name, offset);
}

static volatile int stop;

static void *spin(void *arg)
{
	while (!stop)
		__asm__ volatile("pause");
	return arg;
}

static void start_thread(pthread_t *th)
{
	stop = 0;
	is_quiet_run = 0;
	CHECK(!pthread_create(th, NULL, spin, NULL));
}

static void stop_thread(pthread_t th)
{
	stop = 1;
	pthread_join(th, NULL);
	is_quiet_run = 1;
}

static const uint8_t states[] = {
	UFT_FUNCTION, UFT_IDLE, UFT_GRAPH, UFT_FUNCTION, UFT_GRAPH, UFT_IDLE, UFT_FUNCTION, UFT_ORIGINAL, UFT_GRAPH,
	UFT_ORIGINAL, UFT_IDLE, UFT_ORIGINAL, UFT_FUNCTION, UFT_GRAPH,
};

static void check_kind(const struct kit_site *k, uint32_t object)
{
	struct kit_text t;
	struct uft_cmd_object o;
	struct uft_patch p[NOFF];
	uint64_t done, live = kit_counters[UFT_CNT_SITE_LIVE], nlive = 0;
	unsigned i, s;
	pthread_t th;

	kit_text_make(&t, NOFF);
	for (i = 0; i < NOFF; i++)
		p[i] = (struct uft_patch){ .addr = kit_emit(&t, i, k, i), .stub = i,
					   .kind_len = UFT_KIND_LEN(k->kind, k->len), .action = k->action };
	kit_text_seal(&t);
	kit_object(&t, object, NOFF, &o);
	for (s = 0; s < sizeof(states); s++) {
		for (i = 0; i < NOFF; i++)
			p[i].state = states[s];
		CHECK(patch_change(object, p, NOFF, 0, &done) >= 0);
		CHECK(done == NOFF);
		for (i = 0; i < NOFF; i++) {
			int refused = is_refused(k, p[i].addr, s, states[s]);

			nlive += p[i].status == UFT_ST_LIVE;
			if (refused > 0)
				CHECK(p[i].status == UFT_ST_LIVE, "%s at %u state %u: status %u", k->name, i,
				      states[s], p[i].status);
			/* Not the bytes as found, but out of the way: an own call is made, nothing else happens. */
			if (refused > 0 && states[s] == UFT_ORIGINAL && (is_armed_quiet || k->kind == UFT_SITE_PREPAD))
				check_call(&t, k, &o, i, i, p[i].addr, UFT_IDLE);
			if (refused && p[i].status == UFT_ST_LIVE)
				continue;
			CHECK(p[i].status == UFT_ST_OK, "%s at %u state %u: status %u", k->name, i, states[s],
			      p[i].status);
			check_bytes(&t, k, &o, p[i].addr, i, states[s]);
			check_call(&t, k, &o, i, i, p[i].addr, states[s]);
		}
		if (!s && is_armed_quiet)
			start_thread(&th);
	}
	patch_disarm();
	if (is_armed_quiet) {
		for (i = 0; i < NOFF; i++)
			CHECK(kit_call(&t, i, k, i, 41) == 42, "%s at %u: not sound after disarm", k->name, i);
		stop_thread(th);
		patch_disarm();
	} else {
		CHECK(kit_counters[UFT_CNT_SITE_LIVE] - live >= nlive &&
		      (nlive || kit_counters[UFT_CNT_SITE_LIVE] == live));
	}
	for (i = 0; i < t.bytes; i++) {
		uint64_t site = p[i / KIT_SLOT < NOFF ? i / KIT_SLOT : 0].addr, at = (uint64_t)t.base + i;
		int stays = !is_quiet_run && k->kind == UFT_SITE_PREPAD && is_last(site - 5) && at - (site - 5) < 7;

		CHECK(stays || t.base[i] == t.copy[i], "%s: not as found after disarm", k->name);
	}
	patch_object_gone(object);
	kit_text_free(&t);
}

static void check_all(const char *what)
{
	const struct kit_site *k;

	for (k = kit_sites; k->name; k++)
		check_kind(k, (uint32_t)(k - kit_sites));
	printf("%s: %u kinds x %u offsets x %zu states\n", what, (unsigned)(k - kit_sites), NOFF, sizeof(states));
}

static void check_with_thread(const char *what)
{
	pthread_t th;

	start_thread(&th);
	check_all(what);
	stop_thread(th);
}

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
/* Memory that is written can never be executed: in a child, for there is no way back. */
static void check_mdwe(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct kit_text t;
		struct uft_cmd_object o;
		struct uft_patch p = { .stub = 0 };

		kit_text_make(&t, 1);
		p.addr = kit_emit(&t, 0, &kit_sites[0], 4);
		p.kind_len = UFT_KIND_LEN(kit_sites[0].kind, kit_sites[0].len);
		kit_text_seal(&t);
		if (prctl(PR_SET_MDWE, 1, 0, 0, 0))
			_exit(77);
		CHECK(mprotect(t.base, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
		kit_object(&t, 500, 1, &o);
		for (unsigned s = 0; s < sizeof(states); s++) {
			p.state = states[s];
			CHECK(patch_change(500, &p, 1, 0, NULL) >= 0 && p.status == UFT_ST_OK, "status %u", p.status);
			check_bytes(&t, &kit_sites[0], &o, p.addr, 0, states[s]);
			check_call(&t, &kit_sites[0], &o, 0, 4, p.addr, states[s]);
		}
		patch_disarm();
		CHECK(!memcmp(t.base, t.copy, t.bytes));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "status %x", status);
	if (WEXITSTATUS(status) == 77)
		printf("mdwe: the kernel has none\n");
	else
		CHECK(!WEXITSTATUS(status));
}

/* A kernel or a filter without membarrier: every CPU is visited instead, and the affinity is as before. */
static void check_no_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };
	cpu_set_t before, after;
	int status;
	pid_t pid = fork();

	if (!pid) {
		CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
		CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
		CHECK(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == ENOSYS);
		CHECK(!sched_getaffinity(0, sizeof(before), &before));
		CHECK(!patch_init());
		check_kind(&kit_sites[0], 600);
		CHECK(!sched_getaffinity(0, sizeof(after), &after) && CPU_EQUAL(&before, &after));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "status %x", status);
}

int main(void)
{
	kit_thread_init();
	is_quiet_run = 1;
	CHECK(!patch_init());
	check_all("quiet, st8");
	check_with_thread("a thread running, st8");
	is_armed_quiet = 1;
	check_all("armed while nobody ran, st8");
	uft_rt.st8_ok = 0;
	check_all("armed while nobody ran, no st8");
	uft_rt.st8_ok = 1;
	is_armed_quiet = 0;
	uft_rt.st8_ok = 0;
	check_with_thread("a thread running, no st8");
	uft_rt.no_mprotect = 1;
	check_all("quiet, /proc/self/mem");
	uft_rt.no_mprotect = 0;
	uft_rt.st8_ok = 1;
	if (!host_lacks("mdwe"))
		check_mdwe();
	if (!host_lacks("no_membarrier"))
		check_no_membarrier();
	CHECK(host_is_met());
	return 0;
}
