/* SPDX-License-Identifier: MIT */
/* table.c - columns of instructions side by side, and the names of what they lead to; see disas.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/disas/disas.h"
#include "symbol/array.h"
#include "symbol/names.h"

/* ---- Names ------------------------------------------------------------------------------------ */

void dis_func_name(const struct uft_object *obj, const struct uft_func *func, char *buf, size_t size)
{
	char *demangled = func->name ? uft_demangle(func->name) : NULL;

	if (func->name)
		snprintf(buf, size, "%s", demangled ? demangled : func->name);
	else
		snprintf(buf, size, "%s+0x%" PRIx64, cmd_object_base(obj), func->addr);
	uft_name_clean(buf);
	free(demangled);
}

void dis_target(struct dis *d, uint64_t addr, char *buf, size_t size)
{
	size_t i, at;

	buf[0] = 0;
	for (i = 0; i < d->objects->n; i++) {
		const struct cmd_object *o = &d->objects->item[i];
		const struct uft_func *f;
		const char *plt;

		if (o->obj != d->item->obj && !d->objects->pid)
			continue;
		plt = uft_object_plt(o->obj, addr - o->bias);
		if (plt) {
			snprintf(buf, size, "%s@plt", plt);
			uft_name_clean(buf);
			return;
		}
		f = uft_object_func(o->obj, addr - o->bias);
		if (!f)
			continue;
		dis_func_name(o->obj, f, buf, size);
		at = strlen(buf);
		if (f->addr != addr - o->bias)
			snprintf(buf + at, size - at, "+0x%" PRIx64, addr - o->bias - f->addr);
		return;
	}
	if (d->objects->pid && d->isa->name_runtime)
		d->isa->name_runtime(d, addr, buf, size);
}

/* ---- Decoding --------------------------------------------------------------------------------- */

/* Says where a branch leads, or whose relocation an instruction holds. */
static void dis_note(struct dis *d, const struct insn *in, struct dis_row *row)
{
	/* Relocations are of the file: its column is the first. */
	const char *symbol = d->ncol == 1 ? uft_object_reloc(d->item->obj, row->addr, in->len) : NULL;
	size_t at = strlen(row->text);
	char target[96] = "";

	if (symbol) {		/* not linked yet: the displacement means nothing */
		snprintf(target, sizeof(target), "%s", symbol);
		uft_name_clean(target);
		snprintf(row->text + at, sizeof(row->text) - at, "  # %s", target);
		return;
	}
	if (in->has_to) {
		dis_target(d, in->to, target, sizeof(target));
		if (target[0])
			snprintf(row->text, sizeof(row->text), "%s0x%" PRIx64 " <%s>", in->lead, in->to, target);
	} else if (in->slot) {
		symbol = uft_object_got(d->item->obj, in->slot - d->item->bias);
		snprintf(target, sizeof(target), "%s", symbol ? symbol : "");
		uft_name_clean(target);
		if (symbol)
			snprintf(row->text + at, sizeof(row->text) - at, " <%s@got>", target);
	}
}

unsigned dis_insn(struct dis *d, const struct dis_link *link, const uint8_t *p, size_t avail, uint64_t addr,
		  struct dis_row *row)
{
	int is_open = link && link->label[0] && addr - link->at < link->bytes;
	struct insn in;

	d->isa->reader->read(p, avail, addr, &in);
	row->addr = addr;
	row->len = in.len;
	d->isa->reader->hex(p, in.len, is_open, row->hex);
	if (is_open) {
		snprintf(row->text, sizeof(row->text), "%s<%s>", in.link, link->label);
		return in.len;
	}
	snprintf(row->text, sizeof(row->text), "%s", in.text);
	dis_note(d, &in, row);
	return in.len;
}

int dis_column(struct dis *d, const char *title, const struct dis_link *link, const uint8_t *p, size_t len,
		      uint64_t addr)
{
	struct dis_column *c = &d->col[d->ncol++];
	size_t at = 0, room = 0;

	*c = (struct dis_column){ .title = title };
	while (at < len) {
		struct dis_row *row;
		int w;

		if (array_reserve(c->row, room, c->n + 1))
			return -ENOMEM;
		row = &c->row[c->n++];
		at += dis_insn(d, link, p + at, len - at, addr + at, row);
		w = strlen(row->hex);
		c->hex_width = w > c->hex_width ? w : c->hex_width;
		w = strlen(row->text);
		c->text_width = w > c->text_width ? w : c->text_width;
	}
	return 0;
}

int dis_column_now(struct dis *d, size_t len, uint64_t addr)
{
	uint8_t b[64];

	if (!d->objects->pid || len > sizeof(b) || cmd_objects_read(d->objects, addr, b, len) != len)
		return 0;
	return dis_column(d, "now", NULL, b, len, addr);
}

/* ---- Printing --------------------------------------------------------------------------------- */

static uint64_t dis_next_addr(const struct dis *d)
{
	uint64_t addr = ~0ull;
	unsigned i;

	for (i = 0; i < d->ncol; i++)
		if (d->col[i].next < d->col[i].n && d->col[i].row[d->col[i].next].addr < addr)
			addr = d->col[i].row[d->col[i].next].addr;
	return addr;
}

/* Columns that have nothing at or behind @addr any more need no blanks. */
static unsigned dis_last_column(const struct dis *d, uint64_t addr)
{
	unsigned i = d->ncol;

	while (i > 1 && !(d->col[i - 1].next < d->col[i - 1].n && d->col[i - 1].row[d->col[i - 1].next].addr == addr))
		i--;
	return i;
}

void dis_print_table(FILE *f, struct dis *d)
{
	uint64_t addr;
	unsigned i;

	fprintf(f, "%-14s", "address");
	for (i = 0; i < d->ncol; i++)
		fprintf(f, "  %-*s", i + 1 < d->ncol ? d->col[i].hex_width + 2 + d->col[i].text_width : 0,
			d->col[i].title);
	fputc('\n', f);
	while ((addr = dis_next_addr(d)) != ~0ull) {
		unsigned last = dis_last_column(d, addr);

		fprintf(f, "%-14" PRIx64, addr);
		for (i = 0; i < last; i++) {
			struct dis_column *c = &d->col[i];
			struct dis_row *row =
				c->next < c->n && c->row[c->next].addr == addr ? &c->row[c->next++] : NULL;

			fprintf(f, "  %-*s  %-*s", c->hex_width, row ? row->hex : "", i + 1 < last ? c->text_width : 0,
				row ? row->text : "");
		}
		fputc('\n', f);
	}
}

void dis_print_line(FILE *f, size_t at, const char *hex, const char *text)
{
	fprintf(f, "  +%-3zu %-18s  %s\n", at, hex, text);
}
