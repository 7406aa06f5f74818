/* SPDX-License-Identifier: MIT */
/*
 * trace_options.c - trace_options and options/: the rows of core/options.c as files
 */
#include "tree/files/rows.h"

#include <errno.h>
#include <string.h>

static int set_option(struct instance *in, uint32_t index, int on)
{
	struct settings set = in->set;
	const struct option_row *o = option_row(index);
	uint64_t bit = OPT_BIT(o->bit);

	set.options = on ? set.options | bit : set.options & ~bit;
	if (on && o->bit == OPT_EVENT_FORK) {
		if (event_fork_begin(in) || trigger_keep(in))
			return -ENOMEM;
		set.has_event_fork = 1;
	}
	return tree_apply(in, &set, NULL);
}

int show_trace_options(const struct place *at, struct tree_text *out)
{
	const struct settings *set = &at->in->set;
	uint32_t i = 0;

	for (const struct option_row *o; (o = option_row(i)); i++)
		if (!o->tracer || o->tracer == set->tracer)
			text_printf(out, "%s%s\n", set->options & OPT_BIT(o->bit) ? "" : "no", o->name);
	return 0;
}

ssize_t store_trace_options(struct uft_handle *h, const char *p, size_t n)
{
	const struct option_row *o;
	size_t len = n;
	int on = 1, ret;

	text_strip(&p, &len);
	if (len > 2 && !memcmp(p, "no", 2)) {
		on = 0;
		p += 2;
		len -= 2;
	}
	for (uint32_t i = 0; (o = option_row(i)); i++) {
		if (strlen(o->name) != len || memcmp(o->name, p, len) ||
		    (o->tracer && o->tracer != h->at.in->set.tracer))
			continue;
		ret = set_option(h->at.in, i, on);
		return ret ? ret : (ssize_t)n;
	}
	return -EINVAL;
}

int show_option(const struct place *at, struct tree_text *out)
{
	const struct option_row *o = option_row(at->index);

	if (o)
		text_printf(out, "%d\n", (at->in->set.options & OPT_BIT(o->bit)) != 0);
	else
		text_printf(out, "no meaning for processes: %s\n", option_absent(at->index));
	return 0;
}

ssize_t store_option(struct uft_handle *h, const char *p, size_t n)
{
	uint64_t on;
	int ret = text_number_in(p, n, 0, 1, &on);

	if (!option_row(h->at.index)) {
		h->wrong = "No meaning for processes";
		ret = -EINVAL;
	}
	if (!ret)
		ret = set_option(h->at.in, h->at.index, (int)on);
	return ret ? ret : (ssize_t)n;
}
