/* SPDX-License-Identifier: MIT */
/*
 * short.c - the short form of demangled names
 *
 * Works on text, whatever demangler made it: `int ns::f<A, B>(A const&) const [clone .cold]` has a return
 * type, a qualified name with template arguments, parameters and a suffix. Texts may be hostile: any bytes
 * give some name, never longer than the text.
 */
#include <stdio.h>
#include <string.h>

#include "symbol/names.h"

/* Returns the length of a demangled name without its parameters: up to the '(' that the last top level ')' closes. */
size_t uft_name_length(const char *s)
{
	size_t close = 0, i;
	int depth = 0, is_rust_or_clone;

	for (i = strlen(s); i && s[i - 1] != ')'; i--)
		;
	if (!i)
		return 0;
	/* "f(int) [clone .cold]", "f() const": text behind the ')' belongs to the parameters. */
	is_rust_or_clone = s[i] && s[i] != ' ' && s[i] != '@';
	if (is_rust_or_clone)
		return 0;
	for (close = i; close; close--) {
		if (s[close - 1] == ')')
			depth++;
		else if (s[close - 1] == '(' && --depth == 0)
			return close - 1;
	}
	return 0;
}

static enum uft_demangle_style demangle_style;

void uft_demangle_set(enum uft_demangle_style style)
{
	demangle_style = style;
}

enum uft_demangle_style uft_demangle_get(void)
{
	return demangle_style;
}

static int is_word(char c)
{
	return c == '_' || c == '$' || (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') ||
	       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Returns the bytes of the operator's name at @at, with "operator"; 0: none. @s: the begin of the text. */
static size_t operator_length(const char *s, const char *at)
{
	static const char *const sign[] = {	/* with brackets in them, the longest first */
		"->*", "<=>", "<<=", ">>=", "()", "[]", "->", "<<", ">>", "<=", ">=", "<", ">",
	};

	if ((at != s && is_word(at[-1])) || strncmp(at, "operator", 8) || is_word(at[8]))
		return 0;
	for (size_t i = 0; i < sizeof(sign) / sizeof(sign[0]); i++)
		if (!strncmp(at + 8, sign[i], strlen(sign[i])))
			return 8 + strlen(sign[i]);
	return 8;
}

static int opens(char c)
{
	return c == '<' || c == '(' || c == '{' || c == '[';
}

static int closes(const char *s, const char *at)
{
	return *at == ')' || *at == '}' || *at == ']' || (*at == '>' && (at == s || at[-1] != '-'));
}

/* Returns where the name begins in @n bytes of a demangled text without parameters: behind the return type. */
static size_t name_start(const char *s, size_t n)
{
	size_t start = 0, depth = 0;

	for (size_t i = 0; i < n; i++) {
		if (!depth && operator_length(s, s + i))
			break;		/* the rest may have blanks of its own: operator unsigned long */
		if (!depth && s[i] == ' ') {
			start = i + 1;
			if (!strncmp(s + start, "to ", 3) || !strncmp(s + start, "for ", 4))
				return 0;	/* virtual thunk to f(), guard variable for f()::x */
		}
		depth += (size_t)opens(s[i]);
		depth -= (size_t)(depth && closes(s, s + i));
	}
	return start;
}

/* Returns the bracket that closes the one at @s; NULL: none before @end. */
static const char *closing(const char *s, const char *end)
{
	size_t depth = 0;

	for (const char *at = s; at < end; at++) {
		size_t skip = operator_length(s, at);

		if (skip) {
			at += skip - 1;
			continue;
		}
		depth += (size_t)opens(*at);
		if (closes(s, at) && --depth == 0)
			return at;
	}
	return NULL;
}

#define ARGS_WIDTH	16	/* longer template arguments become "..." */
#define UNCLOSED	8	/* unclosed brackets in a name: each is searched up to the name's end */

/*
 * Replaces arguments of templates and functions within the name by `...`, in place, if they are longer than ARGS_WIDTH.
 */
static size_t collapse(char *s, size_t n)
{
	const char *in = s, *end = s + n;
	char *out = s, last = 0;
	unsigned nopen = 0;

	while (in < end) {
		size_t skip = operator_length(s, in);
		const char *close = NULL;

		if ((*in == '<' || *in == '(') && (is_word(last) || last == ']' || last == ':' || last == ' ') &&
		    nopen < UNCLOSED) {
			close = closing(in, end);
			nopen += !close;
		}
		if (close && close - in - 1 > ARGS_WIDTH && strncmp(in, "(anonymous namespace)", 21)) {
			char open = *in;

			out += sprintf(out, "%c...%c", open, *close);
			last = *close;
			in = close + 1;
			continue;
		}
		do {
			last = *out++ = *in++;
		} while (skip && --skip && in < end);
	}
	*out = 0;
	return (size_t)(out - s);
}

void uft_name_shorten(char *text)
{
	size_t len = uft_name_length(text), start;
	char *tail, *at = strrchr(text, '@');
	char suffix[64] = "";

	tail = strstr(text + len, " [clone "); /* GUARD(clone_behind_name, strstr(text, " [clone ")) */
	if (tail) {		/* f() [clone .cold] becomes f.cold */
		snprintf(suffix, sizeof(suffix), "%s", tail + 8);
		suffix[strcspn(suffix, "]")] = 0;
	} else if (at && at != text && (!len || at > text + len)) {
		snprintf(suffix, sizeof(suffix), "%s", at);
		tail = at;
	}
	if (!len)
		len = tail ? (size_t)(tail - text) : strlen(text);
	start = name_start(text, len);
	memmove(text, text + start, len - start);
	text[len - start] = 0;
	len = collapse(text, len - start);
	memcpy(text + len, suffix, strlen(suffix) + 1);		/* it stood behind the removed text */
}

size_t uft_name_start(const char *demangled)
{
	size_t len = uft_name_length(demangled);

	return name_start(demangled, len ? len : strlen(demangled));
}
