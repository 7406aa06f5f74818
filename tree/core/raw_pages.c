/* SPDX-License-Identifier: MIT */
/*
 * raw_pages.c - the pages of trace_pipe_raw and snapshot_raw that were begun, or filled and not read yet
 */
#include "tree/core/raw_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int take_page(void *ctx, const void *page)
{
	struct raw_cpu *c = ctx;

	if (c->nready == MAX_READY)
		return -ENOSPC;
	memcpy(c->ready + (size_t)c->nready++ * c->bytes, page, c->bytes);
	return 0;
}

struct raw_cpu *raw_cpu_of(const struct instance *in, struct raw_cpu **raw, uint32_t cpu)
{
	uint32_t bytes = in->subbuf_kb * 1024;
	struct raw_cpu *c = raw[cpu];

	if (c)
		return c;
	c = raw[cpu] = calloc(1, sizeof(*c) + (size_t)(MAX_READY + 1) * bytes);
	if (!c)
		return NULL;
	c->bytes = bytes;
	c->ready = (uint8_t *)c->pages;
	uft_kbuf_init(&c->kbuf, c->ready + (size_t)MAX_READY * bytes, bytes, take_page, c);
	return c;
}

void raw_set_page(struct instance *in, uint32_t kb)
{
	pthread_mutex_lock(&in->t->pipe_lock);
	in->subbuf_kb = kb;
	for (uint32_t i = 0; i < tree_ncpus(in->t); i++) {
		free(in->raw.cpu[i]);
		free(in->frozen_raw.cpu[i]);
		in->raw.cpu[i] = in->frozen_raw.cpu[i] = NULL;
	}
	pthread_mutex_unlock(&in->t->pipe_lock);
}

int raw_init(struct instance *in, uint32_t first_slot, uint32_t frozen_slot)
{
	dat_syms_init(&in->raw.syms);
	dat_syms_init(&in->frozen_raw.syms);
	in->raw.syms.first_slot = first_slot;
	in->frozen_raw.syms.first_slot = frozen_slot;
	in->raw.cpu = calloc(tree_ncpus(in->t), sizeof(*in->raw.cpu));
	in->frozen_raw.cpu = calloc(tree_ncpus(in->t), sizeof(*in->frozen_raw.cpu));
	return in->raw.cpu && in->frozen_raw.cpu ? 0 : -ENOMEM;
}

static void free_pages(struct raw_pages *raw, uint32_t ncpus)
{
	for (uint32_t i = 0; raw->cpu && i < ncpus; i++)
		free(raw->cpu[i]);
	free(raw->cpu);
	dat_syms_free(&raw->syms);
}

void raw_free(struct instance *in)
{
	free_pages(&in->raw, tree_ncpus(in->t));
	free_pages(&in->frozen_raw, tree_ncpus(in->t));
}

void raw_forget(struct instance *in, uint32_t cpu)
{
	struct raw_pages *raw = &in->frozen_raw;
	uint32_t slot = raw->syms.first_slot;

	for (uint32_t i = 0; i < tree_ncpus(in->t); i++)
		if (cpu == UFT_LIVE_ALL || i == cpu) {
			free(raw->cpu[i]);
			raw->cpu[i] = NULL;
		}
	if (cpu == UFT_LIVE_ALL) {
		dat_syms_free(&raw->syms);
		raw->syms.first_slot = slot;
	}
}
