/* SPDX-License-Identifier: MIT */
/* synth.c - see synth.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/synth.h"

#define SYNTH_BIAS	0x555555000000ull
#define SYNTH_LIB_BIAS	0x7ffff7000000ull
#define SYNTH_TEXT	0x1000u
#define SYNTH_STEP	32u		/* bytes a function */
#define SYNTH_TEXT_ID	1u

struct synth_ring_state { uint32_t pid; uint64_t pending; };

struct synth {
	struct uft_arena *arena;
	size_t bytes;
	struct synth_ring_state *state;		/* what a target keeps in its own memory */
};

static void *synth_check(void *p)
{
	if (!p || p == MAP_FAILED) {
		fprintf(stderr, "synth: out of memory\n");
		exit(1);
	}
	return p;
}

static uint64_t synth_page(uint64_t n)
{
	return (n + UFT_PAGE - 1) & ~(uint64_t)(UFT_PAGE - 1);
}

struct synth *synth_new(const struct synth_opts *o)
{
	static const struct synth_opts none;
	struct synth *s = synth_check(calloc(1, sizeof(*s)));
	struct uft_arena a = { .magic = UFT_ABI_MAGIC, .version = UFT_ABI_VERSION };

	if (!o)
		o = &none;
	a.ncpus = o->ncpus ? o->ncpus : 2;
	a.nexch = o->nexch ? o->nexch : 2;
	a.ring_bytes = o->ring_bytes ? o->ring_bytes : 256u << 10;
	a.ring_usual = o->ring_usual ? o->ring_usual : a.ring_bytes;
	a.sub_bytes = o->sub_bytes ? o->sub_bytes : 16u << 10;
	a.nslices = o->nslices ? o->nslices : 4;
	a.slice_offset = synth_page(sizeof(a));
	a.cmd_offset = UFT_PAGE;
	a.cmd_bytes = UFT_PAGE;
	a.ring_offset = 2 * UFT_PAGE;
	a.ring_stride = UFT_PAGE + a.ring_bytes;
	a.profile_offset = a.ring_offset + (a.ncpus + a.nexch) * a.ring_stride;
	a.profile_ids = o->profile_ids ? o->profile_ids : 4096;
	a.slice_bytes =
		synth_page(a.profile_offset + UFT_PROFILE_BLOCKS(a.ncpus) * a.profile_ids * sizeof(struct uft_profile));
	s->bytes = a.slice_offset + a.nslices * a.slice_bytes;
	s->arena = synth_check(mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	*s->arena = a;
	s->state = synth_check(calloc(a.nslices * (a.ncpus + a.nexch), sizeof(*s->state)));
	for (uint32_t i = 0; i < a.nslices; i++)
		synth_slice(s, i)->ring_flags = UFT_RING_ON | (o->overwrite ? UFT_RING_OVERWRITE : 0);
	return s;
}

void synth_free(struct synth *s)
{
	munmap(s->arena, s->bytes);
	free(s->state);
	free(s);
}

struct uft_arena *synth_arena(struct synth *s)
{
	return s->arena;
}

struct uft_slice *synth_slice(struct synth *s, uint32_t slice)
{
	return (void *)((char *)s->arena + s->arena->slice_offset + slice * s->arena->slice_bytes);
}

int synth_lock(struct synth *s, uint32_t slice)
{
	return (int)syscall(SYS_mlock, synth_slice(s, slice), s->arena->slice_bytes);
}

struct uft_ring *synth_ring(struct synth *s, uint32_t slice, uint32_t ring)
{
	return (void *)((char *)synth_slice(s, slice) + s->arena->ring_offset + ring * s->arena->ring_stride);
}

struct uft_profile *synth_profile(struct synth *s, uint32_t slice, uint32_t cpu, uint32_t id)
{
	struct uft_profile *p = (void *)((char *)synth_slice(s, slice) + s->arena->profile_offset);

	return p + cpu * s->arena->profile_ids + id;
}

void synth_begin(struct synth *s, uint32_t slice, uint32_t pid, uint32_t ppid)
{
	struct uft_slice *sl = synth_slice(s, slice);
	uint32_t n = s->arena->ncpus + s->arena->nexch;

	memset(s->state + slice * n, 0, n * sizeof(*s->state));
	sl->pid = pid;
	sl->ppid = ppid;
	sl->parent_slice = ~0u;
	for (uint32_t i = 0; i < n; i++)
		uft_ring_set_used(sl, i);
	__atomic_store_n(&sl->state, UFT_SLICE_LIVE, __ATOMIC_RELEASE);
}

/* ---- The ring writer ------------------------------------------------------------------------ */

static void synth_word(const struct synth *s, struct uft_ring *r, uint64_t position, uint64_t word)
{
	uint64_t *to = (void *)((char *)r + UFT_PAGE + (position & (s->arena->ring_bytes - 1)));

	__atomic_store_n(to, word, __ATOMIC_RELAXED);
}

/* Begins the sub-buffer at *@position. 0: full. */
static int synth_sub(struct synth *s, struct synth_at at, struct uft_ring *r, struct synth_ring_state *st,
		     uint64_t *position)
{
	uint64_t ring = s->arena->ring_bytes, sub = s->arena->sub_bytes, pos = r->sub_end, commit = r->commit;

	if (synth_slice(s, at.slice)->ring_flags & UFT_RING_OVERWRITE) {
		uint64_t oldest = r->oldest;

		while (pos + sub - oldest > ring)
			oldest += sub;
		__atomic_store_n(&r->oldest, oldest, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* oldest before the data that overwrites */
	} else if (pos + sub - __atomic_load_n(&r->read, __ATOMIC_ACQUIRE) > ring) {
		__atomic_store_n(&r->lost, r->lost + 1, __ATOMIC_RELAXED);
		st->pending++;
		r->lost_pending = 1;
		return 0;
	}
	if (commit < pos)
		synth_word(s, r, commit, 0);
	synth_word(s, r, pos, pos);
	synth_word(s, r, pos + 8, r->lost);
	synth_word(s, r, pos + 16, at.clock);
	synth_word(s, r, pos + 24, at.pid | (uint64_t)at.tid << 32);
	r->sub_end = pos + sub;
	*position = pos + sizeof(struct uft_sub_header);
	if (st->pending) {
		synth_word(s, r, *position, UFT_REC_WORD(UFT_REC_LOST, 0, at.clock));
		synth_word(s, r, *position + 8, st->pending);
		*position += 16;
		st->pending = 0;
		r->lost_pending = 0;
	}
	return 1;
}

int synth_put(struct synth *s, struct synth_at at, unsigned kind, uint32_t value, const uint64_t *extra, unsigned n)
{
	struct uft_ring *r = synth_ring(s, at.slice, at.ring);
	struct synth_ring_state *st = &s->state[at.slice * (s->arena->ncpus + s->arena->nexch) + at.ring];
	uint32_t hi = (uint32_t)(at.clock >> 32);
	int same = r->ctx_tid == at.tid && st->pid == at.pid && r->ctx_hi == hi && r->ctx_pos < r->commit;
	uint64_t position = r->commit, need = 8 + 8 * n + (same ? 0 : 24);

	if (position + need > r->sub_end) {
		if (!synth_sub(s, at, r, st, &position))
			return 0;
	} else if (!same) {
		synth_word(s, r, position, UFT_REC_WORD(UFT_REC_CONTEXT, 0, at.clock));
		synth_word(s, r, position + 8, at.clock);
		synth_word(s, r, position + 16, at.pid | (uint64_t)at.tid << 32);
		position += 24;
	}
	r->ctx_tid = at.tid;
	r->ctx_hi = hi;
	r->ctx_pos = r->commit;
	st->pid = at.pid;
	synth_word(s, r, position, UFT_REC_WORD(kind, value, at.clock));
	for (unsigned i = 0; i < n; i++)
		synth_word(s, r, position + 8 + 8 * i, extra[i]);
	__atomic_store_n(&r->commit, position + 8 + 8 * n, __ATOMIC_RELEASE);
	return 1;
}

int synth_func(struct synth *s, struct synth_at at, uint32_t text_id, uint64_t parent)
{
	return synth_put(s, at, UFT_REC_FUNC, text_id, &parent, 1);
}

int synth_entry(struct synth *s, struct synth_at at, uint32_t stub_id)
{
	return synth_put(s, at, UFT_REC_ENTRY, stub_id, NULL, 0);
}

int synth_exit(struct synth *s, struct synth_at at, uint32_t stub_id)
{
	return synth_put(s, at, UFT_REC_EXIT, stub_id, NULL, 0);
}

int synth_call(struct synth *s, struct synth_at at, uint32_t stub_id, uint64_t duration)
{
	return synth_put(s, at, UFT_REC_CALL, stub_id, &duration, 1);
}

int synth_unwind(struct synth *s, struct synth_at at, uint32_t n)
{
	return synth_put(s, at, UFT_REC_UNWIND, n, NULL, 0);
}

int synth_exit_left(struct synth *s, struct synth_at at, uint32_t stub_id, uint64_t entry_clock)
{
	return synth_put(s, at, UFT_REC_EXIT_LEFT, stub_id, &entry_clock, 1);
}

/* ---- The image ------------------------------------------------------------------------------ */

uint64_t synth_addr(const struct uft_image *img, uint32_t func)
{
	return img->obj[0].bias + SYNTH_TEXT + (uint64_t)func * SYNTH_STEP;
}

uint64_t synth_lib_addr(const struct uft_image *img, uint32_t func)
{
	return img->obj[1].bias + SYNTH_TEXT + func * SYNTH_STEP + 9;
}

uint32_t synth_text_id(const struct uft_image *img, uint32_t func)
{
	const struct uft_mapped *m = &img->obj[0];

	return m->first_text_id + (uint32_t)((synth_addr(img, func) + 5 - (m->text_start & ~3ull)) >> 2);
}

uint32_t synth_stub_id(const struct uft_image *img, uint32_t func)
{
	return img->obj[0].first_stub_id + func;
}

static struct uft_object *synth_object(const char *path, const char *prefix, uint32_t nfuncs, uint8_t id)
{
	uint8_t build_id[20];
	struct uft_object *obj;

	memset(build_id, id, sizeof(build_id));
	obj = synth_check(uft_object_make(path, build_id, sizeof(build_id)));
	for (uint32_t i = 0; i < nfuncs; i++) {
		char name[160];

		snprintf(name, sizeof(name), "%s_%u", prefix, i);
		if (uft_object_make_func(obj, SYNTH_TEXT + (uint64_t)i * SYNTH_STEP, SYNTH_STEP, name, 0))
			synth_check(NULL);
	}
	return obj;
}

struct uft_image *synth_image(uint32_t id, uint32_t nfuncs)
{
	return synth_image_named(id, nfuncs, "func");
}

struct uft_image *synth_image_named(uint32_t id, uint32_t nfuncs, const char *prefix)
{
	struct uft_image *img = synth_check(uft_image_alloc(id, "/synth/prog"));
	struct uft_object *prog = synth_object("/synth/prog", prefix, nfuncs, 0x11);
	struct uft_object *lib = synth_object("/synth/libsynth.so.1", "lib", 16, 0x22);
	struct uft_mapped *m = synth_check(uft_image_add(img, prog, SYNTH_BIAS));

	m->text_start = SYNTH_BIAS + SYNTH_TEXT;
	m->text_end = m->text_start + (uint64_t)nfuncs * SYNTH_STEP;
	m->first_text_id = SYNTH_TEXT_ID;
	m->ntext_ids = nfuncs * (SYNTH_STEP / 4);
	m->first_stub_id = SYNTH_TEXT_ID + m->ntext_ids;
	m->nstubs = nfuncs;
	m->stub_addr = synth_check(calloc(nfuncs, sizeof(*m->stub_addr)));
	m->site_addr = synth_check(calloc(nfuncs, sizeof(*m->site_addr)));
	for (uint32_t i = 0; i < nfuncs; i++) {
		m->stub_addr[i] = m->text_start + (uint64_t)i * SYNTH_STEP;
		m->site_addr[i] = m->stub_addr[i] + 5;
	}
	m = synth_check(uft_image_add(img, lib, SYNTH_LIB_BIAS));
	m->text_start = SYNTH_LIB_BIAS + SYNTH_TEXT;
	m->text_end = m->text_start + 16 * SYNTH_STEP;
	uft_object_put(prog);
	uft_object_put(lib);
	return img;
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void synth_clock(void *arg, uint64_t clock[2], uint64_t ns[2])
{
	uint64_t *at = arg;

	clock[0] = ns[0] = 1;
	clock[1] = ns[1] = *at;
	*at += 1000000000u;
}

struct uft_writer *synth_writer(struct synth *s, const char *path, uint32_t tracer, int compress)
{
	static uint64_t clock = 1;
	struct uft_writer_opts opts = {
		.tracer = tracer, .cmdline = "synth --load", .compress = compress,
		.clock = synth_clock, .clock_arg = &clock,
	};
	struct uft_writer *w;
	struct uft_error err;

	if (!uft_writer_create(path, s->arena, &opts, &w, &err))
		return w;
	fprintf(stderr, "synth: %s\n", err.text);
	return NULL;
}

struct synth_thread { uint32_t depth; uint32_t *stack; };

static uint64_t synth_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct synth_run {
	const struct synth_load *load;
	struct synth *s;
	struct uft_writer *w;
	struct uft_image *img;
	struct synth_thread *thread;
	struct synth_expect *expect;
	uint32_t nthreads, nfuncs, max_depth;
	uint64_t clock, random, unpolled;
};

/* One event of a thread; the clock moves on. 0 or the writer's error. */
static int synth_step(struct synth_run *x, uint32_t cpu, uint32_t tid, int close_only)
{
	struct synth_thread *t = &x->thread[tid];
	struct synth_at at = { 0, cpu, 1000, 1000 + tid, x->clock };
	uint64_t random = synth_random(&x->random);
	uint32_t func = (uint32_t)(random >> 8) % x->nfuncs;
	int64_t err = 0;

	if (x->load->tracer == UFT_TRACER_FUNCTION) {
		uint64_t parent = t->depth ? synth_addr(x->img, t->stack[0]) + 11 : synth_lib_addr(x->img, 3);

		synth_func(x->s, at, synth_text_id(x->img, func), parent);
		t->stack[0] = func;
		t->depth = 1;
		x->expect->calls++;
		x->expect->func_calls[func]++;
	} else if (t->depth && (close_only || t->depth == x->max_depth || random & 1)) {
		synth_exit(x->s, at, synth_stub_id(x->img, t->stack[--t->depth]));
	} else {
		t->stack[t->depth++] = func;
		synth_entry(x->s, at, synth_stub_id(x->img, func));
		x->expect->calls++;
		x->expect->func_calls[func]++;
	}
	if (!x->expect->events++)
		x->expect->first_ns = x->clock;
	x->expect->last_ns = x->clock;
	x->clock += 3 + (random >> 40 & 31);
	x->unpolled += 40;		/* an event and its context at most */
	if (x->unpolled > x->s->arena->ring_bytes / 4) {
		err = uft_writer_poll(x->w);
		x->unpolled = 0;
	}
	return err < 0 ? (int)err : 0;
}

static int synth_generate(struct synth_run *x)
{
	uint32_t run = x->load->run ? x->load->run : 200, tid = 0, ncpus = x->s->arena->ncpus;
	int err = 0;

	while (x->expect->calls < x->load->ncalls && !err) {
		/* as many threads run at once as there are CPUs, their events interleaved in time */
		for (uint32_t i = 0; i < run && x->expect->calls < x->load->ncalls && !err; i++)
			err = synth_step(x, i % ncpus, (tid + i % ncpus) % x->nthreads, 0);
		tid = (uint32_t)(synth_random(&x->random) % x->nthreads);
	}
	for (tid = 0; tid < x->nthreads; tid++)
		while (x->load->tracer == UFT_TRACER_GRAPH && x->thread[tid].depth && !err)
			err = synth_step(x, tid % ncpus, tid, 1);
	return err;
}

int synth_file(const char *path, const struct synth_load *load, struct synth_expect *expect)
{
	struct synth_run x = {
		.load = load, .expect = expect, .s = synth_new(&load->opts), .clock = 5000000000u,
		.random = load->seed * 2 + 0x1234567, .nthreads = load->nthreads ? load->nthreads : 4,
		.nfuncs = load->nfuncs ? load->nfuncs : 1000, .max_depth = load->max_depth ? load->max_depth : 24,
	};
	int err, last;

	memset(expect, 0, sizeof(*expect));
	x.w = synth_writer(x.s, path, load->tracer, load->compress);
	if (!x.w)
		return -1;
	x.img = synth_image_named(1, x.nfuncs, load->prefix ? load->prefix : "func");
	x.thread = synth_check(calloc(x.nthreads, sizeof(*x.thread)));
	expect->func_calls = synth_check(calloc(x.nfuncs, sizeof(uint64_t)));
	for (uint32_t i = 0; i < x.nthreads; i++)
		x.thread[i].stack = synth_check(calloc(x.max_depth, sizeof(uint32_t)));
	synth_begin(x.s, 0, 1000, 1);
	err = uft_writer_slice(x.w, 0, 1000, x.img);
	for (uint32_t i = 0; i < x.nthreads && !err; i++) {
		char name[32];

		snprintf(name, sizeof(name), load->prefix ? "<b>thread-%u" : "thread-%u", i);
		err = uft_writer_task(x.w, 1000, 1000 + i, 1, 1, name);
	}
	if (!err)
		err = synth_generate(&x);
	for (uint32_t i = 0; i < x.s->arena->ncpus; i++)
		expect->bytes += synth_ring(x.s, 0, i)->commit;
	if (!err)
		err = uft_writer_slice_end(x.w, 0);
	last = uft_writer_finish(x.w, NULL, NULL);
	for (uint32_t i = 0; i < x.nthreads; i++)
		free(x.thread[i].stack);
	free(x.thread);
	uft_image_free(x.img);
	synth_free(x.s);
	return err ? err : last;
}
