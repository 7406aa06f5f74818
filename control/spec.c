// SPDX-License-Identifier: MIT
/*
 * spec.c - from patterns to sites: what of an object is to be traced
 *
 * A site is selected when a filter pattern matches its function (no filter: always), or a root pattern does, and
 * no notrace pattern does. Names are looked up and demangled only for this; without patterns nothing is read.
 */
#include "control/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void patterns_free(struct uft_pattern *p, char **text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uft_pattern_free(&p[i]);
		free(text[i]);
	}
	free(p);
	free(text);
}

static int patterns_parse(const char *const *list, struct uft_pattern **out, char ***text, size_t *n,
			  struct uft_error *err)
{
	size_t count = 0;

	*out = NULL;
	*text = NULL;
	*n = 0;
	while (list && list[count])
		count++;
	if (!count)
		return 0;
	*out = calloc(count, sizeof(**out));
	*text = calloc(count, sizeof(**text));
	if (!*out || !*text)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (uft_pattern_parse(list[i], &(*out)[i]))
			return uft_fail(err, -EINVAL, "'%s' is not a function pattern: use glob or glob:mod:object", list[i]);
		(*text)[i] = strdup(list[i]);
		(*n)++;
		if (!(*text)[i])
			return -ENOMEM;
	}
	return 0;
}

void spec_free(struct spec *sp)
{
	if (!sp)
		return;
	patterns_free(sp->filter, sp->filter_text, sp->nfilter);
	patterns_free(sp->notrace, sp->notrace_text, sp->nnotrace);
	patterns_free(sp->roots, sp->roots_text, sp->nroots);
	patterns_free(sp->keep, sp->keep_text, sp->nkeep);
	free(sp->keep_index);
	free(sp);
}

/* Limits are few: sites name them by their index, params hold them (session_trace: in clock units). */
static int keep_parse(const struct uft_trace_spec *in, struct spec *sp, struct uft_error *err)
{
	uint32_t used = 1;
	int ret = patterns_parse(in->keep, &sp->keep, &sp->keep_text, &sp->nkeep, err);

	if (ret || !sp->nkeep)
		return ret;
	if (in->tracer != UFT_TRACER_GRAPH || in->thresh_ns)
		return uft_fail(err, -EINVAL, "only the graph of slow calls is kept: not another tracer's, not beside a threshold");
	sp->keep_index = calloc(sp->nkeep, 1);
	if (!sp->keep_index)
		return -ENOMEM;
	for (size_t i = 0; i < sp->nkeep; i++) {
		uint32_t k = 1;

		while (k < used && sp->keep_ns[k] != in->keep_ns[i])
			k++;
		if (k == UFT_NKEEP)
			return uft_fail(err, -E2BIG, "more than %d different times for slow calls", UFT_NKEEP - 1);
		sp->keep_ns[k] = in->keep_ns[i];
		sp->keep_index[i] = (uint8_t)k;
		used = k == used ? used + 1 : used;
	}
	return 0;
}

int spec_make(const struct uft_trace_spec *in, struct spec **out, struct uft_error *err)
{
	const size_t max_pids = sizeof(((struct uft_tracer_params *)0)->pids) / sizeof(uint32_t);
	struct spec *sp;
	int ret;

	if (in->tracer > UFT_TRACER_PROFILE)
		return uft_fail(err, -EINVAL, "there is no tracer number %u", in->tracer);
	if (in->npids > max_pids)
		return uft_fail(err, -E2BIG, "%zu process and thread ids are too many: %zu are possible", in->npids, max_pids);
	sp = calloc(1, sizeof(*sp));
	if (!sp)
		return -ENOMEM;
	sp->tracer = in->tracer;
	sp->thresh_ns = in->thresh_ns;
	sp->min_size = in->min_size;
	sp->limit = (struct budget_limit){ .share = in->budget_ppm / 1e6, .rate = (double)in->max_rate };
	ret = patterns_parse(in->filter, &sp->filter, &sp->filter_text, &sp->nfilter, err);
	if (!ret)
		ret = patterns_parse(in->notrace, &sp->notrace, &sp->notrace_text, &sp->nnotrace, err);
	if (!ret)
		ret = patterns_parse(in->roots, &sp->roots, &sp->roots_text, &sp->nroots, err);
	if (!ret)
		ret = keep_parse(in, sp, err);
	if (ret) {
		spec_free(sp);
		return ret;
	}
	sp->params.tracer = in->tracer;
	sp->params.max_depth = in->max_depth;
	sp->params.has_roots = sp->nroots || sp->nkeep;
	sp->params.has_pids = in->npids != 0;
	sp->params.npids = (uint32_t)in->npids;
	if (in->npids)
		memcpy(sp->params.pids, in->pids, in->npids * sizeof(uint32_t));
	*out = sp;
	return 0;
}

/* A function's names while patterns are tried; the demangled one is made when the raw one did not match. */
struct names {
	const char *raw, *object;
	char *demangled;
	int is_tried;
};

static int match_any(const struct uft_pattern *p, size_t n, struct names *f)
{
	for (size_t i = 0; i < n; i++)
		if (uft_pattern_match(&p[i], f->raw, f->demangled, f->object))
			return 1;
	if (f->is_tried || !f->raw)
		return 0;
	f->is_tried = 1;
	if (f->raw[0] != '_')
		return 0;
	f->demangled = uft_demangle(f->raw);
	return f->demangled ? match_any(p, n, f) : 0;
}

/* The same for a pattern list after the first: is the demangled name known already, the raw one comes too. */
static int match(const struct uft_pattern *p, size_t n, struct names *f)
{
	return n && match_any(p, n, f);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int is_match_all(const struct spec *sp)
{
	return !sp->nnotrace && !sp->nroots && !sp->nkeep && !sp->min_size &&
	       (!sp->nfilter || (sp->nfilter == 1 && !strcmp(sp->filter_text[0], "*")));
}

static uint8_t site_state(const struct spec *sp)
{
	return sp->tracer == UFT_TRACER_FUNCTION ? UFT_FUNCTION : UFT_GRAPH;
}

/* The names of site @i's function; @text holds a made-up one. */
static void site_names(struct uft_object *obj, const struct uft_site *site, struct names *f, char *text, size_t size)
{
	const struct uft_func *fn = uft_object_func(obj, site->func);

	*f = (struct names){ .raw = fn ? fn->name : NULL, .object = base_name(obj->path) };
	if (!f->raw) {
		snprintf(text, size, "%s+0x%llx", f->object, (unsigned long long)site->func);
		f->raw = text;
	}
}

/* By symbol or unwind entry; one whose size nothing tells is not small. */
static int is_small(const struct spec *sp, struct uft_object *obj, const struct uft_site *site)
{
	const struct uft_func *fn = sp->min_size ? uft_object_func(obj, site->func) : NULL;

	return fn && fn->size && fn->size < sp->min_size;
}

/* WANT_ROOT, with its limit's index if it has one; 0: no root. What is kept always wins over what may not be. */
static uint8_t root_of(const struct spec *sp, struct names *f)
{
	if (match(sp->roots, sp->nroots, f))
		return WANT_ROOT;
	for (size_t i = 0; i < sp->nkeep; i++)
		if (match(&sp->keep[i], 1, f))
			return (uint8_t)(WANT_ROOT | sp->keep_index[i] << WANT_KEEP_SHIFT);
	return 0;
}

long spec_select(const struct spec *sp, struct uft_object *obj, uint8_t *want, struct uft_error *err)
{
	uint8_t armed = site_state(sp);
	char text[256];
	long n = 0;
	int ret;

	memset(want, WANT_NOT, obj->nsite);
	if (sp->tracer == UFT_TRACER_NOP)
		return 0;
	if (is_match_all(sp)) {
		for (size_t i = 0; i < obj->nsite; i++) {
			if (obj->site[i].skip != UFT_SKIP_NONE)
				continue;
			want[i] = armed;
			n++;
		}
		return n;
	}
	if (!obj->nsite)
		return 0;
	ret = uft_object_names(obj, err);
	if (ret)
		return ret;
	for (size_t i = 0; i < obj->nsite; i++) {
		struct names f;
		uint8_t root;

		if (obj->site[i].skip != UFT_SKIP_NONE || is_small(sp, obj, &obj->site[i]))
			continue;
		site_names(obj, &obj->site[i], &f, text, sizeof(text));
		root = root_of(sp, &f);
		if ((root || !sp->nfilter || match(sp->filter, sp->nfilter, &f)) &&
		    !match(sp->notrace, sp->nnotrace, &f)) {
			want[i] = armed | root;
			n++;
		}
		free(f.demangled);
	}
	return n;
}

/* ---- Nothing matches ----------------------------------------------------------------------- */

/* Does @p select a usable site of @obj? 2: only one that is skipped; 3: a function without a site. */
static int find_match(const struct uft_pattern *p, struct uft_object *obj, enum uft_skip *skip)
{
	char text[256];
	int found = 0;

	if (uft_object_names(obj, NULL))
		return 0;
	for (size_t i = 0; i < obj->nsite; i++) {
		struct names f;
		int hit;

		site_names(obj, &obj->site[i], &f, text, sizeof(text));
		hit = match_any(p, 1, &f);
		free(f.demangled);
		if (!hit)
			continue;
		if (obj->site[i].skip == UFT_SKIP_NONE)
			return 1;
		*skip = obj->site[i].skip;
		found = 2;
	}
	for (size_t i = 0; !found && i < obj->nfunc; i++) {
		struct names f = { .raw = obj->func[i].name, .object = base_name(obj->path) };

		if (f.raw && match_any(p, 1, &f))
			found = 3;
		free(f.demangled);
	}
	return found;
}

static void near_names(const char *text, struct space *const *spaces, size_t nspaces, char *out, size_t size)
{
	const char **names = NULL, *near[3];
	char **owned = NULL;
	size_t n = 0, room = 0, found;

	out[0] = '\0';
	for (size_t k = 0; k < nspaces; k++)
		for (uint32_t o = 0; o < spaces[k]->nobj; o++)
			room += spaces[k]->img->obj[o].obj->nsite;
	names = calloc(room + 1, sizeof(*names));
	owned = calloc(room + 1, sizeof(*owned));
	for (size_t k = 0; names && owned && k < nspaces; k++) {
		for (uint32_t o = 0; o < spaces[k]->nobj; o++) {
			struct uft_object *obj = spaces[k]->img->obj[o].obj;

			for (size_t i = 0; i < obj->nsite && n < room; i++) {
				const struct uft_func *fn = uft_object_func(obj, obj->site[i].func);

				if (!fn || !fn->name || obj->site[i].skip != UFT_SKIP_NONE)
					continue;
				owned[n] = fn->name[0] == '_' ? uft_demangle(fn->name) : NULL;
				names[n] = owned[n] ? owned[n] : fn->name;
				n++;
			}
		}
	}
	found = n ? uft_near(text, names, n, near, 3) : 0;
	for (size_t i = 0, len = 0; i < found && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "; near: ", near[i]);
	for (size_t i = 0; i < n; i++)
		free(owned[i]);
	free(owned);
	free(names);
}

/* The kernel keeps filters for modules that are still to come; so do we for objects. */
static int object_is_absent(const struct uft_pattern *p, struct space *const *spaces, size_t nspaces)
{
	if (!p->object)
		return 0;
	for (size_t k = 0; k < nspaces; k++)
		for (uint32_t o = 0; o < spaces[k]->nobj; o++)
			if (uft_glob_match(p->object, base_name(spaces[k]->img->obj[o].obj->path)))
				return 0;
	return 1;
}

static int check_list(const struct uft_pattern *p, char *const *text, size_t n, struct space *const *spaces,
		      size_t nspaces, struct uft_error *err)
{
	for (size_t i = 0; i < n; i++) {
		enum uft_skip skip = UFT_SKIP_NONE;
		char near[256];
		int best = 0;

		for (size_t k = 0; k < nspaces && best != 1; k++)
			for (uint32_t o = 0; o < spaces[k]->nobj && best != 1; o++) {
				int m = find_match(&p[i], spaces[k]->img->obj[o].obj, &skip);

				if (m == 1 || (m && (!best || m < best)))
					best = m;
			}
		if (best == 1 || object_is_absent(&p[i], spaces, nspaces))
			continue;
		if (best == 2)
			return uft_fail(err, -ENOENT, "'%s' matches only functions that cannot be traced: %s", text[i],
					uft_skip_text(skip));
		if (best == 3)
			return uft_fail(err, -ENOENT, "'%s' matches only functions that were not built for tracing "
					"(`uft cflags` prints the options)", text[i]);
		near_names(p[i].func, spaces, nspaces, near, sizeof(near));
		return uft_fail(err, -ENOENT, "'%s' matches no function%s", text[i], near);
	}
	return 0;
}

int spec_check(const struct spec *sp, struct space *const *spaces, size_t nspaces, struct uft_error *err)
{
	int ret;

	if (sp->tracer == UFT_TRACER_NOP)
		return 0;
	ret = check_list(sp->filter, sp->filter_text, sp->nfilter, spaces, nspaces, err);
	if (!ret)
		ret = check_list(sp->roots, sp->roots_text, sp->nroots, spaces, nspaces, err);
	return ret ? ret : check_list(sp->keep, sp->keep_text, sp->nkeep, spaces, nspaces, err);
}

void spec_explain_none(const struct space *sp, char *text, size_t size)
{
	uint64_t reason[UFT_SKIP_NKINDS] = { 0 }, most = 0;
	enum uft_skip why = UFT_SKIP_NONE;

	for (uint32_t o = 0; o < sp->nobj; o++)
		for (size_t i = 0; i < sp->img->obj[o].obj->nsite; i++)
			if (sp->img->obj[o].obj->site[i].skip < UFT_SKIP_NKINDS)
				reason[sp->img->obj[o].obj->site[i].skip]++;
	for (int i = UFT_SKIP_NONE + 1; i < UFT_SKIP_NKINDS; i++)
		if (reason[i] > most) {
			most = reason[i];
			why = (enum uft_skip)i;
		}
	if (most)
		snprintf(text, size, "%s has no function that can be traced: %llu were skipped: %s", sp->img->exe,
			 (unsigned long long)most, uft_skip_text(why));
	else
		snprintf(text, size, "%s has no function that can be traced: it was not built for it; build it with "
			 "-fpatchable-function-entry=5 (`uft cflags` prints the options for your compiler); unprepared "
			 "programs are not supported yet", sp->img->exe);
}
