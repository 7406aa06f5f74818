/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.c - calls of tracepoints: one nop that becomes a jump, and back
 *
 * The compiler has made both ends (uft/tracepoint.h): a nop of five bytes, and, in the same function, where
 * it leads while the event is recorded. So there is no code of ours in between, and nothing has to be learnt:
 * the bytes are the nop, the jump, or somebody else's. The nop may be left out for a moment, so any protocol
 * of batch.c will do while threads run.
 *
 * Lists are kept, a block for each that the session sent, so that a detach finds what is armed without it.
 * Blocks are never freed.
 *
 * Context: control.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/internal.h"

struct call { uintptr_t addr, on; uint32_t is_on; };

struct call_block {
	struct call_block *next;
	uint32_t n;
	struct call v[];
};

static struct call_block *blocks;

static const uint8_t nop[UFT_LEN_JMP] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

static void bytes_of(const struct call *c, int is_on, struct code *out)
{
	uint8_t bytes[16] = { 0 };

	if (is_on)
		uft_insn_jmp(bytes, c->addr, c->on);
	else
		memcpy(bytes, nop, sizeof(nop));
	code_from(out, bytes, UFT_LEN_JMP);
}

static struct call_block *block_of(const struct uft_call_switch *c, uint32_t n)
{
	struct call_block *b;

	for (b = blocks; b; b = b->next)
		if (b->n == n && b->v[0].addr == c[0].addr && b->v[n - 1].addr == c[n - 1].addr)
			return b;
	b = plat_map(sizeof(*b) + n * sizeof(b->v[0]));
	if (!b)
		return NULL;
	b->n = n;
	for (uint32_t i = 0; i < n; i++)
		b->v[i] = (struct call){ c[i].addr, c[i].on, 0 };
	b->next = blocks;
	uft_store_release(&blocks, b);
	return b;
}

static void commit(void *arg, const struct patch_item *it, uint32_t n)
{
	struct call_block *b = arg;

	for (uint32_t i = 0; i < n; i++)
		if (it[i].proto != PROTO_NONE)
			b->v[it[i].index].is_on = it[i].form;
}

/* 0: it is planned; -EALREADY: nothing is to be done; -EFAULT, -EILSEQ, -EOPNOTSUPP. */
static int plan(struct patch_item *it, const struct call *c, int is_on)
{
	struct code now, old, new;

	if (!batch_is_mapped(c->addr, UFT_LEN_JMP))
		return -EFAULT;
	code_load(&now, c->addr, UFT_LEN_JMP);
	bytes_of(c, !is_on, &old);
	bytes_of(c, is_on, &new);
	if (now.lo == new.lo)
		return -EALREADY;
	if (now.lo != old.lo)
		return -EILSEQ;
	*it = (struct patch_item){ 0 };
	return batch_item(it, c->addr, &old, &new, UFT_LEN_JMP, 0);
}

/* @want: by call, or NULL: all off. Returns how many could not be changed. */
static uint32_t switch_block(struct call_block *b, struct uft_call_switch *want)
{
	struct patch_item *item = batch_room(b->n);
	uint32_t n = 0, failed = 0;

	batch_begin();
	for (uint32_t i = 0; i < b->n; i++) {
		int is_on = want && want[i].is_on, ret;

		if (!want && !b->v[i].is_on)
			continue;
		ret = item ? plan(&item[n], &b->v[i], is_on) : -ENOMEM;
		if (want)
			want[i].status = ret == -EALREADY ? 0 : ret;
		if (ret == -EALREADY)
			b->v[i].is_on = (uint32_t)is_on;
		failed += ret && ret != -EALREADY;
		if (!ret) {
			item[n].index = i;
			item[n++].form = (uint8_t)is_on;
		}
	}
	if (n)
		failed += batch_write(item, n, 0, commit, b);
	for (uint32_t i = 0; want && i < b->n; i++)
		if (!want[i].status && b->v[i].is_on != !!want[i].is_on)
			want[i].status = -EACCES;
	return failed;
}

int patch_calls(struct uft_call_switch *c, uint32_t n)
{
	struct call_block *b = n ? block_of(c, n) : NULL;

	if (n && !b)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (b->v[i].addr != c[i].addr || b->v[i].on != c[i].on)
			return -EINVAL;
	if (n)
		switch_block(b, c);
	return 0;
}

uint32_t calls_disarm(void)
{
	uint32_t left = 0;

	for (struct call_block *b = blocks; b; b = b->next)
		left += switch_block(b, NULL);
	return left;
}

void calls_forget(uintptr_t lo, uintptr_t hi)
{
	for (struct call_block *b = blocks; b; b = b->next)
		for (uint32_t i = 0; i < b->n; i++)
			if (b->v[i].addr >= lo && b->v[i].addr < hi)
				b->v[i].is_on = 0;
}
