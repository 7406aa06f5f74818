// SPDX-License-Identifier: MIT
/*
 * fork_calls.c - the system calls by which an object's code may fork, where instructions are words
 *
 * arm64: `svc #0` behind `mov x8, #220` or `#435`. The handler looks at the number again, so one that another way leads
 * to does no harm (runtime/patch/words/hook.c).
 *
 * riscv64: `ecall` behind `li a7, 220` or `435`. A jump takes eight bytes, so what stands before the ecall moves
 * along: from the nearest instruction on with which there are eight bytes, and which writes a register without
 * having read it, for the way to the stub. The instruction behind the ecall has to be such a one as well, for the
 * way back. All between the number and the ecall depends on registers alone, and no branch near it leads in
 * between. glibc's _Fork() and syscall(), and what compilers make of musl's, are so; clone() and vfork() are not, and
 * need not be: their children have a stack, or memory, that is another matter (runtime/trace/hooks/hook.c).
 */
#include "control/plan/fork_calls.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arch/arm64/encode.h"
#include "runtime/arch/riscv64/encode.h"
#include "symbol/elf_view.h"

#define NR_CLONE	220u
#define NR_CLONE3	435u
#define TEXT_MAX	(64ull << 20)
#define BEFORE		64u		/* bytes between the number and the call, at most */
#define NEAR		2048u		/* where branches are looked for */

struct search {
	struct uft_object *obj;
	struct uft_hook *h;
	unsigned n;
};

static void add(struct search *s, uint64_t addr, uint32_t nr, uint32_t len)
{
	struct uft_hook h = { .addr = addr, .kind = UFT_HOOK_SYSCALL, .nr = nr, .len = len };

	for (unsigned i = 0; i < s->n; i++)
		if (s->h[i].addr == addr)
			return;
	if (s->n < FORK_CALLS_MAX && uft_object_read(s->obj, addr, h.bytes, sizeof(h.bytes)) == sizeof(h.bytes))
		s->h[s->n++] = h;
}

/* ---- arm64 ------------------------------------------------------------------------------------ */

/* The number that is in x8 at the svc at @i of @code; 0: another one, or not known. */
static uint32_t arm64_number(const uint8_t *code, size_t i)
{
	for (size_t back = 4; back <= BEFORE && back <= i; back += 4) {
		uint32_t word = elf_get32(code + i - back);
		uint64_t to;

		if (a64_is_mov(word, 8, NR_CLONE))
			return NR_CLONE;
		if (a64_is_mov(word, 8, NR_CLONE3))
			return NR_CLONE3;
		if (word == A64_SVC || a64_direct_target(word, 0, &to))
			return 0;
	}
	return 0;
}

/* @any: whatever its number is. */
static void find_arm64(struct search *s, uint64_t addr, const uint8_t *code, size_t n, int any)
{
	for (size_t i = 0; i + 4 <= n; i += 4)
		if (elf_get32(code + i) == A64_SVC) {
			uint32_t nr = any ? UFT_HOOK_ANY : arm64_number(code, i);

			if (nr)
				add(s, addr + i, nr, 4);
		}
}

/* ---- riscv64 ---------------------------------------------------------------------------------- */

static uint32_t rv_word(const uint8_t *code)
{
	return rv_length(code[0]) == 4 ? elf_get32(code) : code[0] | (uint32_t)code[1] << 8;
}

/* Does anything that looks like a branch near [from, to) of @code lead to between its first byte and its end? */
static int is_entered(const uint8_t *code, size_t n, size_t from, size_t to)
{
	size_t i = from > NEAR ? from - NEAR : 0;

	for (; i + 4 <= n && i < to + NEAR; i += 2) {
		uint64_t target;

		if (rv_direct_target(rv_word(code + i), i, &target) && target > from && target < to)
			return 1;
	}
	return 0;
}

/* From @begin on instructions that depend on registers alone, then an ecall: hooks it. */
static void try_riscv(struct search *s, uint64_t addr, const uint8_t *code, size_t n, size_t begin, uint32_t nr)
{
	size_t insn[BEFORE / 2 + 1], at = begin;
	unsigned k = 0;

	while (at + 8 <= n && at - begin <= BEFORE && rv_word(code + at) != RV_ECALL) {
		if (!rv_is_of_registers(rv_word(code + at)))
			return;
		insn[k++] = at;
		at += rv_length(code[at]);
	}
	if (at + 8 > n || rv_word(code + at) != RV_ECALL || !rv_defines(rv_word(code + at + 4)))
		return;
	while (k-- > 0) {
		size_t len = at + 4 - insn[k];

		if (len < 8 || !rv_defines(rv_word(code + insn[k])))
			continue;
		if (len <= 12 && !is_entered(code, n, insn[k], at + 4))
			add(s, addr + insn[k], nr, (uint32_t)len);
		return;
	}
}

static void find_riscv(struct search *s, uint64_t addr, const uint8_t *code, size_t n, int any)
{
	const uint32_t li = 17u << 7 | 0x13;	/* addi a7, zero, 0 */

	if (any)
		try_riscv(s, addr, code, n, 0, UFT_HOOK_ANY);
	for (size_t i = 0; i + 4 <= n && !any; i += 2) {
		uint32_t word = elf_get32(code + i);

		if (word == (li | NR_CLONE << 20) || word == (li | NR_CLONE3 << 20))
			try_riscv(s, addr, code, n, i, word >> 20);
	}
}

/* ----------------------------------------------------------------------------------------------- */

static void find_in(struct search *s, uint64_t addr, uint64_t size, int any)
{
	uint8_t *code = malloc(size);
	size_t n = code ? uft_object_read(s->obj, addr, code, size) : 0;

	if (s->obj->machine == EM_AARCH64)
		find_arm64(s, addr, code, n, any);
	else if (s->obj->machine == EM_RISCV)
		find_riscv(s, addr, code, n, any);
	free(code);
}

unsigned fork_calls_find(struct uft_object *obj, struct uft_hook *h)
{
	struct search s = { .obj = obj, .h = h };
	uint64_t size, addr;

	for (size_t t = 0; t < obj->ntext; t++)
		if (obj->text[t].end - obj->text[t].addr <= TEXT_MAX)
			find_in(&s, obj->text[t].addr, obj->text[t].end - obj->text[t].addr, 0);
	addr = uft_object_symbol(obj, "syscall", &size);
	if (addr && size)
		find_in(&s, addr, size < NEAR ? size + 4 : NEAR, 1);
	return s.n;
}
