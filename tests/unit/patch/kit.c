/* SPDX-License-Identifier: MIT */
/* kit.c - see kit.h */
#include "tests/unit/bare/host.h"
#include "tests/unit/patch/kit.h"

#include <sys/mman.h>

struct uft_rt uft_rt = { .st8_ok = 1, .rseq_offset = 64 };

uint64_t kit_funcs, kit_enters, kit_slow_enters, kit_exits, kit_slow_exits, kit_own_calls;
uint64_t kit_hook_pre, kit_hook_post, kit_hook_unwind, kit_hook_find, kit_hook_rbrk, kit_hook_any;
uint64_t kit_last_id, kit_last_parent, kit_own_self, kit_own_parent;
uint64_t kit_counters[UFT_NCOUNTERS];
int kit_graph_is_fast = 1;

__thread uint64_t *kit_shadow __attribute__((tls_model("local-exec")));
static __thread uint64_t shadow_stack[4096];

void kit_thread_init(void)
{
	static int is_started;

	if (!is_started++)
		host_start();
	kit_shadow = shadow_stack;
}

void trace_count(enum uft_counter c, uint64_t n)
{
	__atomic_fetch_add(&kit_counters[c], n, __ATOMIC_RELAXED);
}

enum graph_path trace_graph_path(void)
{
	return kit_graph_is_fast ? GRAPH_PLAIN : GRAPH_SLOW;
}

int trace_is_beside(void)
{
	return 0;
}

int trace_counts(void)
{
	return 0;
}

#define NOP5	{ 0x0f, 0x1f, 0x44, 0x00, 0x00 }
#define NOP5_GCC { 0x0f, 0x1f, 0x44, 0x00, 0x08 }
#define N1	0x90
const struct kit_site kit_sites[] = {
	{ "nop5", UFT_SITE_NOP, 5, 0, 0, 5, NOP5, 0 },
	{ "nop5 clang", UFT_SITE_NOP, 5, 0, 0, 5, NOP5_GCC, 0 },
	{ "nop6", UFT_SITE_NOP, 6, 0, 0, 6, { 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, 0 },
	{ "nop7", UFT_SITE_NOP, 7, 0, 0, 7, { 0x0f, 0x1f, 0x80, 0, 0, 0, 0 }, 0 },
	{ "nop8", UFT_SITE_NOP, 8, 0, 0, 8, { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, 0 },
	{ "nop9", UFT_SITE_NOP, 9, 0, 0, 9, { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, 0 },
	{ "nop10", UFT_SITE_NOP, 10, 0, 0, 10, { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, 0 },
	{ "nop15", UFT_SITE_NOP, 15, 0, 0, 15, { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84 }, 0 },
	{ "nop5 + nop3", UFT_SITE_NOP, 8, 0, 0, 8, { 0x0f, 0x1f, 0x44, 0, 0, 0x0f, 0x1f, 0x00 }, 0 },
	{ "nop5 + nop4", UFT_SITE_NOP, 9, 0, 0, 9, { 0x0f, 0x1f, 0x44, 0, 0, 0x0f, 0x1f, 0x40, 0 }, 0 },
	{ "5 nops", UFT_SITE_NOPS, 5, 0, 0, 5, { N1, N1, N1, N1, N1 }, 0 },
	{ "6 nops", UFT_SITE_NOPS, 6, 0, 0, 6, { N1, N1, N1, N1, N1, N1 }, 0 },
	{ "8 nops", UFT_SITE_NOPS, 8, 0, 0, 8, { N1, N1, N1, N1, N1, N1, N1, N1 }, 0 },
	{ "15 nops", UFT_SITE_NOPS, 15, 0, 0, 16,
	  { N1, N1, N1, N1, N1, N1, N1, N1, N1, N1, N1, N1, N1, N1, N1, N1 }, 0 },
	{ "call __fentry__", UFT_SITE_FENTRY_CALL, 5, 0, 0, 5, { 0xe8 }, 0 },
	{ "addr32 call __fentry__", UFT_SITE_FENTRY_CALL, 6, 0, 0, 6, { 0x67, 0xe8 }, 0 },
	{ "call *__fentry__", UFT_SITE_FENTRY_CALL, 6, 0, 0, 6, { 0xff, 0x15 }, 0 },
	{ "call mcount", UFT_SITE_MCOUNT_CALL, 5, 0, 1, 5, { 0xe8 }, 0 },
	{ "addr32 call mcount", UFT_SITE_MCOUNT_CALL, 6, 0, 1, 6, { 0x67, 0xe8 }, 0 },
	{ "call *mcount", UFT_SITE_MCOUNT_CALL, 6, 0, 1, 6, { 0xff, 0x15 }, 0 },
	{ "mcount nop5", UFT_SITE_MCOUNT_NOP, 5, 0, 1, 5, NOP5, 0 },
	{ "mcount nop6", UFT_SITE_MCOUNT_NOP, 6, 0, 1, 6, { 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, 0 },
	{ "own __fentry__", UFT_SITE_OWN_CALL, 5, 0, 0, 5, { 0xe8 }, 0 },
	{ "own *__fentry__", UFT_SITE_OWN_CALL, 6, 0, 0, 6, { 0xff, 0x15 }, 0 },
	{ "own mcount", UFT_SITE_OWN_FRAMED, 5, 0, 1, 5, { 0xe8 }, 0 },
	{ "own addr32 mcount", UFT_SITE_OWN_FRAMED, 6, 0, 1, 6, { 0x67, 0xe8 }, 0 },
	{ "prepad 2 nops", UFT_SITE_PREPAD, 2, 0, 0, 2, { N1, N1 }, 5 },
	{ "prepad nop2", UFT_SITE_PREPAD, 2, 0, 0, 2, { 0x66, N1 }, 14 },
	{ "prepad 4 nops", UFT_SITE_PREPAD, 4, 0, 0, 4, { N1, N1, N1, N1 }, 12 },
	{ NULL, 0, 0, 0, 0, 0, { 0 }, 0 },
};

void kit_text_make(struct kit_text *t, uint32_t n)
{
	t->n = n;
	t->bytes = ((size_t)n * KIT_SLOT + 4095) & ~4095ul;
	t->base = mmap(NULL, t->bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(t->base != MAP_FAILED);
	memset(t->base, 0xcc, t->bytes);
	/* jmp *cell(%rip); cell at +64 */
	memcpy(t->base + t->bytes, "\xff\x25\x3a\0\0\0", 6);
	*(uint64_t *)(t->base + t->bytes + 64) = (uint64_t)kit_own_mcount;
}

/* Where the function of a site begins. */
static uint8_t *entry_of(const struct kit_text *t, uint32_t i, const struct kit_site *k, unsigned offset)
{
	return t->base + i * KIT_SLOT + 64 + offset - (k->prologue ? 4 : 0);
}

uint64_t kit_emit(struct kit_text *t, uint32_t i, const struct kit_site *k, unsigned offset)
{
	uint8_t *site = t->base + i * KIT_SLOT + 64 + offset, *p = site;
	uint64_t own = (uint64_t)t->base + t->bytes;

	memset(site - k->before, 0x90, k->before);
	if (k->prologue)
		memcpy(site - 4, "\x55\x48\x89\xe5", 4);
	memcpy(p, k->bytes, k->nbytes);
	if (k->bytes[0] == 0xe8)
		uft_put32(p + 1, (uint32_t)(own - ((uint64_t)p + 5)));
	else if (k->bytes[0] == 0x67 && k->bytes[1] == 0xe8)
		uft_put32(p + 2, (uint32_t)(own - ((uint64_t)p + 6)));
	else if (k->bytes[0] == 0xff)
		uft_put32(p + 2, (uint32_t)(own + 64 - ((uint64_t)p + 6)));
	p += k->nbytes;
	memcpy(p, "\x48\x8d\x47\x01", 4);	/* lea 1(%rdi),%rax */
	p += 4;
	if (k->prologue)
		*p++ = 0x5d;
	*p = 0xc3;
	return (uint64_t)site;
}

int kit_prot(void)
{
	return PROT_READ | PROT_EXEC | (host_is_bare() ? PROT_WRITE : 0);
}

void kit_text_seal(struct kit_text *t)
{
	t->copy = malloc(t->bytes);
	memcpy(t->copy, t->base, t->bytes);
	CHECK(!mprotect(t->base, t->bytes + 4096, kit_prot()));
}

void kit_text_free(struct kit_text *t)
{
	munmap(t->base, t->bytes + 4096);
	free(t->copy);
}

long kit_call(const struct kit_text *t, uint32_t i, const struct kit_site *k, unsigned offset, long arg)
{
	long (*fn)(long) = (long (*)(long))entry_of(t, i, k, offset);
	long ret = fn(arg);

	__asm__ volatile("" : "+r"(ret));	/* no tail call: we are the parent that tests look for */
	return ret;
}

void kit_object(const struct kit_text *t, uint32_t object, uint32_t nstubs, struct uft_cmd_object *o)
{
	*o = (struct uft_cmd_object){
		.text_start = (uint64_t)t->base, .text_end = (uint64_t)t->base + t->bytes, .object = object,
		.nstubs = nstubs, .first_text_id = 1000, .first_stub_id = 77,
	};
	CHECK(!patch_object(o));
}

uint32_t kit_bitmap(uint32_t object, struct uft_patch *p, uint32_t n)
{
	static struct uft_patch rest[4096];
	static uint32_t from[4096];
	uint64_t word[4096 / 64];
	uint32_t state, i, nrest = 0, done = 0;

	CHECK(n <= 4096 && p[n - 1].stub < 4096);
	for (state = 0; state <= UFT_GRAPH; state++) {
		const struct uft_site_order order = { .form = UFT_SITES_KNOWN, .state = (uint8_t)state };

		memset(word, 0, sizeof(word));
		for (i = 0; i < n; i++)
			if (p[i].state == state)
				word[p[i].stub / 64] |= 1ull << p[i].stub % 64;
		CHECK(patch_bits(object, &order, word, 4096, 0) >= 0);
		for (i = 0; i < n; i++) {
			if (p[i].state != state)
				continue;
			p[i].status = UFT_ST_OK;
			done += !(word[p[i].stub / 64] >> p[i].stub % 64 & 1);
			if (word[p[i].stub / 64] >> p[i].stub % 64 & 1)
				p[i].status = 0xff;
		}
	}
	for (i = 0; i < n; i++)
		if (p[i].status == 0xff) {
			rest[nrest] = p[i];
			from[nrest++] = i;
		}
	CHECK(!nrest || patch_change(object, rest, nrest, 0, NULL) >= 0);
	for (i = 0; i < nrest; i++)
		p[from[i]].status = rest[i].status;
	return done;
}
