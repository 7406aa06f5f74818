/* SPDX-License-Identifier: MIT */
/*
 * prefetch.c - reads a program's file while its start is prepared
 *
 * Finding the sites of 100,000 functions takes longer than all other work before a program is started, and depends on
 * none of it. So a thread opens the file and finds its sites; a caller of uft_object_sites() meanwhile waits for it.
 * Then the thread does the same for the program's loader and for the C library that this process has mapped, since few
 * programs use another one, and calls the session's function for both. An error here occurs again, and is reported,
 * where the session opens the file itself.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/object_internal.h"
#include "symbol/thread.h"

enum { PROGRAM, LOADER, LIBC, NOBJECTS };

struct uft_prefetch {
	pthread_t thread;
	char *path[NOBJECTS];
	void (*also)(struct uft_object *obj);
	struct uft_object *obj[NOBJECTS];
};

/* Returns the kernel's name of the C library, as in the program's table of mappings. */
static char *find_libc(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128], *at, *found = NULL;

	while (f && !found && fgets(line, sizeof(line), f)) {
		at = strchr(line, '/');
		if (!at)
			continue;
		at[strcspn(at, "\n")] = '\0';
		if (!strcmp(strrchr(at, '/'), "/libc.so.6"))
			found = strdup(at);
	}
	if (f)
		fclose(f);
	return found;
}

/* Returns the loader's name in the program. */
static char *find_loader(const struct uft_object *obj)
{
	struct elf_view *v = &object_priv(obj)->view;

	for (size_t i = 0; i < v->nph; i++) {
		size_t avail;
		const uint8_t *p = v->ph[i].p_type == PT_INTERP ? elf_at(v, v->ph[i].p_vaddr, &avail) : NULL;

		if (p)
			return strndup((const char *)p, avail < PATH_MAX ? avail : PATH_MAX);
	}
	return NULL;
}

static void look_at(struct uft_prefetch *p, int which)
{
	struct uft_object *obj;

	if (!p->path[which] || uft_object_open(p->path[which], &obj, NULL))
		return;
	p->obj[which] = obj;
	uft_object_sites(obj, NULL);
	if (which != PROGRAM)		/* the launching thread does that meanwhile */
		p->also(obj);
}

static void *prefetch_main(void *arg)
{
	struct uft_prefetch *p = arg;

	look_at(p, PROGRAM);
	if (!p->obj[PROGRAM] || p->obj[PROGRAM]->is_static)
		return NULL;
	p->path[LOADER] = find_loader(p->obj[PROGRAM]);
	look_at(p, LOADER);
	p->path[LIBC] = find_libc();
	look_at(p, LIBC);
	return NULL;
}

static void prefetch_free(struct uft_prefetch *p)
{
	for (int i = 0; p && i < NOBJECTS; i++) {
		uft_object_put(p->obj[i]);
		free(p->path[i]);
	}
	free(p);
}

struct uft_prefetch *uft_prefetch_begin(const char *path, void (*also)(struct uft_object *obj))
{
	struct uft_prefetch *p = calloc(1, sizeof(*p));
	int ret = -1;

	if (p) {
		p->path[PROGRAM] = strdup(path);
		p->also = also;
	}
	if (p && p->path[PROGRAM])
		ret = thread_start(&p->thread, prefetch_main, p);
	if (!ret)
		return p;
	prefetch_free(p);
	return NULL;
}

void uft_prefetch_end(struct uft_prefetch *p)
{
	if (!p)
		return;
	pthread_join(p->thread, NULL);
	prefetch_free(p);
}
