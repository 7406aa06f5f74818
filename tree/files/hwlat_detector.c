/* SPDX-License-Identifier: MIT */
/*
 * hwlat_detector.c - hwlat_detector/: width, window and mode of the tracer hwlat
 *
 * The width is never more than the window; this bounds the CPU time of the tracer. A change while the tracer runs takes
 * effect with the next window; the numbers of windows go on.
 */
#include "tree/files/rows.h"

#include <errno.h>
#include <string.h>

#define WINDOW_US	1000000u
#define WIDTH_US	500000u
#define MAX_US		(3600u * 1000000u)

static const char *const modes[] = {		/* in the kernel's order */
	"none", "round-robin", "per-cpu",
};
static const uint32_t mode_values[] = { UFT_HWLAT_NONE, UFT_HWLAT_ROUND_ROBIN, UFT_HWLAT_PER_CPU };
#define NMODES		(sizeof(modes) / sizeof(modes[0]))

static uint64_t width_us(const struct settings *set)
{
	return set->hwlat.width_us ? set->hwlat.width_us : WIDTH_US;
}

static uint64_t window_us(const struct settings *set)
{
	return set->hwlat.window_us ? set->hwlat.window_us : WINDOW_US;
}

int show_hwlat_width(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%llu\n", (unsigned long long)width_us(&at->in->set));
	return 0;
}

int show_hwlat_window(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%llu\n", (unsigned long long)window_us(&at->in->set));
	return 0;
}

ssize_t store_hwlat_width(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	int ret = text_number_in(p, n, 1, window_us(&set), &set.hwlat.width_us);

	return store_settings(h, &set, ret, n);
}

ssize_t store_hwlat_window(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	int ret = text_number_in(p, n, width_us(&set), MAX_US, &set.hwlat.window_us);

	return store_settings(h, &set, ret, n);
}

int show_hwlat_mode(const struct place *at, struct tree_text *out)
{
	for (size_t i = 0; i < NMODES; i++) {
		int is_it = at->in->set.hwlat.mode == mode_values[i];

		text_printf(out, "%s%s%s%s", is_it ? "[" : "", modes[i], is_it ? "]" : "", i + 1 < NMODES ? " " : "\n");
	}
	return 0;
}

ssize_t store_hwlat_mode(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	size_t len = n;

	text_strip(&p, &len);
	for (size_t i = 0; i < NMODES; i++) {
		if (strlen(modes[i]) != len || memcmp(modes[i], p, len))
			continue;
		set.hwlat.mode = mode_values[i];
		return store_settings(h, &set, 0, n);
	}
	return -EINVAL;
}
