/* SPDX-License-Identifier: MIT */
/*
 * options.c - parsing by a table; see options.h
 *
 * getopt_long() is not used: its messages cannot name similar options, and it needs a second table beside the one for
 * --help and completion.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "symbol/array.h"
#include "symbol/clean.h"
#include "symbol/names.h"

#define NEAR_MAX	3
#define NEAR_BYTES	256
#define CHOICES_LISTED	8

/* ---- Messages ------------------------------------------------------------------------------ */

static void put_near(const char *text, const char *const *names, size_t n, const char *dashes, char *buf, size_t size)
{
	const char *near[NEAR_MAX];
	size_t found = uft_near(text, names, n, near, NEAR_MAX);
	size_t len = 0;

	if (size)
		buf[0] = '\0';
	for (size_t i = 0; i < found && len < size; i++) {
		const char *joint = i == 0 ? "; did you mean" : i + 1 == found ? " or" : ",";

		len += (size_t)snprintf(buf + len, size - len, "%s '%s%s'", joint, dashes, near[i]);
	}
	if (found && len < size)
		snprintf(buf + len, size - len, "?");
}

void cmd_near(const char *text, const char *const *names, size_t n, char *buf, size_t size)
{
	put_near(text, names, n, "", buf, size);
}

int cmd_find_dashes(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return i;
	return 0;
}

int cmd_usage(const struct cmd_syntax *syntax, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "uft %s: ", syntax->name);
	va_start(ap, fmt);
	uft_clean_vprint(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (see uft %s --help)\n", syntax->name);
	return CMD_USAGE;
}

static size_t count_options(const struct cmd_syntax *s)
{
	size_t n = 0;

	while (s->options[n].name)
		n++;
	return n;
}

static int unknown_option(const struct cmd_syntax *s, const char *given)
{
	size_t n = count_options(s);
	const char *names[n + 1];
	const char *bare = given + strspn(given, "-");
	char text[NEAR_BYTES] = "";

	for (size_t i = 0; i < n; i++)
		names[i] = s->options[i].name;
	names[n] = "help";
	if (bare[0] && bare[1])
		put_near(bare, names, n + 1, "--", text, sizeof(text));
	return cmd_usage(s, "unknown option '%s'%s", given, text);
}

#define HELP_COLUMNS	100	/* at most, and where no terminal is narrower */
#define HELP_LEAST	60

/* ---- Help and completion ------------------------------------------------------------------- */

static int option_width(const struct cmd_option *o)
{
	return (int)strlen(o->name) + (o->arg ? (int)strlen(o->arg) + 1 : 0);
}

/*
 * Prints @doc from column @at on, broken at blanks where possible so that lines fit into the terminal's width and
 * HELP_COLUMNS.
 */
static void print_wrapped(const char *doc, int at)
{
	int wide = (int)cmd_terminal_width(STDOUT_FILENO), columns = wide && wide < HELP_COLUMNS ? wide : HELP_COLUMNS;
	size_t room;

	columns = columns < HELP_LEAST ? HELP_LEAST : columns;
	room = at + 30 < columns ? (size_t)(columns - at) : 30;

	for (;;) {
		size_t n = strlen(doc);

		if (n > room) {
			for (n = room; n > 0 && doc[n] != ' '; n--)
				;
			n = n ? n : strcspn(doc, " ");
		}
		printf("%.*s\n", (int)n, doc);
		doc += n;
		if (*doc == '\0')
			return;
		doc++;
		printf("%*s", at, "");
	}
}

static void print_help_row(char letter, const char *name, const char *arg, const char *doc, int width)
{
	if (letter)
		printf("  -%c, ", letter);
	else
		printf("      ");
	printf("--%s%s%-*s  ", name, arg ? " " : "", width - (int)strlen(name) - (arg ? 1 : 0), arg ? arg : "");
	print_wrapped(doc, width + 10);
}

/* NULL: the row is another command's. */
static const char *doc_for(const struct cmd_syntax *s, const struct cmd_option *o)
{
	size_t n = strlen(s->name);

	if (o->doc[0] != '@')
		return o->doc;
	return !strncmp(o->doc + 1, s->name, n) && o->doc[1 + n] == ' ' ? o->doc + n + 2 : NULL;
}

static void print_help(const struct cmd_syntax *s)
{
	int width = (int)strlen("help");

	for (const struct cmd_option *o = s->options; o->name; o++)
		if (option_width(o) > width)
			width = option_width(o);
	printf("usage: uft %s %s\n\n", s->name, s->operands);
	print_wrapped(s->doc, 0);
	putchar('\n');
	for (const struct cmd_option *o = s->options; o->name; o++) {
		const char *doc = doc_for(s, o);

		if (doc)
			print_help_row(o->letter, o->name, o->arg, doc, width);
		if (!doc || !o->choices)
			continue;
		char all[1024] = "";

		for (size_t i = 0, n = 0; o->choices[i] && n < sizeof(all); i++)
			n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "", o->choices[i]);
		printf("%*s", width + 10, "");
		print_wrapped(all, width + 10);
	}
	print_help_row('h', "help", NULL, "show this", width);
	printf("\nMore: man uft-%s\n", s->name);
}

/* For completion and the checks: name, letter, argument, its choices; one option a line, tabs between. */
static void print_option_list(const struct cmd_syntax *s)
{
	for (const struct cmd_option *o = s->options; o->name; o++) {
		if (!doc_for(s, o))
			continue;
		printf("--%s\t", o->name);
		if (o->letter)
			printf("-%c", o->letter);
		printf("\t%s\t", o->arg ? o->arg : "");
		for (size_t i = 0; o->choices && o->choices[i]; i++)
			printf("%s%s", i ? " " : "", o->choices[i]);
		putchar('\n');
	}
	printf("--help\t-h\t\t\n");
}

/* ---- The parser ---------------------------------------------------------------------------- */

static const struct cmd_option *find_long(const struct cmd_syntax *s, const char *name, size_t len)
{
	for (const struct cmd_option *o = s->options; o->name; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

static const struct cmd_option *find_letter(const struct cmd_syntax *s, char letter)
{
	for (const struct cmd_option *o = s->options; o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

static int store(const struct cmd_syntax *s, const struct cmd_option *o, const char *value, void *opts)
{
	struct uft_error err = { "" };

	if (o->parse(o, value, (char *)opts + o->offset, &err) == 0)
		return -1;
	return cmd_usage(s, "--%s: %s", o->name, err.text);
}

/* One `--name`, `--name=value` or `--name value`; *i moves past a value of its own word. */
static int parse_long(const struct cmd_syntax *s, int argc, char **argv, int *i, void *opts)
{
	const char *name = argv[*i] + 2;
	const char *value = strchr(name, '=');
	size_t len = value ? (size_t)(value - name) : strlen(name);
	const struct cmd_option *o = find_long(s, name, len);

	if (!o && !value && strcmp(name, "help") == 0) {
		print_help(s);
		return 0;
	}
	if (!o && !value && strcmp(name, "list-options") == 0) {
		print_option_list(s);
		return 0;
	}
	if (!o && value && len == 4 && strncmp(name, "help", len) == 0)
		return cmd_usage(s, "option '--help' takes no value");
	if (!o) {
		char given[64];

		snprintf(given, sizeof(given), "--%.*s", (int)(len > 50 ? 50 : len), name);
		return unknown_option(s, given);
	}
	if (!o->arg && value)
		return cmd_usage(s, "--%s takes no value", o->name);
	if (o->arg && value)
		value++;
	else if (o->arg && *i + 1 < argc)
		value = argv[++*i];
	else if (o->arg)
		return cmd_usage(s, "--%s needs %s", o->name, o->arg);
	return store(s, o, value, opts);
}

/* One `-abc`, `-xVALUE` or `-x VALUE`. */
static int parse_letters(const struct cmd_syntax *s, int argc, char **argv, int *i, void *opts)
{
	for (const char *c = argv[*i] + 1; *c; c++) {
		const struct cmd_option *o = find_letter(s, *c);
		const char *value = NULL;
		int done;

		if (!o && *c == 'h') {
			print_help(s);
			return 0;
		}
		if (!o && c == argv[*i] + 1)
			return unknown_option(s, argv[*i]);
		if (!o)
			return cmd_usage(s, "unknown option '-%c' in '%s'", *c, argv[*i]);
		if (o->arg && c[1])
			value = c + 1;
		else if (o->arg && *i + 1 < argc)
			value = argv[++*i];
		else if (o->arg)
			return cmd_usage(s, "-%c needs %s", o->letter, o->arg);
		done = store(s, o, value, opts);
		if (done >= 0 || o->arg)
			return done;
	}
	return -1;
}

int cmd_parse(const struct cmd_syntax *s, int *argc, char **argv, void *opts)
{
	int operands = 1;
	bool ended = false;

	for (int i = 1; i < *argc; i++) {
		int done;

		if (ended || argv[i][0] != '-' || argv[i][1] == '\0') {
			ended = ended || s->is_wrapper;
			argv[operands++] = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--") == 0) {
			ended = true;
			continue;
		}
		done = argv[i][1] == '-' ? parse_long(s, *argc, argv, &i, opts)
					 : parse_letters(s, *argc, argv, &i, opts);
		if (done >= 0)
			return done;
	}
	*argc = operands;
	argv[operands] = NULL;
	return -1;
}

/* ---- Field types --------------------------------------------------------------------------- */

int cmd_flag(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	(void)o, (void)text, (void)err;
	*(int *)field = 1;
	return 0;
}

int cmd_string(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	if (!*text)
		return uft_fail(err, -EINVAL, "%s is empty", o->arg);
	*(const char **)field = text;
	return 0;
}

int cmd_strings(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct cmd_list *list = field;

	if (!*text)
		return uft_fail(err, -EINVAL, "%s is empty", o->arg);
	if (array_resize(list->item, list->n + 2))
		return uft_fail(err, -ENOMEM, "out of memory");
	list->item[list->n++] = text;
	list->item[list->n] = NULL;
	return 0;
}

static int parse_u32(const char **text, uint32_t *out)
{
	char *end;
	unsigned long value;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(*text, &end, 10);
	if (errno || value > UINT32_MAX)
		return -ERANGE;
	*text = end;
	*out = (uint32_t)value;
	return 0;
}

int cmd_uint(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	const char *p = text;
	int ret = parse_u32(&p, field);

	(void)o;
	if (ret == -ERANGE)
		return uft_fail(err, -EINVAL, "'%s' is too large", text);
	if (ret || *p)
		return uft_fail(err, -EINVAL, "'%s' is not a number", text);
	return 0;
}

/* A range of more numbers than this is a mistake of the user. */
#define NUMBERS_MAX	65536u

int cmd_numbers(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct cmd_numbers *list = field;
	const char *p = text;

	do {
		uint32_t first, last;

		if (parse_u32(&p, &first))
			return uft_fail(err, -EINVAL, "'%s' is not a list of numbers like 1,4-7", text);
		last = first;
		if (*p == '-' && (p++, parse_u32(&p, &last) || last < first || last - first >= NUMBERS_MAX))
			return uft_fail(err, -EINVAL, "'%s' has a bad range", text);
		if (array_resize(list->item, list->n + (last - first) + 1))
			return uft_fail(err, -ENOMEM, "out of memory");
		for (uint64_t v = first; v <= last; v++)
			list->item[list->n++] = (uint32_t)v;
	} while (*p == ',' && p++);
	if (*p)
		return uft_fail(err, -EINVAL, "'%s' is not a list of numbers like 1,4-7", text);
	(void)o;
	return 0;
}

int cmd_choice(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	char near[NEAR_BYTES], all[NEAR_BYTES] = "";
	size_t n;

	for (n = 0; o->choices[n]; n++) {
		if (strcmp(o->choices[n], text) == 0) {
			*(int *)field = (int)n;
			return 0;
		}
	}
	cmd_near(text, o->choices, n, near, sizeof(near));
	for (size_t i = 0, len = 0; !near[0] && i < n && n <= CHOICES_LISTED && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : ": there are ", o->choices[i]);
	return uft_fail(err, -EINVAL, "no %s '%s'%s", o->arg, text, near[0] ? near : all);
}

int cmd_kb(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	const char *p = text;
	uint32_t value;
	uint64_t unit = 1024;

	(void)o;
	if (parse_u32(&p, &value))
		return uft_fail(err, -EINVAL, "'%s' is not a size in KB (or with K, M, G)", text);
	switch (*p) {
	case 'G': case 'g': unit <<= 10; /* fall through */
	case 'M': case 'm': unit <<= 10; /* fall through */
	case 'K': case 'k': p++; break;
	default: break;
	}
	if (*p == 'B' || *p == 'b')
		p++;
	if (*p)
		return uft_fail(err, -EINVAL, "'%s' is not a size in KB (or with K, M, G)", text);
	if (!value)
		return uft_fail(err, -EINVAL, "'%s' is a size of zero; leave the option out for the default", text);
	*(uint64_t *)field = value * unit;
	return 0;
}

/* @least: percent; the largest is 1000. */
static int parse_percent(const char *text, double least, void *field)
{
	char *end;
	double value = strtod(text, &end);

	if (*end == '%')
		end++;
	/* The comparison is false for a NaN. */
	if (end == text || *end || *text < '0' || *text > '9' || !(value >= least && value <= 1000))
		return -EINVAL;
	*(uint32_t *)field = (uint32_t)(value * 1e4 + 0.5);
	return 0;
}

int cmd_percent(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	(void)o;
	return parse_percent(text, 0.001, field) ?
		uft_fail(err, -EINVAL, "'%s' is not a share like 5%%, from 0.001%% to 1000%%", text) : 0;
}

int cmd_percent_or_0(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	(void)o;
	return parse_percent(text, 0, field) ? uft_fail(err, -EINVAL, "'%s' is not a share like 5%%, from 0 to 1000%%",
							text) : 0;
}

/*
 * A decimal number with an optional unit; without one it is in @plain_ns, and 1 is returned. Stops at the
 * first other character.
 */
static int parse_time(const char **text, double plain_ns, uint64_t *ns)
{
	static const struct { const char *name; double ns; } units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "sec", 1e9 }, { "s", 1e9 }, { "min", 60e9 }, { "m", 60e9 },
	};
	char *end;
	double value;
	int is_plain = 1;

	if ((**text < '0' || **text > '9') && **text != '.')
		return -EINVAL;
	value = strtod(*text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].name);

		if (strncmp(end, units[i].name, len) == 0) {
			plain_ns = units[i].ns;
			is_plain = 0;
			end += len;
			break;
		}
	}
	value *= plain_ns;
	if (!(value < 1.8e19))
		return -ERANGE;
	*text = end;
	*ns = (uint64_t)value;
	*ns += value - (double)*ns >= 0.5;	/* round() would need another library at each start */
	return is_plain;
}

static int store_time(const char *text, double plain_ns, void *field, struct uft_error *err)
{
	const char *p = text;

	int ret = parse_time(&p, plain_ns, field);

	if (ret < 0 || *p)
		return uft_fail(err, -EINVAL, "'%s' is not a time (a number, with ns, us, ms or s)", text);
	return ret;
}

int cmd_time_us(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	int ret = store_time(text, 1e3, field, err);

	(void)o;
	return ret < 0 ? ret : 0;
}

int cmd_time_s(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	int ret = store_time(text, 1e9, field, err);

	(void)o;
	if (ret >= 0 && !*(uint64_t *)field)
		return uft_fail(err, -EINVAL, "'%s' is a time of zero; leave the option out for no limit", text);
	return ret < 0 ? ret : 0;
}

int cmd_moment(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct cmd_moment *m = field;
	int ret = store_time(text, 1e9, &m->ns, err);

	(void)o;
	m->is_plain = ret > 0;
	return ret < 0 ? ret : 0;
}

static int parse_moment(const char **text, struct cmd_moment *m)
{
	int ret = parse_time(text, 1e9, &m->ns);

	m->is_plain = ret > 0;
	return ret < 0 ? ret : 0;
}

int cmd_time_offsets(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct cmd_offsets *to = field, l = { .n = 0 };
	const char *p = text;

	(void)o;
	do {
		int is_below = *p == '-';
		uint64_t ns;

		p += is_below;
		if (l.n == CMD_OFFSETS_MAX || parse_time(&p, 1e9, &ns) < 0 || ns >= 1000000000000000000u)
			return uft_fail(err, -EINVAL, "'%s' is not a list of times like 0,-1.5ms,2s", text);
		l.ns[l.n++] = is_below ? -(int64_t)ns : (int64_t)ns;
	} while (*p == ',' && *++p);
	if (*p || p[-1] == ',')
		return uft_fail(err, -EINVAL, "'%s' is not a list of times like 0,-1.5ms,2s", text);
	*to = l;
	return 0;
}

int cmd_time_range(const struct cmd_option *o, const char *text, void *field, struct uft_error *err)
{
	struct cmd_range *range = field;
	struct cmd_range r = { 0 };
	const char *p = text;

	(void)o;
	if ((*p != '~' && parse_moment(&p, &r.from)) || *p != '~' || (*++p && (parse_moment(&p, &r.to) || *p)))
		return uft_fail(err, -EINVAL, "'%s' is not a range like 0.5s~2s, 10ms~ or ~1.5", text);
	if (r.to.ns && r.to.ns <= r.from.ns)
		return uft_fail(err, -EINVAL, "'%s' ends before it begins", text);
	*range = r;
	return 0;
}
