/* SPDX-License-Identifier: MIT */
/*
 * sites.c - uft sites: list the sites of a program, how each was found, and why other functions have none
 *
 * For a program without prepared sites, the entries of unprepared code are listed instead (control/relocate/), and with
 * an option beside the sites.
 *
 * Data lines have no '#' in front: ADDRESS KIND LEN FOUND [NOW] FUNCTION. Everything else is a '#' line, so that
 * `grep -v '^#'` leaves a table. JSON and CSV hold the data lines of all operands as one table, and no counts.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/objects.h"
#include "cmd/options.h"
#include "cmd/symbols.h"
#include "control/relocate/entry.h"
#include "output/report/table.h"
#include "runtime/arch/x86_64/encode.h"
#include "symbol/clean.h"
#include "symbol/names.h"
#include "symbol/prepare.h"

#define SITES_KINDS	(UFT_SITE_PREPAD + 1)
#define SITES_SOURCES	(UFT_FROM_RELOC + 1)

struct sites_opts {
	int summary, skipped, all, json, csv;
	struct table *table;		/* JSON or CSV; NULL: text */
	struct cmd_list filter;
	struct uft_pattern *pattern;	/* filter.n of them */
};

static const struct cmd_option sites_options[] = {
	{ "summary", 's', NULL, "print only the counts", cmd_flag, offsetof(struct sites_opts, summary), NULL },
	{ "skipped", 'S', NULL, "list also functions without a usable site, with the reason", cmd_flag,
	  offsetof(struct sites_opts, skipped), NULL },
	{ "all", 'a', NULL, "list also unprepared functions of prepared objects, and libraries of a process", cmd_flag,
	  offsetof(struct sites_opts, all), NULL },
	{ "filter", 'l', "GLOB", "list only functions that match GLOB[:mod:OBJECT]; may be repeated", cmd_strings,
	  offsetof(struct sites_opts, filter), NULL },
	{ "json", 0, NULL, "print the sites as JSON", cmd_flag, offsetof(struct sites_opts, json), NULL },
	{ "csv", 0, NULL, "print the sites as CSV", cmd_flag, offsetof(struct sites_opts, csv), NULL },
	CMD_DEMANGLE_OPTION,
	{ 0 }
};

static const struct cmd_syntax sites_syntax = {
	.name = "sites", .operands = "[OPTIONS] PROG|PID|FILE.o|FILE.a...",
	.doc = "List the patchable function entries of programs, libraries, objects or a running process.",
	.options = sites_options,
};

struct sites_count {
	size_t usable, listed, before;
	size_t kind[SITES_KINDS], source[SITES_SOURCES], skip[UFT_SKIP_NKINDS];
};

static const char *object_type(const struct uft_object *obj)
{
	if (obj->type == ET_REL)
		return "object";
	if (obj->type == ET_EXEC)
		return obj->is_static ? "static program, fixed address" : "program, fixed address";
	return obj->is_static ? "static PIE program" : "PIE program or shared library";
}

/* The state of a site in a running process, in one word. @bytes: those in the file. */
static const char *site_now(const struct cmd_objects *o, const struct cmd_object *item, uint64_t addr,
			    const uint8_t *bytes, size_t len)
{
	uint8_t now[16] = { 0 };
	size_t at = 0;

	if (!len || cmd_objects_read(o, addr + item->bias, now, sizeof(now)) < len)
		return "unreadable";
	if (!memcmp(now, bytes, len))
		return "original";
	if (uft_insn_nops_length(now, len, NULL) == len)
		return "idle";
	while (len < UFT_LEN_JMP && at < len && now[at] == UFT_PFX_CS)		/* of a punned jump */
		at++;
	if (uft_insn_is_jmp(now + at) || now[0] == UFT_OP_JMP_SHORT ||
	    (now[0] == UFT_PFX_ADDRSIZE && uft_insn_is_jmp(now + 1)))
		return "armed:jmp";
	if (now[0] == UFT_OP_CALL || (now[0] == UFT_PFX_ADDRSIZE && memchr(now, UFT_OP_CALL, 4)))
		return "armed:call";
	return len == 1 && now[0] == UFT_OP_INT3 ? "armed:int3" : "changed";
}

/* FUNCTION[+OFFSET] or OBJECT+OFFSET; NULL: no memory. */
static char *name_at(struct uft_object *obj, uint64_t addr)
{
	const struct uft_func *func = addr || obj->type == ET_REL ? uft_object_func(obj, addr) : NULL;
	char *shown = func && func->name ? uft_name_shown(func->name) : NULL, *name = NULL;
	const char *known = shown ? shown : func ? func->name : NULL;

	if (known && func->addr == addr)
		name = strdup(known);
	else if (asprintf(&name, "%s+0x%" PRIx64, known ? known : cmd_object_base(obj),
			  known ? addr - func->addr : addr) < 0)
		name = NULL;
	free(shown);
	return name;
}

/* One line of the list. */
struct site_row {
	uint64_t addr;
	const char *kind, *found, *now;
	unsigned len;
	char *name;
	const char *skipped, *note;	/* why it cannot be used; else a remark on it. NULL: none */
};

static const struct table_column columns[] = {
	{ NULL, "object", TABLE_NAME, 0 }, { NULL, "address", TABLE_NAME, 0 }, { NULL, "kind", TABLE_NAME, 0 },
	{ NULL, "length", TABLE_COUNT, 0 }, { NULL, "found", TABLE_NAME, 0 }, { NULL, "now", TABLE_NAME, 0 },
	{ NULL, "function", TABLE_NAME, 0 }, { NULL, "skipped", TABLE_NAME, 0 }, { NULL, "note", TABLE_NAME, 0 },
};

static struct table_cell text_or_none(const char *s)
{
	return (struct table_cell){ .is_known = s != NULL, .s = s };
}

/* The path for the user: without the prefix in /proc by which uft opened it. */
static const char *object_path(const struct cmd_objects *o, const struct uft_object *obj)
{
	const char *root = o->pid ? strstr(obj->path, "/root/") : NULL;

	return root ? root + 5 : obj->path;
}

static void put_row(FILE *f, const struct sites_opts *opts, const struct cmd_objects *o,
		    const struct cmd_object *item, const struct site_row *row)
{
	char address[24];

	if (opts->table) {
		snprintf(address, sizeof(address), "0x%" PRIx64, row->addr + item->bias);
		table_row(opts->table, (struct table_cell[]){ CELL_NAME(object_path(o, item->obj)), CELL_NAME(address),
			CELL_NAME(row->kind), CELL_COUNT(row->len), CELL_NAME(row->found),
			text_or_none(o->pid ? row->now : NULL), text_or_none(row->name), text_or_none(row->skipped),
			text_or_none(row->note) }, 0);
		return;
	}
	fprintf(f, "0x%012" PRIx64 "  %-12s %3u  %-12s ", row->addr + item->bias, row->kind, row->len, row->found);
	if (o->pid)
		fprintf(f, " %-10s ", row->now ? row->now : "-");
	uft_put_clean(f, row->name ? row->name : "-");
	if (row->skipped)
		fprintf(f, "  [%s]", row->skipped);
	if (row->note)
		fprintf(f, "  [%s]", row->note);
	fputc('\n', f);
}

static int is_wanted(const struct sites_opts *opts, struct uft_object *obj, uint64_t addr)
{
	const struct uft_func *func;
	char *demangled;
	size_t i;
	int match = !opts->filter.n;

	if (match)
		return 1;
	func = uft_object_func(obj, addr);
	if (!func || !func->name)
		return 0;
	demangled = uft_demangle(func->name);
	for (i = 0; i < opts->filter.n && !match; i++)
		match = uft_pattern_match(&opts->pattern[i], func->name, demangled, cmd_object_base(obj));
	free(demangled);
	return match;
}

static void print_site(FILE *f, const struct sites_opts *opts, const struct cmd_objects *o,
		       const struct cmd_object *item, const struct uft_site *s)
{
	uint8_t found[16] = { 0 };
	struct site_row row = {
		.addr = s->addr, .kind = s->skip == UFT_SKIP_BEFORE ? "before" : uft_site_kind_name(s->kind),
		.len = s->len, .found = uft_site_source_text(s->source),
		.name = s->skip == UFT_SKIP_DANGLING && !s->func ? NULL : name_at(item->obj, s->func),
		.skipped = s->skip && s->skip != UFT_SKIP_BEFORE ? uft_skip_text(s->skip) : NULL,
	};

	uft_object_read(item->obj, s->addr, found, s->len < sizeof(found) ? s->len : sizeof(found));
	if (o->pid && !s->skip)
		row.now = site_now(o, item, s->addr, found, s->len);
	put_row(f, opts, o, item, &row);
	free(row.name);
}

static void print_counts(FILE *f, const struct cmd_object *item, const struct sites_count *c)
{
	const struct uft_object *obj = item->obj;
	size_t i;

	fprintf(f, "# usable: %zu", c->usable + c->before);
	for (i = 0; i < SITES_KINDS; i++)
		if (c->kind[i])
			fprintf(f, ", %s %zu", uft_site_kind_name(i), c->kind[i]);
	if (c->before)
		fprintf(f, ", before %zu", c->before);
	if (c->usable) {
		fprintf(f, "\n# found by:");
		for (i = 0; i < SITES_SOURCES; i++)
			if (c->source[i])
				fprintf(f, " %s %zu", uft_site_source_text(i), c->source[i]);
	}
	fprintf(f, "\n# tables: __patchable_function_entries %zu, __mcount_loc %zu; functions with unwind data: %zu\n",
		obj->nsections_pfe, obj->nsections_mcount, obj->nunwind);
	for (i = 1; i < UFT_SKIP_NKINDS; i++)
		if (c->skip[i])
			fprintf(f, "# skipped: %zu: %s\n", c->skip[i], uft_skip_text(i));
	if (obj->has_gmon)
		fprintf(f, "# linked for gprof: while functions are traced their calls are missing in gmon.out\n");
	if (!c->usable && !obj->nbefore)
		fprintf(f,
			"# nothing prepared: entries are %s; %s prepares all functions (`uft cflags` prints the flags for your "
			"compiler)\n", entries_are_known(obj) ? "rewritten" : "left alone on this machine",
			uft_prepare_options(obj->machine));
}

/* ---- Unprepared code -------------------------------------------------------------------------- */

static const char *entry_kind(const struct entry *e)
{
	return e->skip ? "none" : e->before ? "before" : e->pun ? "code-pun" : e->pad ? "code-pad" : "code";
}

static void print_entry(FILE *f, const struct sites_opts *opts, const struct cmd_objects *o,
			const struct cmd_object *item, const struct entry *e)
{
	unsigned len = !e->skip ? entry_len(item->obj, e) : e->can_trap ? 1 : 0;
	uint8_t bytes[8] = { 0 };
	struct site_row row = {
		.addr = e->addr, .kind = entry_kind(e), .len = e->skip ? 0 : len,
		.found = e->skip == ENTRY_NO_UNWIND ? "symbol" : "unwind", .name = name_at(item->obj, e->func),
		.skipped = e->skip ? entry_skip_text(e->skip) : NULL,
		.note = e->skip && e->can_trap ? "usable by int3, with --int3" :
			!e->skip && e->is_plain ? "function tracer only: something reads its return address" : NULL,
	};

	uft_object_read(item->obj, e->addr, bytes, len);
	if (o->pid && len)
		row.now = site_now(o, item, e->addr, bytes, len);
	put_row(f, opts, o, item, &row);
	free(row.name);
}

struct entry_count {
	size_t usable, pads, puns, plain, traps, listed;
	size_t skip[ENTRY_NSKIPS];
	const char *walker;
};

static void print_entry_counts(FILE *f, const struct entry_count *c, int is_before)
{
	char puns[40] = "";
	size_t all = c->usable;

	if (c->puns)
		snprintf(puns, sizeof(puns), ", code-pun %zu", c->puns);
	for (unsigned i = 1; i < ENTRY_NSKIPS; i++)
		all += c->skip[i];
	if (is_before)
		fprintf(f,
			"# before: %zu of %zu entries with a pad before them can be rewritten: %zu by a jump, %zu by a short one to "
			"the pad\n", c->usable, all, c->usable - c->pads, c->pads);
	else
		fprintf(f,
			"# unprepared code: %zu of %zu entries can be rewritten: code %zu, code-pad %zu%s; %zu of them for the function "
			"tracer only\n", c->usable, all, c->usable - c->pads - c->puns, c->pads, puns, c->plain);
	if (c->walker)
		fprintf(f, "# function tracer only, where its runtime may look: %s\n", c->walker);
	for (unsigned i = 1; i < ENTRY_NSKIPS; i++)
		if (c->skip[i])
			fprintf(f, "# left alone: %zu: %s\n", c->skip[i], entry_skip_text(i));
	if (c->traps)
		fprintf(f, "# of those %zu are usable by int3, with --int3\n", c->traps);
	else if (c->puns)
		fprintf(f, "# --int3 has nothing to add: where a jump of code-pun leads is seen in the process\n");
}

static void print_heading(FILE *f, const struct cmd_objects *o)
{
	fprintf(f, "# %-14s%-12s %3s  %-12s %sFUNCTION\n", "ADDRESS", "KIND", "LEN", "FOUND",
		o->pid ? " NOW        " : "");
}

/* Prints entries with a pad of their own (@is_before), or all others that have no site. */
static void print_entries(FILE *f, const struct sites_opts *opts, const struct cmd_objects *o,
			  const struct cmd_object *item, int is_before, struct entry_count *c)
{
	struct uft_object *obj = item->obj;
	struct entries list;

	if (obj->type == ET_REL)
		return;
	if (entries_list(obj, &list) || entries_plan(obj, &list, NULL)) {
		if (!opts->table)
			fprintf(f, "# unprepared code: too damaged to be read\n");
		entries_free(&list);
		return;
	}
	for (size_t i = 0; i < list.n; i++) {
		const struct entry *e = &list.entry[i];

		if (e->skip == ENTRY_PREPARED || !e->before != !is_before || !is_wanted(opts, obj, e->func))
			continue;
		c->skip[e->skip] += e->skip != ENTRY_OK;
		c->usable += !e->skip;
		c->pads += !e->skip && e->pad;
		c->puns += !e->skip && e->pun;
		c->plain += !e->skip && e->is_plain;
		c->traps += e->skip && e->can_trap;
		if (opts->summary || (e->skip && !opts->skipped))
			continue;
		if (!c->listed++ && !opts->table)
			print_heading(f, o);
		print_entry(f, opts, o, item, e);
	}
	c->walker = entries_walker_text(&list);
	entries_free(&list);
}

static void print_object_line(FILE *f, const struct cmd_objects *o, const struct cmd_object *item)
{
	const struct uft_object *obj = item->obj;
	size_t i;

	fputs("# ", f);
	uft_put_clean(f, object_path(o, obj));
	fprintf(f, ": %s", object_type(obj));
	if (item->bias)
		fprintf(f, ", loaded at 0x%" PRIx64, item->bias);
	if (obj->build_id_len) {
		fprintf(f, ", build-id ");
		for (i = 0; i < obj->build_id_len; i++)
			fprintf(f, "%02x", obj->build_id[i]);
	}
	fputc('\n', f);
}

static void print_object(FILE *f, const struct sites_opts *opts, const struct cmd_objects *o,
			 const struct cmd_object *item)
{
	struct uft_object *obj = item->obj;
	struct entry_count before = { 0 }, plain = { 0 };
	struct sites_count c = { 0 };

	if (!opts->table)
		print_object_line(f, o, item);
	for (size_t i = 0; i < obj->nsite; i++) {
		const struct uft_site *s = &obj->site[i];
		int is_before = s->skip == UFT_SKIP_BEFORE;

		if (!is_wanted(opts, obj, s->func) || (is_before && obj->type != ET_REL))
			continue;
		if (is_before) {
			c.before++;
		} else if (s->skip) {
			c.skip[s->skip]++;
		} else {
			c.usable++;
			c.kind[s->kind]++;
			c.source[s->source]++;
		}
		if (opts->summary || (s->skip && !is_before && !opts->skipped))
			continue;
		if (!c.listed++ && !opts->table)
			print_heading(f, o);
		print_site(f, opts, o, item, s);
	}
	if (obj->nbefore)
		print_entries(f, opts, o, item, 1, &before);
	c.before += before.usable;
	if (!opts->table)
		print_counts(f, item, &c);
	if (before.usable + before.listed && !opts->table)
		print_entry_counts(f, &before, 1);
	if ((!opts->all && (c.usable || obj->nbefore)) || !entries_are_known(obj))
		return;
	print_entries(f, opts, o, item, 0, &plain);
	if (obj->type != ET_REL && !opts->table)
		print_entry_counts(f, &plain, 0);
}

static int print_operand(FILE *f, const struct sites_opts *opts, const char *operand)
{
	struct uft_error err = { "" };
	struct cmd_objects o;
	int ret = cmd_objects_open(operand, &o, &err);
	size_t i;

	if (ret)
		return cmd_fail("sites", "%s%s", err.text, err.text[0] ? "" : strerror(-ret));
	for (i = 0; i < o.n; i++) {
		ret = !opts->summary || opts->filter.n ? uft_object_names(o.item[i].obj, &err) : 0;
		if (ret) {
			cmd_objects_close(&o);
			return cmd_fail("sites", "%s%s", err.text, err.text[0] ? "" : strerror(-ret));
		}
		/* Of a process, leave out libraries without sites. */
		if (!o.pid || o.item[i].obj->nsite || o.n == 1 || opts->all || !i)
			print_object(f, opts, &o, &o.item[i]);
	}
	cmd_objects_close(&o);
	return 0;
}

int cmd_sites(int argc, char **argv)
{
	struct sites_opts opts = { 0 };
	struct cmd_output *out;
	struct table table = { .column = columns, .ncolumns = sizeof(columns) / sizeof(columns[0]) };
	int done = cmd_parse(&sites_syntax, &argc, argv, &opts), status = 0, i;
	size_t k;

	if (done >= 0)
		return done;
	if (argc < 2)
		return cmd_usage(&sites_syntax, "no program, process or object given");
	if (opts.json + opts.csv + opts.summary > 1)
		return cmd_usage(&sites_syntax, "--summary, --json and --csv exclude each other");
	opts.pattern = calloc(opts.filter.n + 1, sizeof(*opts.pattern));
	for (k = 0; opts.pattern && k < opts.filter.n; k++) {
		int ret = uft_pattern_parse(opts.filter.item[k], &opts.pattern[k]);

		if (ret == -ENOMEM)
			return cmd_fail("sites", "%s", strerror(ENOMEM));
		if (ret)
			return cmd_usage(&sites_syntax, "'%s' is not GLOB or GLOB:mod:OBJECT", opts.filter.item[k]);
	}
	out = opts.pattern ? cmd_output_open(0) : NULL;
	if (!out)
		return cmd_fail("sites", "%s", strerror(ENOMEM));
	if (opts.json || opts.csv) {
		table.out = cmd_output_file(out);
		table.form = opts.json ? UFT_FORM_JSON : UFT_FORM_CSV;
		opts.table = &table;
		table_begin(&table, "sites");
	}
	for (i = 1; i < argc; i++)
		if (print_operand(cmd_output_file(out), &opts, argv[i]))
			status = CMD_FAILED;
	if (opts.table)
		table_end(&table);	/* cmd_output_close() tells what the output failed with */
	for (k = 0; k < opts.filter.n; k++)
		uft_pattern_free(&opts.pattern[k]);
	free(opts.pattern);
	free(opts.filter.item);
	if (cmd_output_close(out))
		return cmd_fail("sites", "cannot write to standard output");
	return status;
}
