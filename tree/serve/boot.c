/* SPDX-License-Identifier: MIT */
/*
 * boot.c - the kernel's command line as one text: what is set before the first program starts
 *
 *	ftrace=function_graph ftrace_filter=parse_*:mod:prog,main:mod:prog trace_buf_size=4M
 *	trace_options=funcgraph-proc
 *
 * Each word is a write into a file, with the file's meaning and errors; commas stand where a list has lines.
 * They are done in the table's order and not in the text's: the tracer comes behind what it depends on, its
 * options behind it.
 */
#include "tree/core/tree_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* @alone: what the key means without a value; NULL: it has one. */
static const struct { const char *key, *file; int is_size; const char *alone; } words[] = {
	{ "trace_buf_size", "buffer_size_kb", 1, NULL },
	{ "trace_clock", "trace_clock", 0, NULL },
	{ "ftrace_filter", "set_ftrace_filter", 0, NULL },
	{ "ftrace_notrace", "set_ftrace_notrace", 0, NULL },
	{ "ftrace_graph_filter", "set_graph_function", 0, NULL },
	{ "ftrace_graph_notrace", "set_graph_notrace", 0, NULL },
	{ "ftrace_graph_max_depth", "max_graph_depth", 0, NULL },
	{ "tracing_thresh", "tracing_thresh", 0, NULL },
	{ "ftrace", "current_tracer", 0, NULL },
	{ "trace_options", "trace_options", 0, NULL },
	{ "ftrace_dump_on_oops", "ftrace_dump_on_oops", 0, "1" },
};
#define NWORDS	(sizeof(words) / sizeof(words[0]))

/* @err: why the file refuses it. */
static int write_file(struct uft_tree *t, const char *file, const char *text, size_t n, struct uft_error *err)
{
	struct uft_handle *h;
	uft_node node;
	int ret = uft_tree_walk(t, file, &node);

	if (!ret)
		ret = uft_tree_open(t, node, O_WRONLY | O_APPEND, 0, &h);
	while (!ret && n) {
		ssize_t done = uft_tree_write(h, text, n);

		if (done <= 0) {
			const char *why = h->wrong ? h->wrong : h->at.row->takes;

			uft_fail(err, 0, "%s%s%s", strerror((int)-done), why ? ": " : "", why ? why : "");
			uft_tree_release(h);
			return done ? (int)done : -EIO;
		}
		text += done;
		n -= (size_t)done;
	}
	return ret ? ret : uft_tree_release(h);
}

/* Bytes, with the kernel's K, M and G, as KiB. */
static int put_size(struct uft_tree *t, const char *file, const char *value, struct uft_error *err)
{
	static const char units[] = "KMG";
	char *end, text[24];
	uint64_t n = strtoull(value, &end, 0);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	if (end == value || !isdigit((unsigned char)*value) || (*end && (!unit || end[1])) || n > UINT64_MAX >> (shift + 1))
		return uft_fail(err, -EINVAL, "not a number of bytes, or one with K, M or G");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)(((n << shift) + 1023) / 1024));
	return write_file(t, file, text, strlen(text), err);
}

/* One write for each part between commas. */
static int put_parts(struct uft_tree *t, const char *file, const char *value, struct uft_error *err)
{
	int ret = *value ? 0 : uft_fail(err, -EINVAL, "a value is missing");

	while (!ret && *value) {
		size_t n = strcspn(value, ",");
		char part[512];

		if (n + 2 > sizeof(part))
			return uft_fail(err, -E2BIG, "a part between commas is longer than 510 bytes");
		snprintf(part, sizeof(part), "%.*s\n", (int)n, value);
		ret = write_file(t, file, part, n + 1, err);
		value += n + (value[n] == ',');
	}
	return ret;
}

static int find_key(const char *word)
{
	size_t n = strcspn(word, "=");

	for (size_t k = 0; k < NWORDS; k++)
		if ((word[n] || words[k].alone) && strlen(words[k].key) == n && !memcmp(word, words[k].key, n))
			return (int)k;
	return -1;
}

static int unknown_word(const char *word, struct uft_error *err)
{
	char known[300] = "";
	size_t n = 0;

	for (size_t k = 0; k < NWORDS && n < sizeof(known); k++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", k ? ", " : "", words[k].key);
	return uft_fail(err, -EINVAL, "UFT_TRACE: '%s' is not KEY=VALUE with one of the keys %s", word, known);
}

int uft_tree_boot(struct uft_tree *t, const char *line, struct uft_error *err)
{
	char *copy = strdup(line), *rest = NULL;
	const char *value[NWORDS] = { NULL };
	struct uft_error why = { "" };
	int ret = copy ? 0 : uft_fail(err, -ENOMEM, "out of memory");

	for (char *w = copy ? strtok_r(copy, " \t\n", &rest) : NULL; w && !ret; w = strtok_r(NULL, " \t\n", &rest)) {
		int k = find_key(w);

		if (k < 0)
			ret = unknown_word(w, err);
		else
			value[k] = strchr(w, '=') ? strchr(w, '=') + 1 : words[k].alone;
	}
	for (size_t k = 0; k < NWORDS && !ret; k++) {
		if (!value[k])
			continue;
		ret = words[k].is_size ? put_size(t, words[k].file, value[k], &why) : put_parts(t, words[k].file, value[k], &why);
		if (ret)
			uft_fail(err, ret, "UFT_TRACE: %s=%s: %s", words[k].key, value[k], why.text[0] ? why.text : strerror(-ret));
	}
	free(copy);
	return ret;
}
