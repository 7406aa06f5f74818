/* SPDX-License-Identifier: MIT */
/* text_header.c - the header above the lines: tracer, number of events, columns */
#include <stdio.h>

#include "output/output.h"
#include "output/text_rows.h"

static const char flags_header[] =
	"#                            %.*s  _-----=> irqs-off/BH-disabled\n"
	"#                            %.*s / _----=> need-resched\n"
	"#                            %.*s| / _---=> hardirq/softirq\n"
	"#                            %.*s|| / _--=> preempt-depth\n"
	"#                            %.*s||| / _-=> migrate-disable\n"
	"#                            %.*s|||| /     delay\n";

static void put_columns(struct uft_printer *t)
{
	static const char space[] = "            ";
	int tgid = t->flags & UFT_TEXT_TGID, wide = tgid ? 12 : 2;
	char line[640];

	if (t->flags & UFT_TEXT_IRQ_INFO) {
		snprintf(line, sizeof(line), flags_header, wide, space, wide, space, wide, space, wide, space, wide,
			 space, wide, space);
		emit_buf_puts(&t->buf, line);
		emit_buf_puts(&t->buf, tgid ? "#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION\n"
					      "#              | |           |       |   |||||     |         |\n" :
					      "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
					      "#              | |         |   |||||     |         |\n");
		return;
	}
	emit_buf_puts(&t->buf, tgid ? "#           TASK-PID       TGID    CPU#     TIMESTAMP  FUNCTION\n"
				      "#              | |           |       |         |         |\n" :
				      "#           TASK-PID     CPU#     TIMESTAMP  FUNCTION\n"
				      "#              | |         |         |         |\n");
}

void text_header(struct uft_printer *t, const struct uft_info *info)
{
	const struct text_row *row = t->row;
	int is_usual = !(t->flags & (UFT_TEXT_LATENCY | UFT_TEXT_VERBOSE));
	char line[160];

	snprintf(line, sizeof(line), "# tracer: %s\n#\n", text_tracer(t->tracer));
	emit_buf_puts(&t->buf, line);
	if (!(t->flags & UFT_TEXT_CONTEXT))
		return;
	if (t->flags & UFT_TEXT_LATENCY &&
	    !(events_wait(t) ? t->events->worst.end_ns : uft_stream_info(t->src.st)->events))
		return;		/* nothing to show: the kernel has no columns then */
	if (t->flags & UFT_TEXT_LATENCY)
		form_latency_header(t, info, events_wait(t) ? &t->events->worst : NULL);
	if (row->is_tree || t->flags & TEXT_REL_TIME)
		graph_header(t);
	if (row->columns && (is_usual || row->has_one_form)) {
		emit_buf_puts(&t->buf, row->columns);
		return;
	}
	if (row->is_tree || !is_usual)
		return;
	snprintf(line, sizeof(line), "# entries-in-buffer/entries-written: %llu/%llu   #P:%u\n#\n",
		 (unsigned long long)info->events,
		 (unsigned long long)(info->events + info->lost + info->lost_parts + info->overwritten), info->ncpus);
	emit_buf_puts(&t->buf, line);
	put_columns(t);
}
