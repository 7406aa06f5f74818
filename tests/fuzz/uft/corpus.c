/* SPDX-License-Identifier: MIT */
/* corpus.c - see corpus.h */
#include "tests/fuzz/uft/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "stream/wire/uft_file.h"
#include "stream/wire/wire.h"
#include "symbol/recorded.h"
#include "tests/lib/synth.h"

/* Files of this machine are no part of what is fuzzed: reading the names of libc takes longer than all the rest. */
int recorded_open(struct recorded_files *r, const struct uft_object *obj, struct uft_object **real)
{
	(void)r;
	(void)obj;
	*real = NULL;
	return -1;
}

void recorded_keep(struct recorded_files *r, const struct uft_object *real)
{
	(void)r;
	(void)real;
}

static void die(const char *what)
{
	fprintf(stderr, "corpus: %s\n", what);
	exit(1);
}

static struct input slurp(const char *path)
{
	struct input in = { NULL, 0 };
	FILE *f = fopen(path, "rb");

	if (!f || fseek(f, 0, SEEK_END))
		die("cannot read the corpus");
	in.n = (size_t)ftell(f);
	in.p = malloc(in.n);
	rewind(f);
	if (fread(in.p, 1, in.n, f) != in.n)
		die("cannot read the corpus");
	fclose(f);
	return in;
}

void corpus_seal(struct uft_file_block *head)
{
	head->payload_sum = wire_sum(head + 1, head->stored);
	head->head_sum = wire_sum(head, offsetof(struct uft_file_block, head_sum));
}

/* Unpacks every block, so that mutations reach what is inside. */
static struct input unpack(struct input in)
{
	struct input out = { malloc(in.n * 8 + (4u << 20)), sizeof(struct uft_file_header) };
	size_t at = sizeof(struct uft_file_header);

	memcpy(out.p, in.p, at);
	while (at + sizeof(struct uft_file_block) <= in.n) {
		struct uft_file_block *from = (void *)(in.p + at), *to = (void *)(out.p + out.n);

		*to = *from;
		if (from->flags & UFT_BLOCK_ZSTD)
			ZSTD_decompress(to + 1, to->raw, from + 1, from->stored);
		else
			memcpy(to + 1, from + 1, from->raw);
		to->flags = 0;
		to->stored = to->raw;
		corpus_seal(to);
		at += sizeof(*from) + ((from->stored + 7u) & ~7u);
		out.n += sizeof(*to) + ((to->stored + 7u) & ~7u);
	}
	free(in.p);
	return out;
}

/* A recording with a bit of everything that is not in synth_file(). */
static void write_oddities(const char *path, uint32_t tracer)
{
	struct synth_opts o = { .ring_bytes = 16384, .sub_bytes = 4096 };
	struct synth *s = synth_new(&o);
	struct uft_image *img = synth_image(1, 40);
	struct uft_writer *w = synth_writer(s, path, tracer, 0);
	struct synth_at at = { 0, 0, 1000, 1001, 0xffff0000u };

	if (!w)
		die("no writer");
	synth_begin(s, 0, 1000, 1);
	uft_writer_slice(w, 0, 1000, img);
	uft_writer_task(w, 1000, 1001, 1, 1, "odd");
	uft_writer_outer(w, 0, 1002, 2002);
	for (uint32_t i = 0; i < 1500; i++) {
		at.clock += 50 + i % 7;
		at.ring = i / 60 % 4;
		at.tid = 1001 + i / 90 % 3;
		switch (i % 9) {
		case 4: synth_unwind(s, at, i % 3); break;
		case 5: synth_exit_left(s, at, synth_stub_id(img, i % 40), at.clock - 900); break;
		case 6: synth_call(s, at, synth_stub_id(img, i % 40), 300); break;
		case 7: synth_func(s, at, synth_text_id(img, i % 40), synth_lib_addr(img, i % 16)); break;
		case 0: case 1: case 2: synth_entry(s, at, synth_stub_id(img, i % 40)); break;
		default: synth_exit(s, at, synth_stub_id(img, (i - 2) % 40)); break;
		}
		if (i % 700 == 0)
			uft_writer_poll(w);
	}
	*synth_profile(s, 0, 1, synth_stub_id(img, 3)) = (struct uft_profile){ .hits = 3, .total = 9, .max = 4 };
	uft_writer_slice_end(w, 0);
	uft_writer_finish(w, NULL, NULL);
	uft_image_free(img);
	synth_free(s);
}

void corpus_make(struct input corpus[CORPUS])
{
	struct synth_load load = {
		.ncalls = 600, .nfuncs = 50, .tracer = UFT_TRACER_GRAPH,
		.opts = { .ring_bytes = 16384, .sub_bytes = 4096 },
	};
	char path[] = "/tmp/uft-fuzz-XXXXXX";
	struct synth_expect expect;

	close(mkstemp(path));
	for (int i = 0; i < CORPUS; i++) {
		if (i < 2) {
			load.tracer = i ? UFT_TRACER_FUNCTION : UFT_TRACER_GRAPH;
			if (synth_file(path, &load, &expect))
				die("cannot write the corpus");
			free(expect.func_calls);
		} else {
			write_oddities(path, i == 2 ? UFT_TRACER_PROFILE : UFT_TRACER_FUNCTION);
		}
		corpus[i] = slurp(path);
		if (i != 4)
			corpus[i] = unpack(corpus[i]);
	}
	unlink(path);
}

struct uft_file_block *corpus_block(const struct input *in, uint64_t skip)
{
	size_t at = sizeof(struct uft_file_header);
	struct uft_file_block *head = (void *)(in->p + at);

	if (at + sizeof(*head) > in->n)
		return NULL;
	while (skip-- && at + sizeof(*head) + head->stored + 8 + sizeof(*head) < in->n) {
		at += sizeof(*head) + ((head->stored + 7u) & ~7u);
		head = (void *)(in->p + at);
	}
	return head->magic == UFT_BLOCK_MAGIC && at + sizeof(*head) + head->stored <= in->n ? head : NULL;
}
