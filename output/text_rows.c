/* SPDX-License-Identifier: MIT */
/* text_rows.c - the table of tracers whose text differs from that of other tracers; see text_rows.h */
#include "output/lines.h"
#include "output/text_rows.h"

static const struct text_row rows[UFT_NTRACERS] = {
	[UFT_TRACER_GRAPH] = { .is_tree = 1, .data = graph_data, .line = graph_comment, .mark = graph_comment },
	[UFT_TRACER_PREEMPTOFF] = { .take = events_event },
	[UFT_TRACER_IRQSOFF] = { .take = events_event },
	[UFT_TRACER_PREEMPTIRQSOFF] = { .take = events_event },
	[UFT_TRACER_WAKEUP] = { .take = events_event },
	[UFT_TRACER_WAKEUP_RT] = { .take = events_event },
	[UFT_TRACER_KMEMTRACE] = { .take = events_event, .columns = lines_heap_columns, .call = lines_heap,
		.has_late_lines = 1 },
	[UFT_TRACER_BLK] = { .take = events_event, .columns = "", .call = lines_io },
	[UFT_TRACER_INITCALL] = { .take = events_event, .columns = "", .call = lines_initcall, .is_every_call = 1 },
	[UFT_TRACER_OSNOISE] = { .columns = own_osnoise_columns },
	[UFT_TRACER_MMIOTRACE] = { .columns = "VERSION 20070824\n", .has_one_form = 1, .line = own_line,
		.mark = own_mark },
};

const struct text_row *text_row(uint32_t tracer)
{
	return &rows[tracer < UFT_NTRACERS ? tracer : UFT_TRACER_NOP];
}
