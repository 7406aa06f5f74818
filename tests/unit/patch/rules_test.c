/* SPDX-License-Identifier: MIT */
/*
 * rules_test.c - what the patcher must not do, and what becomes of objects
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/bare/host.h"
#include "tests/unit/patch/kit.h"

#define NOP5_KIND	kind_named("nop5")
#define NOPS_KIND	kind_named("5 nops")
#define CALL_KIND	kind_named("call __fentry__")
#define OWN_KIND	kind_named("own __fentry__")

static const struct kit_site *kind_named(const char *name)
{
	const struct kit_site *k = kit_sites;

	while (strcmp(k->name, name))
		k++;
	return k;
}

static struct uft_patch patch_of(uint64_t addr, uint32_t stub, const struct kit_site *k, unsigned state)
{
	return (struct uft_patch){ .addr = addr, .stub = stub, .kind_len = UFT_KIND_LEN(k->kind, k->len),
				   .state = (uint8_t)state, .action = k->action };
}

static void poke(void *at, uint8_t byte)
{
	void *page = (void *)((uintptr_t)at & ~4095ul);

	CHECK(!mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	*(volatile uint8_t *)at = byte;
	CHECK(!mprotect(page, 4096, kit_prot()));
}

/* Bytes that are not what they should be are left alone and counted, at first touch and later. */
static void test_unexpected_bytes(void)
{
	uint64_t refused = kit_counters[UFT_CNT_SITE_REFUSED];
	struct uft_cmd_object o;
	struct uft_patch p[4];
	struct kit_text t;
	unsigned i;

	kit_text_make(&t, 4);
	for (i = 0; i < 4; i++)
		p[i] = patch_of(kit_emit(&t, i, NOP5_KIND, 3 * i), i, NOP5_KIND, UFT_FUNCTION);
	t.base[p[1].addr - (uint64_t)t.base] = 0x0e;	/* not a nop */
	p[2].kind_len = UFT_KIND_LEN(UFT_SITE_FENTRY_CALL, 5);	/* not a call */
	kit_text_seal(&t);
	kit_object(&t, 1, 4, &o);
	CHECK(patch_change(1, p, 4, 0, NULL) == 2);
	CHECK(p[0].status == UFT_ST_OK && p[3].status == UFT_ST_OK);
	CHECK(p[1].status == UFT_ST_BYTES && p[2].status == UFT_ST_BYTES);
	CHECK(!memcmp(t.base + KIT_SLOT, t.copy + KIT_SLOT, 2 * KIT_SLOT));
	CHECK(kit_counters[UFT_CNT_SITE_REFUSED] - refused == 2);

	/* The program writes over an armed site: neither idle nor disarm touches it. */
	poke((void *)(p[0].addr + 2), 0x77);
	p[0].state = UFT_IDLE;
	CHECK(patch_change(1, p, 1, 0, NULL) == 0 && p[0].status == UFT_ST_BYTES);
	CHECK(*(uint8_t *)p[0].addr == 0xe8 && ((uint8_t *)p[0].addr)[2] == 0x77);
	patch_disarm();
	CHECK(*(uint8_t *)p[0].addr == 0xe8);
	CHECK(!memcmp((void *)p[3].addr, "\x0f\x1f\x44\0\0", 5));
	/* what stays is told, not counted */
	CHECK(kit_counters[UFT_CNT_SITE_REFUSED] - refused == 3 && patch_stuck() == 1);
	patch_object_gone(1);
	kit_text_free(&t);
}

static void test_bad_requests(void)
{
	struct uft_cmd_object o, again;
	struct uft_patch p;
	struct kit_text t;

	kit_text_make(&t, 4);
	p = patch_of(kit_emit(&t, 0, NOP5_KIND, 0), 0, NOP5_KIND, UFT_FUNCTION);
	kit_text_seal(&t);
	CHECK(patch_change(2, &p, 1, 0, NULL) == -2);	/* no such object */
	kit_object(&t, 2, 4, &o);
	p.stub = o.nstubs;				/* beyond the stubs */
	CHECK(patch_change(2, &p, 1, 0, NULL) == 0 && p.status == UFT_ST_KIND);
	p.stub = 0;
	p.addr += t.bytes;				/* beyond the text */
	CHECK(patch_change(2, &p, 1, 0, NULL) == 0 && p.status == UFT_ST_BYTES);
	p.addr = ~0ull - 2;
	CHECK(patch_change(2, &p, 1, 0, NULL) == 0 && p.status == UFT_ST_BYTES);

	/* The same object again: the same memory. Another one under its number: refused. */
	again = o;
	again.stub_base = 0;
	CHECK(!patch_object(&again) && again.stub_base == o.stub_base && again.tramp_end == o.tramp_end);
	again.nstubs = 8;
	CHECK(!patch_object(&again) && again.stub_base == o.stub_base);
	again.nstubs = 100000;
	CHECK(patch_object(&again) == -28);		/* -ENOSPC: stubs cannot move */
	again.nstubs = 4;
	again.text_end += 4096;
	CHECK(patch_object(&again) == -17);
	patch_object_gone(2);
	kit_text_free(&t);
}

/* Unmapped while armed: nothing is written there; the next object of that extent gets the same stubs. */
static void test_gone(void)
{
	struct uft_cmd_object o, next;
	struct uft_patch p;
	struct kit_text t;
	uint8_t *base;

	kit_text_make(&t, 4);
	p = patch_of(kit_emit(&t, 0, NOP5_KIND, 0), 0, NOP5_KIND, UFT_GRAPH);
	kit_text_seal(&t);
	kit_object(&t, 3, 4, &o);
	CHECK(patch_change(3, &p, 1, 0, NULL) == 1);
	base = t.base;
	munmap(t.base, t.bytes + 4096);
	p.state = UFT_IDLE;
	patch_object_gone(3);
	patch_disarm();
	CHECK(patch_change(3, &p, 1, 0, NULL) == -2);
	t.base = mmap(base, t.bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(t.base == base);
	memset(t.base, 0xcc, t.bytes);
	p = patch_of(kit_emit(&t, 0, NOP5_KIND, 0), 0, NOP5_KIND, UFT_GRAPH);
	CHECK(!mprotect(t.base, t.bytes + 4096, kit_prot()));
	kit_object(&t, 4, 4, &next);
	CHECK(next.stub_base == o.stub_base);
	CHECK(patch_change(4, &p, 1, 0, NULL) == 1 && kit_call(&t, 0, NOP5_KIND, 0, 1) == 2);
	patch_disarm();
	CHECK(!memcmp(t.base, t.copy, t.bytes));
	patch_object_gone(4);
	kit_text_free(&t);
}

/* 1: the page is still the file's, not a copy of its own. */
static int is_clean(const void *at)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t e = 0;

	CHECK(fd >= 0 && pread(fd, &e, 8, (off_t)((uintptr_t)at / 4096 * 8)) == 8);
	close(fd);
	return !(e >> 63 & 1) || (e >> 61 & 1);
}

/* Only pages with a wanted site become private; so do only the stubs that are used. */
static void test_pages(void)
{
	const unsigned n = 64 * 16;
	struct uft_cmd_object o;
	struct uft_patch p[2];
	struct kit_text t;
	unsigned i;
	uint8_t *file;
	int fd;

	kit_text_make(&t, n);
	for (i = 0; i < n; i++)
		kit_emit(&t, i, NOP5_KIND, 0);
	t.copy = NULL;
	fd = memfd_create("text", 0);
	CHECK(fd >= 0 && write(fd, t.base, t.bytes) == (ssize_t)t.bytes);
	file = mmap(t.base, t.bytes, kit_prot(), MAP_PRIVATE | MAP_FIXED, fd, 0);
	CHECK(file == t.base);
	for (i = 0; i < t.bytes; i += 4096)
		(void)*(volatile uint8_t *)(file + i);
	kit_object(&t, 5, n, &o);
	p[0] = patch_of((uint64_t)t.base + 64, 0, NOP5_KIND, UFT_GRAPH);
	p[1] = patch_of((uint64_t)t.base + 40 * 4096 + 64, 40 * 16, NOP5_KIND, UFT_GRAPH);
	CHECK(patch_change(5, p, 2, 0, NULL) == 2);
	for (i = 0; i < t.bytes / 4096; i++)
		CHECK(is_clean(file + i * 4096) == (i != 0 && i != 40), "page %u", i);
	for (i = 0; !host_lacks("stub_pages") && i < n / 256; i++)
		CHECK(is_clean((void *)(o.stub_base + i * 4096)) == (i != 0 && i != 2), "stub page %u", i);
	patch_disarm();
	patch_object_gone(5);
	kit_text_free(&t);
	close(fd);
}

/* Many at once, while nobody runs (early.c), become what one at a time become. Somebody else's bytes are left. */
static void test_many(unsigned state)
{
	enum { N = 900, FOREIGN = 700 };
	static struct uft_patch p[2][N];
	static const struct kit_site *kind[N];
	struct uft_cmd_object o;
	struct kit_text t[2];
	uint32_t i, k, nkinds = 0, nok = 0;

	while (kit_sites[nkinds].name)
		nkinds++;
	for (k = 0; k < 2; k++) {
		kit_text_make(&t[k], N);
		for (i = 0; i < N; i++) {
			kind[i] = i < N / 2 ? &kit_sites[i % nkinds] : i < N / 4 * 3 ? &kit_sites[i / 8 % nkinds] :
				NOP5_KIND;
			p[k][i] = patch_of(kit_emit(&t[k], i, kind[i], i * 7 % 64), i, kind[i], state);
			p[k][i].action |= i % 5 || i > N / 2 ? 0 : UFT_ACT_ROOT;
		}
		*(uint8_t *)(p[k][FOREIGN].addr + 2) = 0x77;
		kit_text_seal(&t[k]);
		kit_object(&t[k], 20 + k, N, &o);
	}
	p[0][300].addr = p[1][300].addr = 4096;
	p[0][400].stub = p[1][400].stub = 399;
	p[0][500].kind_len = p[1][500].kind_len = UFT_KIND_LEN(UFT_SITE_PREPAD, 9);
	CHECK(patch_change(20, p[0], N, 0, NULL) > N / 2);
	for (i = 0; i < N; i++) {
		patch_change(21, &p[1][i], 1, 0, NULL);
		CHECK(p[0][i].status == p[1][i].status, "site %u, %s: %u, alone %u", i, kind[i]->name, p[0][i].status,
		      p[1][i].status);
		nok += !p[0][i].status;
		for (k = 0; k < 2 && i != 300 && i != FOREIGN; k++) {
			uint64_t hits = kit_funcs + kit_enters;

			CHECK(kit_call(&t[k], i, kind[i], i * 7 % 64, 1) == 2, "site %u, %s", i, kind[i]->name);
			CHECK(kit_funcs + kit_enters == hits + !p[k][i].status, "site %u, %s: not armed", i,
			      kind[i]->name);
		}
	}
	CHECK(nok > N - 20 && p[0][FOREIGN].status == UFT_ST_BYTES);
	patch_disarm();
	for (k = 0; k < 2; k++) {
		CHECK(!memcmp(t[k].base, t[k].copy, t[k].bytes));
		patch_object_gone(20 + k);
		kit_text_free(&t[k]);
	}
}

static long first(uint32_t object, const struct uft_site_order *order, uint64_t *word, const uint32_t *offset,
		  uint32_t n)
{
	static uint64_t area[1024];
	uint32_t nwords = (n + 63) / 64;
	long ret;

	memcpy(area, word, nwords * sizeof(*word));
	memcpy(area + nwords, offset, n * sizeof(*offset));
	ret = patch_bits(object, order, area, n, 0);
	memcpy(word, area, nwords * sizeof(*word));
	return ret;
}

static long known(uint32_t object, struct uft_site_order order, uint64_t *word, uint32_t n)
{
	order.form = UFT_SITES_KNOWN;
	return patch_bits(object, &order, word, n, 0);
}

/*
 * By an order (UFT_SITES_FIRST) those of its kind become what one at a time become. All others keep their bits
 * and bytes, and are not counted.
 */
static void test_order(unsigned state)
{
	enum { N = 900, FOREIGN = 700, WILD = N - 1, NWORDS = (N + 63) / 64 };
	uint64_t word[NWORDS + 1], asked[NWORDS + 1], refused, armed = 0;
	static uint32_t offset[N + 64];
	static struct uft_patch p[2][N];
	static const struct kit_site *kind[N];
	struct uft_site_order order = { .form = UFT_SITES_FIRST,
		.kind_len = UFT_KIND_LEN(NOP5_KIND->kind, NOP5_KIND->len), .state = (uint8_t)state,
				 .action = UFT_ACT_ROOT };
	struct uft_cmd_object o;
	struct kit_text t[2];
	uint32_t i, k, nkinds = 0;

	while (kit_sites[nkinds].name)
		nkinds++;
	for (k = 0; k < 2; k++) {
		kit_text_make(&t[k], N);
		for (i = 0; i < N; i++) {
			kind[i] = i < N / 4 ? &kit_sites[i % nkinds] : NOP5_KIND;
			p[k][i] = patch_of(kit_emit(&t[k], i, kind[i], i * 7 % 64), i, kind[i], state);
			p[k][i].action |= UFT_ACT_ROOT;
			offset[i] = (uint32_t)(p[k][i].addr - (uint64_t)t[k].base);
		}
		t[k].base[offset[FOREIGN] + 2] = 0x77;
		kit_text_seal(&t[k]);
		kit_object(&t[k], 50 + k, N, &o);
		order.text_start = o.text_start;
		p[k][WILD].addr = 4096;
		offset[WILD] = 0xfffffff0;
	}
	refused = kit_counters[UFT_CNT_SITE_REFUSED];
	memset(word, 0, sizeof(word));
	word[NWORDS] = word[NWORDS - 1] = ~0ull;
	for (i = 0; i < N; i++)		/* calls, which it takes for nops, are foreign bytes */
		word[i / 64] |= (uint64_t)(i / 64 != 6 && (p[0][i].kind_len == order.kind_len || kind[i] == CALL_KIND))
				<< i % 64;
	memcpy(asked, word, sizeof(asked));
	/* another's text */
	CHECK(first(52, &order, word, offset, N) == -2 && first(50, &order, word, offset, N) == -22);
	order.text_start = (uint64_t)t[0].base;
	order.state = UFT_IDLE;
	CHECK(first(50, &order, word, offset, N) == -22);
	order.state = (uint8_t)state;
	armed = (uint64_t)first(50, &order, word, offset, N + 64);
	CHECK(kit_counters[UFT_CNT_SITE_REFUSED] == refused);
	CHECK(word[NWORDS] == ~0ull && word[NWORDS - 1] == ~0ull << WILD % 64, "beyond the object's: %lx %lx",
	      word[NWORDS - 1], word[NWORDS]);
	for (i = 0; i < N; i++) {
		int is_left = (word[i / 64] | ~asked[i / 64]) >> i % 64 & 1;

		CHECK(is_left == (!(asked[i / 64] >> i % 64 & 1) || kind[i] == CALL_KIND || i == WILD || i == FOREIGN),
		      "site %u, %s: left %d", i, kind[i]->name, is_left);
		armed -= !is_left;
		CHECK(!is_left || i == WILD || !memcmp(t[0].base + offset[i], t[0].copy + offset[i], 16), "site %u, %s",
		      i, kind[i]->name);
		p[0][i].status = 0;
		if (is_left)
			patch_change(50, &p[0][i], 1, 0, NULL);
		patch_change(51, &p[1][i], 1, 0, NULL);
		CHECK(p[0][i].status == p[1][i].status, "site %u, %s", i, kind[i]->name);
		for (k = 0; k < 2 && i != WILD && i != FOREIGN; k++) {
			uint64_t hits = kit_funcs + kit_enters;

			CHECK(kit_call(&t[k], i, kind[i], i * 7 % 64, 1) == 2, "site %u, %s", i, kind[i]->name);
			CHECK(kit_funcs + kit_enters == hits + !p[k][i].status, "site %u, %s: not armed", i,
			      kind[i]->name);
		}
	}
	CHECK(!armed);
	patch_disarm();
	for (k = 0; k < 2; k++) {
		CHECK(!memcmp(t[k].base, t[k].copy, t[k].bytes));
		patch_object_gone(50 + k);
		kit_text_free(&t[k]);
	}
}

/*
 * Many known ones at once (bulk.c) become what they become alone, whatever kinds and states are among them.
 * Bytes of the program's own are left, reported and counted. @by_bits: most of the time by bulk_bitmap.c, in turn with
 * lists.
 */
static void test_switch_many(unsigned st8_ok, int by_bits)
{
	enum { N = 900, FOREIGN = 500, FOREIGN_TOO = 333 };
	static const uint8_t order[] = { UFT_FUNCTION, UFT_GRAPH, UFT_FUNCTION, UFT_IDLE, UFT_GRAPH, UFT_IDLE,
		UFT_FUNCTION,
					 UFT_ORIGINAL, UFT_GRAPH };
	static struct uft_patch p[2][N];
	static const struct kit_site *kind[N];
	uint64_t refused = kit_counters[UFT_CNT_SITE_REFUSED];
	struct uft_cmd_object o;
	struct kit_text t[2];
	uint32_t i, k, round, nkinds = 0, swept;

	uft_rt.st8_ok = st8_ok;
	while (kit_sites[nkinds].name)
		nkinds++;
	for (k = 0; k < 2; k++) {
		kit_text_make(&t[k], N);
		for (i = 0; i < N; i++) {	/* first many of each kind, then all mixed */
			kind[i] = i < N / 2 ? &kit_sites[i / 40 % nkinds] : i < N / 4 * 3 ? NOP5_KIND :
				&kit_sites[i % nkinds];
			p[k][i] = patch_of(kit_emit(&t[k], i, kind[i], i * 7 % 64), i, kind[i], 0);
		}
		kit_text_seal(&t[k]);
		kit_object(&t[k], 30 + k, N, &o);
	}
	for (round = 0; round < sizeof(order); round++) {
		for (i = 0; i < N; i++)
			for (k = 0; k < 2; k++)
				p[k][i].state = i > N - 99 ? order[(round + i) % sizeof(order)] : order[round];
		if (round == 3)
			for (k = 0; k < 2; k++)
				for (i = FOREIGN_TOO; i <= FOREIGN; i += FOREIGN - FOREIGN_TOO)
					poke((void *)(p[k][i].addr + 2), 0x77);
		swept = 0;
		if (by_bits && round != 4)
			swept = kit_bitmap(30, p[0], N);
		else
			patch_change(30, p[0], N, 0, NULL);
		/* stubs come by lists */
		CHECK(swept >= (round > 1 && by_bits && round != 4 ? N / 8 : 0) && swept <= (round ? N : 0),
		      "round %u: %u", round, swept);
		for (i = 0; i < N; i++) {
			int is_foreign = (i == FOREIGN || i == FOREIGN_TOO) && round >= 3;

			patch_change(31, &p[1][i], 1, 0, NULL);
			CHECK(p[0][i].status == p[1][i].status &&
			      (p[0][i].status == UFT_ST_BYTES) == (is_foreign && p[0][i].state != UFT_FUNCTION),
			      "round %u, site %u, %s: %u, alone %u", round, i, kind[i]->name, p[0][i].status,
			      p[1][i].status);
			for (k = 0; k < 2 && !is_foreign; k++) {
				uint64_t funcs = kit_funcs, enters = kit_enters;

				CHECK(kit_call(&t[k], i, kind[i], i * 7 % 64, 1) == 2, "round %u, site %u, %s", round,
				      i, kind[i]->name);
				CHECK(p[k][i].status || (kit_funcs - funcs == (p[k][i].state == UFT_FUNCTION) &&
							 kit_enters - enters == (p[k][i].state == UFT_GRAPH)),
				      "round %u, site %u, %s: state %u not there", round, i, kind[i]->name,
				      p[k][i].state);
			}
		}
		refused += round >= 3 && order[round] != UFT_FUNCTION ? 4 : 0;
		CHECK(kit_counters[UFT_CNT_SITE_REFUSED] == refused, "round %u", round);
	}
	patch_disarm();
	for (k = 0; k < 2; k++) {
		CHECK(((uint8_t *)p[k][FOREIGN].addr)[2] == 0x77 && ((uint8_t *)p[k][FOREIGN_TOO].addr)[2] == 0x77);
		for (i = 0; i < t[k].bytes; i++)
			CHECK(t[k].base[i] == t[k].copy[i] || i / KIT_SLOT == FOREIGN || i / KIT_SLOT == FOREIGN_TOO,
			      "byte %u of site %u", i % KIT_SLOT, i / KIT_SLOT);
		patch_object_gone(30 + k);
		kit_text_free(&t[k]);
	}
	uft_rt.st8_ok = 1;
}

/*
 * One of many that were switched by bits is looked at by its record: it says what stands there. Others are
 * forgotten by the object, or made anew under another number.
 */
static void test_yield(void)
{
	enum { N = 256 };
	uint64_t all[N / 64];
	static struct uft_patch p[N];
	struct uft_cmd_object o;
	struct kit_text t;
	unsigned i, round;

	kit_text_make(&t, N);
	for (i = 0; i < N; i++)
		p[i] = patch_of(kit_emit(&t, i, NOP5_KIND, i % 48), i, NOP5_KIND, UFT_FUNCTION);
	kit_text_seal(&t);
	for (round = 0; round < 2; round++) {
		kit_object(&t, 40 + round, N, &o);
		memset(all, 0xff, sizeof(all));
		for (i = 0; i < N; i++)
			p[i].state = UFT_FUNCTION;
		CHECK(kit_bitmap(40 + round, p, N) == 0);
		/* Other flags are for lists, and nothing changes. */
		CHECK(known(40 + round, (struct uft_site_order){ .state = UFT_IDLE, .action = UFT_ACT_ROOT }, all,
			N) == 0);
		CHECK(all[0] == ~0ull && *(uint8_t *)p[0].addr == 0xe8);
		/* Nor are there stubs yet. */
		CHECK(known(40 + round, (struct uft_site_order){ .state = UFT_GRAPH }, all, N) == 0 && all[0] == ~0ull);
		/* One less than was asked for last. */
		all[0] = ~0ull ^ 1ull << 5;
		CHECK(known(40 + round, (struct uft_site_order){ .state = UFT_IDLE }, all, N) == N - 1 && !all[0]);
		CHECK(*(uint8_t *)p[5].addr == 0xe8 && *(uint8_t *)p[6].addr == 0x0f);
		for (i = 0; i < N; i++)
			p[i].state = UFT_FUNCTION;
		CHECK(kit_bitmap(40 + round, p, N) == N - 1);	/* that one is not like the others */
		for (i = 0; i < N; i++)
			p[i].state = UFT_IDLE;
		CHECK(kit_bitmap(40 + round, p, N) == N);
		p[100].state = p[200].state = UFT_FUNCTION;
		CHECK(patch_change(40 + round, p + 100, 1, 0, NULL) == 1 && p[100].status == UFT_ST_OK);
		CHECK(patch_change(40 + round, p + 100, 1, 0, NULL) == 0);
		CHECK(kit_bitmap(40 + round, p, N) == N - 2);		/* two alone are not worth it */
		CHECK(*(uint8_t *)p[100].addr == 0xe8 && *(uint8_t *)p[200].addr == 0xe8 &&
		      *(uint8_t *)p[101].addr == 0x0f);
		patch_disarm();
		CHECK(!memcmp(t.base, t.copy, t.bytes));
		for (i = 0; i < N; i++)
			p[i].state = UFT_FUNCTION;
		CHECK(kit_bitmap(40 + round, p, N) == N);
		patch_disarm();
		CHECK(!memcmp(t.base, t.copy, t.bytes));
		patch_object_anew(40 + round);
		CHECK(known(40 + round, (struct uft_site_order){ .state = UFT_IDLE }, NULL, 0) == -2);
	}
	kit_text_free(&t);
}

/* Protections afterwards are those of before; the flags byte follows; the graph cell follows the tracer. */
static void test_details(void)
{
	struct uft_cmd_object o;
	struct uft_patch p;
	struct kit_text t;
	uint64_t slow, slow_exits, second;

	kit_text_make(&t, 4);
	p = patch_of(kit_emit(&t, 0, NOP5_KIND, 6), 0, NOP5_KIND, UFT_GRAPH);
	second = kit_emit(&t, 1, NOP5_KIND, 0);
	kit_text_seal(&t);
	kit_object(&t, 6, 4, &o);
	CHECK(patch_change(6, &p, 1, 0, NULL) == 1);
	CHECK(((uint8_t *)o.stub_base)[15] == 0);
	p.action = UFT_ACT_ROOT;
	CHECK(patch_change(6, &p, 1, 0, NULL) == 0 && p.status == UFT_ST_OK);
	CHECK(((uint8_t *)o.stub_base)[15] == UFT_ACT_ROOT);

	p.addr = second;
	p.stub = 1;
	CHECK(patch_change(6, &p, 1, 0, NULL) == 1);	/* flagged from the start */
	CHECK(((uint8_t *)o.stub_base)[31] == UFT_ACT_ROOT);

	slow = kit_slow_enters;
	slow_exits = kit_slow_exits;
	kit_graph_is_fast = 0;
	patch_retarget();
	CHECK(kit_call(&t, 0, NOP5_KIND, 6, 1) == 2 && kit_slow_enters - slow == 1 && kit_slow_exits - slow_exits == 1);
	kit_graph_is_fast = 1;
	patch_retarget();
	CHECK(kit_call(&t, 0, NOP5_KIND, 6, 1) == 2 && kit_slow_enters - slow == 1 && kit_slow_exits - slow_exits == 1);

	/* Fast ones do not ask whether there is rseq: while it is not known nobody may get there. */
	uft_rt.rseq_offset = 0;
	patch_retarget();
	CHECK(kit_call(&t, 0, NOP5_KIND, 6, 1) == 2 && kit_slow_enters - slow == 2 && kit_slow_exits - slow_exits == 2);
	uft_rt.rseq_offset = 64;
	patch_retarget();
	CHECK(kit_call(&t, 0, NOP5_KIND, 6, 1) == 2 && kit_slow_enters - slow == 2 && kit_slow_exits - slow_exits == 2);

	patch_disarm();
	if (!host_lacks("protections")) {
		char line[256];
		FILE *f = fopen("/proc/self/maps", "r");
		unsigned long lo, hi;
		char prot[5];

		while (f && fgets(line, sizeof(line), f)) {
			if (sscanf(line, "%lx-%lx %4s", &lo, &hi, prot) != 3)
				continue;
			CHECK(!strchr(prot, 'w') || !strchr(prot, 'x'), "left behind: %s", line);
		}
		fclose(f);
	}
	patch_object_gone(6);
	kit_text_free(&t);
}

/* One-byte nops left by a disarm are looked at afresh; a call's original comes back after idle. */
static void test_again(void)
{
	struct uft_cmd_object o;
	struct uft_patch p[2];
	struct kit_text t;
	unsigned round, i;

	kit_text_make(&t, 2);
	p[0] = patch_of(kit_emit(&t, 0, NOPS_KIND, 1), 0, NOPS_KIND, UFT_FUNCTION);
	p[1] = patch_of(kit_emit(&t, 1, CALL_KIND, 5), 1, CALL_KIND, UFT_FUNCTION);
	kit_text_seal(&t);
	kit_object(&t, 7, 2, &o);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 2; i++)
			p[i].state = round & 1 ? UFT_GRAPH : UFT_FUNCTION;
		CHECK(patch_change(7, p, 2, 0, NULL) == 2 && !p[0].status && !p[1].status);
		CHECK(kit_call(&t, 0, NOPS_KIND, 1, 1) == 2 && kit_call(&t, 1, CALL_KIND, 5, 1) == 2);
		patch_disarm();
		CHECK(!memcmp(t.base, t.copy, t.bytes));
	}
	patch_object_gone(7);
	kit_text_free(&t);
}

static volatile int stop;

static void *spin(void *arg)
{
	while (!stop)
		__asm__ volatile("pause");
	return arg;
}

/* Coalesced while nobody ran, restored, armed again while somebody runs: not coalesced this time. */
static void test_not_quiet_any_more(void)
{
	struct uft_cmd_object o;
	struct uft_patch p;
	struct kit_text t;
	struct uft_site_order order = { .form = UFT_SITES_FIRST,
		.kind_len = UFT_KIND_LEN(NOPS_KIND->kind, NOPS_KIND->len), .state = UFT_FUNCTION };
	uint64_t word = 1;
	uint32_t offset;
	pthread_t th;

	kit_text_make(&t, 1);
	p = patch_of(kit_emit(&t, 0, NOPS_KIND, 16), 0, NOPS_KIND, UFT_IDLE);
	kit_text_seal(&t);
	kit_object(&t, 8, 1, &o);
	CHECK(patch_change(8, &p, 1, 0, NULL) == 1 && uft_insn_nop_length((uint8_t *)p.addr, 5) == 5);
	patch_disarm();
	CHECK(!memcmp(t.base, t.copy, t.bytes));
	stop = 0;
	CHECK(!pthread_create(&th, NULL, spin, NULL));
	order.text_start = o.text_start;
	offset = (uint32_t)(p.addr - o.text_start);
	CHECK(first(8, &order, &word, &offset, 1) == 0 && word == 1);
	p.state = UFT_FUNCTION;
	CHECK(patch_change(8, &p, 1, 0, NULL) == 1 && kit_call(&t, 0, NOPS_KIND, 16, 1) == 2);
	CHECK(!memcmp((uint8_t *)p.addr + 1, "\x90\x90\x90", 3));
	patch_disarm();
	stop = 1;
	pthread_join(th, NULL);
	CHECK(!memcmp(t.base, t.copy, t.bytes));
	patch_object_gone(8);
	kit_text_free(&t);
}

/* A call that the program makes itself is not left out for a moment: at once, or not at all. What was refused for
 * that is not held against the site later, when nobody runs. */
static void test_own_call(void)
{
	uint64_t refused = kit_counters[UFT_CNT_SITE_REFUSED], live = kit_counters[UFT_CNT_SITE_LIVE];
	uint64_t own = kit_own_calls, enters = kit_enters;
	struct uft_cmd_object o;
	struct uft_patch p;
	struct kit_text t;
	pthread_t th;

	kit_text_make(&t, 1);
	p = patch_of(kit_emit(&t, 0, OWN_KIND, 13), 0, OWN_KIND, UFT_GRAPH);
	kit_text_seal(&t);
	kit_object(&t, 9, 1, &o);
	stop = 0;
	CHECK(!pthread_create(&th, NULL, spin, NULL));
	CHECK(patch_change(9, &p, 1, 0, NULL) == 0 && p.status == UFT_ST_LIVE);
	CHECK(!memcmp(t.base, t.copy, t.bytes));
	CHECK(kit_counters[UFT_CNT_SITE_LIVE] - live == 1 && kit_counters[UFT_CNT_SITE_REFUSED] == refused);
	stop = 1;
	pthread_join(th, NULL);
	CHECK(patch_change(9, &p, 1, 0, NULL) == 1 && p.status == UFT_ST_OK);
	CHECK(kit_call(&t, 0, OWN_KIND, 13, 1) == 2 && kit_enters - enters == 1 && kit_own_calls - own == 1);
	patch_disarm();
	CHECK(!memcmp(t.base, t.copy, t.bytes));
	patch_object_gone(9);
	kit_text_free(&t);

	/* The frame of the function before is not that of this one: its return lies between. */
	kit_text_make(&t, 1);
	p = patch_of(kit_emit(&t, 0, OWN_KIND, 16), 0, OWN_KIND, UFT_GRAPH);
	memcpy((void *)(p.addr - 6), "\x55\x48\x89\xe5\x5d\xc3", 6);
	kit_text_seal(&t);
	kit_object(&t, 9, 1, &o);
	CHECK(patch_change(9, &p, 1, 0, NULL) == 1 && p.status == UFT_ST_OK);
	CHECK(kit_call(&t, 0, OWN_KIND, 16, 1) == 2);
	patch_disarm();
	patch_object_gone(9);
	kit_text_free(&t);

	/* One behind a prologue that nobody said was there. */
	kit_text_make(&t, 1);
	p = patch_of(kit_emit(&t, 0, kind_named("own mcount"), 16), 0, kind_named("own mcount"), UFT_GRAPH);
	p.kind_len = UFT_KIND_LEN(UFT_SITE_OWN_CALL, p.kind_len >> 4);
	kit_text_seal(&t);
	kit_object(&t, 9, 1, &o);
	CHECK(patch_change(9, &p, 1, 0, NULL) == 0 && p.status == UFT_ST_KIND);
	patch_object_gone(9);
	kit_text_free(&t);
}

int main(void)
{
	kit_thread_init();
	CHECK(!patch_init());
	test_not_quiet_any_more();
	test_own_call();
	test_unexpected_bytes();
	test_bad_requests();
	test_gone();
	test_pages();
	test_details();
	test_many(UFT_FUNCTION);
	test_many(UFT_GRAPH);
	test_order(UFT_FUNCTION);
	test_order(UFT_GRAPH);
	for (unsigned how = 0; how < 4; how++)
		test_switch_many(!(how & 1), how >= 2);
	test_yield();
	test_again();
	CHECK(host_is_met());
	return 0;
}
