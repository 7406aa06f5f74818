/* SPDX-License-Identifier: MIT */
/*
 * namefile.c - see namefile.h
 *
 * The text of a file is kept and cut into names in place; each entry costs 24 bytes more. The file's size bounds what a
 * hostile file can do, and NAMES_MAX_BYTES bounds the size: the parser reads it once.
 *
 * The user's files are a list of rules that never becomes shorter, so that names taken from them need no copies.
 * Objects ask for their names when their symbols are read (symtab.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/array.h"
#include "symbol/namefile.h"
#include "symbol/names.h"
#include "symbol/object_internal.h"

#define NAMES_MAX_BYTES	(512ull << 20)
#define NAMES_MAX_NAME	4095u

/* ---- One line ---------------------------------------------------------------------------------- */

static int is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the word at *at, ended by a NUL in place of its separator; moves *at behind it. */
static char *take_word(char **at)
{
	char *word, *p = *at;

	while (is_space(*p))
		p++;
	word = p;
	while (*p && !is_space(*p))
		p++;
	if (*p)
		*p++ = '\0';
	*at = p;
	return word;
}

static int take_hex(const char *word, uint64_t *out)
{
	size_t n = 0;

	if (word[0] == '0' && (word[1] == 'x' || word[1] == 'X'))
		word += 2;
	for (*out = 0; word[n]; n++) {
		char c = word[n] | 0x20;

		if (n == 16 || !((word[n] >= '0' && word[n] <= '9') || (c >= 'a' && c <= 'f')))
			return 0;
		*out = *out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return n > 0;
}

static int has_more(const char *at)
{
	while (is_space(*at))
		at++;
	return *at != '\0';
}

/* Returns the rest of the line: a C++ or JavaScript name has spaces. kallsyms has the module behind a tab. */
static char *take_name(char *at, enum uft_name_form form)
{
	size_t n;

	while (is_space(*at))
		at++;
	n = form == UFT_NAMES_PERF ? strlen(at) : strcspn(at, "\t");
	while (n && is_space(at[n - 1]))
		n--;
	at[n < NAMES_MAX_NAME ? n : NAMES_MAX_NAME] = '\0';
	return at;
}

/* 1: a function, 0: another named thing, -1: no valid line. */
static int parse_line(char *line, enum uft_name_form form, struct uft_name *out)
{
	char *at = line, *word = take_word(&at), *rest, *sep, kept;

	out->size = 0;
	if (!take_hex(word, &out->addr))
		return -1;
	if (form == UFT_NAMES_PERF) {
		if (!take_hex(take_word(&at), &out->size))
			return -1;
	} else {
		rest = at + strspn(at, " \t\r");
		sep = rest + strcspn(rest, " \t\r");
		kept = *sep;
		*sep = '\0';
		/* One letter is a type, even where it is a digit. */
		if (kept && (rest[1] || rest[0] <= '9') && has_more(sep + 1) && take_hex(rest, &out->size))
			rest = sep + 1 + strspn(sep + 1, " \t\r");
		else
			*sep = kept;
		at = rest;
		if (rest[0] && is_space(rest[1]) && has_more(rest + 1)) {
			at = rest + 1;
			if (!strchr("tTwWiu", rest[0]))
				return strchr("aAbBcCdDgGnNpPrRsSvV?-", rest[0]) ? 0 : -1;
		}
	}
	out->name = take_name(at, form);
	return out->name[0] ? 1 : -1;
}

/* ---- A file ------------------------------------------------------------------------------------ */

static int add_name(struct uft_names *l, struct uft_name name)
{
	/* doubles at powers of two, from 64 on */
	if (!(l->n & (l->n - 1)) && (!l->n || l->n >= 64) && array_resize(l->item, l->n ? 2 * l->n : 64))
		return -ENOMEM;
	l->item[l->n++] = name;
	return 0;
}

int uft_names_parse(char *text, size_t len, enum uft_name_form form, struct uft_names *out)
{
	char *line = text, *end = text + len;

	*out = (struct uft_names){ .text = text };
	*end = '\n';
	for (; line < end; line++) {
		char *stop = memchr(line, '\n', (size_t)(end - line) + 1);
		struct uft_name name;
		int what;

		*stop = '\0';
		what = has_more(line) ? parse_line(line, form, &name) : 0;
		if (what < 0)
			out->bad++;
		else if (what && !name.addr)
			out->zero++;
		else if (what && add_name(out, name)) {
			uft_names_free(out);
			return -ENOMEM;
		}
		line = stop;
	}
	return 0;
}

/* The text has more than @max bytes: keeps the whole lines of so many. */
static int read_part(int fd, char *text, size_t n, enum uft_name_form form, uint64_t max, uint64_t *cut,
		     struct uft_names *out)
{
	struct stat st;

	if (!cut) {
		free(text);
		return -EFBIG;
	}
	while (max && text[max - 1] != '\n')
		max--;
	*cut = n - max;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > lseek(fd, 0, SEEK_CUR)) {
		*cut += (uint64_t)(st.st_size - lseek(fd, 0, SEEK_CUR));
		lseek(fd, 0, SEEK_END);
	}
	return uft_names_parse(text, max, form, out);
}

int uft_names_read(int fd, enum uft_name_form form, uint64_t max_bytes, uint64_t *cut, struct uft_names *out)
{
	size_t n = 0, room = 0;
	char *text = NULL;

	for (;;) {
		ssize_t got;

		if (n + 1 >= room && array_reserve(text, room, n + (32 << 10))) {
			free(text);
			return -ENOMEM;
		}
		if (n > max_bytes)
			return read_part(fd, text, n, form, max_bytes, cut, out);
		got = read(fd, text + n, room - 1 - n);
		if (got < 0 && errno != EINTR) {
			free(text);
			return -errno;
		}
		if (!got)
			return uft_names_parse(text, n, form, out);
		n += got > 0 ? (size_t)got : 0;
	}
}

void uft_names_free(struct uft_names *names)
{
	free(names->item);
	free(names->text);
	memset(names, 0, sizeof(*names));
}

/* ---- Rules of the user -------------------------------------------------------------------------- */

static struct symbol_rule *rules;

static int is_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return !strcmp(a, b) || (!stat(a, &sa) && !stat(b, &sb) && sa.st_ino == sb.st_ino && sa.st_dev == sb.st_dev);
}

static int rule_is_for(const struct symbol_rule *r, const struct uft_object *obj, int is_program)
{
	if (!r->object)
		return is_program;
	return strchr(r->object, '/') ? is_same_file(r->object, obj->path) :
					uft_glob_match(r->object, uft_base_name(obj->path));
}

struct symbol_rule *symbols_for(const struct uft_object *obj, int is_program, struct symbol_rule *after)
{
	struct symbol_rule *r = after ? after->next : rules;

	while (r && !rule_is_for(r, obj, is_program))
		r = r->next;
	return r;
}

/* perf names its maps perf-PID.map; their second word is always a size. */
static enum uft_name_form form_of(const char *path)
{
	return uft_glob_match("perf-*.map", uft_base_name(path)) ? UFT_NAMES_PERF : UFT_NAMES_ANY;
}

static int load(const char *path, struct uft_names *names, struct uft_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return uft_fail(err, -errno, "cannot read the symbols in %s: %s", path, strerror(errno));
	ret = uft_names_read(fd, form_of(path), NAMES_MAX_BYTES, NULL, names);
	close(fd);
	if (ret)
		return uft_fail(err, ret, "cannot read the symbols in %s: %s", path, strerror(-ret));
	if (names->n)
		return 0;
	ret = names->zero != 0;
	uft_names_free(names);
	return uft_fail(err, -EINVAL, ret ? "%s has no addresses: they are hidden from the user that read it" :
			"%s has no functions: its lines must be ADDRESS [SIZE] [TYPE] NAME, as nm prints them", path);
}

int uft_symbols_use(const char *arg, const char *program, struct uft_error *err)
{
	const char *equals = access(arg, F_OK) ? strchr(arg, '=') : NULL, *file = equals ? equals + 1 : arg;
	struct symbol_rule *r = calloc(1, sizeof(*r)), **last = &rules;
	int ret = -ENOMEM;

	if (!r)
		return ret;
	if (equals)
		r->object = strndup(arg, (size_t)(equals - arg));
	else if (program)
		r->object = strdup(program);
	r->file = strdup(file);
	if (r->file && (r->object || (!equals && !program)))
		ret = load(file, &r->names, err);
	if (ret) {
		free(r->object);
		free(r->file);
		free(r);
		return ret;
	}
	while (*last)
		last = &(*last)->next;
	*last = r;
	return 0;
}

void uft_symbols_unused(void (*fn)(void *arg, const char *file), void *arg)
{
	for (const struct symbol_rule *r = rules; r; r = r->next)
		if (!r->used)
			fn(arg, r->file);
}
