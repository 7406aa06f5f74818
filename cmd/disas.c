/* SPDX-License-Identifier: MIT */
/*
 * disas.c - uft disas: a function's bytes in each state of its site, side by side
 *
 * The first column is the file: the whole function. The other columns show only what tracing changes, at the same
 * addresses: idle (what an untouched or switched off site looks like), armed for `function` and for `function_graph`,
 * and for a process what stands there now. Without a process nobody has placed the runtime yet: displacements that
 * depend on where it will be are shown as "..", with the name of what they lead to. With one they are real, and code
 * outside every object is named by its form (thunk, stub).
 *
 * Plain code has one column beside the original: rewritten, which is what stands there from the first time it is traced to
 * the end of the session. Its slot and the instructions that moved there are shown below.
 *
 * The bytes follow runtime/patch/site.c and the drawings in runtime/arch/arch.h.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/objects.h"
#include "cmd/options.h"
#include "control/relocate/entry.h"
#include "runtime/arch/x86_64/encode.h"
#include "symbol/names.h"

#define DIS_MAX_CODE	(64u << 10)	/* bytes of a function that are shown */
#define DIS_NO_SIZE	256u		/* bytes shown of a function of unknown size */
#define DIS_MAX_FUNCS	32u		/* functions shown at once */
#define DIS_PRE		5u		/* bytes before a PREPAD site that change */
#define DIS_COLUMNS	5

struct dis_opts { int site; };

static const struct cmd_option dis_options[] = {
	{ "site", 's', NULL, "only the bytes that tracing changes, not the whole function", cmd_flag,
	  offsetof(struct dis_opts, site), NULL },
	{ 0 }
};

static const struct cmd_syntax dis_syntax = {
	.name = "disas", .operands = "[OPTIONS] FUNC [PROG|PID|FILE.o]",
	.doc = "Shows a function's bytes side by side: original, idle, armed for each tracer, and now in a process. FUNC "
	       "is a name, a glob or an address. Without a program, that of the recording " CMD_DEFAULT_FILE ".",
	.options = dis_options,
};

struct dis_row {
	uint64_t addr;
	unsigned len;
	char hex[48], text[160];
};

/* A branch whose displacement is not known yet: the instruction that holds @at leads to @label. */
struct dis_link { uint64_t at; char label[96]; };

struct dis_column {
	const char *title;
	struct dis_row *row;
	size_t n, next;		/* next: while printing */
	int hex_width, text_width;
	struct dis_link link;
};

struct dis {
	const struct cmd_objects *objects;
	const struct cmd_object *item;
	const struct uft_func *func;
	const struct uft_site *site;		/* NULL: none */
	const struct entry *entry;		/* plain code; NULL: prepared, or left alone */
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	struct dis_column col[DIS_COLUMNS];
	unsigned ncol;
	char name[256];
};

/* ---- Names ------------------------------------------------------------------------------------ */

static void dis_func_name(const struct uft_object *obj, const struct uft_func *func, char *buf, size_t size)
{
	char *demangled = func->name ? uft_demangle(func->name) : NULL;

	if (func->name)
		snprintf(buf, size, "%s", demangled ? demangled : func->name);
	else
		snprintf(buf, size, "%s+0x%" PRIx64, cmd_object_base(obj), func->addr);
	uft_name_clean(buf);
	free(demangled);
}

/* Code of ours in a process, known by its form. */
static void dis_name_runtime(struct dis *d, uint64_t addr, char *buf, size_t size)
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

/* The name of a branch target, "" if there is none. */
static void dis_target(struct dis *d, uint64_t addr, char *buf, size_t size)
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
	if (d->objects->pid)
		dis_name_runtime(d, addr, buf, size);
}

/* ---- Decoding --------------------------------------------------------------------------------- */

static void dis_hex(const uint8_t *p, unsigned len, unsigned hidden, char *out)
{
	unsigned i;

	for (i = 0; i < len; i++)
		out += i + hidden >= len ? sprintf(out, i ? " .." : "..") : sprintf(out, i ? " %02x" : "%02x", p[i]);
}

/* Says where a branch leads, or whose relocation an instruction holds. */
static void dis_note(struct dis *d, const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *op,
		     struct dis_row *row)
{
	/* Relocations are of the file: its column is the first. */
	const char *symbol = d->ncol == 1 ? uft_object_reloc(d->item->obj, row->addr, insn->length) : NULL;
	size_t at = strlen(row->text);
	char target[96] = "";
	uint64_t to;

	if (symbol) {		/* not linked yet: the displacement means nothing */
		snprintf(target, sizeof(target), "%s", symbol);
		uft_name_clean(target);
		snprintf(row->text + at, sizeof(row->text) - at, "  # %s", target);
		return;
	}
	if (insn->meta.branch_type == ZYDIS_BRANCH_TYPE_NONE || ZYAN_FAILED(ZydisCalcAbsoluteAddress(insn, op, row->addr, &to)))
		return;
	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		dis_target(d, to, target, sizeof(target));
		if (target[0])
			snprintf(row->text, sizeof(row->text), "%s 0x%" PRIx64 " <%s>",
				 ZydisMnemonicGetString(insn->mnemonic), to, target);
	} else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		symbol = uft_object_got(d->item->obj, to - d->item->bias);
		snprintf(target, sizeof(target), "%s", symbol ? symbol : "");
		uft_name_clean(target);
		if (symbol)
			snprintf(row->text + at, sizeof(row->text) - at, " <%s@got>", target);
	}
}

/* One instruction at @p (@avail bytes) of address @addr. Returns its length; undecodable bytes are shown as one. */
static unsigned dis_insn(struct dis *d, const struct dis_link *link, const uint8_t *p, size_t avail, uint64_t addr,
			 struct dis_row *row)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	char text[128];

	row->addr = addr;
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&d->decoder, p, avail, &insn, op)) ||
	    ZYAN_FAILED(ZydisFormatterFormatInstruction(&d->formatter, &insn, op, insn.operand_count_visible, text,
							sizeof(text), addr, NULL))) {
		row->len = 1;
		dis_hex(p, 1, 0, row->hex);
		snprintf(row->text, sizeof(row->text), "(bad)");
		return 1;
	}
	row->len = insn.length;
	if (link && link->label[0] && link->at == addr) {
		dis_hex(p, insn.length, 4, row->hex);
		snprintf(row->text, sizeof(row->text), "%s <%s>", ZydisMnemonicGetString(insn.mnemonic), link->label);
		return row->len;
	}
	dis_hex(p, insn.length, 0, row->hex);
	snprintf(row->text, sizeof(row->text), "%s", text);
	if (insn.length > 1 && uft_insn_nop_length(p, insn.length) == insn.length)
		snprintf(row->text, sizeof(row->text), "nop (%u bytes)", insn.length);
	dis_note(d, &insn, op, row);
	return row->len;
}

static int dis_column(struct dis *d, const char *title, const struct dis_link *link, const uint8_t *p, size_t len,
		      uint64_t addr)
{
	struct dis_column *c = &d->col[d->ncol++];
	size_t at = 0, room = 0;

	*c = (struct dis_column){ .title = title };
	while (at < len) {
		struct dis_row *row;
		int w;

		if (c->n == room) {
			room = room ? 2 * room : 32;
			row = realloc(c->row, room * sizeof(*row));
			if (!row)
				return -ENOMEM;
			c->row = row;
		}
		row = &c->row[c->n++];
		at += dis_insn(d, link, p + at, len - at, addr + at, row);
		w = strlen(row->hex);
		c->hex_width = w > c->hex_width ? w : c->hex_width;
		w = strlen(row->text);
		c->text_width = w > c->text_width ? w : c->text_width;
	}
	return 0;
}

/* ---- What a site becomes ------------------------------------------------------------------------ */

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
	if (graph)
		snprintf(link->label, sizeof(link->label), "uft stub of %.80s", d->name);
	else if (s->kind == UFT_SITE_OWN_CALL || !is_call)
		snprintf(link->label, sizeof(link->label), "uft code of %.80s", d->name);
	else
		snprintf(link->label, sizeof(link->label), "uft %s thunk of %.64s", s->is_framed ? "mcount" : "function",
			 cmd_object_base(d->item->obj));
	if (s->kind == UFT_SITE_PREPAD) {
		uft_insn_jmp(b, addr, addr);
		uft_insn_jmp_short(b + DIS_PRE, -(int)(DIS_PRE + UFT_LEN_JMP_SHORT));
	} else if (is_call) {
		uft_insn_call_padded(b, 5 + pad, addr, addr);
	} else {
		uft_insn_jmp(b, addr, addr);
	}
}

/* The columns beside the original: idle, function, graph, and what is there now. */
static int dis_site_columns(struct dis *d)
{
	const struct uft_site *s = d->site;
	unsigned pre = s->kind == UFT_SITE_PREPAD ? DIS_PRE : 0, len = pre + s->len, way;
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
	if (!ret && d->objects->pid && cmd_objects_read(d->objects, addr, b, len) == len)
		ret = dis_column(d, "now", NULL, b, len, addr);
	return ret;
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

static void dis_print_table(FILE *f, struct dis *d)
{
	uint64_t addr;
	unsigned i;

	fprintf(f, "%-14s", "address");
	for (i = 0; i < d->ncol; i++)
		fprintf(f, "  %-*s", i + 1 < d->ncol ? d->col[i].hex_width + 2 + d->col[i].text_width : 0, d->col[i].title);
	fputc('\n', f);
	while ((addr = dis_next_addr(d)) != ~0ull) {
		unsigned last = dis_last_column(d, addr);

		fprintf(f, "%-14" PRIx64, addr);
		for (i = 0; i < last; i++) {
			struct dis_column *c = &d->col[i];
			struct dis_row *row = c->next < c->n && c->row[c->next].addr == addr ? &c->row[c->next++] : NULL;

			fprintf(f, "  %-*s  %-*s", c->hex_width, row ? row->hex : "", i + 1 < last ? c->text_width : 0,
				row ? row->text : "");
		}
		fputc('\n', f);
	}
}

/* A piece of our own code, made with encode.h as the runtime makes it; @label is where each branch leads. */
static void dis_print_piece(FILE *f, struct dis *d, const uint8_t *p, size_t len, const char *const *label)
{
	size_t at = 0, k = 0;

	while (at < len) {
		struct dis_link link = { .at = at };
		struct dis_row row;
		unsigned n;

		dis_insn(d, NULL, p + at, len - at, at, &row);
		if (p[at] == UFT_OP_CALL || p[at] == UFT_OP_JMP)
			snprintf(link.label, sizeof(link.label), "%s", label[k++]);
		n = dis_insn(d, &link, p + at, len - at, at, &row);
		if (p[at] == UFT_OP_MOV_EAX) {
			dis_hex(p + at, n, 4, row.hex);
			snprintf(row.text, sizeof(row.text), "mov $id base, %%eax");
		} else if (p[at] == 0xff) {
			dis_hex(p + at, n, 4, row.hex);
			snprintf(row.text, sizeof(row.text), "jmp *<%s>", label[k++]);
		}
		fprintf(f, "  +%-3zu %-18s  %s\n", at, row.hex, row.text);
		at += n;
	}
}

/* In a process: the runtime's code that the armed site at @addr leads to, as it is. 0: it is not armed. */
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
	/* A stub's last byte is its flags; behind a thunk's or mcount stub's last instruction lies nothing of interest. */
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
static void dis_print_runtime(FILE *f, struct dis *d)
{
	const struct uft_site *s = d->site;
	int framed = s->is_framed;
	const char *object = cmd_object_base(d->item->obj);
	uint8_t b[32];
	char body[300];
	size_t n = 0;

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

#define DIS_CODE_AWAY	(16u << 20)	/* where the copy is taken to be: displacements depend on it, what they lead to does not */

/* The bytes that change at the entry, in a column at their address; @len of them lie before it. */
static int dis_rewritten(struct dis *d, const struct entry *e)
{
	uint64_t at = e->addr + d->item->bias;
	struct dis_link link = { .at = at };
	uint8_t b[16] = { 0 };
	unsigned len = e->pad ? UFT_LEN_JMP_SHORT : UFT_LEN_JMP;

	if (!e->pad)
		snprintf(link.label, sizeof(link.label), "uft slot of %.80s", d->name);
	if (e->pad)
		uft_insn_jmp_short(b, (int8_t)(e->pad - (e->addr + UFT_LEN_JMP_SHORT)));
	else
		uft_insn_jmp(b, at, at);
	return dis_column(d, "rewritten", &link, b, len, at);
}

static int dis_code_column(struct dis *d, const struct entry *e)
{
	unsigned len = e->pad ? UFT_LEN_JMP_SHORT : UFT_LEN_JMP;
	uint8_t b[16];
	int ret = dis_rewritten(d, e);

	if (!ret && d->objects->pid && cmd_objects_read(d->objects, e->addr + d->item->bias, b, len) == len)
		ret = dis_column(d, "now", NULL, b, len, e->addr + d->item->bias);
	return ret;
}

/* Pad, slot, and the moved instructions; what they lead to has its name. */
static void dis_print_code(FILE *f, struct dis *d, const struct entry *e)
{
	struct uft_code c = { 0 };
	uint8_t b[8];
	unsigned end;

	if (entry_code(d->item->obj, e, d->item->bias, e->addr + d->item->bias + DIS_CODE_AWAY, &c)) {
		fprintf(f, "\nits code does not fit within reach\n");
		return;
	}
	if (e->pad) {
		fprintf(f, "\npad of %s at %" PRIx64 ": padding between functions that nobody runs\n", d->name,
			e->pad + d->item->bias);
		dis_print_piece(f, d, b, uft_insn_jmp(b, 0, 0), (const char *const[]){ "uft slot" });
	}
	fprintf(f, "\nuft slot of %s: the cell decides; it leads to the code below, or there by way of the tracer\n", d->name);
	dis_print_piece(f, d, b, uft_insn_jmp_indirect(b, 0, 0), (const char *const[]){ "cell" });
	fprintf(f, "\nuft code of %s: the %u bytes that moved, and the way back%s\n", d->name, c.nmoved,
		e->is_plain ? " (function tracer only: its return address is looked at)" : "");
	/* A pushed return address lies behind the last jump: it is no code. */
	end = c.ncode;
	for (unsigned at = 0; at < end;) {
		uint64_t addr = e->addr + d->item->bias + DIS_CODE_AWAY + at;
		struct dis_row row;

		if (c.ncode - at == sizeof(uint64_t) && !memcmp(c.code + at, &(uint64_t){ c.addr + c.nmoved }, 8)) {
			fprintf(f, "  +%-3u %-30s  return address in %s\n", at, "(8 bytes)", d->name);
			break;
		}
		at += dis_insn(d, NULL, c.code + at, c.ncode - at, addr, &row);
		fprintf(f, "  +%-3u %-30s  %s\n", at - row.len, row.hex, row.text);
	}
}

/* The plan of the object that was last asked for: functions of one object come one after the other. */
static struct entry *dis_find_entry(struct uft_object *obj, const struct uft_func *func)
{
	static struct uft_object *last;
	static struct entries list;

	if (obj->type == ET_REL)
		return NULL;
	if (last != obj) {
		entries_free(&list);
		last = NULL;
		if (entries_list(obj, &list) || entries_plan(obj, &list, NULL))
			return NULL;
		last = obj;
	}
	return entries_find(&list, func->addr);
}

/* ---- One function ----------------------------------------------------------------------------- */

static const struct uft_site *dis_find_site(const struct uft_object *obj, const struct uft_func *func)
{
	size_t i;

	for (i = 0; i < obj->nsite; i++)
		if (obj->site[i].func == func->addr && obj->site[i].addr >= func->addr)
			return &obj->site[i];
	return NULL;
}

static int dis_function(FILE *f, const struct dis_opts *opts, const struct cmd_objects *o,
			const struct cmd_object *item, const struct uft_func *func)
{
	struct dis d = { .objects = o, .item = item, .func = func };
	uint64_t start = func->addr, size = func->size ? func->size : DIS_NO_SIZE;
	uint8_t *code;
	size_t len;
	int ret;

	ZydisDecoderInit(&d.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&d.formatter, ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(&d.formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	dis_func_name(item->obj, func, d.name, sizeof(d.name));
	d.site = dis_find_site(item->obj, func);
	if (!d.site || d.site->skip)
		d.entry = dis_find_entry(item->obj, func);
	fprintf(f, "%s  (%s", d.name, cmd_object_base(item->obj));
	if (d.entry && !d.entry->skip)
		fprintf(f, ": %s, %s, %u bytes move)\n", d.entry->before ? "code behind a pad of its own" : "plain code",
			d.entry->pad ? "short jump to a pad" : "jump", d.entry->nmoved);
	else if (d.entry)
		fprintf(f, ": left alone: %s)\n", entry_skip_text(d.entry->skip));
	else if (!d.site)
		fprintf(f, ": no site)\n");
	else if (d.site->skip)
		fprintf(f, ": no usable site: %s)\n", uft_skip_text(d.site->skip));
	else
		fprintf(f, ": %s, %u bytes, by %s)\n", uft_site_kind_name(d.site->kind), d.site->len,
			uft_site_source_text(d.site->source));
	if (d.site && d.site->skip)
		d.site = NULL;
	if (d.entry && d.entry->skip)
		d.entry = NULL;
	if (d.site && d.site->kind == UFT_SITE_PREPAD) {
		start -= DIS_PRE;
		size += DIS_PRE;
	}
	if (opts->site && d.site) {
		size -= d.site->addr - (d.site->kind == UFT_SITE_PREPAD ? DIS_PRE : 0) - start;
		start = d.site->addr - (d.site->kind == UFT_SITE_PREPAD ? DIS_PRE : 0);
		size = d.site->addr + d.site->len - start;
	}
	if (opts->site && d.entry) {
		start = d.entry->addr;
		size = d.entry->nmoved;
	}
	size = size < DIS_MAX_CODE ? size : DIS_MAX_CODE;
	code = malloc(size);
	if (!code)
		return -ENOMEM;
	len = uft_object_read(item->obj, start, code, size);
	ret = dis_column(&d, "original", NULL, code, len, start + item->bias);
	if (!ret && d.site)
		ret = dis_site_columns(&d);
	if (!ret && d.entry)
		ret = dis_code_column(&d, d.entry);
	if (!ret) {
		dis_print_table(f, &d);
		if (d.entry)
			dis_print_code(f, &d, d.entry);
		if (d.site && !(o->pid && dis_print_live(f, &d, d.site->addr + item->bias)))
			dis_print_runtime(f, &d);
	}
	while (d.ncol)
		free(d.col[--d.ncol].row);
	free(code);
	return ret;
}

/* ---- The command ------------------------------------------------------------------------------ */

static int dis_matches(const struct uft_pattern *p, const struct uft_object *obj, const struct uft_func *func)
{
	char *demangled;
	int ret;

	if (!func->name)
		return 0;
	demangled = uft_demangle(func->name);
	ret = uft_pattern_match(p, func->name, demangled, cmd_object_base(obj));
	free(demangled);
	return ret;
}

/* Shows every function that @text names; returns how many. */
static size_t dis_show(FILE *f, const struct dis_opts *opts, const struct cmd_objects *o, const char *text,
		       const struct uft_pattern *pattern)
{
	char *end;
	uint64_t addr = strtoull(text, &end, 0);
	int is_addr = end != text && !*end;
	size_t i, k, shown = 0;

	for (i = 0; i < o->n; i++) {
		struct uft_object *obj = o->item[i].obj;
		const struct uft_func *at = is_addr ? uft_object_func(obj, addr - o->item[i].bias) : NULL;

		for (k = 0; k < obj->nfunc; k++) {
			const struct uft_func *func = &obj->func[k];

			if (is_addr ? func != at : !dis_matches(pattern, obj, func))
				continue;
			if (shown == DIS_MAX_FUNCS) {
				fprintf(f, "\n... and more: %u functions are shown at once\n", DIS_MAX_FUNCS);
				return shown;
			}
			if (shown++)
				fputs("\n\n", f);
			if (dis_function(f, opts, o, &o->item[i], func))
				fprintf(f, "(no memory)\n");
		}
	}
	return shown;
}

static int dis_not_found(const struct cmd_objects *o, const char *operand, const char *text)
{
	const char **names;
	char near[300] = "";
	size_t n = 0, i, k;

	for (i = 0; i < o->n; i++)
		n += o->item[i].obj->nfunc;
	names = malloc((n + 1) * sizeof(*names));
	for (i = 0, n = 0; names && i < o->n; i++)
		for (k = 0; k < o->item[i].obj->nfunc; k++)
			if (o->item[i].obj->func[k].name)
				names[n++] = o->item[i].obj->func[k].name;
	if (names)
		cmd_near(text, names, n, near, sizeof(near));
	free(names);
	return cmd_fail("disas", "%s has no function '%s'%s", operand, text, near);
}

/* The program of the default recording; malloc'd, NULL with a message in @err. */
static char *dis_recorded_program(struct uft_error *err)
{
	const struct uft_image *const *img;
	struct uft_stream *st;
	char *path = NULL;

	if (cmd_input_open(NULL, &(struct uft_select){ 0 }, &st, err))
		return NULL;
	if (uft_stream_images(st, &img) && img[0]->exe && *img[0]->exe)
		path = strdup(img[0]->exe);
	else
		uft_fail(err, -ENOENT, "%s does not say which program it is of: name one", CMD_DEFAULT_FILE);
	uft_stream_close(st);
	return path;
}

static int dis_operand(const struct dis_opts *opts, const char *text, const char *operand)
{
	struct uft_error err = { "" };
	struct uft_pattern pattern;
	struct cmd_objects o;
	struct cmd_output *out;
	size_t i, shown = 0;
	int status = 0;

	if (uft_pattern_parse(text, &pattern))
		return cmd_usage(&dis_syntax, "'%s' is not a function name, a glob or an address", text);
	if (cmd_objects_open(operand, &o, &err)) {
		uft_pattern_free(&pattern);
		return cmd_fail("disas", "%s", err.text);
	}
	for (i = 0; i < o.n && !status; i++) {
		if (o.item[i].obj->machine != EM_X86_64)
			status = cmd_fail("disas", "%s: only x86-64 code is shown so far", o.item[i].obj->path);
		else if (uft_object_names(o.item[i].obj, &err))
			status = cmd_fail("disas", "%s", err.text);
	}
	out = status ? NULL : cmd_output_open(0);
	if (out) {
		shown = dis_show(cmd_output_file(out), opts, &o, text, &pattern);
		if (cmd_output_close(out))
			status = cmd_fail("disas", "cannot write to standard output");
	}
	if (!status && !shown)
		status = dis_not_found(&o, operand, text);
	uft_pattern_free(&pattern);
	cmd_objects_close(&o);
	return status;
}

int cmd_disas(int argc, char **argv)
{
	struct dis_opts opts = { 0 };
	struct uft_error err = { "" };
	int done = cmd_parse(&dis_syntax, &argc, argv, &opts), status;
	char *program;

	if (done >= 0)
		return done;
	if (argc < 2 || argc > 3)
		return cmd_usage(&dis_syntax, argc < 2 ? "no function given" : "one program at a time");
	if (argc == 3)
		return dis_operand(&opts, argv[1], argv[2]);
	program = dis_recorded_program(&err);
	if (!program)
		return cmd_fail("disas", "%s", err.text);
	status = dis_operand(&opts, argv[1], program);
	free(program);
	return status;
}
