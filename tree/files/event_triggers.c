/* SPDX-License-Identifier: MIT */
/* event_triggers.c - events/SYSTEM/EVENT/trigger, hist: written, shown, refused; see tree/triggers/event_trigger.c */
#include "tree/files/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* events/ftrace/print is the one directory of a single event. */
static uint32_t event_of(const struct place *at)
{
	return at->row->pub.scope & UFT_SCOPE_EVENT ? at->index : UFT_EVENT_PRINT;
}

int show_event_trigger(const struct place *at, struct tree_text *out)
{
	if (at->in->triggers)
		tree_pull(at->in->t);	/* counts as of now */
	event_trigger_show(at->in, event_of(at), out);
	return 0;
}

int show_event_hist(const struct place *at, struct tree_text *out)
{
	if (at->in->triggers)
		tree_pull_all(at->in->t);
	return event_trigger_show_hist(at->in, event_of(at), out);
}

struct cells_job { struct uft_tree *t; uft_node node; struct tree_text text; };

static int cells_job(void *arg)
{
	struct cells_job *j = arg;
	struct place at;
	int ret;

	pthread_mutex_lock(&j->t->lock);
	ret = node_place(j->t, j->node, &at);
	pthread_mutex_unlock(&j->t->lock);
	if (ret)
		return ret;
	if (at.row->show != show_event_hist)
		return -EINVAL;
	if (at.in->triggers)
		tree_pull_all(j->t);
	ret = event_trigger_put_cells(at.in, event_of(&at), &j->text);
	return ret ? ret : j->text.error;
}

int uft_tree_hist_cells(struct uft_tree *t, uft_node node, char **words, size_t *n)
{
	struct cells_job j = { .t = t, .node = node };
	int ret = tree_call(t, cells_job, &j);

	*words = j.text.p;
	*n = j.text.n;
	if (!ret)
		return 0;
	free(j.text.p);
	*words = NULL;
	return ret;
}

#define COMMAND_BYTES	4096u	/* the kernel's bound: a write is shorter */

/* Notes mistakes of a histogram or a filter in error_log, with the kernel's names for them. */
static void note(struct uft_handle *h, const struct event_command *c)
{
	const struct uft_event_type *type = uft_event_table_at(tree_types(h->t), c->event);
	char where[300];

	snprintf(where, sizeof(where), "hist:%.128s:%.128s", type ? type->system : "", type ? type->name : "");
	if (c->filter_wrong)
		error_put(h->at.in, "event filter parse error", c->filter_wrong, c->filter ? c->filter : "",
			  c->filter ? strlen(c->filter) : 0, c->filter_at);
	for (uint32_t i = 0; i < c->errors.n; i++)
		error_put(h->at.in, where, c->errors.v[i].what, c->command ? c->command : c->text,
			  strlen(c->command ? c->command : c->text), c->errors.v[i].at);
	h->is_noted |= c->filter_wrong || c->errors.n;
}

ssize_t store_event_trigger(struct uft_handle *h, const char *p, size_t n)
{
	struct event_command c = { .event = event_of(&h->at), .find_clock = trace_clock_find };
	const char *from = p;
	size_t len = n;
	int ret;

	if (n >= COMMAND_BYTES) {
		h->wrong = "Command has more than 4095 bytes, as many as a kernel takes";
		return -EINVAL;
	}
	text_strip(&from, &len);
	c.text = memchr(from, '\0', len) ? NULL : strndup(from, len);
	if (!c.text)
		return memchr(from, '\0', len) ? -EINVAL : -ENOMEM;
	ret = event_trigger_do(h->at.in, &c);
	if (ret)
		note(h, &c);
	free(c.text);
	free(c.command);
	free(c.filter);
	return ret ? ret : (ssize_t)n;
}

/* Removes histograms; other triggers stay, as in the kernel. */
int truncate_event_trigger(const struct place *at)
{
	return event_trigger_clear(at->in, event_of(at));
}
