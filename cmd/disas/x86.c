/* SPDX-License-Identifier: MIT */
/*
 * x86.c - forms of x86-64 sites and unprepared entries, for uft disas
 *
 * The bytes follow runtime/patch/bytes/site.c and the drawings in runtime/arch/arch.h.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "cmd/disas/disas.h"
#include "runtime/arch/x86_64/encode.h"

#define PRE	5u	/* bytes before a PREPAD site that change */

/* Names code of ours in a process by its form. */
static void x86_name_runtime(struct dis *d, uint64_t addr, char *buf, size_t size)
{
	uint8_t b[16] = { 0 };

	buf[0] = 0;
	if (cmd_objects_read(d->objects, addr, b, sizeof(b)) < sizeof(b))
		return;
	if (b[0] == UFT_OP_PUSH_RAX && uft_insn_is_mov_eax(b + 1, NULL) && b[6] == 0xff && b[7] == UFT_MODRM_JMP)
		snprintf(buf, size, "uft thunk, id base 0x%x", uft_get32(b + 2));
	else if (b[0] == UFT_OP_CALL && b[5] == UFT_OP_CALL && b[10] == UFT_OP_JMP)
		snprintf(buf, size, "uft stub of %.60s", d->name);
	else if (b[0] == UFT_OP_CALL && b[5] == UFT_OP_RET)
		snprintf(buf, size, "uft mcount stub of %.60s", d->name);
	else if (b[0] == 0xff && b[1] == UFT_MODRM_JMP)
		snprintf(buf, size, "uft exit thunk");
	else if (uft_insn_is_call(b) || uft_insn_is_jmp(b))
		snprintf(buf, size, "uft code of %.60s", d->name);
}

/* ---- Forms of a site ---------------------------------------------------------------------------- */

static unsigned x86_pre(const struct uft_site *s)
{
	return s->kind == UFT_SITE_PREPAD ? PRE : 0;
}

static void dis_idle(const struct uft_site *s, uint8_t *b)
{
	if (s->kind != UFT_SITE_NOPS && s->kind != UFT_SITE_FENTRY_CALL && s->kind != UFT_SITE_MCOUNT_CALL)
		return;
	if (s->len == 6) {
		b[0] = UFT_PFX_ADDRSIZE;
		uft_insn_nop(b + 1, 5);
	} else if (s->len <= 8) {
		uft_insn_nop(b, s->len);
	} else {
		uft_insn_nop(b, 5);
	}
}

/* Bytes of an armed site over the idle ones at @b; *link gets where its branch leads. */
static void dis_armed(struct dis *d, int graph, uint8_t *b, uint64_t addr, struct dis_link *link)
{
	const struct uft_site *s = d->site;
	unsigned pad = s->len <= 8 ? s->len - 5 : 0;
	int is_call = s->is_framed || s->kind == UFT_SITE_OWN_CALL ||
		      (!graph && s->kind != UFT_SITE_PREPAD && s->len <= 8);

	if (graph && s->kind == UFT_SITE_OWN_CALL && !s->is_framed)
		is_call = 0;
	link->at = addr;
	link->bytes = 1;
	if (graph)
		snprintf(link->label, sizeof(link->label), "uft stub of %.80s", d->name);
	else if (s->kind == UFT_SITE_OWN_CALL || !is_call)
		snprintf(link->label, sizeof(link->label), "uft code of %.80s", d->name);
	else
		snprintf(link->label, sizeof(link->label), "uft %s thunk of %.64s", s->is_framed ? "mcount" :
			 "function", d->object);
	if (s->kind == UFT_SITE_PREPAD) {
		uft_insn_jmp(b, addr, addr);
		uft_insn_jmp_short(b + PRE, -(int)(PRE + UFT_LEN_JMP_SHORT));
	} else if (is_call) {
		uft_insn_call_padded(b, 5 + pad, addr, addr);
	} else {
		uft_insn_jmp(b, addr, addr);
	}
}

/* The columns beside the original: idle, function, graph, and what is there now. */
static int x86_site_columns(struct dis *d)
{
	const struct uft_site *s = d->site;
	unsigned pre = x86_pre(s), len = pre + s->len, way;
	uint64_t at = s->addr - pre, addr = at + d->item->bias;
	uint8_t idle[64], b[64];
	int ret;

	if (uft_object_read(d->item->obj, at, idle, len) != len)
		return -EIO;
	dis_idle(s, idle + pre);
	ret = dis_column(d, s->kind == UFT_SITE_OWN_CALL ? "idle (still made)" : "idle", NULL, idle, len, addr);
	for (way = 0; way < 2 && !ret; way++) {
		struct dis_link link;

		memcpy(b, idle, len);
		dis_armed(d, way, b, addr, &link);
		ret = dis_column(d, way ? "function_graph" : "function", &link, b, len, addr);
	}
	return ret ? ret : dis_column_now(d, len, addr);
}

/* A piece of our own code, made with encode.h as the runtime makes it; @label is where each branch leads. */
static void dis_print_piece(FILE *f, struct dis *d, const uint8_t *p, size_t len, const char *const *label)
{
	size_t at = 0, k = 0;

	while (at < len) {
		struct dis_link link = { .at = at, .bytes = 1 };
		struct dis_row row;
		unsigned n;

		dis_insn(d, NULL, p + at, len - at, at, &row);
		if (p[at] == UFT_OP_CALL || p[at] == UFT_OP_JMP)
			snprintf(link.label, sizeof(link.label), "%s", label[k++]);
		n = dis_insn(d, &link, p + at, len - at, at, &row);
		if (p[at] == UFT_OP_MOV_EAX) {
			insn_x86_64.hex(p + at, n, 1, row.hex);
			snprintf(row.text, sizeof(row.text), "mov $id base, %%eax");
		} else if (p[at] == 0xff) {
			insn_x86_64.hex(p + at, n, 1, row.hex);
			snprintf(row.text, sizeof(row.text), "jmp *<%s>", label[k++]);
		}
		dis_print_line(f, at, row.hex, row.text);
		at += n;
	}
}

/* Prints the runtime's code in the process that the armed site at @addr leads to. 0: the site is not armed. */
static int dis_print_live(FILE *f, struct dis *d, uint64_t addr)
{
	uint8_t b[UFT_STUB_BYTES] = { 0 };
	unsigned skip = 0, len, at;
	char name[96];
	uint64_t to;

	if (cmd_objects_read(d->objects, addr, b, sizeof(b)) < sizeof(b))
		return 0;
	while (skip < 3 && (b[skip] == UFT_PFX_ADDRSIZE || b[skip] == UFT_PFX_CS))
		skip++;
	if (b[skip] != UFT_OP_CALL && b[skip] != UFT_OP_JMP)
		return 0;
	to = uft_insn_branch_target(b + skip, 5, addr + skip);
	dis_target(d, to, name, sizeof(name));
	if (strncmp(name, "uft ", 4) || cmd_objects_read(d->objects, to, b, sizeof(b)) < sizeof(b))
		return 0;
	fprintf(f, "\n%s\n", name);
	/*
	 * A stub's last byte is its flags; bytes after the last instruction of a thunk or an mcount stub have no
	 * meaning.
	 */
	for (at = 0; at < UFT_STUB_BYTES - 1; at += len) {
		struct dis_row row;

		len = dis_insn(d, NULL, b + at, UFT_STUB_BYTES - 1 - at, to + at, &row);
		fprintf(f, "%-14" PRIx64 "  %-18s  %s\n", to + at, row.hex, row.text);
		if (b[at] == UFT_OP_RET || b[at] == UFT_OP_JMP || b[at] == 0xff)
			break;
	}
	return 1;
}

/* What the armed site leads to. */
static void x86_print_runtime(FILE *f, struct dis *d)
{
	const struct uft_site *s = d->site;
	int framed = s->is_framed;
	const char *object = d->object;
	uint8_t b[32];
	char body[300];
	size_t n = 0;

	if (d->objects->pid && dis_print_live(f, d, s->addr + d->item->bias))
		return;
	snprintf(body, sizeof(body), "%s+0x%" PRIx64, d->name, s->addr + s->len - d->func->addr);
	fprintf(f, "\nuft stub of %s (function_graph; %u bytes within reach of %s, then its flags byte)\n", d->name,
		UFT_STUB_BYTES, object);
	n += uft_insn_call(b + n, 0, 0);
	if (framed) {
		n += uft_insn_ret(b + n);
		dis_print_piece(f, d, b, n, (const char *const[]){ "uft mcount enter thunk: to uft_asm_mcount_graph" });
	} else {
		n += uft_insn_call(b + n, 0, 0);
		n += uft_insn_jmp(b + n, 0, 0);
		dis_print_piece(f, d, b, n, (const char *const[]){ "uft enter thunk: to uft_asm_graph_enter", body,
								   "uft exit thunk: to uft_asm_graph_exit" });
	}
	fprintf(f, "\nuft %s thunk of %s (function; one for the object)\n", framed ? "mcount" : "function", object);
	n = uft_insn_push_rax(b);
	n += uft_insn_mov_eax(b + n, 0);
	n += uft_insn_ff(b + n, UFT_MODRM_JMP, 0, 0);
	dis_print_piece(f, d, b, n, (const char *const[]){ framed ? "uft_asm_mcount_func" : "uft_asm_func" });
}

/* ---- Plain code ------------------------------------------------------------------------------- */

/* where the copy is taken to be: displacements depend on it, what they lead to does not */
#define CODE_AWAY	(16u << 20)

/* The bytes that change at the entry, in a column at their address; @len of them lie before it. */
static int dis_rewritten(struct dis *d, const struct entry *e)
{
	uint64_t at = e->addr + d->item->bias;
	struct dis_link link = { .at = at, .bytes = 1 };
	uint8_t b[16] = { 0 };
	unsigned len = entry_len(d->item->obj, e);

	if (e->pun)
		snprintf(link.label, sizeof(link.label), "a page that leads to uft slot of %.50s", d->name);
	else if (!e->pad)
		snprintf(link.label, sizeof(link.label), "uft slot of %.80s", d->name);
	if (e->pun)		/* the bytes behind those that change, too */
		len = (unsigned)uft_insn_jmp(b, at, at);
	else if (e->is_trap)
		b[0] = UFT_OP_INT3;
	else if (e->pad)
		uft_insn_jmp_short(b, (int8_t)(e->pad - (e->addr + UFT_LEN_JMP_SHORT)));
	else
		uft_insn_jmp(b, at, at);
	return dis_column(d, "rewritten", &link, b, len, at);
}

static int x86_code_columns(struct dis *d)
{
	const struct entry *e = d->entry;
	unsigned len = entry_len(d->item->obj, e);
	int ret = dis_rewritten(d, e);

	return ret ? ret : dis_column_now(d, len, e->addr + d->item->bias);
}

/* Pad, slot, and the moved instructions; what they lead to has its name. */
static void x86_print_code(FILE *f, struct dis *d)
{
	const struct entry *e = d->entry;
	struct uft_code c = { 0 };
	uint8_t b[8];
	unsigned end;

	if (entry_code(d->item->obj, e, d->item->bias, e->addr + d->item->bias + CODE_AWAY, &c)) {
		fprintf(f, "\nits code does not fit within reach\n");
		return;
	}
	if (e->pun)
		fprintf(f,
			"\n%u byte%s of %s change%s; those behind are the rest of the jump and stay. Where it leads a page is mapped, if "
			"nothing is there:\n  jmp *slot\n",
			e->pun, e->pun == 1 ? "" : "s", d->name, e->pun == 1 ? "s" : "");
	if (e->pad) {
		fprintf(f, "\npad of %s at %" PRIx64 ": padding between functions, never executed\n", d->name,
			e->pad + d->item->bias);
		dis_print_piece(f, d, b, uft_insn_jmp(b, 0, 0), (const char *const[]){ "uft slot" });
	}
	fprintf(f, "\nuft slot of %s: the cell decides; it leads to the code below, or there by way of the tracer\n",
		d->name);
	dis_print_piece(f, d, b, uft_insn_jmp_indirect(b, 0, 0), (const char *const[]){ "cell" });
	fprintf(f, "\nuft code of %s: the %u bytes that moved, and the way back%s\n", d->name, c.nmoved,
		e->is_plain ? " (function tracer only: something reads its return address)" : "");
	/* The pushed return address after the last jump is no code. */
	end = c.ncode;
	for (unsigned at = 0; at < end;) {
		uint64_t addr = e->addr + d->item->bias + CODE_AWAY + at;
		struct dis_row row;

		if (c.ncode - at == sizeof(uint64_t) && !memcmp(c.code + at, &(uint64_t){ c.addr + c.nmoved }, 8)) {
			fprintf(f, "  +%-3u %-30s  return address in %s\n", at, "(8 bytes)", d->name);
			break;
		}
		at += dis_insn(d, NULL, c.code + at, c.ncode - at, addr, &row);
		fprintf(f, "  +%-3u %-30s  %s\n", at - row.len, row.hex, row.text);
	}
}

const struct dis_isa dis_x86_64 = {
	.reader = &insn_x86_64, .pre = x86_pre, .site_columns = x86_site_columns, .print_runtime = x86_print_runtime,
	.code_columns = x86_code_columns, .print_code = x86_print_code, .name_runtime = x86_name_runtime,
};
