/* SPDX-License-Identifier: MIT */
/*
 * site_dump.c - prints the sites of an object or archive for sites.sh: counts, functions of usable sites
 *
 * One line: `KIND=N ... skip:REASON=N ... | function,function | gmon tables=PFE,MCOUNT`. Functions that start-up code
 * brings along and that have no pad are not counted.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/names.h"
#include "symbol/object.h"

static size_t kinds[UFT_SITE_PREPAD + 1], skips[UFT_SKIP_NKINDS], pfe, loc;
static char *names[4096];
static size_t nnames;
static int gmon;

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int count(void *arg, struct uft_object *obj)
{
	struct uft_error err = { "" };
	size_t i;

	(void)arg;
	if (uft_object_sites(obj, &err) || uft_object_names(obj, &err)) {
		printf("error: %s\n", err.text);
		exit(1);
	}
	for (i = 0; i < obj->nsite; i++) {
		const struct uft_site *s = &obj->site[i];
		const struct uft_func *f = uft_object_func(obj, s->func);
		uint8_t now[16] = { 0 };

		if (i && obj->site[i - 1].addr > s->addr)
			printf("not sorted ");
		if (s->skip && s->skip != UFT_SKIP_BEFORE) {
			skips[s->skip]++;
			continue;
		}
		if (s->skip)
			skips[s->skip]++;
		else
			kinds[s->kind]++;
		if (s->len > 15 || s->len < 2 || uft_object_read(obj, s->addr, now, s->len) != s->len)
			printf("bad bytes ");
		if (s->is_framed != (s->kind == UFT_SITE_MCOUNT_CALL || s->kind == UFT_SITE_MCOUNT_NOP)) {
			if (s->kind == UFT_SITE_OWN_CALL)
				printf("framed ");
			else
				printf("framed by mistake ");
		}
		if (f && f->addr != s->func)
			printf("not at an entry: %s ", f->name ? f->name : "?");
		if (nnames < sizeof(names) / sizeof(names[0])) {
			char *text = f && f->name ? uft_demangle(f->name) : NULL;

			names[nnames++] = text ? text : strdup(f && f->name ? f->name : "?");
		}
	}
	pfe += obj->nsections_pfe;
	loc += obj->nsections_mcount;
	gmon |= obj->has_gmon;
	return 0;
}

int main(int argc, char **argv)
{
	struct uft_error err = { "" };
	struct uft_object *obj;
	size_t i;

	if (argc != 2)
		return 2;
	if (strlen(argv[1]) > 2 && !strcmp(argv[1] + strlen(argv[1]) - 2, ".a")) {
		if (uft_archive_each(argv[1], count, NULL, &err))
			return printf("error: %s\n", err.text), 1;
	} else {
		if (uft_object_open(argv[1], &obj, &err))
			return printf("error: %s\n", err.text), 1;
		count(NULL, obj);
		uft_object_put(obj);
	}
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i])
			printf("%s=%zu ", uft_site_kind_name(i), kinds[i]);
	if (skips[UFT_SKIP_PAD_SMALL])
		printf("small=%zu ", skips[UFT_SKIP_PAD_SMALL]);
	if (skips[UFT_SKIP_BEFORE])
		printf("before=%zu ", skips[UFT_SKIP_BEFORE]);
	if (skips[UFT_SKIP_DANGLING])
		printf("dangling=%zu ", skips[UFT_SKIP_DANGLING]);
	printf("| ");
	qsort(names, nnames, sizeof(names[0]), compare);
	for (i = 0; i < nnames; i++) {
		printf("%s%s", i ? "," : "", names[i]);
		free(names[i]);
	}
	printf(" |%s tables=%zu,%zu\n", gmon ? " gmon" : "", pfe, loc);
	return 0;
}
