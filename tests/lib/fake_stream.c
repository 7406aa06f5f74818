/* SPDX-License-Identifier: MIT */
/* fake_stream.c - see fake_stream.h */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_stream.h"
#include "stream/decode/parts.h"
#include "symbol/names.h"

#define MAX_SYMS	65536
#define MAX_TASKS	4096
#define MAX_IMAGES	64

struct uft_stream {
	struct uft_info info;
	struct uft_event_table *events;
	struct uft_event *ev;
	size_t n, cap, next;
	uint64_t times, shift_ns;
	struct uft_sym *sym[MAX_SYMS];
	uint32_t nsyms;
	struct uft_task *task[MAX_TASKS], copy[MAX_TASKS];
	uint32_t ntasks;
	struct uft_image image[MAX_IMAGES];
	const struct uft_image *image_list[MAX_IMAGES];
	uint32_t nimages;
	struct uft_profile_row *row;
	size_t nrows;
};

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

struct uft_stream *fake_new(enum uft_tracer tracer, uint32_t ncpus)
{
	struct uft_stream *st = need(calloc(1, sizeof(*st)));

	st->times = 1;
	st->info = (struct uft_info){ .format = "fake", .tracer = tracer, .ncpus = ncpus, .complete = 1,
				      .cmdline = "./prog", .hostname = "host", .uname = "Linux 6.1 x86_64" };
	return st;
}

struct uft_info *fake_info(struct uft_stream *st)
{
	return &st->info;
}

const struct uft_sym *fake_sym(struct uft_stream *st, const char *name, const char *object, uint64_t addr)
{
	struct uft_sym *s;

	for (uint32_t i = 0; i < st->nsyms; i++)
		if (!strcmp(st->sym[i]->name, name) && !strcmp(st->sym[i]->object, object) &&
		    (!addr || st->sym[i]->addr == addr))
			return st->sym[i];
	if (st->nsyms == MAX_SYMS)
		abort();
	s = need(calloc(1, sizeof(*s)));
	*s = (struct uft_sym){ .index = st->nsyms, .name = need(strdup(name)), .object = need(strdup(object)),
			       .addr = addr ? addr : 0x555500001000ull + st->nsyms * 0x40ull, .size = 0x40 };
	st->info.nfuncs = st->nsyms + 1;
	return st->sym[st->nsyms++] = s;
}

const struct uft_task *fake_task(struct uft_stream *st, uint32_t tid, const char *comm, const struct uft_image *img)
{
	struct uft_task *t;

	for (uint32_t i = 0; i < st->ntasks; i++)
		if (st->task[i]->tid == tid && !strcmp(st->task[i]->comm, comm))
			return st->task[i];
	if (st->ntasks == MAX_TASKS)
		abort();
	t = need(calloc(1, sizeof(*t)));
	*t = (struct uft_task){ .tid = tid, .pid = tid, .comm = need(strdup(comm)), .image = img, .index = st->ntasks,
				.program = uft_base_name(img && img->exe ? img->exe : "?") };
	st->info.ntasks = st->ntasks + 1;
	return st->task[st->ntasks++] = t;
}

const struct uft_image *fake_image(struct uft_stream *st, uint64_t start, uint64_t end)
{
	struct uft_image *img = &st->image[st->nimages];
	struct uft_mapped *m = need(calloc(1, sizeof(*m)));

	if (st->nimages == MAX_IMAGES)
		abort();
	*m = (struct uft_mapped){ .obj = need(calloc(1, sizeof(*m->obj))), .text_start = start, .text_end = end };
	*img = (struct uft_image){ .id = st->nimages, .nobj = 1, .obj = m };
	st->image_list[st->nimages++] = img;
	return img;
}

struct uft_event *fake_add(struct uft_stream *st, enum uft_event_kind kind, uint32_t cpu, uint64_t ts_ns,
			   const struct uft_task *task, const struct uft_sym *sym)
{
	struct uft_event *ev;

	if (st->n == st->cap) {
		st->cap = st->cap ? st->cap * 2 : 1024;
		st->ev = need(realloc(st->ev, st->cap * sizeof(*st->ev)));
	}
	ev = &st->ev[st->n];
	*ev = (struct uft_event){ .kind = (uint16_t)kind, .cpu = cpu, .task = task, .sym = sym };
	ev->ts_ns = ts_ns ? ts_ns : (st->n ? st->ev[st->n - 1].ts_ns : 1000000000ull) + 100;
	if (!st->n)
		st->info.first_ns = ev->ts_ns;
	st->info.duration_ns = ev->ts_ns - st->info.first_ns;
	st->n++;
	st->info.events += kind == UFT_EV_FUNC || kind == UFT_EV_ENTRY || kind == UFT_EV_EXIT;
	st->info.calls += kind == UFT_EV_FUNC || kind == UFT_EV_ENTRY;
	return ev;
}

void fake_func(struct uft_stream *st, uint32_t cpu, uint64_t ts_ns, const struct uft_task *task,
	       const struct uft_sym *sym, const struct uft_sym *parent)
{
	fake_add(st, UFT_EV_FUNC, cpu, ts_ns, task, sym)->parent = parent;
}

void fake_entry(struct uft_stream *st, uint32_t cpu, uint64_t ts_ns, const struct uft_task *task,
		const struct uft_sym *sym, uint32_t depth)
{
	fake_add(st, UFT_EV_ENTRY, cpu, ts_ns, task, sym)->depth = depth;
}

void fake_exit(struct uft_stream *st, uint32_t cpu, uint64_t ts_ns, const struct uft_task *task,
	       const struct uft_sym *sym, uint32_t depth, uint64_t duration_ns)
{
	struct uft_event *ev = fake_add(st, UFT_EV_EXIT, cpu, ts_ns, task, sym);

	ev->depth = depth;
	ev->duration_ns = ev->self_ns = duration_ns;
}

void fake_lost(struct uft_stream *st, uint32_t cpu, uint64_t ts_ns, uint64_t n)
{
	fake_add(st, UFT_EV_LOST, cpu, ts_ns, NULL, NULL)->lost = n;
	st->info.lost += n;
}

void fake_profile(struct uft_stream *st, const struct uft_profile_row *row)
{
	st->row = need(realloc(st->row, (st->nrows + 1) * sizeof(*row)));
	st->row[st->nrows++] = *row;
}

void fake_rewind(struct uft_stream *st, uint64_t times)
{
	st->next = 0;
	st->times = times;
	st->shift_ns = 0;
}

/* ---- stream.h ---- */

size_t uft_stream_batch(struct uft_stream *st, struct uft_event *ev, size_t max)
{
	size_t n;

	if (st->next == st->n && st->times > 1 && st->n) {
		st->times--;
		st->next = 0;
		st->shift_ns += st->ev[st->n - 1].ts_ns - st->ev[0].ts_ns + 100;
	}
	n = st->n - st->next < max ? st->n - st->next : max;
	if (n)
		memcpy(ev, st->ev + st->next, n * sizeof(*ev));
	for (size_t i = 0; st->shift_ns && i < n; i++)
		ev[i].ts_ns += st->shift_ns;
	st->next += n;
	return n;
}

int uft_stream_next(struct uft_stream *st, struct uft_event *ev)
{
	return (int)uft_stream_batch(st, ev, 1);
}

enum uft_stamp uft_stream_stamp(const struct uft_stream *st)
{
	(void)st;
	return UFT_STAMP_NS;
}

const struct uft_event_table *uft_stream_events(const struct uft_stream *st)
{
	struct uft_stream *made = (struct uft_stream *)st;

	if (!made->events)
		made->events = uft_event_table_new();
	return made->events;
}

const char *uft_stream_clock_name(const struct uft_stream *st)
{
	(void)st;
	return "mono";
}

const struct uft_info *uft_stream_info(struct uft_stream *st)
{
	return &st->info;
}

uint32_t uft_stream_tracer(const struct uft_stream *st)
{
	return st->info.tracer;
}

size_t uft_stream_tasks(struct uft_stream *st, const struct uft_task **out)
{
	for (uint32_t i = 0; i < st->ntasks; i++)
		st->copy[i] = *st->task[i];
	*out = st->copy;
	return st->ntasks;
}

size_t uft_stream_images(struct uft_stream *st, const struct uft_image *const **out)
{
	*out = st->image_list;
	return st->nimages;
}

int uft_stream_drop(struct uft_stream *st, size_t i, struct uft_drop_row *out)
{
	(void)st, (void)i, (void)out;
	return 0;
}

const struct uft_rescue *uft_stream_rescued(struct uft_stream *st)
{
	(void)st;
	return NULL;
}

int uft_stream_profile(struct uft_stream *st, const struct uft_profile_row **out, size_t *n)
{
	*out = st->row;
	*n = st->nrows;
	return 0;
}

int uft_stream_check_file(const struct uft_stream *st, struct uft_error *err)
{
	(void)st, (void)err;
	return 0;
}

double uft_stream_progress(struct uft_stream *st)
{
	return st->n ? (double)st->next / (double)st->n : 1;
}

uint64_t uft_stream_missed_stacks(const struct uft_stream *st)
{
	(void)st;
	return 0;
}

void uft_stream_close(struct uft_stream *st)
{
	uft_event_table_put(st->events);
	for (uint32_t i = 0; i < st->nsyms; i++) {
		free((char *)st->sym[i]->name);
		free((char *)st->sym[i]->object);
		free(st->sym[i]);
	}
	for (uint32_t i = 0; i < st->ntasks; i++) {
		free((char *)st->task[i]->comm);
		free(st->task[i]);
	}
	for (uint32_t i = 0; i < st->nimages; i++) {
		free(st->image[i].obj->obj);
		free(st->image[i].obj);
	}
	free(st->ev);
	free(st->row);
	free(st);
}

int uft_fail(struct uft_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (err)
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

/* No images here: every address is the beginning of its function. */
uint64_t uft_image_sym_addr(const struct uft_image *img, const struct uft_sym *sym)
{
	(void)img;
	return sym->addr;
}

uint64_t uft_image_offset(const struct uft_image *img, uint64_t addr)
{
	(void)img, (void)addr;
	return 0;
}

uint32_t uft_image_at(const struct uft_image *img, uint64_t addr, uint64_t clock)
{
	(void)img, (void)addr, (void)clock;
	return UINT32_MAX;
}

/* Some tests link symbol/object.c for other things of it. */
__attribute__((weak)) const struct uft_func *uft_object_func(struct uft_object *obj, uint64_t addr)
{
	(void)obj, (void)addr;
	return NULL;
}

/* ---- Parts: there is one ---- */

size_t uft_parts_open(struct uft_stream *st, size_t max, const struct uft_parts_cost *cost, struct uft_part *part)
{
	(void)max;
	(void)cost;
	part[0] = (struct uft_part){ .st = st };
	return 1;
}

int uft_part_begin(struct uft_part *part)
{
	(void)part;
	return 0;
}

const struct uft_sym *uft_part_open_call(const struct uft_part *part, uint32_t index, uint32_t depth)
{
	(void)part;
	(void)index;
	(void)depth;
	return NULL;
}

int uft_part_is_exact(const struct uft_part *part)
{
	(void)part;
	return 0;
}

uint32_t uft_part_task(const struct uft_part *part, uint32_t index, struct uft_stream *st)
{
	(void)part;
	(void)st;
	return index;
}

size_t uft_part_symbols(const struct uft_part *part, struct uft_stream *st, const struct uft_sym ***out)
{
	(void)part;
	(void)st;
	*out = NULL;
	return 0;
}

void uft_parts_close(struct uft_part *part, size_t n, int is_restart)
{
	(void)part;
	(void)n;
	(void)is_restart;
}
