/* SPDX-License-Identifier: MIT */
/* emit.c - see emit.h */
#include <stdlib.h>

#include "output/emit.h"
#include "symbol/array.h"
#include "symbol/clean.h"

const char digits_pairs[200] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/* ---- Text ---- */

int emit_buf_init(struct emit_buf *b, FILE *out)
{
	*b = (struct emit_buf){ .out = out, .cap = 2 * EMIT_FLUSH };
	b->text = malloc(b->cap);
	return b->text ? 0 : -ENOMEM;
}

void emit_buf_free(struct emit_buf *b)
{
	free(b->text);
	b->text = NULL;
}

int emit_buf_grow(struct emit_buf *b, size_t room)
{
	int ret = array_reserve(b->text, b->cap, b->len + room);

	b->error = b->error ? b->error : ret;
	return ret;
}

void emit_buf_flush(struct emit_buf *b, size_t n)
{
	if (!n)
		return;
	errno = 0;
	if (!b->error && b->sink)
		b->error = b->sink(b->ctx, b->text, n);
	else if (!b->error && fwrite(b->text, 1, n, b->out) != n)
		b->error = errno ? -errno : -EIO;
	memmove(b->text, b->text + n, b->len - n);
	b->len -= n;
}

int emit_buf_puts(struct emit_buf *b, const char *text)
{
	size_t n = strlen(text);
	char *p = emit_buf_room(b, n);

	if (!p)
		return b->error;
	memcpy(p, text, n);
	b->len += n;
	return 0;
}

/* ---- Names ---- */

void emit_names_init(struct emit_names *names)
{
	*names = (struct emit_names){ 0 };
}

void emit_names_free(struct emit_names *names)
{
	for (size_t i = 0; i < names->nmasked; i++)
		free(names->masked[i]);
	for (size_t i = 0; i < names->ntasks; i++)
		free(names->task[i]);
	free(names->masked);
	free(names->func);
	free(names->task);
	emit_names_init(names);
}

/* Returns @text itself, or a masked copy that @names owns; NULL: no memory. */
static const char *clean(struct emit_names *names, const char *text, size_t len)
{
	char *copy;

	if (uft_clean_length(text, len) == len)
		return text;
	if (array_resize(names->masked, names->nmasked + 1))
		return NULL;
	copy = strdup(text);
	if (!copy)
		return NULL;
	uft_clean(copy, len, 0);
	names->masked[names->nmasked++] = copy;
	return copy;
}

const struct emit_text *emit_names_add_func(struct emit_names *names, const struct uft_sym *sym)
{
	static const struct emit_text unknown = { "0x0", 3 };
	struct emit_text *func;
	size_t len;

	if (!sym || !sym->name)
		return &unknown;
	if (array_reach(names->func, names->nfunc, sym->index))
		return NULL;
	func = &names->func[sym->index];
	len = strlen(sym->name);
	func->len = (uint32_t)len;
	func->text = clean(names, sym->name, len);
	return func->text ? func : NULL;
}

/* The kernel's print_graph_proc() layout: seven characters of comm, centred in fourteen with the pid. */
static void format_proc(struct emit_task *t, const char *comm, const char *pid, size_t pid_len)
{
	size_t comm_len = strnlen(comm, 7), len = comm_len + 1 + pid_len;
	size_t spaces = len < 14 ? 14 - len : 0;
	char *p = digits_spaces(t->proc, (unsigned)(spaces / 2));

	memcpy(p, comm, comm_len);
	p += comm_len;
	*p++ = '-';
	memcpy(p, pid, pid_len);
	p = digits_spaces(p + pid_len, (unsigned)(spaces - spaces / 2));
	t->proc_len = (uint32_t)(p - t->proc);
}

static void format_context(struct emit_task *t, const char *comm, const char *pid, size_t pid_len)
{
	size_t comm_len = strlen(comm);
	char *p = comm_len < 16 ? digits_spaces(t->context, (unsigned)(16 - comm_len)) : t->context;

	memcpy(p, comm, comm_len);
	p += comm_len;
	*p++ = '-';
	memcpy(p, pid, pid_len);
	p += pid_len;
	if (pid_len < 7)
		p = digits_spaces(p, (unsigned)(7 - pid_len));
	*p++ = ' ';
	t->context_len = (uint32_t)(p - t->context);
}

static void format_task(struct emit_task *t, const struct uft_task *task)
{
	char comm[16], pid[DIGITS_MAX];
	size_t pid_len = (size_t)(digits_plain(pid, task->tid) - pid);
	const char *name = task->comm && *task->comm ? task->comm : "<...>";
	size_t len = strnlen(name, sizeof(comm) - 1);	/* TASK_COMM_LEN */

	memcpy(comm, name, len);
	comm[len] = 0;
	uft_clean(comm, len, 0);
	format_proc(t, comm, pid, pid_len);
	format_context(t, comm, pid, pid_len);
}

const struct emit_task *emit_names_add_task(struct emit_names *names, const struct uft_task *task)
{
	struct emit_task **list;

	if (array_reach(names->task, names->ntasks, task->index))
		return NULL;
	list = &names->task[task->index];
	*list = malloc(sizeof(**list));
	if (*list)
		format_task(*list, task);
	return *list;
}
