/* SPDX-License-Identifier: MIT */
/*
 * code_test.c - plain functions: every state, at every offset, in every way of writing, with and without threads
 *
 * The session's part is played by hand: a function of whole instructions whose first ones moved.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/patch/kit.h"

#define OBJECT	20
#define LINE	64u		/* offsets */
#define MANY	320u		/* functions: a list so long has a way of its own where nobody runs (early.c) */

/* push %rbp; mov %rsp,%rbp; lea 1(%rdi),%rax | pop %rbp; ret */
static const uint8_t body[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x47, 0x01, 0x5d, 0xc3 };

static unsigned nfuncs;

struct fixture {
	struct kit_text t;
	struct uft_cmd_object o;
	struct uft_code code[MANY];
	struct uft_patch patch[MANY];
	const uint8_t *body;
};

enum { JUMP, PAD, PUN };	/* forms */

/* mov %rdi,%rax; add $1,%rax; ret: three bytes and 48 83 are a jump to somewhere in 64 KiB, 2.1 GB before it. */
static const uint8_t punned[] = { 0x48, 0x89, 0xf8, 0x48, 0x83, 0xc0, 0x01, 0xc3 };

/* Function @i stands at offset @i % 64 of a cache line; its padding, if it needs that, before it or behind it. */
static void emit(struct fixture *f, unsigned i, int form)
{
	uint8_t *at = f->t.base + i * KIT_SLOT + 64 + i % LINE, *pad = i & 1 ? at - 20 : at + 40;
	struct uft_code *c = &f->code[i];

	f->body = form == PUN ? punned : body;
	memcpy(at, f->body, form == PUN ? sizeof(punned) : sizeof(body));
	*c = (struct uft_code){ .addr = (uint64_t)at, .stub = i, .nmoved = form == PUN ? 3 : form == PAD ? 4 : 8 };
	memcpy(c->orig, f->body, 8);
	if (form == PUN) {
		c->pun = 3;
		c->known = 8;
	}
	if (form == PAD) {
		memset(pad, 0x90, 5);
		c->pad = (uint64_t)pad;
		memcpy(c->pad_orig, pad, 5);
	}
	f->patch[i] = (struct uft_patch){ .addr = c->addr, .stub = i,
					  .kind_len = UFT_KIND_LEN(UFT_SITE_CODE, form == PUN ? 3 : form == PAD ? 2 :
						  5) };
}

static void relocate(struct fixture *f, unsigned i)
{
	struct uft_code *c = &f->code[i];
	uint64_t at = f->o.code_base + i * UFT_CODE_STRIDE;

	memcpy(c->code, c->orig, c->nmoved);
	uft_insn_jmp(c->code + c->nmoved, at + c->nmoved, c->addr + c->nmoved);
	c->ncode = c->nmoved + 5;
}

static void make(struct fixture *f, int form)
{
	uint64_t done;
	unsigned i;

	kit_text_make(&f->t, nfuncs);
	for (i = 0; i < nfuncs; i++)
		emit(f, i, form);
	kit_text_seal(&f->t);
	kit_object(&f->t, OBJECT, nfuncs, &f->o);
	for (i = 0; i < nfuncs; i++)
		relocate(f, i);
	CHECK(!patch_code(OBJECT, f->code, nfuncs, &done) && done == nfuncs);
	for (i = 0; i < nfuncs; i++)
		CHECK(f->code[i].status == UFT_ST_OK, "offset %u status %u", i, f->code[i].status);
}

static void unmake(struct fixture *f)
{
	patch_object_gone(OBJECT);
	kit_text_free(&f->t);
}

static long change(struct fixture *f, unsigned state, unsigned flags)
{
	unsigned i;

	for (i = 0; i < nfuncs; i++)
		f->patch[i].state = (uint8_t)state;
	return patch_change(OBJECT, f->patch, nfuncs, flags, NULL);
}

static void all_ok(const struct fixture *f)
{
	for (unsigned i = 0; i < nfuncs; i++)
		CHECK(f->patch[i].status == UFT_ST_OK, "offset %u status %u", i, f->patch[i].status);
}

static void is_as_found(const struct fixture *f)
{
	CHECK(!memcmp(f->t.base, f->t.copy, f->t.bytes));
}

/* Calls each and holds the handlers' counts against what the state promises. */
static void call_all(const struct fixture *f, unsigned state)
{
	uint64_t funcs = kit_funcs, enters = kit_enters, exits = kit_exits;
	unsigned i;

	for (i = 0; i < nfuncs; i++) {
		long (*fn)(long) = (long (*)(long))f->code[i].addr;
		long ret = fn(41 + i);

		CHECK(ret == 42 + (long)i);
		if (state != UFT_FUNCTION && state != UFT_GRAPH)
			continue;
		CHECK(kit_last_id == f->o.first_stub_id + i, "id %lu", (unsigned long)kit_last_id);
		CHECK(kit_last_parent - (uint64_t)call_all < 1024);
	}
	CHECK(kit_funcs - funcs == (state == UFT_FUNCTION ? nfuncs : 0));
	CHECK(kit_enters - enters == (state == UFT_GRAPH ? nfuncs : 0) && kit_exits - exits == kit_enters - enters);
}

static void test_states(int form)
{
	static const uint8_t states[] = { UFT_FUNCTION, UFT_GRAPH, UFT_IDLE, UFT_GRAPH, UFT_FUNCTION, UFT_ORIGINAL,
		UFT_GRAPH,
					  UFT_ORIGINAL, UFT_IDLE };
	struct fixture f;
	uint64_t done;
	unsigned i;

	make(&f, form);
	is_as_found(&f);
	for (i = 0; i < sizeof(states); i++) {
		CHECK(change(&f, states[i], 0) == (i == sizeof(states) - 1 ? 0 : nfuncs));
		all_ok(&f);
		call_all(&f, states[i]);
		if (states[i] == UFT_ORIGINAL)
			is_as_found(&f);
		/* Told again: nothing happens to linked ones, and as little to the others. */
		CHECK(!patch_code(OBJECT, f.code, nfuncs, &done) && f.code[i].status == UFT_ST_OK);
		CHECK(change(&f, states[i], 0) == 0);
	}
	is_as_found(&f);		/* idle is no reason to link */
	change(&f, UFT_GRAPH, 0);
	patch_disarm();
	is_as_found(&f);
	call_all(&f, UFT_ORIGINAL);
	unmake(&f);
}

static void *sleeper(void *fd)
{
	char c;

	return read(*(int *)fd, &c, 1) < 0 ? fd : NULL;
}

/* Does one store change all of the jump? Nothing may stand in for it: children are born at any moment. */
static int is_at_once(uint64_t addr, unsigned len)
{
	return (uft_rt.st8_ok && addr / 8 == (addr + len - 1) / 8) ||
	       (!uft_rt.no_mprotect && addr / 16 == (addr + len - 1) / 16);
}

static void change_held(struct fixture *f, unsigned state)
{
	patch_vouch(1);
	change(f, state, UFT_CMD_HELD);
	patch_vouch(0);
}

/* Another thread runs: new objects can be linked, held ones, and all but a few are taken back. */
static void test_threads(int with_pad)
{
	uint64_t live = kit_counters[UFT_CNT_SITE_LIVE];
	struct fixture f;
	pthread_t thread;
	int fd[2];
	unsigned i;

	CHECK(!pipe(fd) && !pthread_create(&thread, NULL, sleeper, fd));
	make(&f, with_pad);
	CHECK(change(&f, UFT_FUNCTION, 0) == (with_pad ? nfuncs : 0));	/* pads are nobody's way */
	CHECK(kit_counters[UFT_CNT_SITE_LIVE] - live == nfuncs);
	for (i = 0; i < nfuncs; i++)
		CHECK(f.patch[i].status == UFT_ST_LIVE && !memcmp((void *)f.code[i].addr, body, sizeof(body)));

	change_held(&f, UFT_FUNCTION);
	all_ok(&f);
	call_all(&f, UFT_FUNCTION);
	CHECK(change(&f, UFT_GRAPH, 0) == nfuncs);	/* by cells alone */
	call_all(&f, UFT_GRAPH);

	change(&f, UFT_ORIGINAL, 0);
	for (i = 0; i < nfuncs; i++) {
		int at_once = is_at_once(f.code[i].addr, with_pad ? 2 : 5);

		CHECK(f.patch[i].status == (at_once && !with_pad ? UFT_ST_OK : UFT_ST_LIVE), "offset %u: %u", i,
		      f.patch[i].status);
		CHECK(at_once == !memcmp((void *)f.code[i].addr, body, sizeof(body)));
	}
	call_all(&f, UFT_ORIGINAL);
	change_held(&f, UFT_ORIGINAL);
	all_ok(&f);
	is_as_found(&f);

	change(&f, UFT_GRAPH, UFT_PATCH_FRESH);
	all_ok(&f);
	call_all(&f, UFT_GRAPH);
	CHECK(write(fd[1], "", 1) == 1 && !pthread_join(thread, NULL));
	close(fd[0]);
	close(fd[1]);
	patch_disarm();
	is_as_found(&f);
	unmake(&f);
}

/* Sites that one store changes are armed, the others wait. */
static void are_at_once(const struct fixture *f, int is_linked)
{
	for (unsigned i = 0; i < nfuncs; i++) {
		int at_once = is_at_once(f->code[i].addr, 3), now = memcmp((void *)f->code[i].addr, punned, 3) != 0;

		CHECK(f->patch[i].status == (at_once ? UFT_ST_OK : UFT_ST_LIVE), "offset %u: %u", i,
		      f->patch[i].status);
		CHECK(now == (at_once ? is_linked : !is_linked), "offset %u", i);
		CHECK(!memcmp((void *)(f->code[i].addr + 3), punned + 3, sizeof(punned) - 3));
	}
}

/* No thread stands inside of one instruction: threads do not hinder arming or disarming. */
static void test_pun_threads(void)
{
	uint64_t taken = kit_counters[UFT_CNT_SITE_TAKEN];
	struct fixture f;
	pthread_t thread;
	int fd[2];

	CHECK(!pipe(fd) && !pthread_create(&thread, NULL, sleeper, fd));
	make(&f, PUN);
	change(&f, UFT_FUNCTION, 0);
	are_at_once(&f, 1);
	change_held(&f, UFT_FUNCTION);
	all_ok(&f);
	call_all(&f, UFT_FUNCTION);
	CHECK(change(&f, UFT_GRAPH, 0) == nfuncs);
	call_all(&f, UFT_GRAPH);
	change(&f, UFT_ORIGINAL, 0);
	are_at_once(&f, 0);
	call_all(&f, UFT_ORIGINAL);
	change(&f, UFT_GRAPH, 0);
	change_held(&f, UFT_ORIGINAL);
	all_ok(&f);
	is_as_found(&f);
	change_held(&f, UFT_GRAPH);
	all_ok(&f);
	call_all(&f, UFT_GRAPH);
	change_held(&f, UFT_ORIGINAL);
	is_as_found(&f);
	CHECK(kit_counters[UFT_CNT_SITE_TAKEN] == taken);
	CHECK(write(fd[1], "", 1) == 1 && !pthread_join(thread, NULL));
	close(fd[0]);
	close(fd[1]);
	unmake(&f);
}

/* One byte of ours: the place is given. cld; mov $imm,%eax with other bytes: the displacement. */
static struct uft_code given(const struct fixture *f, unsigned i, uintptr_t to)
{
	struct uft_code c = f->code[i];
	int32_t rel = (int32_t)(to - (c.addr + 5));
	uint8_t *at = (uint8_t *)c.addr;

	*at = 0xfc;
	memcpy(at + 1, &rel, 4);
	c.nmoved = c.pun = 1;
	c.known = 5;
	memcpy(c.orig, at, 5);
	c.code[0] = 0xfc;
	uft_insn_jmp(c.code + 1, f->o.code_base + i * UFT_CODE_STRIDE + 1, c.addr + 1);
	c.ncode = 6;
	return c;
}

/* Text that can be written, of @n functions that nobody knows. */
static void make_given(struct fixture *f, unsigned n)
{
	nfuncs = n;
	make(f, JUMP);
	patch_object_gone(OBJECT);
	kit_object(&f->t, OBJECT, nfuncs, &f->o);
	CHECK(!mprotect(f->t.base, f->t.bytes, PROT_READ | PROT_WRITE | PROT_EXEC));
}

static void test_pun_place(void)
{
	unsigned some = nfuncs;
	struct uft_code c[3];
	struct fixture f;
	uint64_t done;
	uintptr_t to;
	uint8_t *at;
	static int32_t down;		/* pages stay, so others each time */
	int32_t rel = -(600 << 20) - (down += 1 << 20);

	make_given(&f, 4);
	for (unsigned i = 0; i < 3; i++) {
		to = ((f.code[i].addr + 5 + (uintptr_t)(intptr_t)(rel + (int32_t)(i << 16))) & ~4095ul) + 64;
		c[i] = given(&f, i, to);
		if (i == 1)
			CHECK(mmap((void *)(to & ~4095ul), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
				MAP_FIXED_NOREPLACE, -1, 0) !=
			      MAP_FAILED);
	}
	done = kit_counters[UFT_CNT_SITE_TAKEN];
	CHECK(!patch_code(OBJECT, c, 3, &to));
	CHECK(c[0].status == UFT_ST_OK && c[1].status == UFT_ST_REACH && c[2].status == UFT_ST_OK);
	CHECK(kit_counters[UFT_CNT_SITE_TAKEN] == done + 1);
	CHECK(!patch_code(OBJECT, c, 3, &to) && c[1].status == UFT_ST_REACH);
	CHECK(kit_counters[UFT_CNT_SITE_TAKEN] == done + 1);	/* a site counts once */
	CHECK(patch_is_needed(0, ~0ull) == 0);
	to = (uintptr_t)c[1].addr + 5 + (uintptr_t)(intptr_t)(int32_t)uft_get32(c[1].orig + 1);
	CHECK(!munmap((void *)(to & ~4095ul), 4096));
	CHECK(!patch_code(OBJECT, c, 3, &done) && c[1].status == UFT_ST_OK);	/* asked again: it is free now */
	/* What stands behind it is a part of the jump. */
	f.patch[2].kind_len = UFT_KIND_LEN(UFT_SITE_CODE, 1);
	f.patch[2].state = UFT_FUNCTION;
	at = (uint8_t *)c[2].addr;
	at[2] ^= 1;
	CHECK(patch_change(OBJECT, &f.patch[2], 1, 0, NULL) == 0 && f.patch[2].status == UFT_ST_BYTES && *at == 0xfc);
	at[2] ^= 1;
	CHECK(patch_change(OBJECT, &f.patch[2], 1, 0, NULL) == 1 && f.patch[2].status == UFT_ST_OK &&
	      *at == UFT_OP_JMP);
	patch_disarm();
	CHECK(*at == 0xfc);
	unmake(&f);
	nfuncs = some;
}

static int is_mapped(uintptr_t page)
{
	return !msync((void *)page, 4096, MS_ASYNC);
}

/*
 * The list has room for 256 places. One more is refused, and not as one where something else is; and they are free when their object
 * is gone: a library may come and go as often as it likes.
 */
static void test_pun_room(void)
{
	uint64_t done, taken = kit_counters[UFT_CNT_SITE_TAKEN], refused = kit_counters[UFT_CNT_SITE_REFUSED];
	unsigned some = nfuncs;
	struct uft_code c[258];
	struct rlimit was, none;
	struct fixture f;
	uintptr_t page;

	make_given(&f, 258);
	page = ((uintptr_t)f.t.base - (1000 << 20)) & ~4095ul;
	for (unsigned i = 0; i < 257; i++)
		c[i] = given(&f, i, page + i * 16);
	CHECK(!patch_code(OBJECT, c, 257, &done) && c[0].status == UFT_ST_OK && c[256].status == UFT_ST_MEMORY);
	for (unsigned i = 0; i < 256; i++)
		CHECK(c[i].status == UFT_ST_OK, "place %u: %u", i, c[i].status);
	CHECK(kit_counters[UFT_CNT_SITE_TAKEN] == taken && kit_counters[UFT_CNT_SITE_REFUSED] == refused + 1);
	CHECK(!patch_code(OBJECT, c, 257, &done) && c[256].status == UFT_ST_MEMORY);
	CHECK(kit_counters[UFT_CNT_SITE_REFUSED] == refused + 1);
	for (unsigned round = 1; round < 600; round++) {
		patch_object_gone(OBJECT);
		kit_object(&f.t, OBJECT, nfuncs, &f.o);
		c[257] = given(&f, 257, page - round * 4096);
		CHECK(!patch_code(OBJECT, c + 257, 1, &done) && c[257].status == UFT_ST_OK, "round %u: %u", round,
		      c[257].status);
	}
	CHECK(is_mapped(page - 599 * 4096) && !is_mapped(page - 4096));	/* no page is left for each of them */
	patch_object_gone(OBJECT);
	kit_object(&f.t, OBJECT, nfuncs, &f.o);
	refused = kit_counters[UFT_CNT_SITE_REFUSED];
	c[257] = given(&f, 257, page - 700 * 4096);
	CHECK(!getrlimit(RLIMIT_AS, &was));
	none = (struct rlimit){ 4096, was.rlim_max };
	CHECK(!setrlimit(RLIMIT_AS, &none));
	CHECK(!patch_code(OBJECT, c + 257, 1, &done) && !setrlimit(RLIMIT_AS, &was));
	CHECK(c[257].status == UFT_ST_MEMORY && kit_counters[UFT_CNT_SITE_REFUSED] == refused + 1);
	CHECK(kit_counters[UFT_CNT_SITE_TAKEN] == taken);
	unmake(&f);
	nfuncs = some;
}

/*
 * What waited for the session to hold all. Where other bytes stand than were left, at the site or in its pad,
 * nothing is linked.
 */
static void test_held(int with_pad)
{
	uint8_t *site, *pad, found;
	struct fixture f;
	pthread_t thread;
	int fd[2];

	CHECK(!pipe(fd) && !pthread_create(&thread, NULL, sleeper, fd));
	make(&f, with_pad);
	change(&f, UFT_FUNCTION, UFT_PATCH_TRY);
	CHECK(f.patch[0].status == UFT_ST_LIVE && f.patch[nfuncs - 1].status == UFT_ST_LIVE);
	CHECK(!mprotect(f.t.base, f.t.bytes, PROT_READ | PROT_WRITE | PROT_EXEC));
	site = (uint8_t *)f.code[9].addr + 1;
	pad = (uint8_t *)(with_pad ? f.code[11].pad : f.code[11].addr) + 1;
	found = *pad;
	*site ^= 0x55;
	*pad ^= 0x55;
	change_held(&f, UFT_FUNCTION);
	CHECK(f.patch[9].status == UFT_ST_BYTES && f.patch[11].status == UFT_ST_BYTES);
	CHECK(*(uint8_t *)f.code[9].addr == body[0] && *(uint8_t *)f.code[11].addr == body[0]);
	*site = body[1];
	*pad = found;
	change_held(&f, UFT_FUNCTION);
	all_ok(&f);
	call_all(&f, UFT_FUNCTION);
	CHECK(change(&f, UFT_GRAPH, 0) == nfuncs);
	call_all(&f, UFT_GRAPH);
	patch_vouch(1);
	patch_disarm();
	patch_vouch(0);
	is_as_found(&f);
	change_held(&f, UFT_GRAPH);		/* from the start */
	all_ok(&f);
	call_all(&f, UFT_GRAPH);
	CHECK(write(fd[1], "", 1) == 1 && !pthread_join(thread, NULL));
	close(fd[0]);
	close(fd[1]);
	patch_disarm();
	is_as_found(&f);
	unmake(&f);
}

/* Not for the graph tracer: untouched, or passed through when the function tracer had it linked. */
static void test_function_only(void)
{
	uint64_t done;
	struct fixture f;
	unsigned i;

	make(&f, 0);
	patch_object_gone(OBJECT);	/* once more, as it should be */
	kit_object(&f.t, OBJECT, nfuncs, &f.o);
	for (i = 0; i < nfuncs; i++) {
		relocate(&f, i);
		f.code[i].is_plain = 1;
	}
	CHECK(!patch_code(OBJECT, f.code, nfuncs, &done));
	CHECK(change(&f, UFT_GRAPH, 0) == 0 && f.patch[5].status == UFT_ST_PLAIN);
	change_held(&f, UFT_GRAPH);
	CHECK(f.patch[5].status == UFT_ST_PLAIN);
	is_as_found(&f);
	CHECK(change(&f, UFT_FUNCTION, 0) == nfuncs);
	call_all(&f, UFT_FUNCTION);
	change(&f, UFT_GRAPH, 0);
	CHECK(f.patch[5].status == UFT_ST_PLAIN);
	call_all(&f, UFT_IDLE);
	patch_disarm();
	is_as_found(&f);
	unmake(&f);
}

/* The program writes where a site is linked: the site is left alone, whatever is wanted. */
static void test_unexpected_bytes(void)
{
	struct fixture f;
	uint8_t *at;

	make(&f, 0);
	change(&f, UFT_FUNCTION, 0);
	at = (uint8_t *)f.code[9].addr;
	CHECK(!mprotect(f.t.base, f.t.bytes, PROT_READ | PROT_WRITE | PROT_EXEC));
	at[0] = 0xcc;
	change(&f, UFT_ORIGINAL, 0);
	CHECK(f.patch[9].status == UFT_ST_BYTES && at[0] == 0xcc && f.patch[8].status == UFT_ST_OK);
	patch_disarm();
	CHECK(at[0] == 0xcc);
	unmake(&f);
}

static uint8_t status_of(struct fixture *f, const struct uft_code *c)
{
	struct uft_code two[2] = { f->code[1], *c };
	uint64_t done;

	CHECK(!patch_code(OBJECT + 1, two, 2, &done));
	CHECK(two[0].status == UFT_ST_OK);
	return two[1].status;
}

static void test_bad_code(void)
{
	static const struct { unsigned at; uint8_t byte; } wrong[] = { { 0, 0x56 }, { 7, 0x02 } };
	struct uft_cmd_object o;
	struct uft_patch p;
	struct fixture f;
	struct uft_code c;
	unsigned i;

	make(&f, 1);
	kit_object(&f.t, OBJECT + 1, 4, &o);
	for (i = 0; i < 2; i++) {
		c = f.code[3];
		c.nmoved = 8;
		memcpy(c.orig, body, 8);
		c.orig[wrong[i].at] = wrong[i].byte;
		CHECK(status_of(&f, &c) == UFT_ST_BYTES);
	}
	c = f.code[3], c.pad_orig[4] = 0x91;
	CHECK(status_of(&f, &c) == UFT_ST_BYTES);
	c = f.code[3], c.stub = o.nstubs;
	CHECK(status_of(&f, &c) == UFT_ST_KIND);
	c = f.code[3], c.ncode = UFT_CODE_MAX + 1;
	CHECK(status_of(&f, &c) == UFT_ST_KIND);
	c = f.code[3], c.pad = 0;			/* four bytes are too few without */
	CHECK(status_of(&f, &c) == UFT_ST_KIND);
	c = f.code[3], c.pad = c.addr + 200;		/* out of reach */
	CHECK(status_of(&f, &c) == UFT_ST_KIND);
	c = f.code[3], c.pad = c.addr + 2;		/* in what moves */
	CHECK(status_of(&f, &c) == UFT_ST_KIND);
	c = f.code[3], c.addr = f.code[1].addr + 3, c.pad = c.addr + 60;	/* in what the one before moves */
	CHECK(status_of(&f, &c) == UFT_ST_KIND);
	c = f.code[3], c.addr = o.text_end - 2;
	CHECK(status_of(&f, &c) == UFT_ST_KIND);
	c = f.code[3], c.addr = ~0ull - 1;
	CHECK(status_of(&f, &c) == UFT_ST_KIND);
	/* Nothing was sent for this one; and of the one that was, another length is asked for. */
	p = f.patch[3], p.state = UFT_GRAPH;
	CHECK(patch_change(OBJECT + 1, &p, 1, 0, NULL) == 0 && p.status == UFT_ST_KIND);
	p = f.patch[1], p.state = UFT_GRAPH, p.kind_len = UFT_KIND_LEN(UFT_SITE_CODE, 5);
	CHECK(patch_change(OBJECT + 1, &p, 1, 0, NULL) == 0 && p.status == UFT_ST_KIND);
	is_as_found(&f);
	patch_object_gone(OBJECT + 1);
	unmake(&f);
}

int main(void)
{
	static const struct { uint32_t st8_ok, no_mprotect; } modes[] = { { 1, 0 }, { 0, 0 }, { 1, 1 } };

	CHECK(!patch_init());
	kit_thread_init();
	for (unsigned m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		uft_rt.st8_ok = modes[m].st8_ok;
		uft_rt.no_mprotect = modes[m].no_mprotect;
		for (nfuncs = LINE; nfuncs <= MANY; nfuncs += MANY - LINE) {
			if (nfuncs == LINE) {
				test_states(PUN);
				test_pun_threads();
				if (!(kit_prot() & PROT_WRITE)) {	/* a host that has only memory of its own */
					test_pun_place();
					test_pun_room();
				}
			}
			for (int with_pad = 0; with_pad < 2; with_pad++) {
				test_states(with_pad);
				test_threads(with_pad);
				test_held(with_pad);
			}
			test_function_only();
			test_unexpected_bytes();
			test_bad_code();
		}
	}
	return 0;
}
