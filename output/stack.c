/* SPDX-License-Identifier: MIT */
/*
 * stack.c - the text of stacks
 *
 *	<stack trace>		the kernel's own: ` => function`, the one that was entered first
 *	<user stack trace>	a program's: ` =>  <address>`, or ` => /path/of/object[+0xoffset]` (sym-userobj)
 *
 * The stack of a program is printed in either form: the option that asked for it decides, stacktrace or userstacktrace.
 * Source: kernel/trace/ trace_output.c, trace_stack_print() and trace_user_stack_print().
 */
#include "output/output.h"
#include "output/text_rows.h"

#define FRAME_ROOM	(64 + FORM_ADDR_ROOM)

/* ` => /lib/libc.so.6[+0x1234]`: the form with which other tools look up a program's addresses. */
static char *put_object(const struct uft_printer *t, char *p, const struct uft_image *img, uint64_t addr)
{
	uint32_t at = t->flags & UFT_TEXT_USEROBJ ? uft_image_at(img, addr, UINT64_MAX) : UINT32_MAX;
	const struct uft_mapped *m = at != UINT32_MAX ? &img->obj[at] : NULL;

	if (m)
		p += sprintf(p, "%.4000s[+0x%llx]", m->obj->path, (unsigned long long)(addr - m->bias));
	if (!m || t->flags & UFT_TEXT_SYM_ADDR)
		p += sprintf(p, " <%016llx>", (unsigned long long)addr);
	return p;
}

/* Prints one line. 0: no memory. */
static int put_frame(struct uft_printer *t, const struct uft_event *ev, const struct uft_stack_frame *f, int is_user)
{
	const struct emit_text *name = is_user ? NULL : emit_func(&t->names, f->sym);
	char *p = is_user || name ? emit_buf_room(&t->buf, FRAME_ROOM + (is_user ? 4096 : name->len)) : NULL;

	if (!p)
		return 0;
	memcpy(p, " => ", 4);
	p += 4;
	if (is_user) {
		p = put_object(t, p, ev->task->image, f->addr);
	} else {
		memcpy(p, name->text, name->len);
		p += name->len;
		if (t->flags & UFT_TEXT_SYM_OFFSET)
			p += sprintf(p, "+0x%llx/0x%llx", (unsigned long long)f->offset,
				     (unsigned long long)f->sym->size);
		if (t->flags & UFT_TEXT_SYM_ADDR)
			p += sprintf(p, " <%016llx>", (unsigned long long)f->addr);
	}
	*p++ = '\n';
	emit_buf_end(&t->buf, p);
	return 1;
}

static void put_stack(struct uft_printer *t, const struct uft_event *ev, int is_user)
{
	static const char *const title[] = { "<stack trace>\n", "<user stack trace>\n" };
	const struct uft_stack *stack = ev->stack;
	int ok = 1;
	char *p;

	/* not a comment in a graph either, as in the kernel */
	p = emit_buf_room(&t->buf, TEXT_CONTEXT_ROOM + 32);
	p = p ? text_context(t, p, ev) : NULL;
	ok = p != NULL;
	if (p) {
		memcpy(p, title[is_user], strlen(title[is_user]));
		emit_buf_end(&t->buf, p + strlen(title[is_user]));
	}
	for (uint32_t i = 0; i < stack->n && ok; i++)
		ok = put_frame(t, ev, &stack->frame[i], is_user);
	if (!ok)
		t->buf.error = t->buf.error ? t->buf.error : -ENOMEM;
}

void stack_text(struct uft_printer *t, const struct uft_event *ev)
{
	struct text_cpu *c = text_cpu_get(t, ev->cpu);

	if ((t->flags & TEXT_FORM && !t->row->is_tree) || (c && c->repeats))
		return;
	if (c && c->is_open)
		graph_close_entry(t, c);
	stack_put(t, ev);
}

void stack_put(struct uft_printer *t, const struct uft_event *ev)
{
	if (t->flags & UFT_TEXT_STACK || !(t->flags & UFT_TEXT_USER_STACK))
		put_stack(t, ev, 0);
	if (t->flags & UFT_TEXT_USER_STACK)
		put_stack(t, ev, 1);
	t->printed++;
}
