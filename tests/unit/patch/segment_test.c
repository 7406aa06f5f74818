/* SPDX-License-Identifier: MIT */
/*
 * segment_test.c - the mapping of an address is found while another thread splits and joins it
 *
 * Linux 6.17 and later leave such a mapping out of /proc/self/maps now and then, others never. So here every second
 * list is an empty one.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "runtime/platform/linux/maps.h"
#include "runtime/platform/platform.h"
#include "tests/unit/patch/kit.h"

#define PAGES	16
#define LOOKS	30000

static volatile int is_over;

static unsigned lists;

int __real_linux_maps_walk(int (*fn)(void *arg, const struct linux_map *m), void *arg);
int __wrap_linux_maps_walk(int (*fn)(void *arg, const struct linux_map *m), void *arg);
int __wrap_linux_maps_walk(int (*fn)(void *arg, const struct linux_map *m), void *arg)
{
	return lists++ % 2 ? __real_linux_maps_walk(fn, arg) : 0;
}

static void *change(void *pages)
{
	while (!is_over) {
		CHECK(!mprotect((char *)pages + 6 * PLAT_PAGE, 5 * PLAT_PAGE, PROT_READ));
		CHECK(!mprotect((char *)pages + 6 * PLAT_PAGE, 5 * PLAT_PAGE, PROT_READ | PROT_WRITE));
	}
	return NULL;
}

int main(void)
{
	char *pages = mmap(NULL, PAGES * PLAT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t at = (uintptr_t)pages + 8 * PLAT_PAGE + 1, lo, hi;
	pthread_t changer;
	int prot;

	CHECK(pages != MAP_FAILED);
	CHECK(!pthread_create(&changer, NULL, change, pages));
	for (int i = 0; i < LOOKS; i++) {
		prot = plat_text_segment(at, &lo, &hi);
		CHECK(prot != -ENOENT, "look %d", i);
		CHECK(lo <= at && at < hi, "look %d", i);
		CHECK(prot < 0 || prot & PLAT_READ, "look %d: %d", i, prot);
	}
	is_over = 1;
	CHECK(!pthread_join(changer, NULL));
	CHECK(plat_text_segment(at, &lo, &hi) == (PLAT_READ | PLAT_WRITE));
	CHECK(!munmap(pages, PAGES * PLAT_PAGE));
	CHECK(plat_text_segment(at, &lo, &hi) == -ENOENT);
	CHECK(lists > LOOKS);
	return 0;
}
