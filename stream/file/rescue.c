/* SPDX-License-Identifier: MIT */
/*
 * rescue.c - append the rings of a killed recorder to its file
 *
 * The recorder's memory is gone; its file and the arena remain, and they are enough. The file says which slices it
 * knows (by process and the clock at which they began, since other processes may have had an arena slice before), up to
 * which position it has each ring, and how many records were lost. So a block that was written but whose room was not
 * freed is not written twice, and a partial block is cut off and written again. The writer does the rest: rings,
 * counters, profile, and the names that can still be read. No END follows, because the recorder did not finish: names
 * that it alone knew are missing (of code that was made at run time, of threads that it had not seen yet).
 *
 * Fork children that the recorder had not met yet get their parent's image. If that image is unknown, too, the
 * recording shows addresses instead of names, and RESCUED counts such processes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stream/file/reader.h"
#include "stream/file/rescue.h"
#include "stream/file/writer_internal.h"

struct rescue {
	struct uft_writer *w;
	struct rd_file *f;
	struct rd_rescue sum;
};

static const struct rd_slice *slice_of(const struct rd_file *f, uint32_t pid, uint64_t clock_start)
{
	for (size_t i = f->nslice; i-- > 0;)
		if (f->slice[i].pid == pid && f->slice[i].clock_start == clock_start)
			return &f->slice[i];
	return NULL;
}

/* Returns the image that the file last names for the process; UINT32_MAX: none. */
static uint32_t image_of(const struct rd_file *f, uint32_t pid)
{
	for (size_t i = f->nslice; i-- > 0;)
		if (f->slice[i].pid == pid)
			return f->slice[i].image_id;
	return UINT32_MAX;
}

/* One beyond the last stub id of the image, for the profile. */
static uint64_t stubs_of(const struct rd_file *f, uint32_t image)
{
	const struct uft_image *img = rd_find_image(f, image);
	uint64_t max = 0;

	for (uint32_t i = 0; i < img->nobj; i++)
		if ((uint64_t)img->obj[i].first_stub_id + img->obj[i].nstubs > max)
			max = (uint64_t)img->obj[i].first_stub_id + img->obj[i].nstubs;
	return max;
}

/* Sets where each ring goes on, and how many losses were counted that the ring itself does not know of. */
static void resume_rings(const struct rescue *r, struct wr_slice *s, uint32_t index, int is_known)
{
	const struct rd_file *f = r->f;

	for (uint32_t i = 0; i < r->w->nrings; i++) {
		const struct uft_ring uft_shared *ring = wr_arena_ring(r->w, index, i);
		uint64_t lost = is_known ? rd_find_lost(f, s->number, i) : 0;
		uint64_t in_ring = SHARED_LOAD(&ring->lost);

		s->ring[i] = (struct wr_ring){ .read = SHARED_LOAD(&ring->read) & ~7ull,
					       .unsaved = lost > in_ring ? lost - in_ring : 0 };
	}
	for (size_t i = 0; is_known && i < f->nblock; i++)
		if (f->block[i].slice == s->number && f->block[i].ring < r->w->nrings)
			/* GUARD(rescue_read_position) */
			s->ring[f->block[i].ring].read = f->block[i].position + f->block[i].raw;
}

/* Saves a slice as uft_writer_slice_end() does. */
static int save_slice(struct rescue *r, uint32_t index, struct wr_slice *s, int is_known)
{
	struct wr_image image = { .id = s->image_id, .max_stub = stubs_of(r->f, s->image_id) };
	uint64_t before;
	int err = is_known ? 0 : wr_meta_slice(r->w, s, index, 0), meta;

	s->image = &image;
	before = r->w->end;
	if (!err)
		err = wr_drain(r->w, s, index, 0, 1);
	if (err)
		wr_abandon(r->w, s, index);
	if (r->w->end > before) {
		r->sum.slices++;
		r->sum.bytes += r->w->end - before;
		r->sum.unknown += s->image_id == UINT32_MAX;
	}
	meta = wr_meta_counters(r->w, s, index, 1);
	if (!meta && r->w->opts.tracer == UFT_TRACER_PROFILE)
		meta = wr_meta_profile(r->w, s, index);
	return err ? err : meta;
}

static int save_slices(struct rescue *r)
{
	uint32_t number = r->f->nslice ? r->f->slice[r->f->nslice - 1].number + 1 : 0;
	struct wr_slice s = { .ring = calloc(r->w->nrings, sizeof(*s.ring)) };
	int ret = s.ring ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->w->nslices && s.ring; i++) {
		const struct uft_slice uft_shared *as = wr_arena_slice(r->w, i);
		uint32_t state = SHARED_LOAD_ACQUIRE(&as->state), pid = SHARED_LOAD(&as->pid);
		uint64_t clock_start = SHARED_LOAD(&as->clock_start);
		const struct rd_slice *known;
		int err;

		/* A slice that is claimed but not used yet has no clock. */
		if (state == UFT_SLICE_FREE || !pid || !clock_start)
			continue;
		known = slice_of(r->f, pid, clock_start);
		s.number = known ? known->number : number++;
		s.pid = known ? known->pid : pid;
		s.image_id = known ? known->image_id :
			image_of(r->f, SHARED_LOAD(&as->ppid)) /* GUARD(rescue_image, UINT32_MAX) */;
		resume_rings(r, &s, i, known != NULL);
		err = save_slice(r, i, &s, known != NULL);
		ret = ret ? ret : err;
	}
	free(s.ring);
	return ret;
}

static int save_names(void *arg, uint32_t object, const struct uft_object *obj)
{
	return wr_meta_funcs(arg, object, obj);
}

/*
 * Returns this moment by the clock of the recording. An emulated program has a clock of its own: if this machine's
 * clock is far off the line so far, the result lies on the line.
 */
static struct uft_clock_pair clock_now(const struct rd_file *f)
{
	struct uft_clock_pair now, first, last;
	uint64_t clock;

	uft_clock_sample(&now);
	if (f->npair < 2)
		return now;
	first = f->pair[0];
	last = f->pair[f->npair - 1];
	if (last.clock <= first.clock || last.ns <= first.ns || now.ns <= last.ns)
		return now;
	clock = first.clock +
		(uint64_t)((unsigned __int128)(now.ns - first.ns) * (last.clock - first.clock) / (last.ns - first.ns));
	if ((now.clock > clock ? now.clock - clock : clock - now.clock) > clock - first.clock)
		now.clock = clock;
	return now;
}

static int save_facts(struct rescue *r)
{
	struct uft_clock_pair now = clock_now(r->f);
	struct wire p = { 0 };
	int err;

	wire_put_u(&p, now.clock);
	wire_put_u(&p, now.ns);
	err = wr_meta_put(r->w, UFT_BLOCK_CLOCK, &p);
	wire_put_u(&p, now.clock);
	wire_put_u(&p, r->sum.slices);
	wire_put_u(&p, r->sum.unknown);
	wire_put_u(&p, r->sum.bytes);
	if (!err)
		err = wr_meta_put(r->w, UFT_BLOCK_RESCUED, &p);
	wire_free(&p);
	if (!err)
		err = rd_meta_unnamed(r->f, save_names, r->w);
	return err;
}

static int rescue(struct rescue *r)
{
	struct uft_writer *w = r->w;
	int ret, facts;

	if (r->f->is_complete || r->f->is_rescued)
		return 0;
	if (r->f->head.ncpus + r->f->head.nexch != w->nrings || r->f->head.ring_bytes != w->head.ring_bytes ||
	    r->f->head.sub_bytes != w->head.sub_bytes)
		return -EINVAL;		/* of another arena */
	w->end = w->allocated = (r->f->end + 7) & ~7ull;
	if (ftruncate(w->fd, (off_t)w->end))
		return -errno;
	w->opts.tracer = r->f->head.tracer;
	ret = save_slices(r);
	facts = save_facts(r);
	if (ftruncate(w->fd, (off_t)w->end))
		return -errno;
	return ret ? ret : facts;
}

int uft_rescue(const struct uft_arena *head, void *arena, int fd)
{
	struct uft_writer_opts opts = { 0 };
	struct rescue r = { 0 };
	char path[32];
	int ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = wr_alloc(head, &opts, &r.w);
	if (ret) {
		close(fd);
		return ret;
	}
	r.w->fd = fd;
	r.w->arena = (uint8_t uft_shared *)arena;
	ret = rd_open(path, NULL, &r.f, NULL);
	if (!ret) {
		ret = rescue(&r);
		rd_close(r.f);
	}
	wr_free(r.w);
	return ret;
}
