/* SPDX-License-Identifier: MIT */
/* value.c - files that hold one value, and the constant ones */
#include "tree/rows.h"

#include <errno.h>
#include <string.h>

static const char *const tracer_names[] = {	/* newest first, as the kernel lists them */
	"function_graph", "function", "nop",
};
static const uint32_t tracer_values[] = { UFT_TRACER_GRAPH, UFT_TRACER_FUNCTION, UFT_TRACER_NOP };
#define NTRACERS	(sizeof(tracer_names) / sizeof(tracer_names[0]))

int show_available_tracers(const struct place *at, struct tree_text *out)
{
	(void)at;
	for (size_t i = 0; i < NTRACERS; i++)
		text_printf(out, "%s%s", tracer_names[i], i + 1 < NTRACERS ? " " : "\n");
	return 0;
}

const char *tracer_name(uint32_t tracer)
{
	for (size_t i = 0; i < NTRACERS; i++)
		if (tracer_values[i] == tracer)
			return tracer_names[i];
	return "nop";
}

int show_current_tracer(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%s\n", tracer_name(at->t->set.tracer));
	return 0;
}

ssize_t store_current_tracer(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->t->set;
	size_t len = n;
	int ret;

	text_strip(&p, &len);
	for (size_t i = 0; i < NTRACERS; i++) {
		if (strlen(tracer_names[i]) != len || memcmp(tracer_names[i], p, len))
			continue;
		set.tracer = tracer_values[i];
		ret = tree_apply(h->t, &set, NULL);
		return ret ? ret : (ssize_t)n;
	}
	return -EINVAL;
}

int show_tracing_on(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%d\n", at->t->set.is_on);
	return 0;
}

ssize_t store_tracing_on(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->t->set;
	uint64_t on;
	int ret = text_number(p, n, 10, &on);

	if (ret)
		return ret;
	set.is_on = on != 0;
	ret = tree_apply(h->t, &set, NULL);
	return ret ? ret : (ssize_t)n;
}
