/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.c - calls of tracepoints where instructions are words: a nop, a jump
 *
 * One aligned word may change between the two while threads run through it: every CPU executes one or the other. A call
 * that is not aligned (the header sees to it), or whose jump does not reach (riscv64: 1 MiB), stays the nop.
 */
#include <linux/errno.h>

#include "runtime/arch/arch.h"
#include "runtime/patch/calls.h"
#include "runtime/patch/words/words.h"
#include "runtime/platform/platform.h"
#include "runtime/runtime.h"

/* Plans the change of one call. 0: it is as wanted; 1: @word is to be written; -EFAULT, -ERANGE, -EILSEQ. */
static int plan(const struct call *c, int is_on, uint32_t *word)
{
	uint32_t jump = arch_code_jump(c->addr, c->on), now;

	if (c->addr & 3 || !plat_is_readable((const void *)c->addr))
		return -EFAULT;
	if (!jump)
		return -ERANGE;
	now = arch_text_load4((const void *)c->addr);
	*word = is_on ? jump : ARCH_INSN_NOP;
	if (now == *word)
		return 0;
	return now == (is_on ? ARCH_INSN_NOP : jump) ? 1 : -EILSEQ;
}

static int write_call(const struct call *c, uint32_t word)
{
	int ret = word_open(PLAT_PAGE_DOWN(c->addr), PLAT_PAGE_UP(c->addr + sizeof(word)));

	if (ret)
		return ret;
	word_put(c->addr, word);
	word_close();
	return 0;
}

static uint32_t write_calls(struct call_block *b, struct uft_call_switch *want)
{
	uint32_t failed = 0, written = 0;

	word_begin();
	for (uint32_t i = 0; i < b->n; i++) {
		int is_on = want && want[i].is_on, ret;
		uint32_t word;

		if (!want && !b->v[i].is_on)
			continue;
		ret = plan(&b->v[i], is_on, &word);
		if (ret > 0) {
			ret = write_call(&b->v[i], word);
			written += !ret;
		}
		if (!ret)
			b->v[i].is_on = (uint32_t)is_on;
		if (want)
			want[i].status = ret;
		failed += ret && !calls_are_lost(ret);
	}
	if (written)
		plat_sync_cores();
	return failed;
}

int patch_calls(uint32_t object, struct uft_call_switch *c, uint32_t n)
{
	return calls_switch(object, c, n, write_calls);
}

uint32_t tracepoints_disarm(void)
{
	return calls_disarm(write_calls);
}
