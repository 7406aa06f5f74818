/* SPDX-License-Identifier: MIT */
/*
 * forms.c - the other forms of the kernel's text: latency format, raw, hex, bin, addresses
 *
 * In the latency format a line shows the time to the next one, so one event is held back (text.c). Its header shows one
 * latency with its CPU and task. The tracers here have no latency; the kernel prints zeroes then, too.
 */
#include <sys/utsname.h>

#include "output/kernel_flags.h"
#include "output/output.h"
#include "output/text_rows.h"
#include "symbol/clean.h"
#include "symbol/event_type.h"

static const char columns[] =
	"#                    _------=> CPU#            \n"
	"#                   / _-----=> irqs-off/BH-disabled\n"
	"#                  | / _----=> need-resched    \n"
	"#                  || / _---=> hardirq/softirq \n"
	"#                  ||| / _--=> preempt-depth   \n"
	"#                  |||| / _-=> migrate-disable \n"
	"#                  ||||| /     delay           \n"
	"#  cmd     pid     |||||| time  |   caller     \n"
	"#     \\   /        ||||||  \\    |    /       \n";

static const char *preemption(const struct utsname *u)
{
	return strstr(u->version, "PREEMPT_RT") ? "preempt_rt" : strstr(u->version, "PREEMPT_DYNAMIC") ? "unknown" :
	       strstr(u->version, "PREEMPT") ? "preempt" : "server";
}

/* Masks a name, which may not write to the terminal: as in emit.h. */
const char *form_name(const struct uft_task *task, char name[17])
{
	snprintf(name, 17, "%s", task->comm && *task->comm ? task->comm : "<...>");
	uft_clean(name, strlen(name), 0);
	return name;
}

/* Writes a number that may be unknown. */
static const char *number(char *buf, size_t size, int is_known, long v)
{
	snprintf(buf, size, is_known ? "%ld" : "?", v);
	return buf;
}

static void put_task(struct uft_printer *t, const struct stretch *w)
{
	int is_known = w->has_state, is_rt = w->policy == 1 || w->policy == 2;
	char name[17], nice[24], policy[24], rt[24], line[256];

	snprintf(line, sizeof(line),
		 "#    | task: %.16s-%u (uid:? nice:%s policy:%s rt_prio:%s)\n#    -----------------\n",
		 form_name(w->task, name), w->task->tid,
		 number(nice, sizeof(nice), is_known, is_rt ? 0 : (long)w->priority - 120),
		 number(policy, sizeof(policy), is_known, w->policy),
		 number(rt, sizeof(rt), is_known, is_rt ? 99 - (long)w->priority : 0));
	emit_buf_puts(&t->buf, line);
}

/* Prints where a section began and ended. */
static void put_ends(struct uft_printer *t, const struct stretch *w)
{
	const char *text[2] = { "#  => started at: ", "#  => ended at:   " };

	for (int i = 0; w->n && i < 2; i++) {
		const struct emit_text *name = emit_func(&t->names, w->line[i ? w->n - 1 : 0].sym);

		emit_buf_puts(&t->buf, text[i]);
		emit_buf_puts(&t->buf, name ? name->text : "?");
		emit_buf_puts(&t->buf, "\n");
	}
	emit_buf_puts(&t->buf, "#\n#\n");
}

void form_latency_header(struct uft_printer *t, const struct uft_info *info, const struct stretch *worst)
{
	uint64_t stack = worst && worst->stack, in_buffer = worst ? worst->n + stack : info->events,
		 written = worst ? worst->total + stack : info->events + info->lost;
	struct utsname u;
	char line[512];

	if (uname(&u))
		memset(&u, 0, sizeof(u));
	snprintf(line, sizeof(line), "# %s latency trace v1.1.5 on %.65s\n"
		 "# --------------------------------------------------------------------\n"
		 "# latency: %llu us, #%llu/%llu, CPU#%u | (M:%s VP:0, KP:0, SP:0 HP:0 #P:%u)\n"
		 "#    -----------------\n",
		 text_tracer(t->tracer), u.release,
		 (unsigned long long)(worst ? (worst->end_ns - worst->start_ns) / 1000 : 0),
		 (unsigned long long)in_buffer, (unsigned long long)written, worst ? worst->cpu : 0, preemption(&u),
		 info->ncpus);
	emit_buf_puts(&t->buf, line);
	if (worst && worst->task)
		put_task(t, worst);
	else
		emit_buf_puts(&t->buf, "#    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)\n#    -----------------\n");
	if (worst && worst->task && uft_tracer_kind(t->tracer) == UFT_KIND_SECTION)
		put_ends(t, worst);
	else
		emit_buf_puts(&t->buf, "#\n");
	if (!t->row->is_tree && !(t->flags & (UFT_TEXT_VERBOSE | TEXT_REL_TIME)))
		emit_buf_puts(&t->buf, columns);
}

static char delay_mark(uint64_t ns)
{
	static const struct { uint64_t above; char sign; } mark[] = {
		{ 1000000000, '$' }, { 100000000, '@' }, { 10000000, '*' }, { 1000000, '#' }, { 100000, '!' },
		{ 10000, '+' },
	};

	for (size_t i = 0; i < sizeof(mark) / sizeof(mark[0]); i++)
		if (ns > mark[i].above)
			return mark[i].sign;
	return ' ';
}

static char *put_verbose(char *p, const struct uft_event *ev, uint64_t index, uint64_t since, uint64_t until,
			 int is_plain)
{
	char name[17];

	p += sprintf(p, "%16s %7u %3u %d %08x %08llx ", form_name(ev->task, name), ev->task->tid, ev->cpu, 0, 0,
		     (unsigned long long)index);
	if (is_plain)
		return p + sprintf(p, "[%016llx] %llu (+%llu): ", (unsigned long long)ev->ts_ns,
				   (unsigned long long)since, (unsigned long long)until);
	return p + sprintf(p, "[%08llx] %llu.%03llums (+%llu.%03llums): ", (unsigned long long)(ev->ts_ns / 1000),
			   (unsigned long long)(since / 1000000), (unsigned long long)(since / 1000 % 1000),
			   (unsigned long long)(until / 1000000), (unsigned long long)(until / 1000 % 1000));
}

char *form_latency_context(struct uft_printer *t, char *p, const struct uft_event *ev)
{
	uint64_t since = ev->ts_ns > t->start_ns ? ev->ts_ns - t->start_ns : 0;
	uint64_t until = t->next_ns > ev->ts_ns ? t->next_ns - ev->ts_ns : 0;
	char name[17], flags[KERNEL_FLAGS_TEXT + 1] = ".....";

	if (t->flags & UFT_TEXT_VERBOSE)
		return put_verbose(p, ev, t->printed, since, until, t->is_plain);
	if (t->task_flags)
		memcpy(flags, t->task_flags, KERNEL_FLAGS_TEXT);
	else
		kernel_flags_put(ev, flags);
	if (t->is_plain)
		return p + sprintf(p, "%8.8s-%-7u %3u%s %4llu: ", form_name(ev->task, name), ev->task->tid, ev->cpu,
				   flags, (unsigned long long)since);
	return p + sprintf(p, "%8.8s-%-7u %3u%s %4lluus%c: ", form_name(ev->task, name), ev->task->tid, ev->cpu, flags,
			   (unsigned long long)(since / 1000), delay_mark(until));
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static char *put_hex(char *p, uint64_t v, int bytes)
{
	return p + sprintf(p, "%0*llx ", 2 * bytes, (unsigned long long)v);
}

static char *put_bytes(char *p, const void *v, size_t n)
{
	memcpy(p, v, n);
	return p + n;
}

static char *put_head(const struct uft_printer *t, char *p, const struct uft_event *ev)
{
	if (!(t->flags & UFT_TEXT_CONTEXT))
		return p;
	if (t->flags & UFT_TEXT_BIN) {
		p = put_bytes(p, &ev->task->tid, 4);
		p = put_bytes(p, &ev->cpu, 4);
		return put_bytes(p, &ev->ts_ns, 8);
	}
	if (t->flags & UFT_TEXT_HEX)
		return put_hex(put_hex(put_hex(p, ev->task->tid, 4), ev->cpu, 4), ev->ts_ns, 8);
	return p + sprintf(p, "%u %u %llu ", ev->task->tid, ev->cpu, (unsigned long long)ev->ts_ns);
}

size_t form_raw_data(const struct uft_event *ev, char out[FORM_RAW_MAX])
{
	uint32_t id = 0;
	size_t n;

	memcpy(&id, ev->text, ev->text_bytes < 4 ? ev->text_bytes : 4);
	n = (size_t)sprintf(out, "# %x buf:", id);
	for (size_t i = 4; i < ev->text_bytes && n + 4 < FORM_RAW_MAX; i++)
		n += (size_t)sprintf(out + n, " %02x", (unsigned char)ev->text[i]);
	return n;
}

/* Writes the type of the event, because the kernel has no such form of it. */
static char *put_type(const struct uft_printer *t, char *p, uint32_t id)
{
	return p + sprintf(p, "type: %u\n%s", id, t->flags & UFT_TEXT_HEX ? "\n" : "");
}

static char *put_marker(const struct uft_printer *t, char *p, const struct uft_event *ev)
{
	int is_raw = ev->flags & UFT_EVF_RAW, n = (int)ev->text_bytes;

	if (t->flags & (UFT_TEXT_HEX | UFT_TEXT_BIN))
		return put_type(t, p, is_raw ? 18 : 5);
	p = is_raw ? p + form_raw_data(ev, p) : put_bytes(put_bytes(p, "# 0 ", 4), ev->text, (size_t)n);
	if (!n || p[-1] != '\n')
		*p++ = '\n';
	return p;
}

void form_numbers(struct uft_printer *t, const struct uft_event *ev)
{
	uint64_t ip = ev->sym ? uft_image_sym_addr(ev->task->image, ev->sym) : 0;
	char *p = emit_buf_room(&t->buf, 160 + (ev->kind == UFT_EV_MARK ? FORM_RAW_MAX : 0));

	if (!p)
		return;
	p = put_head(t, p, ev);
	if (ev->kind == UFT_EV_MARK) {
		p = put_marker(t, p, ev);
	} else if (ev->kind == UFT_EV_DATA) {
		p = put_type(t, p, ev->type->kernel_id);
	} else if (t->flags & UFT_TEXT_BIN) {
		p = put_bytes(put_bytes(p, &ip, 8), &ev->parent_addr, 8);
	} else if (t->flags & UFT_TEXT_HEX) {
		p = put_hex(put_hex(p, ip, 8), ev->parent_addr, 8);
		*p++ = '\n';
	} else {
		p += sprintf(p, "%llx %llx\n", (unsigned long long)ip, (unsigned long long)ev->parent_addr);
	}
	emit_buf_end(&t->buf, p);
}

/* As the kernel's %pS. */
char *form_field(char *p, const char *field, const struct emit_text *name, const struct uft_image *image,
		 const struct uft_sym *sym, uint64_t addr)
{
	p += sprintf(p, " %s=", field);
	memcpy(p, name->text, name->len);
	return p + name->len +
		sprintf(p + name->len, "+0x%llx/0x%llx", image ? (unsigned long long)uft_image_offset(image, addr) : 0,
				       (unsigned long long)sym->size);
}

char *form_addr(const struct uft_printer *t, char *p, const struct uft_image *image, const struct uft_sym *sym,
		uint64_t addr)
{
	if (t->flags & UFT_TEXT_SYM_OFFSET && sym)
		p += sprintf(p, "+0x%llx/0x%llx", (unsigned long long)uft_image_offset(image, addr),
			     (unsigned long long)sym->size);
	if (t->flags & UFT_TEXT_SYM_ADDR)
		p += sprintf(p, " <%016llx>", (unsigned long long)addr);
	return p;
}
