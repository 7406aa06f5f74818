/* SPDX-License-Identifier: MIT */
/*
 * target.c - what a fuzzer does with bytes that claim to be a program whose entries are to be rewritten
 *
 * Lists, plans and makes the code of every entry, as a session does, in memory of the input's exact size, and checks
 * what the runtime relies on: whole bytes in the text, no two entries overlapping, reasons that sum.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/relocate/entry.h"
#include "symbol/object_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); abort(); } } while (0)

static void check_entry(struct uft_object *obj, const struct entries *e, size_t i, uint64_t *free_from)
{
	const struct entry *f = &e->entry[i];
	struct uft_code c = { 0 };
	int ret;

	CHECK(f->skip < ENTRY_NSKIPS);
	CHECK(!i || e->entry[i - 1].func < f->func);
	CHECK(f->addr == f->func || f->addr == f->func + 4);
	if (f->skip)
		return;
	CHECK(f->nmoved >= entry_len(obj, f) && f->nmoved <= sizeof(c.orig));
	CHECK(object_text(obj, f->addr) && object_text(obj, f->addr + f->nmoved - 1));
	CHECK(!f->pad || (object_text(obj, f->pad) && object_text(obj, f->pad + 4)));
	CHECK(f->addr >= *free_from);
	CHECK(!f->pun || (f->pun <= 4 && f->known >= 5 && f->known <= 8 && object_text(obj, f->addr + f->known - 1)));
	*free_from = f->addr + (f->pun ? f->known : entry_len(obj, f));
	ret = entry_code(obj, f, 0x10000000, f->addr + (obj->machine == EM_X86_64 ? 0x20000000 : 0x10040000), &c);
	CHECK(!ret || ret == -ERANGE);
	CHECK(ret || (c.ncode && c.ncode <= sizeof(c.code)));
	for (unsigned k = 0; k < f->nmoved; k++) {
		int twin = entry_twin(obj, f, k);

		CHECK(twin == -EINVAL || (twin >= 0 && twin < UFT_CODE_MAX));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct uft_error err = { "" };
	struct uft_range ours = { 0x1000, 64 };
	struct uft_object *obj;
	struct entries e;
	struct elf_view v;
	uint64_t free_from = 0;
	size_t i, sum = 0;
	uint8_t *copy;

	if (!size)
		return 0;
	copy = malloc(size);
	CHECK(copy);
	memcpy(copy, data, size);
	if (elf_open_memory(&v, copy, size, ELF_MALLOCED, "input", &err))
		return 0;
	if (object_from_view(&v, "input", &obj, &err)) {
		CHECK(strstr(err.text, "MB of code"));
		return 0;
	}
	if (!entries_list(obj, &e)) {
		CHECK(!entries_ours(&e, &ours, 1));
		if (!entries_plan(obj, &e, NULL)) {
			for (i = 0; i < e.n; i++)
				check_entry(obj, &e, i, &free_from);
			for (i = 0; i < ENTRY_NSKIPS; i++)
				sum += e.nskip[i];
			CHECK(sum == e.n);
		}
		entries_free(&e);
	}
	uft_object_put(obj);
	return 0;
}
