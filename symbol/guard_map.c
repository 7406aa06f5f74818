/* SPDX-License-Identifier: MIT */
/* guard_map.c - see guard_map.h */
#include "symbol/guard_map.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NCHUNK	256u

/* Mappings, in chunks that are never freed: the handler reads them without a lock. at 0: free. */
static struct chunk {
	struct { uintptr_t at; size_t size; int prot; } map[NCHUNK];
	struct chunk *next;
} first;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before;
static uintptr_t page;

/* Returns the protection of the mapping at @addr; 0: no mapping. */
static int prot_of(uintptr_t addr)
{
	for (const struct chunk *c = &first; c; c = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE))
		for (unsigned i = 0; i < NCHUNK; i++) {
			uintptr_t at = __atomic_load_n(&c->map[i].at, __ATOMIC_ACQUIRE);

			if (at && addr - at < c->map[i].size)
				return c->map[i].prot;
		}
	return 0;
}

static void on_bus(int sig, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr & ~(page - 1);
	int saved = errno, prot = info->si_code > 0 ? prot_of((uintptr_t)info->si_addr) : 0;

	if (prot && mmap((void *)addr, page, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
		errno = saved;
		return;
	}
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(sig);
	} else {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

static void install(void)
{
	struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &action, &before);
}

/* 0 or -ENOMEM. */
static int add(uintptr_t at, size_t size, int prot)
{
	struct chunk *c = &first;

	for (;; c = c->next) {
		for (unsigned i = 0; i < NCHUNK; i++)
			if (!c->map[i].at) {
				c->map[i].size = size;
				c->map[i].prot = prot;
				__atomic_store_n(&c->map[i].at, at, __ATOMIC_RELEASE);
				return 0;
			}
		if (!c->next) {
			struct chunk *more = calloc(1, sizeof(*more));

			if (!more)
				return -ENOMEM;
			__atomic_store_n(&c->next, more, __ATOMIC_RELEASE);
		}
	}
}

static int guard(const void *at, size_t size, int prot)
{
	int ret;

	pthread_once(&once, install);
	pthread_mutex_lock(&lock);
	ret = add((uintptr_t)at, size, prot);
	pthread_mutex_unlock(&lock);
	return ret;
}

int guard_add(void *at, size_t size)
{
	return guard(at, size, PROT_READ | PROT_WRITE);
}

void guard_drop(const void *at)
{
	pthread_mutex_lock(&lock);
	for (struct chunk *c = &first; c; c = c->next)
		for (unsigned i = 0; i < NCHUNK; i++)
			if (c->map[i].at == (uintptr_t)at)
				__atomic_store_n(&c->map[i].at, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

void guard_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

void guard_touch(const void *at, size_t size)
{
	const volatile char *p = at;

	for (size_t i = 0; i < size; i += page ? page : 4096)
		(void)p[i];
	if (size)
		(void)p[size - 1];
}

void guard_fill_mask(sigset_t *set)
{
	sigfillset(set);
	sigdelset(set, SIGBUS);
}

const void *guard_map(int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	int ret;

	if (p == MAP_FAILED)
		return NULL;
	ret = guard(p, size, PROT_READ);
	if (!ret)
		return p;
	munmap(p, size);
	errno = -ret;
	return NULL;
}

void guard_unmap(const void *p, size_t size)
{
	guard_drop(p);
	munmap((void *)p, size);
}
