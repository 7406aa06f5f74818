// SPDX-License-Identifier: MIT
/*
 * lab_words.c - sites, stubs and thunks where instructions are aligned words, by hand (lab_bytes.c: x86_64)
 *
 * The words are those of arch/NAME/patch.h, which tests/arch/encode holds against the assembler. Nobody runs while they are written.
 */
#include <string.h>
#include <sys/mman.h>

#include "lab.h"
#include "runtime/patch/thunk.h"

#define LAB_SITES 64

static struct {
	uint8_t *near;		/* a page of thunks' cells, one of thunks, the stubs */
	uint32_t text_k;
	uint32_t text_id[LAB_SITES];
} made;

static uint64_t *cells_of(enum thunk t)
{
	return (uint64_t *)(made.near + t * 16u);
}

static uint64_t thunk_at(enum thunk t)
{
	return (uint64_t)made.near + UFT_PAGE + t * ARCH_THUNK_BYTES;
}

static uint64_t stub_at(uint32_t n)
{
	return (uint64_t)made.near + 2 * UFT_PAGE + n * UFT_STUB_BYTES;
}

static void put_words(uint64_t at, const uint32_t *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		arch_text_store4((uint32_t *)at + i, w[i]);
	arch_text_flush((void *)at, 4 * n);
}

void lab_retarget(void)
{
	for (unsigned t = 0; t < NTHUNKS; t++)
		cells_of(t)[1] = (uint64_t)thunk_handler(t);
}

void lab_make_sites(void)
{
	extern char __executable_start[];
	uint64_t text = (uint64_t)__executable_start;
	uint32_t w[ARCH_THUNK_BYTES / 4], stub_k;
	void *m = MAP_FAILED;

	for (uint64_t at = (text & -(uint64_t)UFT_PAGE) + (64 << 20); m == MAP_FAILED; at += 1 << 20)
		m = mmap((void *)at, 3 * UFT_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	made.near = m;
	made.text_k = (uint32_t)(text >> 2) - 1000;
	stub_k = (uint32_t)(stub_at(0) >> 4);
	for (unsigned t = 0; t < NTHUNKS; t++) {
		int is_text = t == THUNK_FUNC || t == THUNK_MFUNC;

		cells_of(t)[0] = ARCH_THUNK_K(
			UFT_THUNK_K(is_text ? made.text_k : stub_k, is_text ? UFT_REC_FUNC : UFT_REC_ENTRY));
		CHECK(arch_make_thunk(w, thunk_at(t), (uint64_t)cells_of(t), t != THUNK_EXIT,
				      &uft_rt.slice->tid_offset));
		put_words(thunk_at(t), w, ARCH_THUNK_BYTES / 4);
	}
	lab_retarget();
}

/* Behind a landing pad, if there is one. */
static uint64_t find_nops(const void *function)
{
	const uint32_t *p = function;

	for (int i = 0; i < 2; i++)
		if (arch_is_nop(p[i]) && arch_is_nop(p[i + 1]))
			return (uint64_t)(p + i);
	return 0;
}

void lab_arm(void *function, uint32_t n, enum lab_state state, int action)
{
	static uint64_t site[LAB_SITES];
	uint32_t w[UFT_STUB_BYTES / 4];

	CHECK(n < LAB_SITES && state <= LAB_GRAPH);
	if (!site[n]) {
		site[n] = find_nops(function);
		CHECK(site[n] && !mprotect((void *)(site[n] & -4096ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC));
	}
	made.text_id[n] = (uint32_t)((site[n] + ARCH_ENTRY_BYTES) >> 2) - made.text_k;
	CHECK(arch_make_stub(w, stub_at(n), thunk_at(THUNK_ENTER), thunk_at(THUNK_EXIT), site[n] + ARCH_ENTRY_BYTES,
			     (uint8_t)action));
	put_words(stub_at(n), w, UFT_STUB_BYTES / 4);
	w[0] = arch_entry_word(site[n], stub_at(n));
	w[1] = ARCH_INSN_NOP;
	if (state == LAB_FUNCTION)
		CHECK(arch_make_call(w, 2, site[n], thunk_at(THUNK_FUNC)));
	else if (state == LAB_GRAPH)
		w[1] = arch_jump_word(site[n] + 4, stub_at(n));
	put_words(site[n], w, 2);
}

int lab_is_hook(uint64_t address)
{
	return address - stub_at(0) < UFT_PAGE;
}

uint32_t lab_text_id(uint32_t n)
{
	return made.text_id[n];
}
