/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.c - calls of tracepoints where instructions have any length: a nop of five bytes, a jump
 *
 * The nop may be skipped for a moment, so any protocol of batch.c will do while threads run.
 */
#include "runtime/base/mem.h"
#include "runtime/patch/bytes/bytes.h"
#include "runtime/patch/calls.h"

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

static void commit(void *arg, const struct patch_item *it, uint32_t n)
{
	struct call_block *b = arg;

	for (uint32_t i = 0; i < n; i++)
		if (it[i].proto != PROTO_NONE)
			b->v[it[i].index].is_on = it[i].form;
}

/* Plans the change of one call. 0: *it is to be written; -EALREADY: it is as wanted; -EFAULT, -EILSEQ, -EOPNOTSUPP. */
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

static uint32_t write_calls(struct call_block *b, struct uft_call_switch *want)
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
		failed += ret && ret != -EALREADY && !calls_are_lost(ret); /* GUARD(calls_are_lost) */
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

int patch_calls(uint32_t object, struct uft_call_switch *c, uint32_t n)
{
	return calls_switch(object, c, n, write_calls);
}

uint32_t tracepoints_disarm(void)
{
	return calls_disarm(write_calls);
}
