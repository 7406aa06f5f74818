/* SPDX-License-Identifier: MIT */
/*
 * prefetch.c - a program's file read while its start is prepared
 *
 * Finding the sites of 100,000 functions takes longer than everything else before a program is started, and needs
 * nothing of it. So a thread opens the file and looks for sites; whoever asks for them meanwhile waits for it
 * (uft_object_sites()). After that it does the same for the C library that this process has mapped, and what the session
 * asks for besides: few programs use another one. Whatever fails here fails again, and is reported, where it is asked for.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/object.h"

struct uft_prefetch {
	pthread_t thread;
	char *path;
	void (*also)(struct uft_object *libc);
	struct uft_object *obj[2];
};

static struct uft_object *prefetch_one(const char *path)
{
	struct uft_object *obj;

	if (uft_object_open(path, &obj, NULL))
		return NULL;
	uft_object_sites(obj, NULL);
	return obj;
}

/* Under the name that the kernel has for it, as in the program's table of mappings. */
static int prefetch_libc(char *path)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128], *at;
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f)) {
		at = strchr(line, '/');
		if (!at || strlen(at) >= PATH_MAX)
			continue;
		at[strcspn(at, "\n")] = '\0';
		found = !strcmp(strrchr(at, '/'), "/libc.so.6");
		if (found)
			strcpy(path, at);
	}
	if (f)
		fclose(f);
	return found;
}

static void *prefetch_main(void *arg)
{
	struct uft_prefetch *p = arg;
	char path[PATH_MAX];

	p->obj[0] = prefetch_one(p->path);
	if (p->obj[0] && !p->obj[0]->is_static && prefetch_libc(path))
		p->obj[1] = prefetch_one(path);
	if (p->obj[1])
		p->also(p->obj[1]);
	return NULL;
}

struct uft_prefetch *uft_prefetch_begin(const char *path, void (*also)(struct uft_object *libc))
{
	struct uft_prefetch *p = calloc(1, sizeof(*p));
	sigset_t all, old;
	int ret = -1;

	if (p) {
		p->path = strdup(path);
		p->also = also;
	}
	if (p && p->path) {
		sigfillset(&all);	/* signals are the caller's business */
		pthread_sigmask(SIG_SETMASK, &all, &old);
		ret = pthread_create(&p->thread, NULL, prefetch_main, p);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (!ret)
		return p;
	if (p)
		free(p->path);
	free(p);
	return NULL;
}

void uft_prefetch_end(struct uft_prefetch *p)
{
	if (!p)
		return;
	pthread_join(p->thread, NULL);
	uft_object_put(p->obj[0]);
	uft_object_put(p->obj[1]);
	free(p->path);
	free(p);
}
