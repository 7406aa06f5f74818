/* SPDX-License-Identifier: MIT */
/*
 * disas.c - uft disas: a function's bytes in each state of its site, side by side
 *
 * The first column is the whole function in the file. The other columns show only the bytes that tracing changes, at
 * the same addresses: idle (an untouched or disarmed site), armed for `function` and for `function_graph`, and for a
 * process the present bytes. Without a process the address of the runtime is not known yet: displacements that depend
 * on it are shown as "..", with the name of the code they lead to. With a process they are real, and code outside every
 * object is named by its form (thunk, stub).
 *
 * Unprepared code (x86-64) has one column beside the original: rewritten, the bytes from the first arming to the end of
 * the session. Its slot and the moved instructions are shown below.
 *
 * table.c makes the columns, independent of the architecture; x86.c and words.c (arm64.c, riscv64.c) make the bytes of
 * each state, zydis.c and llvm.c the text of an instruction.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/disas/disas.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "symbol/clean.h"
#include "symbol/names.h"

#define DIS_MAX_CODE	(64u << 10)	/* bytes of a function that are shown */
#define DIS_NO_SIZE	256u		/* bytes shown of a function of unknown size */
#define DIS_MAX_FUNCS	32u		/* functions shown at once */

struct dis_opts { int site; };

static const struct cmd_option dis_options[] = {
	{ "site", 's', NULL, "show only the bytes that tracing changes", cmd_flag,
	  offsetof(struct dis_opts, site), NULL },
	{ 0 }
};

static const struct cmd_syntax dis_syntax = {
	.name = "disas", .operands = "[OPTIONS] FUNC [PROG|PID|FILE.o]",
	.doc = "Show a function's code side by side: original, idle, armed for each tracer, and now in a process. FUNC "
	       "is a name, a glob or an address. Without a program, that of the recording " CMD_DEFAULT_FILE ".",
	.options = dis_options,
};

/*
 * Finds the plan of an unprepared entry. In a process an int3 is possible where no jump fits. Only the plan of the last
 * object is kept, since functions of one object come one after the other.
 */
static struct entry *dis_find_entry(struct uft_object *obj, const struct uft_func *func, int is_process)
{
	static struct uft_object *last;
	static struct entries list;

	if (obj->type == ET_REL)
		return NULL;
	if (last != obj) {
		entries_free(&list);
		last = NULL;
		if (entries_list(obj, &list))
			return NULL;
		list.with_traps = is_process;
		if (entries_plan(obj, &list, NULL))
			return NULL;
		last = obj;
	}
	return entries_find(&list, func->addr);
}

static const struct dis_isa *dis_isa_of(const struct uft_object *obj)
{
	static const struct dis_isa *const all[] = { &dis_x86_64, &dis_arm64, &dis_riscv64 };

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->reader->machine == obj->machine)
			return all[i];
	return NULL;
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
	struct dis d = { .isa = dis_isa_of(item->obj), .objects = o, .item = item, .func = func };
	uint64_t start = func->addr, size = func->size ? func->size : DIS_NO_SIZE;
	unsigned pre;
	uint8_t *code;
	size_t len;
	int ret;

	dis_func_name(item->obj, func, d.name, sizeof(d.name));
	snprintf(d.object, sizeof(d.object), "%s", cmd_object_base(item->obj));
	uft_clean(d.object, strlen(d.object), 0);
	d.site = dis_find_site(item->obj, func);
	if ((!d.site || d.site->skip) && d.isa->code_columns)
		d.entry = dis_find_entry(item->obj, func, o->pid != 0);
	fprintf(f, "%s  (%s", d.name, d.object);
	if (d.entry && !d.entry->skip)
		fprintf(f, ": %s, %s, %u bytes move)\n", d.entry->before ? "code behind a pad of its own" :
			"unprepared code", d.entry->pun ? "jump that ends in the bytes behind it" : d.entry->is_trap ?
			"int3 if asked for (--int3)" : d.entry->pad ? "short jump to a pad" : "jump", d.entry->nmoved);
	else if (d.entry)
		fprintf(f, ": left alone: %s%s)\n", entry_skip_text(d.entry->skip),
			d.entry->can_trap ? "; usable by int3, with --int3" : "");
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
	pre = d.site ? d.isa->pre(d.site) : 0;
	start -= pre;
	size += pre;
	if (opts->site && d.site) {
		start = d.site->addr - pre;
		size = pre + d.site->len;
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
		ret = d.isa->site_columns(&d);
	if (!ret && d.entry)
		ret = d.isa->code_columns(&d);
	if (!ret) {
		dis_print_table(f, &d);
		if (d.entry)
			d.isa->print_code(f, &d);
		if (d.site)
			d.isa->print_runtime(f, &d);
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
	cmd_input_close(st);
	return path;
}

static int dis_operand(const struct dis_opts *opts, const char *text, const char *operand)
{
	struct uft_error err = { "" };
	struct uft_pattern pattern;
	struct cmd_objects o;
	struct cmd_output *out;
	size_t i, shown = 0;
	int status = 0, ret = uft_pattern_parse(text, &pattern);

	if (ret == -ENOMEM)
		return cmd_fail("disas", "%s", strerror(ENOMEM));
	if (ret)
		return cmd_usage(&dis_syntax, "'%s' is not a function name, a glob or an address", text);
	ret = cmd_objects_open(operand, &o, &err);
	if (ret) {
		uft_pattern_free(&pattern);
		return cmd_fail("disas", "%s%s", err.text, err.text[0] ? "" : strerror(-ret));
	}
	for (i = 0; i < o.n && !status; i++) {
		const struct dis_isa *isa = dis_isa_of(o.item[i].obj);
		const char *missing =
			isa ? isa->reader->open() : "code of this machine is not known (x86-64, arm64, riscv64)";

		if (missing)
			status = cmd_fail("disas", "%s: %s", o.item[i].obj->path, missing);
		else if ((ret = uft_object_names(o.item[i].obj, &err)))
			status = cmd_fail("disas", "%s%s", err.text, err.text[0] ? "" : strerror(-ret));
	}
	out = status ? NULL : cmd_output_open(0);
	if (!status && !out)
		status = cmd_fail("disas", "%s", strerror(ENOMEM));
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
	if (strpbrk(argv[1], "/.") && access(argv[1], F_OK) == 0)
		return cmd_usage(&dis_syntax, "no function of %s given", argv[1]);
	program = dis_recorded_program(&err);
	if (!program)
		return cmd_fail("disas", "%s", err.text);
	status = dis_operand(&opts, argv[1], program);
	free(program);
	return status;
}
