/* SPDX-License-Identifier: MIT */
/* words.c - see words.h */
#include "cmd/disas/words.h"

#include <errno.h>
#include <string.h>

unsigned words_pre(const struct uft_site *s)
{
	(void)s;
	return 0;
}

/* The states of runtime/patch/words/patch.c. */
enum state { IDLE, FUNCTION, GRAPH };
static const char *const title[] = { "idle", "function", "function_graph" };

static int is_entry(const struct uft_site *s)
{
	return s->kind == UFT_SITE_NOPS;
}

/* The words of a site at @at in a state, and which of them have an address that is not known yet. */
static void make_site(const struct dis *d, const struct dis_words *w, enum state state, uint64_t at, uint32_t *out,
		      struct dis_link *link)
{
	const struct uft_site *s = d->site;
	const char *object = d->object;
	unsigned n = s->len / 4;

	*link = (struct dis_link){ .at = at };
	if (!is_entry(s)) {
		w->make_call(out, n, at, at);
		link->bytes = s->len;
		if (state == GRAPH || w->is_by_stub)
			snprintf(link->label, sizeof(link->label), "uft mcount stub of %.64s", d->name);
		else
			snprintf(link->label, sizeof(link->label), "uft mcount thunk of %.64s", object);
		if (state == IDLE) {
			out[n - 1] = w->nop;
			link->bytes -= 4;
		}
		return;
	}
	snprintf(link->label, sizeof(link->label), "uft stub of %.64s", d->name);
	out[0] = w->entry_word(at, at);
	out[1] = w->nop;
	link->bytes = w->has_entry_link ? 4 : 0;
	if (state == GRAPH || (state == FUNCTION && w->is_by_stub)) {
		out[1] = w->jump_word(at + 4, at);
	} else if (state == FUNCTION) {
		w->make_call(out, n, at, at);
		snprintf(link->label, sizeof(link->label), "uft function thunk of %.64s", object);
	}
	if (state != IDLE) {
		link->bytes += 4;
		link->at += w->has_entry_link ? 0 : 4;
	}
}

int words_site_columns(struct dis *d)
{
	uint64_t at = d->site->addr + d->item->bias;
	int ret = 0;

	if (d->site->len != 4 && d->site->len != 8)
		return -EINVAL;
	for (enum state state = IDLE; state <= GRAPH && !ret; state++) {
		struct dis_link link;
		uint32_t word[2];

		make_site(d, d->isa->words, state, at, word, &link);
		ret = dis_column(d, title[state], &link, (const uint8_t *)word, d->site->len, at);
	}
	return ret ? ret : dis_column_now(d, d->site->len, at);
}

void words_print_piece(FILE *f, struct dis *d, const uint32_t *word, unsigned n, const char *const *label)
{
	for (unsigned i = 0; i < n; i++) {
		struct dis_link link = { .at = 4 * i, .bytes = 4 };
		struct dis_row row;

		if (label[i] && *label[i] == '=') {
			dis_print_line(f, 4 * i, "........", label[i] + 1);
			continue;
		}
		snprintf(link.label, sizeof(link.label), "%s", label[i] ? label[i] : "");
		dis_insn(d, &link, (const uint8_t *)(word + i), 4, 4 * i, &row);
		dis_print_line(f, 4 * i, row.hex, row.text);
	}
}

static void print_mcount_stub(FILE *f, struct dis *d, const struct dis_words *w)
{
	uint32_t word[UFT_STUB_BYTES / 4];

	fprintf(f,
		"\nuft mcount stub of %s (%sfunction_graph; %u bytes within reach of %s; its body returns to the last instruction)\n",
		d->name, w->is_by_stub ? "function and " : "", UFT_STUB_BYTES, d->object);
	w->make_mcount_stub(word, 0, 0, 0, 0, 0);
	words_print_piece(f, d, word, UFT_STUB_BYTES / 4 - 1, w->mcount_stub_label);
}

static void print_stub(FILE *f, struct dis *d, const struct dis_words *w)
{
	const char *object = d->object;
	char body[300], enter[160];
	uint32_t word[UFT_STUB_BYTES / 4];
	const char *label[] = { enter, w->has_body_link ? body : NULL, "uft exit thunk: to uft_asm_graph_exit" };

	snprintf(body, sizeof(body), "%s+0x%" PRIx64, d->name, d->site->addr + d->site->len - d->func->addr);
	snprintf(enter, sizeof(enter), "uft enter thunk: to uft_asm_graph_enter%s",
		 w->is_by_stub ? "; function: uft function thunk" : "");
	fprintf(f, "\nuft stub of %s (%sfunction_graph; %u bytes within reach of %s, then its flags byte)\n", d->name,
		w->is_by_stub ? "function and " : "", UFT_STUB_BYTES, object);
	w->make_stub(word, 0, 0, 0, 0, 0);
	words_print_piece(f, d, word, UFT_STUB_BYTES / 4 - 1, label);
}

void words_print_runtime(FILE *f, struct dis *d)
{
	const struct dis_words *w = d->isa->words;
	const char *label[WORDS_PIECE];
	uint32_t word[WORDS_PIECE];

	if (is_entry(d->site))
		print_stub(f, d, w);
	else
		print_mcount_stub(f, d, w);
	fprintf(f, "\nuft %s thunk of %s (function; one for the object)\n", is_entry(d->site) ? "function" : "mcount",
		d->object);
	for (unsigned i = 0; i < WORDS_PIECE; i++) {
		label[i] = w->thunk_label[i];
		if (label[i] && !strcmp(label[i], "uft_asm_func") && !is_entry(d->site))
			label[i] = "uft_asm_mcount_func";
	}
	w->make_thunk(word, 0, 0, 1, &(int32_t){ 0 });
	words_print_piece(f, d, word, w->thunk_bytes / 4, label);
}

/* ---- Plain code ------------------------------------------------------------------------------- */

/* where the copy is taken to be: displacements depend on it, what they lead to does not */
#define CODE_AWAY	(512u << 10)

int words_code_columns(struct dis *d)
{
	/* wherever it leads */
	uint32_t jump = d->isa->words->code_jump(d->entry->addr, d->entry->addr);
	uint64_t at = d->entry->addr + d->item->bias;
	struct dis_link link = { .at = at, .bytes = 4 };
	int ret;

	snprintf(link.label, sizeof(link.label), "uft slot of %.80s", d->name);
	ret = dis_column(d, "rewritten", &link, (const uint8_t *)&jump, sizeof(jump), at);
	return ret ? ret : dis_column_now(d, sizeof(jump), at);
}

int words_print_moved(FILE *f, struct dis *d, struct uft_code *c)
{
	uint64_t addr = d->entry->addr + d->item->bias + CODE_AWAY;
	struct dis_row row;

	if (entry_code(d->item->obj, d->entry, d->item->bias, addr, c)) {
		fprintf(f, "\nits code does not fit within reach\n");
		return 0;
	}
	fprintf(f, "\nuft code of %s: the %u bytes that moved, and the way back%s\n", d->name, c->nmoved,
		d->entry->is_plain ? " (function tracer only: something reads its return address)" : "");
	for (unsigned at = 0; at < c->ncode; at += row.len) {
		dis_insn(d, NULL, c->code + at, c->ncode - at, addr + at, &row);
		dis_print_line(f, at, row.hex, row.text);
	}
	return 1;
}

void words_print_code_stub(FILE *f, struct dis *d, const uint32_t *word, const char *exit)
{
	fprintf(f, "\nuft stub of %s (function_graph; %u bytes within reach of %s, then its flags byte)\n", d->name,
		UFT_STUB_BYTES, d->object);
	words_print_piece(f, d, word, UFT_STUB_BYTES / 4 - 1,
			  (const char *const[]){ "uft enter thunk: to uft_asm_code_enter", "code", exit });
}
