/* SPDX-License-Identifier: MIT */
/*
 * instance.c - instances/: trees beside the top one, each with a buffer and settings of its own
 *
 * One session serves all instances (ops.c). All buffers follow the top's buffer (stream/live/tee.c). The buffer of an
 * instance without an active tracer is muted. A marker goes into the buffer of the instance whose file it was written
 * to.
 *
 * The owner changes the list of instances with t->lock held. The owner reads it without the lock, other threads with
 * it.
 */
#include "symbol/now.h"
#include "tree/core/tree_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* address spaces in trace_pipe_raw, for processes that overlap; half of them for snapshot_raw */
#define SLOTS_EACH	128u
#define SLOTS		32768u

/* ---- Life ------------------------------------------------------------------------------------ */

static void set_defaults(struct instance *in)
{
	in->set.is_on = 1;
	in->set.options = option_defaults();
	in->set.buffer_kb = in->t->opts.buffer_kb;
	in->buffer_percent = 50;
	in->subbuf_kb = SUBBUF_MIN_KB;
	for (int i = 0; i < NLISTS; i++)
		in->set.list[i] = calloc(1, 1);
}

/* Returns the lowest free place. Places are few, and tools make and remove instances in loops. */
static uint32_t free_place(const struct uft_tree *t)
{
	uint32_t place = 0;

	for (const struct instance *i = t->instances; i; )
		if (i->place == place) {
			place++;
			i = t->instances;
		} else {
			i = i->next;
		}
	return place;
}

static int make_buffer(struct instance *in)
{
	struct uft_live_opts lo = { .cpu_bytes = in->set.buffer_kb * 1024, .overwrite = 1,
		.events = tree_types(in->t), .clock = in->t->opts.emulator ? uft_session_clock : NULL,
		.clock_arg = in->t->session };
	struct uft_text_opts to = { .flags = UFT_TEXT_DEFAULT | UFT_TEXT_NO_HEADER, .sink = text_sink,
		.ctx = &in->pipe_out };
	struct instance *top = in->t->instances;
	uint32_t slot = in->place * SLOTS_EACH % SLOTS;
	int ret = raw_init(in, slot, slot + SLOTS_EACH / 2);

	to.ncpus = tree_ncpus(in->t);
	in->cpu_kb = calloc(to.ncpus, sizeof(*in->cpu_kb));
	if (ret || !in->cpu_kb || !in->set.list[NLISTS - 1])
		return -ENOMEM;
	ret = top ? uft_live_follow(top->live, &lo, &in->live) : uft_live_create(uft_session_arena(in->t->session), &lo,
		&in->live);
	if (!ret)
		in->cleared_ns = top ? uft_live_now(in->live) : 0;
	return ret ? ret : uft_text_open(NULL, &to, &in->pipe_text);
}

int instance_add(struct uft_tree *t, const char *name, struct instance **out)
{
	struct instance *in = calloc(1, sizeof(*in)), **p;
	int ret;

	if (!in)
		return -ENOMEM;
	in->t = t;
	in->number = t->next_instance;
	in->place = free_place(t);
	snprintf(in->name, sizeof(in->name), "%s", name);
	in->mtime_ns = clock_ns(CLOCK_REALTIME);
	set_defaults(in);
	ret = make_buffer(in);
	if (ret) {
		instance_free(in);
		return ret;
	}
	pthread_mutex_lock(&t->lock);
	t->next_instance++;
	for (p = &t->instances; *p; p = &(*p)->next)
		;
	*p = in;
	pthread_mutex_unlock(&t->lock);
	*out = in;
	return 0;
}

void instance_free(struct instance *in)
{
	struct uft_tree *t = in->t;

	pthread_mutex_lock(&t->lock);
	for (struct instance **p = &t->instances; *p; p = &(*p)->next)
		if (*p == in) {
			*p = in->next;
			break;
		}
	pthread_mutex_unlock(&t->lock);
	if (t->told == in)
		t->told = NULL;
	if (in->live && t->instances)
		uft_live_unfollow(in->live);
	t->table->commands->free(in);
	each_part(t, instance_free, in);
	uft_text_close(in->pipe_text);
	free(in->pipe_out.p);
	for (int i = 0; i < NLISTS; i++)
		free(in->set.list[i]);
	raw_free(in);
	free(in->cpu_kb);
	free(in->attr);
	error_free(in);
	uft_live_destroy(in->frozen);
	uft_live_destroy(in->live);
	free(in);
}

/* ---- mkdir, rmdir ---------------------------------------------------------------------------- */

struct change { struct uft_tree *t; uft_node dir; const char *name; uft_node *out; };

/* The directory `instances`, and an instance by its name. */
static int find(const struct change *c, struct instance **out)
{
	struct place at;
	int ret;

	pthread_mutex_lock(&c->t->lock);
	ret = node_place(c->t, c->dir, &at);
	pthread_mutex_unlock(&c->t->lock);
	if (ret || !(at.row->flags & ROW_NAMES))
		return ret ? ret : -EPERM;
	for (*out = c->t->instances->next; *out; *out = (*out)->next)
		if (!strcmp((*out)->name, c->name))
			return 0;
	return -ENOENT;
}

static int mkdir_job(void *arg)
{
	struct change *c = arg;
	struct instance *in;
	int ret = find(c, &in);

	if (ret != -ENOENT)
		return ret ? ret : -EEXIST;
	if (strlen(c->name) >= UFT_TREE_NAME)
		return -ENAMETOOLONG;
	ret = instance_add(c->t, c->name, &in);
	if (ret)
		return ret;
	share_mute(c->t);
	return uft_tree_lookup(c->t, c->dir, c->name, c->out);
}

static int rmdir_job(void *arg)
{
	struct change *c = arg;
	struct settings none;
	struct instance *in;
	int ret = find(c, &in);

	if (ret)
		return ret;
	pthread_mutex_lock(&c->t->lock);
	ret = in->handles ? -EBUSY : 0;
	in->is_going = !ret;
	pthread_mutex_unlock(&c->t->lock);
	none = in->set;
	none.tracer = UFT_TRACER_NOP;
	none.events = (struct uft_event_set){ NULL, 0 };
	if (!ret) {
		struct uft_event_set events = in->set.events;

		c->t->table->commands->free(in);
		free(in->event_mods);
		in->event_mods = NULL;
		if (tree_apply(in, &none, NULL))
			tree_apply(in, &none, NULL);	/* the session waits for a silent target only once */
		uft_event_set_free(&events);
		in->set.events = none.events;
		each_part(c->t, leave, in);
		instance_free(in);
	}
	if (!ret)
		share_mute(c->t);
	return ret;
}

int uft_tree_mkdir(struct uft_tree *t, uft_node dir, const char *name, uft_node *out)
{
	return tree_call(t, mkdir_job, &(struct change){ t, dir, name, out });
}

int uft_tree_rmdir(struct uft_tree *t, uft_node dir, const char *name)
{
	return tree_call(t, rmdir_job, &(struct change){ .t = t, .dir = dir, .name = name });
}
