/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - snapshot, per_cpu/cpuN/snapshot: the buffer as it was at a moment, while recording goes on
 *
 * 1 freezes the content of the buffer and clears the buffer, 2 clears the snapshot, 0 frees it. The kernel exchanges
 * two buffers instead, so that each snapshot brings the previous one back into `trace`; here the previous one is
 * dropped. trace.c prints a snapshot, trace_pipe_raw.c returns its pages. The snapshot belongs to the owner; it changes
 * under pipe_lock, since other threads read its pages.
 */
#include "symbol/tracer.h"
#include "tree/files/rows.h"

#include <errno.h>

static uint32_t cpu_of(const struct place *at)
{
	return at->row->pub.scope & UFT_SCOPE_CPU ? at->index : UFT_LIVE_ALL;
}

ssize_t store_snapshot(struct uft_handle *h, const char *p, size_t n)
{
	struct instance *in = h->at.in;
	uint32_t cpu = cpu_of(&h->at);
	uint64_t what;
	int ret = text_number(p, n, 10, &what);

	if (!ret && snapshot_is_used(in))
		ret = -EBUSY;
	if (!ret && what < 2 && cpu != UFT_LIVE_ALL)
		ret = -EINVAL;
	if (!ret && what == 1) {
		tree_pull(in->t);
		ret = snapshot_take(in, UFT_LIVE_NOW);
	}
	if (ret)
		return ret;
	if (!what)
		snapshot_free(in);
	else if (what > 1 && in->frozen)
		snapshot_clear(in, cpu);
	return (ssize_t)n;
}

/* ---- extract --------------------------------------------------------------------------------- */

struct extraction { struct uft_tree *t; uft_node node; struct uft_live *frozen; };

static int take_job(void *arg)
{
	struct extraction *x = arg;
	struct place at;
	int ret;

	pthread_mutex_lock(&x->t->lock);
	ret = node_place(x->t, x->node, &at);
	pthread_mutex_unlock(&x->t->lock);
	if (ret)
		return ret;
	tree_pull(x->t);
	return uft_live_take(at.in->live, UFT_LIVE_ALL, UFT_LIVE_NOW, &x->frozen);
}

int uft_tree_extract(struct uft_tree *t, uft_node node, const char *path)
{
	struct extraction x = { .t = t, .node = node };
	struct uft_error err = { "" };
	struct uft_stream *st = NULL;
	int ret = tree_call(t, take_job, &x);

	if (!ret)
		ret = uft_live_snapshot(x.frozen, UFT_LIVE_ALL, &st);
	if (!ret)
		ret = uft_export_find("trace.dat")->write(st, path, NULL, &err);
	uft_stream_close(st);
	uft_live_destroy(x.frozen);
	return ret;
}

void snapshot_help(const struct place *at, struct tree_text *out)
{
	text_printf(out, "# tracer: %s\n#\n#\n# * Snapshot is %s *\n#\n# Snapshot commands:\n",
		    uft_tracer_name(at->in->set.tracer), at->in->frozen ? "allocated" : "freed");
	if (cpu_of(at) == UFT_LIVE_ALL)
		text_printf(out, "# echo 0 > snapshot : Clears and frees snapshot buffer\n"
				 "# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
				 "#                      Takes a snapshot of the main buffer.\n"
				 "# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)\n");
	else
		text_printf(out, "# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"
				 "# echo 1 > snapshot : Not supported with this kernel.\n"
				 "#                     Must use main snapshot file to allocate.\n"
				 "# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)\n");
	text_printf(out, "#                      (Doesn't have to be '2' works with any number that\n"
			 "#                       is not a '0' or '1')\n");
}
