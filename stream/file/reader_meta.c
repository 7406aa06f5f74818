/* SPDX-License-Identifier: MIT */
/*
 * reader_meta.c - read the metadata of a .uft file: images, tasks, time and losses
 *
 * Collects payloads as they come. A later description of a thing replaces an earlier one, so images are built after the
 * last block. A payload that makes no sense counts as damage; what it added before its error stays. Allocations are
 * charged to the file's budget, so that a small file cannot ask for much memory: a payload beyond it counts as damage,
 * too. If the system refuses memory, the file is not to blame, and cannot be read (rd_no_memory()).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/file/reader.h"
#include "symbol/namefile.h"
#include "symbol/recorded.h"
#include "symbol/sorted.h"

struct rm_image { uint32_t id, order; char *exe; };

struct rm_object {			/* an ELF file */
	uint32_t number;
	uint64_t last_addr;
	uint32_t nfuncs;
	int is_traced;
	struct uft_object *obj;
};

struct rm_mapped { uint32_t image, index, order, object; struct uft_mapped m; };

struct rm_sites { uint32_t image, index, order, first, count; uint64_t *addr; /* stub, site, stub, ... */ };

#define RM_INDEX_ROOM		(2ull << 20)	/* of all images: uft_image_index() */
#define RM_SPAN_SLACK_NS	2000000000ull	/* behind the last clock pair: there is one each second */
#define RM_SPAN_MAX_NS		(1ull << 48)	/* three days; longer spans are not checked */

struct rm_counters { uint32_t slice, order; uint64_t counter[UFT_NCOUNTERS]; };

struct rd_meta {
	uint32_t order;
	struct rm_image *image; size_t nimage, cap_image;
	struct rm_object *object; size_t nobject, cap_object;
	struct rm_mapped *mapped; size_t nmapped, cap_mapped;
	struct rm_sites *sites; size_t nsites, cap_sites;
	struct rm_counters *counters; size_t ncounters, cap_counters;
};

#define RM_PUSH(f, name) ((__typeof__((f)->meta->name))rd_push((f), &(f)->meta->name, &(f)->meta->n##name, \
							       &(f)->meta->cap_##name, sizeof(*(f)->meta->name)))

static int rm_charge(struct rd_file *f, uint64_t n)
{
	if (f->budget < n)
		return -EDQUOT;
	f->budget -= n;
	return 0;
}

/* ---- One payload each: 0, or negative: it cannot be used ----------------------------------- */

static int rm_setup(struct rd_file *f, const uint8_t *p, size_t n)
{
	struct uft_file_header h;

	if (n < sizeof(h))
		return -EBADMSG;
	memcpy(&h, p, sizeof(h));
	if (h.magic != UFT_FILE_MAGIC || h.head_sum != wire_sum(&h, offsetof(struct uft_file_header, head_sum)))
		return -EBADMSG;
	if (!f->has_head)
		f->head = h;
	f->has_head = 1;
	return 0;
}

static int rm_info(struct rd_file *f, struct wire_in *in)
{
	char *text[3];

	for (int i = 0; i < 3; i++)
		text[i] = wire_get_str(in);
	if (in->bad || f->cmdline || !text[0] || !text[1] || !text[2]) {
		for (int i = 0; i < 3; i++)
			free(text[i]);
		return in->bad ? -EBADMSG : 0;
	}
	f->cmdline = text[0];
	f->hostname = text[1];
	f->uname = text[2];
	return 0;
}

static int rm_slice(struct rd_file *f, struct wire_in *in)
{
	struct rd_slice s = { .order = f->meta->order };

	s.number = wire_get_u32(in);
	s.pid = wire_get_u32(in);
	s.ppid = wire_get_u32(in);
	s.image_id = wire_get_u32(in);
	s.clock_start = wire_get_u(in);
	if (!in->bad && in->p != in->end)
		s.clock_end = wire_get_u(in);
	return in->bad || !RD_ADD(f, slice, s) ? -EBADMSG : 0;
}

static int rm_image(struct rd_file *f, struct wire_in *in)
{
	uint32_t id = wire_get_u32(in);
	char *exe = wire_get_str(in);
	struct rm_image *slot = NULL;

	if (!in->bad && exe && !rm_charge(f, strlen(exe) + 256))
		slot = RM_PUSH(f, image);
	if (!slot) {
		free(exe);
		return -EBADMSG;
	}
	*slot = (struct rm_image){ id, f->meta->order, exe };
	return 0;
}

/* Object numbers ascend in the order of first mention. */
static struct rm_object *rm_find_object(struct rd_file *f, uint32_t number)
{
	struct rm_object *o = f->meta->object;
	size_t lo = SORTED_FIRST(i, f->meta->nobject, o[i].number >= number);

	return lo < f->meta->nobject && o[lo].number == number ? &o[lo] : NULL;
}

/* Hostile numbers: ranges that run backwards or beyond the id space become empty. */
static void rm_sane(struct uft_mapped *m)
{
	if (m->text_end < m->text_start)
		m->text_end = m->text_start;
	if (m->first_text_id > UFT_REC_VALUE_MAX || m->ntext_ids > UFT_REC_VALUE_MAX - m->first_text_id)
		m->ntext_ids = 0;
	if (m->first_stub_id > UFT_REC_VALUE_MAX || m->nstubs > UFT_REC_VALUE_MAX - m->first_stub_id)
		m->nstubs = 0;
}

static struct rm_object *rm_new_object(struct rd_file *f, uint32_t number, const char *path, const uint8_t *build_id,
				       size_t nid)
{
	size_t n = f->meta->nobject;
	struct rm_object *o;

	if (n && f->meta->object[n - 1].number > number)
		return NULL;
	o = RM_PUSH(f, object);
	if (!o)
		return NULL;
	o->number = number;
	o->obj = uft_object_make(path, build_id, (uint32_t)nid);
	if (!o->obj) {
		f->meta->nobject--;
		rd_no_memory(f);
		return NULL;
	}
	return o;
}

static void rm_get_mapped(struct wire_in *in, struct uft_mapped *m)
{
	m->bias = (uint64_t)wire_get_s(in);
	m->text_start = wire_get_u(in);
	m->text_end = wire_get_u(in);
	m->first_text_id = wire_get_u32(in);
	m->ntext_ids = wire_get_u32(in);
	m->first_stub_id = wire_get_u32(in);
	m->nstubs = wire_get_u32(in);
	m->from_clock = wire_get_u(in);
	m->to_clock = wire_get_u(in);
	rm_sane(m);
}

static int rm_object(struct rd_file *f, struct wire_in *in)
{
	uint32_t image = wire_get_u32(in), index, number, machine, type;
	uint64_t file_size, mtime_ns;
	struct uft_mapped m = { 0 };
	struct rm_object *o = NULL;
	struct rm_mapped *slot = NULL;
	const uint8_t *build_id;
	char *path;
	size_t nid;

	index = wire_get_u32(in);
	number = wire_get_u32(in);
	path = wire_get_str(in);
	nid = wire_get_bytes(in, &build_id);
	machine = wire_get_u32(in);
	type = wire_get_u32(in);
	file_size = wire_get_u(in);
	mtime_ns = wire_get_u(in);
	rm_get_mapped(in, &m);
	if (!in->bad && path && nid <= sizeof(o->obj->build_id) &&
	    !rm_charge(f, sizeof(struct uft_object) + strlen(path)))
		o = rm_find_object(f, number);
	if (!o && !in->bad && path && nid <= sizeof(o->obj->build_id)) {
		o = rm_new_object(f, number, path, build_id, nid);
		if (o) {
			o->obj->machine = (uint16_t)machine;
			o->obj->type = (uint16_t)type;
			o->obj->file_bytes = file_size;
			o->obj->mtime_ns = mtime_ns;
		}
	}
	free(path);
	if (o)
		slot = RM_PUSH(f, mapped);
	if (!slot)
		return -EBADMSG;
	if (m.nstubs || m.ntext_ids)
		o->is_traced = 1;
	*slot = (struct rm_mapped){ image, index, f->meta->order, number, m };
	return 0;
}

static int rm_sites(struct rd_file *f, struct wire_in *in)
{
	struct rm_sites *slot, s = { .order = f->meta->order };
	uint64_t stub = 0;

	s.image = wire_get_u32(in);
	s.index = wire_get_u32(in);
	s.first = wire_get_u32(in);
	s.count = wire_get_u32(in);
	if (in->bad || s.count > (uint64_t)(in->end - in->p) / 2 || rm_charge(f, s.count * 32ull))
		return -EBADMSG;
	s.addr = calloc(s.count ? 2 * (size_t)s.count : 1, sizeof(*s.addr));
	if (!s.addr)
		return rd_no_memory(f);
	slot = RM_PUSH(f, sites);
	if (!slot) {
		free(s.addr);
		return -EBADMSG;
	}
	for (uint32_t i = 0; i < s.count; i++) {
		stub += (uint64_t)wire_get_s(in);
		s.addr[2 * i] = stub;
		s.addr[2 * i + 1] = stub + (uint64_t)wire_get_s(in);
	}
	*slot = s;
	return in->bad ? -EBADMSG : 0;
}

static int rm_funcs(struct rd_file *f, struct wire_in *in)
{
	struct rm_object *o = rm_find_object(f, wire_get_u32(in));
	uint64_t addr = 0;

	if (in->bad)
		return -EBADMSG;
	while (o && in->p < in->end) {
		uint64_t size;
		uint32_t flags;
		char *name;
		int err;

		addr += (uint64_t)wire_get_s(in);
		size = wire_get_u(in);
		flags = wire_get_u32(in);
		name = wire_get_str(in);
		if (in->bad || !name || addr < o->last_addr || rm_charge(f, strlen(name) + 64)) {
			free(name);
			return -EBADMSG;
		}
		if (size > UINT64_MAX - addr)
			size = 0;
		err = uft_object_make_func(o->obj, addr, size, name[0] ? name : NULL, flags);
		free(name);
		if (err)
			return err;
		o->last_addr = addr;
		o->nfuncs++;
	}
	return 0;
}

static int rm_tasks(struct rd_file *f, struct wire_in *in)
{
	while (in->p < in->end) {
		struct rd_task t = { .order = (uint32_t)f->ntask };

		t.pid = wire_get_u32(in);
		t.tid = wire_get_u32(in);
		t.ppid = wire_get_u32(in);
		t.image = wire_get_u32(in);
		t.comm = wire_get_str(in);
		if (in->bad || !t.comm || rm_charge(f, strlen(t.comm) + 32) || !RD_ADD(f, task, t)) {
			free(t.comm);
			return -EBADMSG;
		}
	}
	return 0;
}

static int rm_outer(struct rd_file *f, struct wire_in *in)
{
	while (in->p < in->end) {
		struct rd_outer o = { .order = (uint32_t)f->nouter };

		o.slice = wire_get_u32(in);
		o.tid = wire_get_u32(in);
		o.outer = wire_get_u32(in);
		if (in->bad || rm_charge(f, sizeof(o)) || !RD_ADD(f, outer, o))
			return -EBADMSG;
	}
	return 0;
}

static int rm_clock(struct rd_file *f, struct wire_in *in)
{
	while (in->p < in->end) {
		struct uft_clock_pair pair;

		pair.clock = wire_get_u(in);
		pair.ns = wire_get_u(in);
		if (in->bad || !RD_ADD(f, pair, pair))
			return -EBADMSG;
	}
	return 0;
}

static int rm_counters(struct rd_file *f, struct wire_in *in)
{
	uint32_t slice = wire_get_u32(in), n;
	struct rm_counters *slot;

	wire_get_u(in);
	n = wire_get_u32(in);
	slot = in->bad || n > 4096 ? NULL : RM_PUSH(f, counters);
	if (!slot)
		return -EBADMSG;
	slot->slice = slice;
	slot->order = f->meta->order;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t v = wire_get_u(in);

		if (i < UFT_NCOUNTERS)
			slot->counter[i] = v;
	}
	while (in->p < in->end) {
		struct rd_lost lost = { .slice = slice, .order = f->meta->order };

		lost.ring = wire_get_u32(in);
		lost.lost = wire_get_u(in);
		if (in->bad || !RD_ADD(f, lost, lost))
			return -EBADMSG;
	}
	return in->bad ? -EBADMSG : 0;
}

static int rm_profile(struct rd_file *f, struct wire_in *in)
{
	uint32_t slice = wire_get_u32(in);

	while (in->p < in->end) {
		struct rd_profile row = { .slice = slice };

		row.id = wire_get_u32(in);
		row.hits = wire_get_u(in);
		row.total = wire_get_u(in);
		row.self = wire_get_u(in);
		row.squares = wire_get_u(in);
		row.min = wire_get_u(in);
		row.max = wire_get_u(in);
		if (in->bad || !RD_ADD(f, profile, row))
			return -EBADMSG;
	}
	return 0;
}

static int rm_drops(struct rd_file *f, struct wire_in *in)
{
	while (in->p < in->end) {
		struct rd_drop row;

		row.image = wire_get_u32(in);
		row.id = wire_get_u32(in);
		row.clock = wire_get_u(in);
		row.calls_per_s = wire_get_u(in);
		row.cost_ppm = wire_get_u32(in);
		row.pid = wire_get_u32(in);
		row.why = wire_get_u32(in);
		if (in->bad || !RD_ADD(f, drop, row))
			return -EBADMSG;
	}
	return 0;
}

/* Refuses a text that is no event format: events of that type are left out. */
static int rm_format(struct rd_file *f, struct wire_in *in)
{
	uint32_t id = wire_get_u32(in);
	char *system = wire_get_str(in), *text = wire_get_text(in);
	int ret = in->bad || !system || !text ? -EBADMSG : uft_event_table_set(f->events, id, system, text, NULL);

	free(system);
	free(text);
	return ret;
}

static int rm_rescued(struct rd_file *f, struct wire_in *in)
{
	f->rescue = (struct rd_rescue){ 0 };
	f->rescue.clock = wire_get_u(in);
	f->rescue.slices = wire_get_u(in);
	f->rescue.unknown = wire_get_u(in);
	f->rescue.bytes = wire_get_u(in);
	f->is_rescued = !in->bad;
	return in->bad ? -EBADMSG : 0;
}

static int rm_end(struct rd_file *f, struct wire_in *in)
{
	uint64_t why, bytes;

	if (in->p == in->end)
		return 0;
	why = wire_get_u(in);
	bytes = wire_get_u(in);
	if (in->bad || why >= UFT_NSTOPS)
		return -EBADMSG;
	f->stop = (uint32_t)why;
	f->stop_bytes = bytes;
	return 0;
}

int rd_meta_block(struct rd_file *f, unsigned type, const uint8_t *p, size_t n)
{
	struct wire_in in = { .p = p, .end = p + n };
	int ret = 0;

	if (!f->meta)
		f->meta = calloc(1, sizeof(*f->meta));
	if (!f->meta)
		return -ENOMEM;
	f->meta->order++;
	switch (type) {
	case UFT_BLOCK_SETUP: ret = rm_setup(f, p, n); break;
	case UFT_BLOCK_INFO: ret = rm_info(f, &in); break;
	case UFT_BLOCK_SLICE: ret = rm_slice(f, &in); break;
	case UFT_BLOCK_IMAGE: ret = rm_image(f, &in); break;
	case UFT_BLOCK_OBJECT: ret = rm_object(f, &in); break;
	case UFT_BLOCK_SITES: ret = rm_sites(f, &in); break;
	case UFT_BLOCK_FUNCS: ret = rm_funcs(f, &in); break;
	case UFT_BLOCK_TASKS: ret = rm_tasks(f, &in); break;
	case UFT_BLOCK_OUTER: ret = rm_outer(f, &in); break;
	case UFT_BLOCK_CLOCK: ret = rm_clock(f, &in); break;
	case UFT_BLOCK_COUNTERS: ret = rm_counters(f, &in); break;
	case UFT_BLOCK_PROFILE: ret = rm_profile(f, &in); break;
	case UFT_BLOCK_DROPS: ret = rm_drops(f, &in); break;
	case UFT_BLOCK_FORMAT: ret = rm_format(f, &in); break;
	case UFT_BLOCK_RESCUED: ret = rm_rescued(f, &in); break;
	case UFT_BLOCK_END: ret = rm_end(f, &in); break;
	}
	if (ret == -ENOMEM || in.no_memory)
		return rd_no_memory(f);
	if (ret)		/* hostile, or beyond the file's budget: counts as damage */
		f->damaged += n;
	return 0;
}

/* ---- Building ----------------------------------------------------------------------------- */

#define RM_COMPARE(name, type, a, b)							\
static int name(const void *p, const void *q)						\
{											\
	const type *x = p, *y = q;							\
											\
	if (x->a != y->a)								\
		return x->a < y->a ? -1 : 1;						\
	if (x->b != y->b)								\
		return x->b < y->b ? -1 : 1;						\
	return x->order < y->order ? -1 : x->order > y->order;				\
}
RM_COMPARE(rm_compare_mapped, struct rm_mapped, image, index)
RM_COMPARE(rm_compare_sites, struct rm_sites, image, index)
RM_COMPARE(rm_compare_image, struct rm_image, id, order)
RM_COMPARE(rm_compare_slice, struct rd_slice, number, order)
RM_COMPARE(rm_compare_lost, struct rd_lost, slice, ring)
RM_COMPARE(rm_compare_counters, struct rm_counters, slice, order)
RM_COMPARE(rm_compare_task, struct rd_task, pid, tid)
RM_COMPARE(rm_compare_outer, struct rd_outer, slice, tid)

static void rm_sort(void *p, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n)
		qsort(p, n, size, compare);
}

/*
 * Takes names from the object's file if it is unchanged, because the recording ended before they were written. 0 or
 * -ENOMEM.
 */
static int rm_names_from_file(struct rd_file *f, struct rm_object *o, struct recorded_files *files)
{
	struct uft_object *real;
	int ret;

	if (o->nfuncs || !(o->is_traced || f->head.tracer == UFT_TRACER_FUNCTION))
		return 0;
	ret = recorded_open(files, o->obj, &real);
	if (ret)
		return ret == -ENOMEM ? ret : 0;
	ret = uft_object_names(real, NULL);
	if (ret) {
		uft_object_put(real);
		return ret == -ENOMEM ? ret : 0;
	}
	recorded_keep(files, real);
	uft_object_put(o->obj);
	o->obj = real;
	return 0;
}

/* Joins the SITES of [from, to). Missing blocks leave zeroes, up to a bound. */
static int rm_build_sites(struct rd_file *f, const struct rm_sites *from, const struct rm_sites *to,
			  struct uft_mapped *m)
{
	uint64_t n = 0, have = 0;

	for (const struct rm_sites *s = from; s < to; s++) {
		have += s->count;
		if ((uint64_t)s->first + s->count > n)
			n = (uint64_t)s->first + s->count;
	}
	if (n > m->nstubs)
		n = m->nstubs;
	m->nstubs = 0;
	if (!n || rm_charge(f, n > have ? (n - have) * 16 : 0))
		return 0;
	m->stub_addr = calloc(n, sizeof(*m->stub_addr));
	m->site_addr = calloc(n, sizeof(*m->site_addr));
	if (!m->stub_addr || !m->site_addr)
		return -ENOMEM;
	m->nstubs = (uint32_t)n;
	for (const struct rm_sites *s = from; s < to; s++)
		for (uint32_t i = 0; i < s->count && (uint64_t)s->first + i < n; i++) {
			m->stub_addr[s->first + i] = s->addr[2 * i];
			m->site_addr[s->first + i] = s->addr[2 * i + 1];
		}
	return 0;
}

static int rm_build_object(struct rd_file *f, struct uft_image *img, const struct rm_mapped *from,
			   struct rm_sites **site)
{
	struct rm_sites *end = f->meta->nsites ? f->meta->sites + f->meta->nsites : NULL, *first;
	struct rm_object *o = rm_find_object(f, from->object);
	struct uft_mapped *m = uft_image_add(img, o->obj, from->m.bias);
	struct uft_object *obj;
	uint64_t bias;

	if (!m)
		return -ENOMEM;
	while (*site < end && ((*site)->image < from->image ||
			       ((*site)->image == from->image && (*site)->index < from->index)))
		(*site)++;
	first = *site;
	while (*site < end && (*site)->image == from->image && (*site)->index == from->index)
		(*site)++;
	obj = m->obj;
	bias = m->bias;
	*m = from->m;
	m->obj = obj;
	m->bias = bias;
	return rm_build_sites(f, first, *site, m);
}

/* Names that the user gave for objects of the recording. */
static int rm_extend_names(struct rd_file *f)
{
	for (size_t i = 0; i < f->nimage; i++)
		for (uint32_t o = 0; o < f->image[i]->nobj; o++) {
			const struct uft_mapped *m = &f->image[i]->obj[o];
			int err = uft_symbols_extend(m->obj, i == 0 && o == 0, m->text_start - m->bias,
						     m->text_end - m->bias);

			if (err)
				return err;
		}
	return 0;
}

static int rm_build_images(struct rd_file *f)
{
	struct rd_meta *meta = f->meta;
	struct rm_sites *site = meta->sites;
	struct rm_mapped *m = meta->mapped, *end = meta->nmapped ? m + meta->nmapped : NULL;
	uint64_t room = RM_INDEX_ROOM;

	f->image = calloc(meta->nimage + 1, sizeof(*f->image));
	if (!f->image)
		return -ENOMEM;
	for (size_t i = 0; i < meta->nimage; i++) {
		uint32_t id = meta->image[i].id;
		struct uft_image *img;

		if (i + 1 < meta->nimage && meta->image[i + 1].id == id)
			continue;
		img = uft_image_alloc(id, meta->image[i].exe);
		if (!img)
			return -ENOMEM;
		f->image[f->nimage++] = img;
		while (m < end && m->image < id)
			m++;
		for (; m < end && m->image == id; m++) {
			int err;

			if (m + 1 < end && m[1].image == id && m[1].index == m->index)
				continue;
			err = rm_build_object(f, img, m, &site);
			if (err)
				return err;
		}
		if (uft_image_index(img, &room))
			return -ENOMEM;
	}
	f->image[f->nimage] = uft_image_alloc(UINT32_MAX, "");
	if (!f->image[f->nimage])
		return -ENOMEM;
	f->nimage++;
	return 0;
}

const struct uft_image *rd_find_image(const struct rd_file *f, uint32_t id)
{
	size_t lo = SORTED_FIRST(i, f->nimage - 1, f->image[i]->id >= id);

	return f->image[lo]->id == id ? f->image[lo] : f->image[f->nimage - 1];
}

#define RM_TASK_MAX	256u	/* descriptions kept per thread, the latest: rd_find_task() reads each */

/*
 * Adds @t to the @to kept descriptions, of which the last @run are of its thread, and drops one that no task gets.
 * Returns how many are kept then.
 */
static size_t rm_keep_task(struct rd_task *task, size_t to, size_t run, struct rd_task t)
{
	struct rd_task *last = run ? &task[to - 1] : NULL;

	if (last && last->image == t.image && (t.comm[0] || !last->comm[0])) {
		free(last->comm);
		*last = t;
		return to;
	}
	if (run == RM_TASK_MAX) {
		free(task[to - run].comm);
		memmove(&task[to - run], &task[to - run + 1], (run - 1) * sizeof(*task));
		to--;
	}
	task[to] = t;
	return to + 1;
}

static void rm_build_tasks(struct rd_file *f)
{
	size_t n = 0, first = 0;

	rm_sort(f->outer, f->nouter, sizeof(*f->outer), rm_compare_outer);
	rm_sort(f->task, f->ntask, sizeof(*f->task), rm_compare_task);
	for (size_t i = 0; i < f->ntask; i++) {
		if (n && (f->task[first].pid != f->task[i].pid || f->task[first].tid != f->task[i].tid))
			first = n;
		n = rm_keep_task(f->task, n, n - first, f->task[i]);
	}
	f->ntask = n;
}

/* Returns the most records that a ring can lose: one per nanosecond of the recording, by the recorder's clock. */
static uint64_t rm_lost_max(const struct rd_file *f)
{
	uint64_t span = f->npair ? f->pair[f->npair - 1].ns - f->pair[0].ns : 0;

	return f->npair && span < RM_SPAN_MAX_NS ? span + RM_SPAN_SLACK_NS : 0;
}

/* Returns @told, or 1 if it exceeds @max, as for a ring (decode.h). @max is for all threads of a process. */
static uint64_t rm_believed(struct rd_file *f, uint64_t told, uint64_t max)
{
	if (!max || told <= max)
		return told;
	f->nfalse++;
	return 1;
}

/* Keeps the last losses of each ring, and sums the last counters of the slices. */
static void rm_build_losses(struct rd_file *f)
{
	struct rd_meta *meta = f->meta;
	size_t n = 0;

	f->lost_max = rm_lost_max(f);
	rm_sort(f->lost, f->nlost, sizeof(*f->lost), rm_compare_lost);
	for (size_t i = 0; i < f->nlost; i++) {
		if (n && f->lost[n - 1].slice == f->lost[i].slice && f->lost[n - 1].ring == f->lost[i].ring)
			n--;
		f->lost[n++] = f->lost[i];
	}
	f->nlost = n;
	rm_sort(meta->counters, meta->ncounters, sizeof(*meta->counters), rm_compare_counters);
	for (size_t i = 0; i < meta->ncounters; i++)
		for (int c = 0; c < UFT_NCOUNTERS; c++)
			if (i + 1 == meta->ncounters || meta->counters[i + 1].slice != meta->counters[i].slice)
				f->counters[c] +=
					rm_believed(f, meta->counters[i].counter[c], f->lost_max * f->head.ncpus);
}

int rd_meta_build(struct rd_file *f)
{
	struct recorded_files files = { 0 };
	struct rd_meta *meta;
	size_t n = 0;
	int err;

	if (!f->meta)
		f->meta = calloc(1, sizeof(*f->meta));
	meta = f->meta;
	if (!meta)
		return -ENOMEM;
	for (size_t i = 0; i < meta->nobject; i++)
		if (rm_names_from_file(f, &meta->object[i], &files))
			return -ENOMEM;
	f->nobjects = (uint32_t)meta->nobject;
	for (size_t i = 0; i < meta->nobject; i++)
		f->nfuncs += (uint32_t)meta->object[i].obj->nfunc;
	rm_sort(meta->image, meta->nimage, sizeof(*meta->image), rm_compare_image);
	rm_sort(meta->mapped, meta->nmapped, sizeof(*meta->mapped), rm_compare_mapped);
	rm_sort(meta->sites, meta->nsites, sizeof(*meta->sites), rm_compare_sites);
	err = rm_build_images(f);
	if (!err)
		err = rm_extend_names(f);
	if (err)
		return err;
	rm_sort(f->slice, f->nslice, sizeof(*f->slice), rm_compare_slice);
	for (size_t i = 0; i < f->nslice; i++) {
		f->slice[i].image = rd_find_image(f, f->slice[i].image_id);
		if (n && f->slice[n - 1].number == f->slice[i].number)
			n--;
		f->slice[n++] = f->slice[i];
	}
	f->nslice = n;
	rm_build_tasks(f);
	rm_build_losses(f);
	return 0;
}

int rd_meta_unnamed(const struct rd_file *f, int (*fn)(void *arg, uint32_t object, const struct uft_object *obj),
		    void *arg)
{
	int ret = 0;

	for (size_t i = 0; i < f->meta->nobject && !ret; i++)
		if (!f->meta->object[i].nfuncs && f->meta->object[i].obj->nfunc)
			ret = fn(arg, f->meta->object[i].number, f->meta->object[i].obj);
	return ret;
}

void rd_meta_free(struct rd_file *f)
{
	struct rd_meta *meta = f->meta;

	for (size_t i = 0; i < f->nimage; i++)
		uft_image_free(f->image[i]);
	for (size_t i = 0; i < f->ntask; i++)
		free(f->task[i].comm);
	free(f->image);
	free(f->task);
	free(f->outer);
	free(f->slice);
	free(f->lost);
	free(f->pair);
	free(f->profile);
	free(f->drop);
	free(f->cmdline);
	free(f->hostname);
	free(f->uname);
	if (!meta)
		return;
	for (size_t i = 0; i < meta->nimage; i++)
		free(meta->image[i].exe);
	for (size_t i = 0; i < meta->nobject; i++)
		uft_object_put(meta->object[i].obj);
	for (size_t i = 0; i < meta->nsites; i++)
		free(meta->sites[i].addr);
	free(meta->image);
	free(meta->object);
	free(meta->mapped);
	free(meta->sites);
	free(meta->counters);
	free(meta);
}

/* ---- Questions ---------------------------------------------------------------------------- */

const struct rd_slice *rd_find_slice(const struct rd_file *f, uint32_t number)
{
	size_t lo = SORTED_FIRST(i, f->nslice, f->slice[i].number >= number);

	return lo < f->nslice && f->slice[lo].number == number ? &f->slice[lo] : NULL;
}

uint64_t rd_find_lost(const struct rd_file *f, uint32_t slice, uint32_t ring)
{
	size_t lo = SORTED_FIRST(i, f->nlost,
				 f->lost[i].slice > slice || (f->lost[i].slice == slice && f->lost[i].ring >= ring));

	return lo < f->nlost && f->lost[lo].slice == slice && f->lost[lo].ring == ring ? f->lost[lo].lost : 0;
}

static int rm_task_rank(const struct rd_task *t, uint32_t image)
{
	return 2 * (t->comm[0] != 0) + (t->image == image);
}

const struct rd_task *rd_find_task(const struct rd_file *f, uint32_t pid, uint32_t tid, uint32_t image)
{
	const struct rd_task *best = NULL;
	size_t lo = SORTED_FIRST(i, f->ntask, f->task[i].pid > pid || (f->task[i].pid == pid && f->task[i].tid >= tid));

	for (; lo < f->ntask && f->task[lo].pid == pid && f->task[lo].tid == tid; lo++) {
		const struct rd_task *t = &f->task[lo];

		/* a name is better than none, the right image better than another, later better than sooner */
		if (!best || (rm_task_rank(t, image) >= rm_task_rank(best, image)))
			best = t;
	}
	return best;
}

/* The latest of several. */
uint32_t rd_find_outer(const struct rd_file *f, uint32_t number, uint32_t tid)
{
	size_t behind = SORTED_FIRST(i, f->nouter, f->outer[i].slice > number ||
				     (f->outer[i].slice == number && f->outer[i].tid > tid));
	const struct rd_outer *o = behind ? &f->outer[behind - 1] : NULL;

	return o && o->slice == number && o->tid == tid ? o->outer : tid;
}
