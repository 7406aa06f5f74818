/* SPDX-License-Identifier: MIT */
/*
 * own.c - lines of the events that are the session's own: of a task, of no call
 *
 * The text is that of the kernel's tracer of the same name, behind the usual columns. In a call tree such a line is a
 * comment. A value that a tracer cannot know in a process is `?`, or is left out if the kernel leaves it out when it is
 * 0.
 */
#include "output/text_rows.h"

/* As the kernel's trace_hwlat_print(), without NMIs, which a process cannot see. */
static char *put_hwlat(const struct uft_printer *t, char *p, const struct uft_event *ev)
{
	uint64_t us[2] = { ev->word[0] / 1000, ev->word[1] / 1000 }, s = ev->word[2] / 1000000000,
		ns = ev->word[2] % 1000000000;
	uint32_t seq = (uint32_t)ev->word[3], count = (uint32_t)(ev->word[3] >> 32);

	if (t->flags & UFT_TEXT_RAW)
		return p +
			sprintf(p, "%llu %llu %llu %09llu %u\n", (unsigned long long)us[0], (unsigned long long)us[1],
				   (unsigned long long)s, (unsigned long long)ns, seq);
	return p + sprintf(p, "#%-5u inner/outer(us): %4llu/%-5llu ts:%llu.%09llu count:%u\n", seq,
			   (unsigned long long)us[0],
			   (unsigned long long)us[1], (unsigned long long)s, (unsigned long long)ns, count);
}

/* Writes a count; an unknown one is `?`. */
static char *put_count(char *p, const char *format, uint64_t v)
{
	char text[12] = "?";

	if (v < UINT32_MAX)
		snprintf(text, sizeof(text), "%u", (uint32_t)v);
	return p + sprintf(p, format, text);
}

/* As the kernel's trace_osnoise_print(). */
static char *put_osnoise(const struct uft_printer *t, char *p, const struct uft_event *ev)
{
	uint32_t noise = (uint32_t)ev->word[0], runtime = (uint32_t)(ev->word[0] >> 32),
		 longest = (uint32_t)ev->word[1];
	uint64_t count[5] = { UINT32_MAX, (uint32_t)ev->word[3], (uint32_t)ev->word[2], ev->word[2] >> 32,
		ev->word[1] >> 32 };
	uint64_t rest = runtime && noise < runtime ? (uint64_t)(runtime - noise) * 10000000 / runtime : 0;
	int is_raw = t->flags & UFT_TEXT_RAW;

	p += is_raw ? sprintf(p, "%u %u %u", runtime, noise, longest) :
		      sprintf(p, "%u %10u %3u.%05u %7u", runtime, noise, (uint32_t)(rest / 100000),
			      (uint32_t)(rest % 100000), longest);
	for (int i = 0; i < 5; i++)
		p = put_count(p, is_raw ? " %s" : " %6s", count[i]);
	*p++ = '\n';
	return p;
}

const char own_osnoise_columns[] =
	"#                                _-----=> irqs-off\n"
	"#                               / _----=> need-resched\n"
	"#                              | / _---=> hardirq/softirq\n"
	"#                              || / _--=> preempt-depth\n"
	"#                              ||| / _-=> migrate-disable                         MAX\n"
	"#                              |||| /     delay                                   SINGLE      Interference counters:\n"
	"#                              |||||               RUNTIME      NOISE  %% OF CPU  NOISE    +-----------------------------+\n"
	"#           TASK-PID      CPU# |||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD\n"
	"#              | |         |   |||||      |           |             |    |            |      |      |      |      |      |\n";

/*
 * As the kernel's trace_ctx_print(). The other task of the switch and its state are `?`, because the kernel does not
 * tell a process which task had the CPU before, or has it next. A task that leaves a CPU is R if it could go on, else
 * S, also where the kernel prints D or T: what it waits for is not known.
 */
static char *put_switch(const struct uft_printer *t, char *p, const struct uft_event *ev)
{
	uint32_t how = (uint32_t)ev->word[0], is_in = how & UFT_SWITCH_IN;
	char state = is_in || how & UFT_SWITCH_PREEMPTED ? 'R' : how & UFT_SWITCH_ENDED ? 'X' : 'S', prio[12] = "?",
		name[17];

	if (how & UFT_SWITCH_PRIO)
		snprintf(prio, sizeof(prio), "%u", (uint32_t)(ev->word[0] >> 32));
	if (t->flags & UFT_TEXT_RAW && is_in)
		return p + sprintf(p, "? ? ? %u %u %s %c\n", ev->cpu, ev->task->tid, prio, state);
	if (t->flags & UFT_TEXT_RAW)
		return p + sprintf(p, "%u %s %c %u ? ? ?\n", ev->task->tid, prio, state, ev->cpu);
	if (is_in)
		return p + sprintf(p, " %7s:%3s:%c ==> [%03u] %7u:%3s:%c %.16s\n", "?", "?", '?', ev->cpu,
				   ev->task->tid, prio, state, form_name(ev->task, name));
	return p + sprintf(p, " %7u:%3s:%c ==> [%03u] %7s:%3s:%c <...>\n", ev->task->tid, prio, state, ev->cpu, "?",
			   "?", '?');
}

/* Microseconds as the kernel's mmiotrace has them, rounded: ns2usecs(). */
static char *put_time(char *p, uint64_t ns)
{
	uint64_t us = (ns + 500) / 1000;

	return p + sprintf(p, "%llu.%06llu", (unsigned long long)(us / 1000000), (unsigned long long)(us % 1000000));
}

static char *put_access_line(char *p, char op, const struct uft_event *ev, int has_value)
{
	unsigned width = ev->word[3] >> UFT_ACCESS_WIDTH_SHIFT & 0xff,
		 map = ev->word[3] >> UFT_ACCESS_MAP_SHIFT & 0xffff;

	p += sprintf(p, "%c %u ", op, width);
	p = put_time(p, ev->ts_ns);
	p += sprintf(p, " %u 0x%llx ", map, (unsigned long long)ev->word[0]);
	p += has_value ? sprintf(p, "0x%llx", (unsigned long long)ev->word[1]) : sprintf(p, "?");
	return p + sprintf(p, " 0x%llx %u\n", (unsigned long long)ev->word[2], ev->task->tid);
}

/*
 * As the kernel's mmio_print_rw(). The last field, the process, is 0 there and the thread here. An access that reads
 * and writes is two lines. For an unknown access the bytes of the instruction are printed, in front of the address.
 */
static char *put_access(const struct uft_printer *t, char *p, const struct uft_event *ev)
{
	uint64_t how = ev->word[3];

	(void)t;
	if (how & UFT_ACCESS_READ)
		p = put_access_line(p, 'R', ev, how & UFT_ACCESS_VALUE);
	if (how & UFT_ACCESS_WRITE)
		p = put_access_line(p, 'W', ev, how & UFT_ACCESS_VALUE && !(how & UFT_ACCESS_READ));
	if (how & (UFT_ACCESS_READ | UFT_ACCESS_WRITE))
		return p;
	p += sprintf(p, "UNKNOWN ");
	p = put_time(p, ev->ts_ns);
	return p + sprintf(p, " %u 0x%llx ? 0x%llx %u\n", (unsigned)(how >> UFT_ACCESS_MAP_SHIFT & 0xffff),
			   (unsigned long long)ev->word[0], (unsigned long long)ev->word[2], ev->task->tid);
}

/* As the kernel's mmio_print_map(). A program has one kind of address, which is printed for both. */
static char *put_watch(const struct uft_printer *t, char *p, const struct uft_event *ev)
{
	unsigned map = ev->word[3] >> UFT_ACCESS_MAP_SHIFT & 0xffff;

	(void)t;
	p += sprintf(p, ev->word[3] & UFT_ACCESS_END ? "UNMAP " : "MAP ");
	p = put_time(p, ev->ts_ns);
	if (ev->word[3] & UFT_ACCESS_END)
		return p + sprintf(p, " %u 0x0 %u\n", map, ev->task->tid);
	return p + sprintf(p, " %u 0x%llx 0x%llx 0x%llx 0x0 %u\n", map, (unsigned long long)ev->word[0],
			   (unsigned long long)ev->word[0], (unsigned long long)ev->word[1], ev->task->tid);
}

static char *put_named(const struct uft_printer *t, char *p, const struct uft_event *ev)
{
	p = named_text(p, ev, (t->flags & UFT_TEXT_FIELDS) != 0);
	*p++ = '\n';
	return p;
}

void own_line(struct uft_printer *t, const struct uft_event *ev, const char *text, size_t n)
{
	char *p = emit_buf_room(&t->buf, n + 1);

	(void)ev;
	if (!p)
		return;
	memcpy(p, text, n);
	p[n] = '\n';
	emit_buf_end(&t->buf, p + n + 1);
}

/* Prints a mark, which has a line in this format, too. */
void own_mark(struct uft_printer *t, const struct uft_event *ev, const char *text, size_t n)
{
	char head[64], *end = put_time(head + sprintf(head, "MARK "), ev->ts_ns), *p;

	*end++ = ' ';
	p = emit_buf_room(&t->buf, (size_t)(end - head));
	if (!p)
		return;
	memcpy(p, head, (size_t)(end - head));
	emit_buf_end(&t->buf, p + (end - head));
	own_line(t, ev, text, n);
}

/* Printers by event: each writes its line at @p, with the newline, and returns where it ends. */
static const struct {
	uint32_t data; char *(*put)(const struct uft_printer *t, char *p, const struct uft_event *ev); } printers[] = {
	{ UFT_EVENT_HWLAT, put_hwlat },
	{ UFT_EVENT_OSNOISE, put_osnoise },
	{ UFT_EVENT_SWITCH, put_switch },
	{ UFT_EVENT_ACCESS, put_access },
	{ UFT_EVENT_WATCH, put_watch },
};

static char *put_event(const struct uft_printer *t, char *p, const struct uft_event *ev)
{
	if (UFT_EVENT_IS_NAMED(ev->data))
		return put_named(t, p, ev);
	for (size_t i = 0; i < sizeof(printers) / sizeof(printers[0]); i++)
		if (printers[i].data == ev->data)
			return printers[i].put(t, p, ev);
	return p;
}

void own_event(struct uft_printer *t, const struct uft_event *ev)
{
	const struct text_row *row = t->row;
	char text[OWN_ROOM], *end = put_event(t, text, ev), *p;

	if (end == text)
		return;
	if (row->line) {
		row->line(t, ev, text, (size_t)(end - text - 1));
		return;
	}
	p = emit_buf_room(&t->buf, TEXT_CONTEXT_ROOM + OWN_ROOM);
	p = p ? text_context(t, p, ev) : NULL;
	if (!p)
		return;
	memcpy(p, text, (size_t)(end - text));
	emit_buf_end(&t->buf, p + (end - text));
}

uint64_t own_latency_ns(const struct uft_event *ev)
{
	if (ev->kind != UFT_EV_DATA || ev->data != UFT_EVENT_HWLAT)
		return 0;
	return ev->word[0] > ev->word[1] ? ev->word[0] : ev->word[1];
}
