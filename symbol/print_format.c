/* SPDX-License-Identifier: MIT */
/*
 * print_format.c - the kernel's print formats: `"pid=%d %s", REC->pid, __print_symbolic(REC->state, { 0, "R" }, { 1,
 * "S" })`
 *
 * A format is a C string and C expressions over the fields of the record. It is compiled once into nodes, each of which
 * refers to earlier ones, and evaluated for each event. Formats come from hostile objects and recordings. So depth and
 * number of nodes are bounded, each access is checked against the payload, and division by zero gives 0. A format that
 * the compiler does not accept makes no program: then the event is printed as a list of its fields.
 *
 * The compiler is print_parse.c, the evaluation print_value.c; this file has the format with its conversions.
 *
 * Helpers: __get_str, __get_rel_str, __get_dynamic_array, __get_dynamic_array_len (and their _rel_ forms),
 * __print_symbolic (also _u64 and _64), __print_flags, __print_hex, __print_hex_str, __print_array,
 * __print_dynamic_array, __get_bitmask, __get_cpumask, __get_sockaddr, __get_stacktrace. Texts are a kernel's (6.12).
 */
#include "symbol/print_nodes.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* length: bytes of a number; precision -1: none */
struct conversion { char flags[8]; int width, precision, length; char c; };

static const char *take_conversion(struct print_run *r, const char *p, uint32_t *arg, struct conversion *c)
{
	size_t nflags = 0;
	int *number[2] = { &c->width, &c->precision };

	*c = (struct conversion){ .precision = -1, .length = 4 };
	for (; *p && strchr("-+ #0", *p); p++)
		if (nflags < sizeof(c->flags) - 1)
			c->flags[nflags++] = *p;
	for (int i = 0; i < 2; i++) {
		if (i && *p != '.')
			break;
		p += i;
		*number[i] = 0;
		if (*p == '*') {
			struct print_value v =
				*arg < r->p->nargs ? print_eval(r, r->p->arg[(*arg)++]) : print_value_of(0);

			*number[i] = (int)print_number(&v);
			p++;
		}
		for (; isdigit((unsigned char)*p); p++)
			*number[i] = *number[i] < 100000 ? 10 * *number[i] + (*p - '0') : 100000;
	}
	for (; *p && strchr("hljztLq", *p); p++)
		c->length = *p == 'h' ? (c->length == 2 ? 1 : 2) : 8;
	c->c = *p;
	return *p ? p + 1 : p;
}

static void put_padded(struct print_text *t, const struct conversion *c, const char *from, size_t n)
{
	size_t pad = c->width > 0 && (size_t)c->width > n ? (size_t)c->width - n : 0;
	int is_left = strchr(c->flags, '-') != NULL;

	print_pad(t, is_left ? 0 : pad);
	print_put(t, from, n);
	print_pad(t, is_left ? pad : 0);
}

static void put_number(struct print_text *t, const struct conversion *c, int64_t v)
{
	char spec[32], part[160];
	int width = c->width > 128 ? 128 : c->width < -128 ? -128 : c->width, n, is_signed = c->c == 'd' || c->c == 'i';
	unsigned unused = 64 - 8 * (unsigned)c->length;

	if (unused)
		v = is_signed ? (int64_t)((uint64_t)v << unused) >> unused : (int64_t)((uint64_t)v << unused >> unused);
	if (c->precision >= 0) {
		snprintf(spec, sizeof(spec), "%%%s*.*ll%c", c->flags, c->c);
		n = snprintf(part, sizeof(part), spec, width, c->precision > 100 ? 100 : c->precision, (long long)v);
	} else {
		snprintf(spec, sizeof(spec), "%%%s*ll%c", c->flags, c->c);
		n = snprintf(part, sizeof(part), spec, width, (long long)v);
	}
	if (n > 0)
		print_put(t, part, (size_t)n < sizeof(part) ? (size_t)n : sizeof(part) - 1);
}

static void put_string(struct print_text *t, const struct conversion *c, const struct print_value *v)
{
	const char *text = v->bytes ? (const char *)v->bytes : "(null)";
	size_t n = v->bytes ? strnlen(text, v->len) : 6;

	put_padded(t, c, text, c->precision >= 0 && (size_t)c->precision < n ? (size_t)c->precision : n);
}

/* Prints %p with its suffix: %pS and %ps are names of code, %pI4 and such are network addresses. */
static const char *put_pointer(struct print_run *r, struct print_text *t, const struct conversion *c, const char *p,
			       const struct print_value *v)
{
	char name[512];
	size_t used, n = print_address(p, v, name, sizeof(name), &used);
	char how = isalpha((unsigned char)*p) ? *p : 0;

	if (n) {
		put_padded(t, c, name, n);
		return p + used;
	}
	if (how && strchr("SsFfBx", how))
		p++;
	if (how && strchr("SsFfB", how) && r->in->name)
		n = r->in->name(r->in->arg, (uint64_t)print_number(v), how != 's' && how != 'f', name, sizeof(name));
	if (!n)
		n = (size_t)snprintf(name, sizeof(name), how && strchr("SsFfB", how) ? "0x%" PRIx64 : "%016" PRIx64,
				     (uint64_t)print_number(v));
	put_padded(t, c, name, n);
	return p;
}

int uft_print_has_lines(const struct uft_print *p)
{
	return p->has_stack;
}

size_t uft_print_event(const struct uft_print *p, const struct uft_print_input *in, char *to, size_t room)
{
	struct print_run r = { .p = p, .in = in };
	struct print_text t = { to, 0, room };
	uint32_t arg = 0;

	for (const char *c = p->format, *end = c + p->nformat; c < end;) {
		struct conversion conv;
		struct print_value v;
		const char *percent = memchr(c, '%', (size_t)(end - c));

		if (p->has_stack && t.n && to[t.n - 1] == '\n' && *c == ' ')	/* behind the lines of a stack */
			c++;
		print_put(&t, c, (size_t)((percent ? percent : end) - c));
		if (!percent)
			break;
		c = percent + 1;
		if (*c == '%') {
			print_put(&t, "%", 1);
			c++;
			continue;
		}
		c = take_conversion(&r, c, &arg, &conv);
		v = arg < p->nargs ? print_eval(&r, p->arg[arg++]) : print_value_of(0);
		switch (conv.c) {
		case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
			put_number(&t, &conv, print_number(&v));
			break;
		case 'c':
			put_padded(&t, &conv, &(char){ (char)print_number(&v) }, 1);
			break;
		case 's':
			put_string(&t, &conv, &v);
			break;
		case 'p':
			c = put_pointer(&r, &t, &conv, c, &v);
			break;
		}
		if (r.ntemp > PRINT_TEMP_BYTES / 2)
			r.ntemp = 0;		/* texts of earlier arguments are printed by now */
	}
	return t.n;
}
