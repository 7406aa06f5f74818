/* SPDX-License-Identifier: MIT */
/*
 * text.c - writing code
 *
 * The usual way is mprotect: writable and executable for the time of a batch, then as before. SELinux, PaX, PR_SET_MDWE
 * and seccomp may each refuse that. Then bytes are written through /proc/self/mem, which writes private mappings
 * whatever their protection is (it copies the page, as for a debugger): 1.5 us per write instead of 5 ns.
 *
 * An open /proc/self/mem is in a descriptor table. The agent keeps it open in its own (plat_text_keep()). Without an
 * agent it is opened for each window, so that a program never finds such a descriptor.
 *
 * Forks: opening and closing a window take the address space's lock for writing, as fork does for the time in which it
 * copies. So a fork child never has half of the writes inside a window without the writes before it. If mprotect may
 * not change the text, an mprotect that changes nothing is made on a page of the runtime.
 */
#include "runtime/base/mem.h"
#include "runtime/base/sys.h"
#include "runtime/platform/linux/maps.h"
#include "runtime/platform/platform.h"

/* Written by the patching task only (and reset by a fork child before it has one). */
static int kept_fd = -1;	/* opened by plat_text_keep() */
static int window_fd = -1;	/* opened for the windows that are open now */
static int window_users;

#define SEGMENT_WALKS	8	/* a task would have to change the mapping during each of them */

static int open_mem(void)
{
	return sys_open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

int plat_text_keep(void)
{
	if (kept_fd < 0)
		kept_fd = open_mem();
	return kept_fd;
}

void plat_text_forget(void)
{
	kept_fd = window_fd = -1; /* GUARD(plat_text_forget_kept_fd) */
	window_users = 0;
}

static int segment_map(void *arg, const struct linux_map *m)
{
	struct linux_map *seg = arg;

	if (seg->lo >= m->hi)
		return 0;
	if (seg->lo >= m->lo)
		*seg = *m;
	return 1;
}

/* Since 2.6.19 MS_ASYNC does nothing except telling whether all of it is mapped. */
static int is_mapped(uintptr_t lo, size_t bytes)
{
	return sys_msync(lo, bytes, MS_ASYNC) != -ENOMEM;
}

/*
 * Since Linux 6.17 the list is read without the address space's lock. So it can lack a mapping that another task splits
 * or joins meanwhile, and the kernel is asked about the page as well.
 */
int plat_text_segment(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	struct linux_map seg;

	for (int i = 0; i < SEGMENT_WALKS; i++) {
		seg = (struct linux_map){ .lo = at, .hi = 0 };
		if (linux_maps_walk(segment_map, &seg))
			break;
		if (seg.hi) {
			*lo = seg.lo;
			*hi = seg.hi;
			return seg.prot;
		}
		if (!is_mapped(PLAT_PAGE_DOWN(at), PLAT_PAGE)) /* GUARD(plat_text_segment_is_mapped, 1) */
			return -ENOENT;
	}
	*lo = PLAT_PAGE_DOWN(at);
	*hi = *lo + PLAT_PAGE;
	return is_mapped(*lo, PLAT_PAGE) ? -ENOSYS : -ENOENT;
}

/* Takes the lock that orders writes against a fork; see the top. Any mapping of the runtime will do. */
void plat_order_forks(void)
{
	static char page[2 * PLAT_PAGE];	/* holds one whole page */

	sys_mprotect(PLAT_PAGE_UP(page), PLAT_PAGE, PROT_READ | PROT_WRITE);
}

int plat_text_open(struct plat_window *w, uintptr_t lo, uintptr_t hi, int prot, int no_mprotect)
{
	w->lo = PLAT_PAGE_DOWN(lo);
	w->hi = PLAT_PAGE_UP(hi);
	w->prot = prot;
	w->is_direct = 0;
	if (prot >= 0 && !no_mprotect && !sys_mprotect(w->lo, w->hi - w->lo, prot | PROT_WRITE)) {
		w->is_direct = 1;
		return 0;
	}
	if (!is_mapped(w->lo, w->hi - w->lo)) /* GUARD(text_by_file, 1) */
		return -EFAULT;
	if (kept_fd < 0 && window_fd < 0) {
		int fd = open_mem();

		if (fd < 0)
			return -EACCES;
		window_fd = fd;
	}
	window_users++;
	plat_order_forks();
	return 0;
}

void plat_text_close(struct plat_window *w)
{
	if (w->is_direct) {
		sys_mprotect(w->lo, w->hi - w->lo, w->prot); /* GUARD(plat_text_close_sys_mprotect) */
		return;
	}
	plat_order_forks();
	if (--window_users > 0 || window_fd < 0)
		return;
	sys_close(window_fd);
	window_fd = -1;
}

int plat_text_poke(uintptr_t at, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;
	int fd = kept_fd >= 0 ? kept_fd : window_fd;

	/* Word by word, because the kernel writes eight aligned bytes by one access, and a longer run in any order. */
	while (n) {
		size_t part = 8 - (at & 7);
		uint64_t word;
		long ret;

		if (part > n)
			part = n;
		word = *(const uint64_t *)(at & ~7ul);
		memcpy((char *)&word + (at & 7), from, part);
		ret = sys_pwrite(fd, &word, 8, at & ~7ul);
		if (ret != 8)
			return ret == -EIO || ret == -EFAULT ? -EFAULT : -EACCES;
		at += part;
		from += part;
		n -= part;
	}
	return 0;
}
