/* SPDX-License-Identifier: MIT */
/* event_tasks.c - put the lists of set_event_pid and set_event_notrace_pid before a filter's program */
#include "symbol/event_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct uft_step ask(size_t offset, size_t n, unsigned maybe, uint16_t yes, uint16_t no)
{
	return (struct uft_step){
		.op = UFT_STEP_IN_TASKS, .load = (uint8_t)(UFT_LOAD_TID | maybe), .yes = yes, .no = no,
		.value = UFT_STEP_VALUE(offset, n * sizeof(uint32_t), 0),
	};
}

/* Copies the steps of @filter behind the first @n. */
static void copy_steps(struct uft_program *p, uint16_t n, const struct uft_program *filter)
{
	for (uint16_t i = 0; i < filter->nsteps; i++) {
		struct uft_step *s = &p->step[n + i];

		*s = filter->step[i];
		s->yes = s->yes < UFT_STEP_ACCEPT ? (uint16_t)(s->yes + n) : s->yes;
		s->no = s->no < UFT_STEP_ACCEPT ? (uint16_t)(s->no + n) : s->no;
	}
}

/* The lists go behind the filter's constants, whose places stay. */
int uft_event_tasks_make(const struct uft_event_tasks *tasks, const struct uft_program *filter,
			 struct uft_program **out)
{
	uint16_t n = (tasks->npids != 0) + (tasks->nnot_pids != 0), nsteps = filter ? filter->nsteps : 0, at = 0,
		 end = filter ? n : UFT_STEP_ACCEPT;
	size_t head = sizeof(*filter) + nsteps * sizeof(filter->step[0]), constants = filter ? filter->bytes - head : 0,
	       only = tasks->npids * sizeof(uint32_t), not = tasks->nnot_pids * sizeof(uint32_t),
	       bytes = (head + n * sizeof(filter->step[0]) + constants + only + not + 7) & ~(size_t)7;
	struct uft_program *p;
	uint8_t *lists;

	*out = NULL;
	if (bytes > UFT_PROGRAM_BYTES || nsteps + n > (int)UFT_PROGRAM_STEPS)
		return -E2BIG;
	p = calloc(1, bytes);
	if (!p)
		return -ENOMEM;
	p->bytes = (uint32_t)bytes;
	p->nsteps = nsteps + n;
	p->facts = (uint16_t)(UFT_FACT_TID | (filter ? filter->facts : 0));
	if (only) {
		p->step[at] = ask(constants, tasks->npids, 0, n > 1 ? 1 : end, UFT_STEP_REJECT);
		at++;
	}
	if (not)
		p->step[at] = ask(constants + only, tasks->nnot_pids, UFT_STEP_MAYBE_NO, UFT_STEP_REJECT, end);
	if (filter) {
		copy_steps(p, n, filter);
		memcpy(&p->step[p->nsteps], &filter->step[nsteps], constants);
	}
	lists = (uint8_t *)&p->step[p->nsteps] + constants;
	if (only)
		memcpy(lists, tasks->pids, only);
	if (not)
		memcpy(lists + only, tasks->not_pids, not);
	*out = p;
	return 0;
}
