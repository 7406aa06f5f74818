/* SPDX-License-Identifier: MIT */
/*
 * graph_data.c - arguments, results and return addresses in the lines of the graph
 *
 * A stream has them if the user asked for them when it was recorded; the line of a call without data looks as without
 * the option. Where it differs from the kernel: the number of a function's arguments is unknown, so all recorded words
 * are shown; a kernel with BTF shows names, and only the arguments.
 */
#include "output/text.h"
#include "symbol/names.h"

#define ERRNO_MAX	4095u

const struct emit_text *graph_caller(struct uft_printer *t, const struct call *call)
{
	static const struct emit_text none;

	return call && call->from_addr && t->flags & UFT_TEXT_RETADDR ? emit_func(&t->names, call->from) : &none;
}

static char *put_args(const struct uft_printer *t, char *p, const struct call *call)
{
	*p++ = '(';
	for (int i = 0; call && call->has_args && t->flags & UFT_TEXT_ARGS && i < 4; i++)
		p += sprintf(p, i ? ", 0x%llx" : "0x%llx", (unsigned long long)call->arg[i]);
	*p++ = ')';
	return p;
}

char *graph_put_call(const struct uft_printer *t, char *p, const struct emit_text *name, const struct call *call)
{
	int has_args = call && call->has_args && t->flags & UFT_TEXT_ARGS;
	/* f(int): not f(int)() */
	size_t len = uft_demangle_get() == UFT_DEMANGLE_FULL ? uft_name_length(name->text) : 0;

	memcpy(p, name->text, name->len);
	if (len && !has_args)
		return p + name->len;
	return put_args(t, p + (len ? len : name->len), call);
}

/* 1: the value is an error as an int or as a long; the kernel decides in the same way. */
static int is_error(uint64_t v, int64_t *error)
{
	*error = v >> 32 ? (int64_t)v : (int32_t)v;
	return *error < 0 && *error >= -(int64_t)ERRNO_MAX;
}

char *graph_put_result(const struct uft_printer *t, char *p, const struct call *call)
{
	int64_t error;

	if (!graph_has_result(t, call))
		return p;
	if (!(t->flags & UFT_TEXT_RETVAL_HEX) && is_error(call->result, &error))
		return p + sprintf(p, " = %lld", (long long)error);
	return p + sprintf(p, " = 0x%llx", (unsigned long long)call->result);
}

char *graph_put_note(const struct uft_printer *t, char *p, const struct call *call, const struct emit_text *caller,
		     int is_leaf)
{
	if (!caller->len && !(is_leaf && graph_has_result(t, call)))
		return p;
	memcpy(p, " /*", 3);
	p += 3;
	if (caller->len) {
		memcpy(p, " <-", 3);
		memcpy(p + 3, caller->text, caller->len);
		p += 3 + caller->len;
		if (call->from)
			p += sprintf(p, "+0x%llx/0x%llx",
				     (unsigned long long)uft_image_offset(call->image, call->from_addr),
				     (unsigned long long)call->from->size);
		if (t->flags & UFT_TEXT_SYM_ADDR)
			p += sprintf(p, " <%016llx>", (unsigned long long)call->from_addr);
	}
	if (is_leaf)
		p = graph_put_result(t, p, call);
	memcpy(p, " */", 3);
	return p + 3;
}
