/* SPDX-License-Identifier: MIT */
/*
 * debuginfod.c - debug files from the servers in $DEBUGINFOD_URLS
 *
 * elfutils' libdebuginfod has the protocol, its cache (~/.cache/debuginfod_client, misses too) and its time-out
 * ($DEBUGINFOD_TIMEOUT). It is loaded only when the variable says that the user wants it. Without the variable no code
 * here runs and no network is used. One transfer takes FETCH_MAX_S at most; after a transfer that was given up no
 * server is asked again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "symbol/now.h"
#include "symbol/object_internal.h"

#define FETCH_MAX_S	120

struct debuginfod_client;
static struct {
	struct debuginfod_client *(*begin)(void);
	int (*find)(struct debuginfod_client *, const unsigned char *id, int len, char **path);
	void (*progress)(struct debuginfod_client *, int (*fn)(struct debuginfod_client *, long got, long of));
	void (*end)(struct debuginfod_client *);
} lib;

static int (*told)(const char *object, long got, long of);
static int is_given_up;
static _Thread_local const struct uft_object *fetched;
static _Thread_local uint64_t deadline;

void uft_fetch_progress(int (*fn)(const char *object, long got, long of))
{
	told = fn;
}

static int on_progress(struct debuginfod_client *c, long got, long of)
{
	(void)c;
	if (now_ns() >= deadline || (told && told(fetched->path, got, of)))
		__atomic_store_n(&is_given_up, 1, __ATOMIC_RELAXED);
	return __atomic_load_n(&is_given_up, __ATOMIC_RELAXED);
}

/* A second load by another thread does no harm. */
static int lib_load(void)
{
	void *so;

	if (lib.end)
		return 1;
	so = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return 0;
	lib.begin = (__typeof__(lib.begin))dlsym(so, "debuginfod_begin");
	lib.find = (__typeof__(lib.find))dlsym(so, "debuginfod_find_debuginfo");
	lib.progress = (__typeof__(lib.progress))dlsym(so, "debuginfod_set_progressfn");
	if (lib.begin && lib.find && lib.progress)
		lib.end = (__typeof__(lib.end))dlsym(so, "debuginfod_end");
	return lib.end != NULL;
}

char *debuginfod_fetch(const struct uft_object *obj)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod_client *c;
	char *path = NULL;
	int fd;

	if (!urls || !*urls || obj->build_id_len < 2 || __atomic_load_n(&is_given_up, __ATOMIC_RELAXED) || !lib_load())
		return NULL;
	c = lib.begin();
	if (!c)
		return NULL;
	fetched = obj;
	deadline = now_ns() + FETCH_MAX_S * 1000000000ull;
	lib.progress(c, on_progress);
	fd = lib.find(c, obj->build_id, (int)obj->build_id_len, &path);
	lib.end(c);
	if (told)
		told(NULL, 0, 0);
	if (fd == -ETIME || fd == -ETIMEDOUT)
		__atomic_store_n(&is_given_up, 1, __ATOMIC_RELAXED);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? path : NULL;
}
