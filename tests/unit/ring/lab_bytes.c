// SPDX-License-Identifier: MIT
/*
 * lab_bytes.c - sites, stubs and thunks of x86_64, by hand (lab_words.c: where instructions are words)
 */
#include <string.h>
#include <sys/mman.h>

#include "lab.h"
#include "runtime/patch/thunk.h"

#define LAB_SITES 64

static struct {
	uint8_t *near;			/* LAB_SITES stubs, then thunks */
	uint8_t *near_end;
	uint8_t *func_thunk, *enter_thunk, *exit_thunk, *mfunc_thunk, *menter_thunk;
	uint32_t text_k;
	uint32_t text_id[LAB_SITES];
} made;

static void put_rel32(uint8_t *at, uint8_t op, const void *to)
{
	int32_t rel = (int32_t)((const uint8_t *)to - (at + 5));

	CHECK((const uint8_t *)to - (at + 5) == rel);
	at[0] = op;
	memcpy(at + 1, &rel, 4);
}

/* push %rax; mov $K,%eax; jmp *cell(%rip); the cell follows. Without K: the jump alone. */
static uint8_t *put_thunk(uint8_t **thunk, int has_k, uint32_t k, const void *target)
{
	uint8_t *p = made.near_end;
	uint64_t t = (uint64_t)target;

	*thunk = p;
	if (has_k) {
		*p++ = 0x50;
		*p++ = 0xb8;
		memcpy(p, &k, 4);
		p += 4;
	}
	memcpy(p, "\xff\x25\0\0\0\0", 6);
	memcpy(p + 6, &t, 8);
	made.near_end = (uint8_t *)(((uintptr_t)p + 14 + 15) & -(uintptr_t)16);
	return p + 6;
}

void lab_make_sites(void)
{
	extern char __executable_start[];
	uint64_t text = (uint64_t)__executable_start;
	uint32_t stub_k;
	void *m = MAP_FAILED;

	for (uint64_t at = (text & -(uint64_t)UFT_PAGE) + (64 << 20); m == MAP_FAILED; at += 1 << 20)
		m = mmap((void *)at, UFT_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	made.near = m;
	made.near_end = made.near + LAB_SITES * UFT_STUB_BYTES;
	made.text_k = (uint32_t)(text >> 2) - 1000;
	stub_k = (uint32_t)((uint64_t)made.near >> 4);
	put_thunk(&made.func_thunk, 1, UFT_THUNK_K(made.text_k, UFT_REC_FUNC), uft_asm_func);
	put_thunk(&made.mfunc_thunk, 1, UFT_THUNK_K(made.text_k, UFT_REC_FUNC), uft_asm_mcount_func);
	put_thunk(&made.enter_thunk, 1, UFT_THUNK_K(stub_k, UFT_REC_ENTRY), uft_asm_graph_enter);
	put_thunk(&made.menter_thunk, 1, UFT_THUNK_K(stub_k, UFT_REC_ENTRY), uft_asm_mcount_graph);
	put_thunk(&made.exit_thunk, 0, 0, uft_asm_graph_exit);
}

/* The thunks' cells follow as patch_retarget() makes them. */
void lab_retarget(void)
{
	uint64_t t = (uint64_t)thunk_handler(THUNK_FUNC);

	memcpy(made.func_thunk + 12, &t, 8);
	t = (uint64_t)thunk_handler(THUNK_MFUNC);
	memcpy(made.mfunc_thunk + 12, &t, 8);
	t = (uint64_t)thunk_handler(THUNK_ENTER);
	memcpy(made.enter_thunk + 12, &t, 8);
	t = (uint64_t)thunk_handler(THUNK_EXIT);
	memcpy(made.exit_thunk + 6, &t, 8);
	t = (uint64_t)thunk_handler(THUNK_MENTER);
	memcpy(made.menter_thunk + 12, &t, 8);
}

static uint8_t *lab_find_nops(void *function)
{
	uint8_t *p = function;

	/* gcc: eight of one byte; clang: one of eight. Possibly behind an endbr64. */
	for (int i = 0; i <= 4; i += 4)
		if (!memcmp(p + i, "\x90\x90\x90\x90\x90\x90\x90\x90", 8) ||
		    !memcmp(p + i, "\x0f\x1f\x84\0", 4))
			return p + i;
	return NULL;
}

void lab_arm(void *function, uint32_t n, enum lab_state state, int action)
{
	static uint8_t *site[LAB_SITES];
	uint8_t *stub = made.near + n * UFT_STUB_BYTES, *p;

	CHECK(n < LAB_SITES);
	if (!site[n]) {
		site[n] = lab_find_nops(function);
		CHECK(site[n] != NULL);
		CHECK(!mprotect((void *)((uintptr_t)site[n] & -4096ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC));
		memcpy(site[n] + 5, "\x0f\x1f\0", 3);
	}
	p = site[n];
	made.text_id[n] = (uint32_t)((uint64_t)(p + 5) >> 2) - made.text_k;
	memset(stub, 0, UFT_STUB_BYTES);
	put_rel32(stub, 0xe8, state == LAB_MGRAPH ? made.menter_thunk : made.enter_thunk);
	if (state == LAB_MGRAPH) {
		stub[5] = 0xc3;
	} else {
		put_rel32(stub + 5, 0xe8, p + 5);
		put_rel32(stub + 10, 0xe9, made.exit_thunk);
	}
	stub[15] = (uint8_t)action;
	switch (state) {
	case LAB_IDLE:
		memcpy(p, "\x0f\x1f\x44\0\0", 5);
		break;
	case LAB_FUNCTION:
		put_rel32(p, 0xe8, made.func_thunk);
		break;
	case LAB_MFUNCTION:
		put_rel32(p, 0xe8, made.mfunc_thunk);
		break;
	case LAB_GRAPH:
		put_rel32(p, 0xe9, stub);
		break;
	case LAB_MGRAPH:
		put_rel32(p, 0xe8, stub);
		break;
	}
}

int lab_is_hook(uint64_t address)
{
	return address - (uint64_t)made.near < UFT_PAGE || address == (uint64_t)uft_asm_mcount_return;
}

uint32_t lab_text_id(uint32_t n)
{
	return made.text_id[n];
}
