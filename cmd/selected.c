/* SPDX-License-Identifier: MIT */
/*
 * selected.c - see selected.h
 *
 * Each kind of selection is tried alone, from the start of the recording: the first that selects no event is the
 * reason. That costs a pass through the recording for each kind, but only after an empty answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input.h"
#include "cmd/selected.h"
#include "symbol/clean.h"

#define SHOWN	6			/* tasks in a message */

/* Does @sel select no event? Then *st is at its end and knows all tasks. NULL: the recording cannot be read. */
static int is_empty(const char *path, const struct uft_select *sel, struct uft_stream **st)
{
	const struct uft_profile_row *sums;
	struct uft_event ev;
	size_t n;
	int ret = cmd_input_open(path, sel, st, NULL);

	if (ret < 0 || uft_stream_profile(*st, &sums, &n) < 0)
		return 0;
	do
		ret = uft_stream_next(*st, &ev);
	while (ret == 1 && !uft_stream_has_found(*st));
	return ret == 0 && !uft_stream_has_found(*st);
}

/* "0-3,6": the CPUs with records. */
static void put_cpus(FILE *out, struct uft_stream *st)
{
	uint32_t n = uft_stream_info(st)->ncpus;
	const char *comma = "";

	for (uint32_t cpu = 0; cpu < n; cpu++) {
		uint32_t last = cpu;

		if (!uft_stream_has_cpu(st, cpu))
			continue;
		while (last + 1 < n && uft_stream_has_cpu(st, last + 1))
			last++;
		fprintf(out, last > cpu ? "%s%" PRIu32 "-%" PRIu32 : "%s%" PRIu32, comma, cpu, last);
		comma = ",";
		cpu = last;
	}
}

static int is_before(const struct uft_task *task, size_t n, uint32_t id, int is_pid)
{
	for (size_t i = 0; i < n; i++)
		if ((is_pid ? task[i].pid : task[i].tid) == id)
			return 1;
	return 0;
}

/* "make-812, cc1-815 and 3 others" */
static void put_tasks(FILE *out, struct uft_stream *st, int is_pid)
{
	const struct uft_task *task;
	size_t n = uft_stream_tasks(st, &task), shown = 0, more = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t id = is_pid ? task[i].pid : task[i].tid;

		if (is_before(task, i, id, is_pid))
			continue;
		if (shown == SHOWN) {
			more++;
			continue;
		}
		fputs(shown++ ? ", " : "", out);
		uft_put_clean(out, is_pid ? task[i].program : task[i].comm);
		fprintf(out, "-%" PRIu32, id);
	}
	if (more)
		fprintf(out, " and %zu others (uft report --flat --by %s lists them)", more,
			is_pid ? "process" : "task");
}

static void put_time(FILE *out, struct uft_stream *st)
{
	const struct uft_info *info = uft_stream_info(st);

	fprintf(out, "%.6f s, from %.6f to %.6f", (double)info->duration_ns / 1e9, (double)info->first_ns / 1e9,
		(double)(info->first_ns + info->duration_ns) / 1e9);
}

/* Kinds of selections; each excludes events independently. */
enum kind { CPUS, THREADS, PROCESSES, TIME, FUNCTIONS, EVENTS, NKINDS };

/* Copies the selections of one kind from @all. 0: there are none. */
static int only(const struct uft_select *all, enum kind kind, struct uft_select *one)
{
	*one = (struct uft_select){ .no_parents = 1 };
	switch (kind) {
	case CPUS:
		one->cpus = all->cpus, one->ncpus = all->ncpus;
		return one->ncpus > 0;
	case THREADS:			/* threads and processes add up: they are one */
		one->tids = all->tids, one->ntids = all->ntids;
		one->pids = all->pids, one->npids = all->npids;
		return one->ntids > 0;
	case PROCESSES:
		one->pids = all->pids, one->npids = all->npids;
		return one->npids > 0 && !all->ntids;
	case TIME:
		one->from_ns = all->from_ns, one->to_ns = all->to_ns;
		one->is_from_stamp = all->is_from_stamp, one->is_to_stamp = all->is_to_stamp;
		return one->from_ns || one->to_ns;
	case FUNCTIONS:
		one->funcs = all->funcs, one->nfuncs = all->nfuncs;
		return one->nfuncs > 0 && !all->nevents;
	case EVENTS:			/* functions beside events add up as well */
		one->funcs = all->funcs, one->nfuncs = all->nfuncs;
		one->events = all->events, one->nevents = all->nevents;
		return one->nevents > 0;
	default:
		return 0;
	}
}

static void put_reason(FILE *out, struct uft_stream *st, enum kind kind, const struct uft_select *sel)
{
	switch (kind) {
	case CPUS:
		fputs("no event is of a CPU that --cpu selects: the recording has those of CPU ", out);
		put_cpus(out, st);
		break;
	case THREADS:
		fputs("no event is of a thread that --tid selects: the recording has ", out);
		put_tasks(out, st, 0);
		break;
	case PROCESSES:
		fputs("no event is of a process that --pid selects: the recording has ", out);
		put_tasks(out, st, 1);
		break;
	case TIME:
		fputs("no event is in the time selected: the recording takes ", out);
		put_time(out, st);
		break;
	case FUNCTIONS:
		fputs("no function of the recording matches '", out);
		uft_put_clean(out, sel->funcs[0]);
		fputs("' (uft report --flat lists them)", out);
		break;
	default:
		fputs("no event of the recording passes '", out);
		uft_put_clean(out, sel->events[0]);
		putc('\'', out);
	}
}

int cmd_selected_note(const char *command, const char *path, struct uft_stream *st, const struct uft_select *sel)
{
	struct uft_stream *of_one = NULL;
	struct uft_select one;
	int is_any = 0, is_said = 0;

	for (enum kind kind = 0; kind < NKINDS; kind++)
		is_any |= only(sel, kind, &one);
	if (!is_any || uft_stream_has_found(st))
		return 0;
	if (!uft_stream_info(st)->events && !uft_stream_info(st)->calls) {
		fprintf(stderr, "uft %s: the recording has no events: nothing can be selected\n", command);
		return 1;
	}
	for (enum kind kind = 0; kind < NKINDS && !is_said; kind++) {
		if (!only(sel, kind, &one))
			continue;
		if (is_empty(path, &one, &of_one)) {
			fprintf(stderr, "uft %s: ", command);
			put_reason(stderr, of_one, kind, sel);
			putc('\n', stderr);
			is_said = 1;
		}
		if (of_one)
			cmd_input_close(of_one);
		of_one = NULL;
	}
	if (!is_said)
		fprintf(stderr, "uft %s: no event of the recording is in all that is selected together\n", command);
	return 1;
}
