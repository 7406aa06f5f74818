// SPDX-License-Identifier: MIT
/* harness.c - see harness.h. The decoder is this small on purpose: it shares nothing with stream/. */
#include "tests/func/session/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct count *counter(struct run *r, const char *name)
{
	for (int i = 0; i < r->ncount; i++)
		if (!strcmp(r->count[i].name, name))
			return &r->count[i];
	if (r->ncount == MAX_COUNTS)
		return &r->count[MAX_COUNTS - 1];
	snprintf(r->count[r->ncount].name, sizeof(r->count[0].name), "%s", name);
	return &r->count[r->ncount++];
}

const struct count *count_of(const struct run *r, const char *name)
{
	static const struct count none;

	for (int i = 0; i < r->ncount; i++)
		if (!strcmp(r->count[i].name, name))
			return &r->count[i];
	return &none;
}

/* The function of a record's id: stub ids by index, text ids by the address after the site's instruction. */
static const char *name_of(const struct uft_image *img, uint32_t id)
{
	for (uint32_t o = 0; o < img->nobj; o++) {
		const struct uft_mapped *m = &img->obj[o];
		uint64_t addr = 0;

		if (id - m->first_stub_id < m->nstubs) {
			addr = m->stub_addr[id - m->first_stub_id];
		} else if (id - m->first_text_id < m->ntext_ids) {
			for (uint32_t i = 0; i < m->nstubs; i++)
				if (m->first_text_id + ((m->site_addr[i] - (m->text_start & ~3ull)) >> 2) == id)
					addr = m->stub_addr[i];
		}
		if (addr) {
			const struct uft_func *f;

			uft_object_names(m->obj, NULL);
			f = uft_object_func(m->obj, addr - m->bias);
			return f && f->name ? f->name : NULL;
		}
	}
	return NULL;
}

static const unsigned record_words[16] = { [UFT_REC_CONTEXT] = 3, [UFT_REC_FUNC] = 2, [UFT_REC_ENTRY] = 1,
	[UFT_REC_EXIT] = 1, [UFT_REC_CALL] = 2, [UFT_REC_UNWIND] = 1, [UFT_REC_EXIT_LEFT] = 2, [UFT_REC_LOST] = 2 };

static void decode(struct run *r, uint32_t slice, const uint8_t *ring, const struct uft_image *img, uint32_t pid)
{
	const struct uft_arena *a = uft_session_arena(r->session);
	const struct uft_ring *ctl = (const void *)ring;
	const uint8_t *data = ring + UFT_PAGE;
	static struct { uint32_t id; uint32_t slice; struct count *c; } last;

	last.c = NULL;
	for (uint64_t sub = 0; sub < ctl->commit; sub += a->sub_bytes) {
		uint64_t end = sub + a->sub_bytes < ctl->commit ? sub + a->sub_bytes : ctl->commit;
		struct uft_sub_header h;

		memcpy(&h, data + sub, sizeof(h));
		if (h.position != sub || (h.pid != pid && !r->has_vforks))
			r->bad_context++;
		for (uint64_t at = sub + sizeof(h); at < end;) {
			uint64_t w, w2;
			unsigned kind;

			memcpy(&w, data + at, 8);
			kind = UFT_REC_KIND(w);
			if (!w)
				break;
			if (!record_words[kind]) {
				r->undecoded++;
				break;
			}
			if (kind == UFT_REC_CONTEXT) {
				memcpy(&w2, data + at + 16, 8);
				if ((uint32_t)w2 != pid && !r->has_vforks)
					r->bad_context++;
			} else if (kind == UFT_REC_UNWIND) {
				r->unwound++;
			} else if (kind == UFT_REC_FUNC || kind == UFT_REC_ENTRY || kind == UFT_REC_EXIT) {
				uint32_t id = UFT_REC_VALUE(w);

				if (!last.c || last.id != id) {
					const char *name = name_of(img, id);

					last.c = counter(r, name ? name : "?");
					last.id = id;
				}
				*(kind == UFT_REC_FUNC ? &last.c->func : kind == UFT_REC_ENTRY ? &last.c->entry :
				  &last.c->exit) += 1;
			}
			at += record_words[kind] * 8;
		}
	}
	(void)slice;
}

static void on_begin(void *arg, uint32_t slice, pid_t pid, pid_t ppid, const struct uft_image *img)
{
	struct run *r = arg;

	(void)pid;
	(void)ppid;
	r->slices_begun++;
	r->unpaired += slice < MAX_SLICES && r->slice_image[slice];
	if (slice < MAX_SLICES)
		r->slice_image[slice] = img;
}

static void on_end(void *arg, uint32_t slice, pid_t pid)
{
	struct run *r = arg;
	const struct uft_arena *a = uft_session_arena(r->session);
	uint8_t *at = (uint8_t *)(uintptr_t)a + a->slice_offset + a->slice_bytes * slice;
	struct uft_slice *sl = (struct uft_slice *)at;

	r->slices_ended++;
	if (slice >= MAX_SLICES || !r->slice_image[slice]) {
		r->unpaired++;
		return;
	}
	for (uint32_t i = 0; i < a->ncpus + a->nexch; i++) {
		const uint8_t *ring = at + a->ring_offset + a->ring_stride * i;

		decode(r, slice, ring, r->slice_image[slice], (uint32_t)pid);
		if (i >= a->ncpus)
			r->exchange_bytes += ((const struct uft_ring *)ring)->commit;
	}
	r->slice_image[slice] = NULL;
	memset(sl->counter, 0, sizeof(sl->counter));
	sl->pid = 0;
	madvise(at + a->ring_offset, a->slice_bytes - a->ring_offset, MADV_REMOVE);
	__atomic_store_n(&sl->state, UFT_SLICE_FREE, __ATOMIC_RELEASE);
}

static void on_task(void *arg, pid_t pid, pid_t tid, pid_t ppid, const struct uft_image *img, const char *comm)
{
	struct run *r = arg;

	(void)pid, (void)tid, (void)ppid, (void)img, (void)comm;
	r->tasks++;
}

static void on_warning(void *arg, const char *text)
{
	struct run *r = arg;
	size_t len = strlen(r->warning);

	r->warnings++;
	snprintf(r->warning + len, sizeof(r->warning) - len, "%s\n", text);
}

/* @fd, or an empty file, in place of @to for the program's start. */
static int redirect(int to, int fd)
{
	char path[] = "/tmp/uft-session-XXXXXX";
	int saved = fcntl(to, F_DUPFD_CLOEXEC, 100), file = fd ? -1 : mkstemp(path);

	if (file >= 0)
		unlink(path);
	dup2(fd ? fd : file, to);
	if (file >= 0)
		close(file);
	return saved;
}

static void restore(int to, int saved)
{
	dup2(saved, to);
	close(saved);
}

void run_session(struct run *r, char *const argv[])
{
	struct uft_session_events ev = { .arg = r, .slice_begin = on_begin, .slice_end = on_end, .task = on_task,
					 .warning = on_warning };
	int out, in;
	ssize_t n;
	pid_t pid;

	r->status = -1;
	r->launch_result = uft_session_create(&r->opts, &ev, &r->session, &r->err);
	if (r->launch_result)
		return;
	r->launch_result = trace_op(r->session, &r->op, &r->err);
	if (!r->launch_result) {
		fflush(stdout);
		in = redirect(0, r->input_fd);
		out = redirect(1, 0);
		r->launch_result = uft_session_launch(r->session, argv, &pid, &r->err);
		restore(0, in);
		if (!r->launch_result) {
			do {
				r->ticks++;
				if (r->tick)
					r->tick(r);
			} while (uft_session_poll(r->session, 100) > 0);
			r->status = uft_session_status(r->session);
		}
		n = pread(1, r->output, sizeof(r->output) - 1, 0);
		r->output[n > 0 ? n : 0] = '\0';
		restore(1, out);
	}
	uft_session_stats(r->session, &r->stats);
	uft_session_destroy(r->session);
	r->session = NULL;
	if (!r->launch_result)		/* one that was left is nobody's any more, and may be ending still */
		waitpid(pid, NULL, 0);
}
