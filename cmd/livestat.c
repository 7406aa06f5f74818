/* SPDX-License-Identifier: MIT */
/* livestat.c - uft stat -S: the state of a session and of its buffer: a `key: value` a line, JSON or CSV */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/livestat.h"
#include "output/report/table.h"

struct source { const char *session, *instance; struct table *table; };

static const struct table_column columns[] = { { NULL, "key", TABLE_NAME, 0 }, { NULL, "value", TABLE_NAME, 0 } };

/* Adds a row. The table begins with its first row, so an error before that prints no table. */
static void put(const struct source *of, const char *key, const char *value, int is_number)
{
	FILE *out = of->table->out;
	int is_first = !of->table->nrows;

	if (of->table->form == UFT_FORM_CSV) {
		if (is_first)
			table_begin(of->table, "stat");
		table_row(of->table, (struct table_cell[]){ CELL_NAME(key), CELL_NAME(value) }, 0);
		return;
	}
	of->table->nrows++;
	if (of->table->form == UFT_FORM_TEXT) {
		fprintf(out, "%s: %s\n", key, value);
		return;
	}
	fprintf(out, "%s,\n\"%s\":", is_first ? "{\"report\":\"stat\",\"version\":1" : "", key);
	if (is_number)
		fputs(value, out);
	else
		table_put_json(out, value);
}

static void put_number(const struct source *of, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	put(of, key, text, 1);
}

/* 0 or the errno of the output. */
static int end(const struct source *of)
{
	FILE *out = of->table->out;

	if (of->table->form == UFT_FORM_JSON)
		fputs("}\n", out);
	errno = 0;
	return fflush(out) || ferror(out) ? errno ? -errno : -EIO : 0;
}

static int read_file(const struct source *of, const char *file, int (*sink)(void *arg, const char *p, size_t n),
		     void *arg, struct uft_error *err)
{
	char path[CLIENT_PATH];

	return client_read(of->session, client_path(of->instance, file, path), 1, sink, arg, err);
}

struct text { char p[512]; size_t n; };		/* the begin of a file is enough */

static int keep(void *arg, const char *p, size_t n)
{
	struct text *t = arg;
	size_t room = sizeof(t->p) - 1 - t->n;

	n = n < room ? n : room;
	memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = '\0';
	return 0;
}

static int print_value(const struct source *of, const char *key, const char *file, struct uft_error *err)
{
	struct text t = { .n = 0 };
	int ret = read_file(of, file, keep, &t, err);

	t.p[strcspn(t.p, "\n")] = '\0';
	if (!ret && *t.p && !t.p[strspn(t.p, "0123456789")])
		put_number(of, key, strtoull(t.p, NULL, 10));
	else if (!ret)
		put(of, key, t.p, 0);
	return ret;
}

/* The word in brackets. */
static int print_clock(const struct source *of, struct uft_error *err)
{
	struct text t = { .n = 0 };
	int ret = read_file(of, "trace_clock", keep, &t, err);
	char *word = strchr(t.p, '[');

	if (!ret && word) {
		word[strcspn(word, "]")] = '\0';
		put(of, "clock", word + 1, 0);
	}
	return ret;
}

/* ---- Lists: how many lines, none for the kernel's words that say so ---------------------------- */

struct lines { uint64_t n; int is_none, has_begun; };

static int count_lines(void *arg, const char *p, size_t n)
{
	struct lines *c = arg;

	if (!c->has_begun)
		c->is_none = *p == '#' || !strncmp(p, "no pid", 6);
	c->has_begun = 1;
	for (size_t i = 0; i < n; i++)
		c->n += p[i] == '\n';
	return 0;
}

static int print_count(const struct source *of, const char *key, const char *file, struct uft_error *err)
{
	struct lines c = { 0 };
	int ret = read_file(of, file, count_lines, &c, err);

	if (!ret)
		put_number(of, key, c.is_none ? 0 : c.n);
	return ret;
}

/* ---- per_cpu/cpuN/stats, summed up ------------------------------------------------------------- */

static const char *const sums[] = { "entries", "overrun", "dropped events", "bytes" };
#define NSUMS	(sizeof(sums) / sizeof(sums[0]))

struct total { const struct source *of; uint64_t sum[NSUMS]; int ret; struct uft_error *err; };

static void add_cpu(void *arg, uint32_t mode, const char *name, const char *doc)
{
	struct total *total = arg;
	struct text t = { .n = 0 };
	char path[300];

	(void)mode, (void)doc;
	snprintf(path, sizeof(path), "per_cpu/%s/stats", name);
	if (!total->ret)
		total->ret = read_file(total->of, path, keep, &t, total->err);
	for (const char *line = t.p; *line; line += strcspn(line, "\n"), line += *line == '\n')
		for (size_t i = 0; i < NSUMS; i++)
			if (!strncmp(line, sums[i], strlen(sums[i])) && line[strlen(sums[i])] == ':')
				total->sum[i] += strtoull(line + strlen(sums[i]) + 1, NULL, 10);
}

int cmd_live_stat(const char *session, const char *instance, enum uft_form form)
{
	struct table table = { .out = stdout, .form = form, .column = columns, .ncolumns = 2 };
	const struct source from = { session, instance, &table }, *of = &from;
	struct uft_error err = { "" };
	struct total total = { .of = of, .err = &err };
	char path[CLIENT_PATH];
	int ret = print_value(of, "tracer", "current_tracer", &err);

	if (!ret)
		ret = print_value(of, "recording", "tracing_on", &err);
	if (!ret)
		ret = print_clock(of, &err);
	if (!ret)
		ret = print_count(of, "filter functions", "set_ftrace_filter", &err);
	if (!ret)
		ret = print_count(of, "pids", "set_ftrace_pid", &err);
	if (!ret && !instance)
		ret = print_count(of, "armed functions", "enabled_functions", &err);
	if (!ret)
		ret = print_value(of, "buffer kb", "buffer_size_kb", &err);
	if (!ret)
		ret = client_list(session, client_path(instance, "per_cpu", path), add_cpu, &total, &err);
	ret = ret ? ret : total.ret;
	for (size_t i = 0; i < NSUMS && !ret; i++)
		put_number(of, sums[i], total.sum[i]);
	if (ret)
		return cmd_fail("stat", "%s", err.text);
	ret = end(of);
	return ret && ret != -EPIPE ? cmd_fail("stat", "%s", strerror(-ret)) : 0;
}
