/* SPDX-License-Identifier: MIT */
/* event_record.c - test an event of a type against a filter's program (program/program.h); all facts are known here */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "stream/select/event_record.h"

/* Returns the function of code address @addr, and its begin. */
static const struct uft_func *function_at(const struct uft_event *ev, uint64_t addr, uint64_t *begin)
{
	const struct uft_image *img = ev->task->image;
	uint32_t i = img ? uft_image_at(img, addr, ev->clock) : UINT32_MAX;
	const struct uft_mapped *m = i < UINT32_MAX ? &img->obj[i] : NULL;
	const struct uft_func *f = m ? uft_object_func(m->obj, addr - m->bias) : NULL;

	*begin = f ? f->addr + m->bias : 0;
	return f;
}

static int is_in_function(const struct uft_record *r, uint64_t addr, const char *name)
{
	const struct uft_event *ev = r->arg;
	uint64_t begin, other;
	const struct uft_func *f = function_at(ev, addr, &begin);

	if (!f)
		return 0;
	if (!isdigit((unsigned char)*name))
		return !strcmp(f->name, name);
	return function_at(ev, strtoull(name, NULL, 0), &other) && begin == other;
}

int uft_event_accepts(const struct uft_program *p, const struct uft_event *ev)
{
	struct uft_record r = {
		.payload = ev->payload, .bytes = (uint32_t)ev->payload_bytes,
		.known = UFT_FACT_TID | UFT_FACT_CPU | UFT_FACT_COMM | UFT_FACT_FUNCTION, .tid = ev->task->tid,
		.pid = ev->task->pid, .cpu = ev->cpu,
		.comm = ev->task->comm ? ev->task->comm : "", .is_in_function = is_in_function, .arg = ev,
	};

	return uft_program_run(p, &r);
}
