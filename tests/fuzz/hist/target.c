/* SPDX-License-Identifier: MIT */
/*
 * target.c - histograms and synthetic events: any text is refused or becomes one that counts any record, prints itself, and can be freed
 *
 * The input is lines, each with a letter in front: `s` defines a synthetic event, `q` makes a histogram of the event req, `d`
 * of done, `m` of the first synthetic event, `f` fires a record of req whose payload is the line, `g` of done, `c` clears all histograms.
 * Checked beside what the sanitizers see: a refusal of one by its own words has a place within them; hits and drops of a histogram
 * without references are the records that came; what a definition prints can be looked for again; a histogram is the same as itself.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hist/hist_internal.h"

#define MOST	12u

#define FIELD(field_name, field_type, ...) \
	{ .name = field_name, .type = field_type, .brackets = "", __VA_ARGS__ }
static struct uft_event_field fields[] = {
	FIELD("id", "s32", .offset = 8, .size = 4, .is_signed = 1), FIELD("us", "u64", .offset = 16, .size = 8),
	FIELD("b", "s8", .offset = 12, .size = 1, .is_signed = 1),
	{ .name = "fix", .type = "char", .brackets = "[8]", .offset = 24, .size = 8, .is_array = 1, .is_string = 1 },
	{ .name = "none", .type = "char", .brackets = "[0]", .offset = 32, .size = 0, .is_array = 1, .is_string = 1 },
	FIELD("name", "__data_loc char[]", .offset = 32, .size = 4, .place = UFT_FIELD_DATA_LOC, .is_array = 1,
	      .is_string = 1),
	FIELD("rel", "__rel_loc char[]", .offset = 36, .size = 4, .place = UFT_FIELD_REL_LOC, .is_array = 1,
	      .is_string = 1), FIELD("odd", "struct x", .offset = 9, .size = 3),
	FIELD("w", "u16", .offset = 10, .size = 2),
};
static struct uft_event_type types[] = {
	{ .system = "app", .name = "req", .field = fields, .nfields = sizeof(fields) / sizeof(fields[0]),
		.kernel_id = 7, .index = 0 },
	{ .system = "app", .name = "done", .field = fields, .nfields = sizeof(fields) / sizeof(fields[0]),
		.kernel_id = 8, .index = 1 },
};

struct lab {
	struct uft_hist_set *set;
	struct uft_synth_list synths;
	struct uft_event_table *table;
	struct uft_hist *hist[MOST];
	uint64_t fired[MOST];
	uint32_t n, depth;
	uint64_t clock;
};

static size_t put_bytes;

static void put(void *arg, const char *p, size_t n)
{
	(void)arg;
	put_bytes += n + (size_t)(n && p[n - 1] == '\n');
}

static const struct uft_event_type *find_event(void *arg, const char *system, const char *name)
{
	struct lab *lab = arg;

	for (size_t i = 0; i < 2; i++)
		if (!strcmp(system, types[i].system) && !strcmp(name, types[i].name))
			return &types[i];
	return uft_event_table_find(lab->table, system, strlen(system), name, strlen(name));
}

static void look(struct lab *lab, const struct uft_hist_record *rec)
{
	for (uint32_t i = 0; i < lab->n; i++)
		if (uft_hist_type(lab->hist[i]) == rec->type) {
			lab->fired[i]++;
			uft_hist_update(lab->hist[i], rec);
		}
}

/* The record of a synthetic event is one as any other, but it is not looked at for ever. */
static void emit(void *arg, const struct uft_synth *synth, const void *payload, size_t bytes,
		 const struct uft_hist_record *rec)
{
	struct lab *lab = arg;
	struct uft_hist_record made = *rec;
	uint8_t *exact = malloc(bytes ? bytes : 1);

	memcpy(exact, payload, bytes);
	made.type = synth->type;
	made.payload = exact;
	made.bytes = bytes;
	if (lab->depth++ < 2)
		look(lab, &made);
	lab->depth--;
	free(exact);
}

static size_t name(void *arg, const void *where, uint64_t addr, int has_offset, char *to, size_t room)
{
	int n = snprintf(to, room, has_offset ? "f+0x%llx/0x8" : "f", (unsigned long long)addr % 8);

	(void)arg, (void)where;
	return addr % 3 ? (size_t)n : 0;
}

static void snapshot(void *arg, const struct uft_hist_record *rec)
{
	(void)arg, (void)rec;
}

static int make(struct lab *lab, const struct uft_event_type *type, const char *text);

static int add_to(void *arg, const struct uft_hist *like, const char *text)
{
	return make(arg, uft_hist_type(like), text);
}

static void check_errors(const struct uft_hist_errors *errors, const char *text)
{
	if (errors->n > UFT_HIST_ERRORS)
		abort();
	for (uint32_t i = 0; i < errors->n; i++)
		if (!errors->v[i].what || errors->v[i].at > strlen("hist:") + strlen(text))
			abort();
}

struct words { char *p, *at; size_t n; };

static void keep(void *f, const char *p, size_t n)
{
	if (fwrite(p, 1, n, f) != n)
		abort();
}

static char *next_word(struct words *w)
{
	char *word = w->at, *end = memchr(word, 0, w->n - (size_t)(word - w->p));

	if (!end)
		abort();
	w->at = end + 1;
	return word;
}

static uint64_t next_number(struct words *w)
{
	const char *word = next_word(w);

	if (*word != 'n' || !word[1] || word[1 + strspn(word + 1, "0123456789")])
		abort();
	return strtoull(word + 1, NULL, 10);
}

/* The words are as many as they say, and no column has the name of another. */
static void look_at_cells(const struct uft_hist *h)
{
	struct words w = { 0 };
	FILE *f = open_memstream(&w.p, &w.n);
	const struct uft_hist_sink to = { f, keep };
	char *name[UFT_HIST_COLUMNS];
	uint64_t n, rows;

	if (!f || uft_hist_put_cells(h, "id == 1", 0, 7, &to) || fclose(f))
		abort();
	w.at = w.p;
	if (!strchr(next_word(&w), ':') || strncmp(next_word(&w), "hist:", 5) || strcmp(next_word(&w), "active") ||
	    next_number(&w) != 7)
		abort();
	next_number(&w);
	next_number(&w);
	n = next_number(&w);
	if (n > UFT_HIST_COLUMNS)
		abort();
	for (uint64_t i = 0; i < n; i++) {
		name[i] = next_word(&w);
		for (uint64_t k = 0; k < i; k++)
			if (!strcmp(name[i], name[k]))
				abort();
	}
	rows = next_number(&w);
	for (uint64_t i = 0; i < rows * n; i++) {
		const char *cell = next_word(&w);

		if (!*cell || !strchr("?uits", *cell))
			abort();
		for (uint64_t k = *cell == 's' ? strtoull(cell + 1, NULL, 10) : 0; k; k--)
			next_word(&w);
	}
	if (w.at != w.p + w.n)
		abort();
	free(w.p);
}

static void print(struct lab *lab)
{
	const struct uft_hist_sink to = { NULL, put };

	for (uint32_t i = 0; i < lab->n; i++) {
		uft_hist_put_definition(lab->hist[i], i % 2 ? "id == 1" : NULL, &to);
		if (uft_hist_put_table(lab->hist[i], i, &to))
			abort();
		look_at_cells(lab->hist[i]);
	}
}

static int make(struct lab *lab, const struct uft_event_type *type, const char *text)
{
	struct uft_hist_errors errors = { .n = 0 };
	struct uft_hist *h;
	int ret = lab->n < MOST && type ? uft_hist_make(lab->set, type, text, 0, &h, &errors) : -ENOSPC;

	check_errors(&errors, text);
	if (ret) {
		if (ret > 0)
			abort();
		return ret;
	}
	if (!uft_hist_is_same(h, h))
		abort();
	ret = uft_hist_join(h, &errors);
	check_errors(&errors, text);
	if (ret || lab->n == MOST) {	/* add_to() may have filled it */
		uft_hist_free(h);
		return ret ? ret : -ENOSPC;
	}
	lab->fired[lab->n] = 0;
	lab->hist[lab->n++] = h;
	return 0;
}

static void fire(struct lab *lab, const struct uft_event_type *type, const char *line, size_t n)
{
	static const uint64_t stack[] = { 0x401000, 0x401234, 0, 0x7fff00001111 };
	uint8_t *exact = malloc(n ? n : 1);
	struct uft_hist_record rec = {
		.type = type, .payload = exact, .bytes = n, .ts = lab->clock += 1234567, .cpu = (uint32_t)(n % 4),
		.tid = (uint32_t)(n % 3), .comm = "fuzz",
		.stack = n % 2 ? stack : NULL, .nstack = n % 2 ? 4 : 0,
	};

	memcpy(exact, line, n);
	look(lab, &rec);
	free(exact);
}

static void define(struct lab *lab, const char *text)
{
	struct uft_synth_error err = { NULL, 0 };
	struct uft_synth *s;
	int ret = uft_synth_parse(&lab->synths, text, text, &s, &err);

	if (ret && (err.at > strlen(text) || s))
		abort();
	if (!ret && uft_synth_add(&lab->synths, lab->table, s))
		uft_synth_free(s);
}

static void clear(struct lab *lab)
{
	for (uint32_t i = 0; i < lab->n; i++) {
		uft_hist_clear(lab->hist[i]);
		lab->fired[i] = 0;
	}
}

static void do_line(struct lab *lab, char *line, size_t n)
{
	switch (line[0]) {
	case 's': define(lab, line + 1); break;
	case 'q': make(lab, &types[0], line + 1); break;
	case 'd': make(lab, &types[1], line + 1); break;
	case 'm': make(lab, lab->synths.first ? lab->synths.first->type : NULL, line + 1); break;
	case 'f': fire(lab, &types[0], line + 1, n - 1); break;
	case 'g': fire(lab, &types[1], line + 1, n - 1); break;
	case 'c': clear(lab); break;
	default: break;
	}
}

/* Histograms without references to others count all events. */
static void check_totals(const struct lab *lab)
{
	for (uint32_t i = 0; i < lab->n; i++) {
		const struct uft_hist_memory *map = lab->hist[i]->table->map.memory;

		if (!lab->hist[i]->nrefs && map->hits + map->drops != lab->fired[i])
			abort();
	}
}

static void free_all(struct lab *lab)
{
	for (uint32_t before = lab->n + 1; lab->n && lab->n < before; ) {
		before = lab->n;
		for (uint32_t i = lab->n; i-- > 0; )
			if (!uft_hist_is_used(lab->hist[i])) {
				uft_hist_free(lab->hist[i]);
				lab->hist[i] = lab->hist[--lab->n];
			}
	}
	if (lab->n)
		abort();
	while (lab->synths.first) {
		if (lab->synths.first->refs)
			abort();
		uft_synth_remove(&lab->synths, lab->table, lab->synths.first);
	}
	uft_hist_set_free(lab->set);
	uft_event_table_put(lab->table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lab lab = { .table = uft_event_table_new() };
	const struct uft_hist_env env = {
		.arg = &lab, .name = name, .synths = &lab.synths, .emit = emit, .snapshot = snapshot,
		.find_event = find_event, .add_to = add_to, .is_ns = 1,
	};

	lab.set = uft_hist_set_new(&env);
	for (size_t at = 0, n; at < size; at += n + 1) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		char *line;

		n = end ? (size_t)(end - data) - at : size - at;
		line = malloc(n + 1);
		memcpy(line, data + at, n);
		line[n] = '\0';
		if (n)
			do_line(&lab, line, n);
		free(line);
	}
	check_totals(&lab);
	print(&lab);
	free_all(&lab);
	return 0;
}
