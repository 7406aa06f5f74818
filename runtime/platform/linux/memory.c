/* SPDX-License-Identifier: MIT */
/*
 * memory.c - the process's mappings, and memory within reach of code
 *
 * All mappings are private and anonymous: a fork child gets its own copy, which a shared file mapping would not give
 * (its parent's agent would switch the child's thunks). MAP_NORESERVE, because sizes here are address space for the
 * worst case, and most of it is never touched.
 */
#include "runtime/base/mem.h"
#include "runtime/base/sys.h"
#include "runtime/platform/linux/maps.h"
#include "runtime/platform/linux/own.h"
#include "runtime/platform/platform.h"
#include "uft/abi.h"

#define REACH		ARCH_REACH
#define LOWEST		0x10000ull		/* vm.mmap_min_addr is not above it anywhere */
/* the end of a 47-bit address space, which a process gets if it does not ask for more */
#define HIGHEST		0x7ffffffff000ull
/*
 * Programs below this address map memory there by MAP_FIXED when they run, whatever is there: Wine its shared page at
 * 0x7ffe0000, AddressSanitizer its shadow from 0x7fff7000 to 0x10007fff8000. No code below reaches beyond. The memory
 * of other sanitizers, Go, V8 or a JVM is out of reach, or they check the place first.
 */
#define FIXED_LO	0x7ffe0000ull
#define STACK_ROOM	(256ull << 20)		/* kept free below a stack that may grow */
#define MAX_LINE	512
#define MADV_POPULATE_WRITE_ 23		/* Linux 5.14 */
#define MADV_NONE_	0x7fff		/* advice that no kernel has */

void *plat_map(size_t bytes)
{
	long m = mem_map(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	return sys_is_error(m) ? NULL : (void *)m;
}

void plat_unmap(void *at, size_t bytes)
{
	mem_unmap((uintptr_t)at, bytes);
}

/* If new mappings come locked, a plain mapping would make every page. */
void *plat_map_sparse(size_t bytes)
{
	long m;

	if (!plat_expect_locks(0))
		return plat_map(bytes);
	m = mem_map(0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (sys_is_error(m))
		return NULL;
	sys_call3(__NR_munlock, m, bytes, 0);
	if (!sys_mprotect((uint64_t)m, bytes, PROT_READ | PROT_WRITE))
		return (void *)m;
	mem_unmap((uint64_t)m, bytes);
	return NULL;
}

int plat_wipe_on_fork(uintptr_t at, size_t bytes)
{
	return sys_madvise(at, bytes, MADV_WIPEONFORK);
}

void plat_discard(uintptr_t at, size_t bytes)
{
	sys_madvise(at, bytes, MADV_DONTNEED);
}

void plat_populate(uintptr_t lo, uintptr_t hi)
{
	lo = PLAT_PAGE_DOWN(lo);
	sys_madvise(lo, PLAT_PAGE_UP(hi) - lo, MADV_POPULATE_WRITE_);
}

static int is_scarce(long ret)
{
	return ret == -EFAULT || ret == -ENOMEM || ret == -EHWPOISON;
}

/* Does MADV_POPULATE_WRITE make pages? Older kernels refuse it; an emulator accepts any advice and does nothing. */
static int has_populate(uintptr_t lo)
{
	enum { UNKNOWN, YES, NO };
	static uint32_t known;		/* copied by fork */

	if (plat_is_denied(UFT_DENIED_MEMORY))
		return 0;
	if (!uft_load(&known))
		uft_store(&known, sys_madvise(lo, UFT_PAGE, MADV_NONE_) == -EINVAL ? (uint32_t)YES : (uint32_t)NO);
	return uft_load(&known) == YES;
}

/*
 * Makes a page: the kernel ors 0 to its first word, and wakes no thread; the content stays. A failing access of the
 * kernel is an error; a failing access of ours would be a SIGBUS.
 */
static long touch(uintptr_t page)
{
	return sys_call6(__NR_futex, page, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, page,
			 FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0));
}

int plat_reserve(uintptr_t lo, size_t bytes)
{
	long ret = has_populate(lo) ? sys_madvise(lo, bytes, MADV_POPULATE_WRITE_) : -EINVAL;

	if (ret && !is_scarce(ret)) {
		ret = 0;
		for (size_t at = 0; at < bytes && !is_scarce(ret); at += UFT_PAGE)
			ret = touch(lo + at); /* GUARD(plat_reserve_touch) */
	}
	return is_scarce(ret) ? -ENOMEM : 0;
}

void plat_give_back(uintptr_t lo, size_t bytes)
{
	sys_madvise(lo, bytes, MADV_REMOVE);
}

int plat_map_at(uintptr_t at, size_t bytes, int prot)
{
	long m = mem_map(at, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1);

	if (sys_is_error(m))
		return (int)m;
	if ((uintptr_t)m != at) {	/* before Linux 4.17 the flag is unknown and the address a hint */
		mem_unmap((uintptr_t)m, bytes);
		return -EEXIST;
	}
	return 0;
}

int plat_protect(uintptr_t at, size_t bytes, int prot)
{
	return sys_mprotect(at, bytes, prot);
}

/* ---- the list of mappings ------------------------------------------------------------------------ */

static int parse_line(const char *s, const char *end, struct linux_map *m)
{
	const char *tag = "[stack";
	int i;

	m->lo = mem_get_number(&s, end, 16);
	if (s == end || *s++ != '-')
		return -EINVAL;
	m->hi = mem_get_number(&s, end, 16);
	if (end - s < 5 || *s++ != ' ')
		return -EINVAL;
	m->prot = (s[0] == 'r' ? PLAT_READ : 0) | (s[1] == 'w' ? PLAT_WRITE : 0) | (s[2] == 'x' ? PLAT_EXEC : 0);
	m->is_stack = 0;
	while (s < end && *s != '[')
		s++;
	for (i = 0; tag[i] && s + i < end && s[i] == tag[i]; i++)
		;
	m->is_stack = !tag[i];
	return 0;
}

int linux_maps_walk(int (*fn)(void *arg, const struct linux_map *m), void *arg)
{
	char buf[4096];
	size_t have = 0;
	int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC), ret = 0;
	long n;

	if (fd < 0)
		return fd;
	while ((n = sys_read(fd, buf + have, sizeof(buf) - have)) > 0) {
		char *at = buf, *end = buf + have + n, *nl;

		for (;; at = nl + 1) {
			struct linux_map m;

			for (nl = at; nl < end && *nl != '\n'; nl++)
				;
			if (nl == end)
				break;
			if (!parse_line(at, nl, &m) && fn(arg, &m))
				goto out;
		}
		have = (size_t)(end - at);
		if (have > MAX_LINE)		/* a long path: the start of the line is enough */
			have = MAX_LINE;
		memmove(buf, at, have);
	}
	ret = n < 0 ? (int)n : 0;
out:
	sys_close(fd);
	return ret;
}

/* ---- near --------------------------------------------------------------------------------------- */

struct near {
	uintptr_t lo, hi;	/* the code to reach */
	size_t bytes;
	uintptr_t gap;		/* the begin of the gap before the current mapping */
	uintptr_t heap;		/* the end of the heap, which grows from there, even if it is empty yet */
	uintptr_t below, above;	/* best so far; 0: none */
	int is_close;		/* above: the first gap; below or above: the nearer */
};

/* The end of memory that code at @lo and above can reach. */
static uintptr_t end_of_reach(uintptr_t lo)
{
	return lo < FIXED_LO && lo + REACH > FIXED_LO ? FIXED_LO : lo + REACH;
}

/* Leaves one page free on both sides: neighbours may grow, and a run-away write should fault. */
static void near_piece(struct near *n, uintptr_t from, uintptr_t to, int is_low)
{
	uintptr_t reach_lo = n->hi > REACH ? n->hi - REACH : 0, reach_hi = end_of_reach(n->lo), at;

	if (from < LOWEST)
		from = LOWEST;
	from = PLAT_PAGE_UP(from) + PLAT_PAGE;
	if (from < reach_lo)
		from = PLAT_PAGE_UP(reach_lo);
	to = to > reach_hi ? PLAT_PAGE_DOWN(reach_hi) : to;
	if (to < PLAT_PAGE || to - PLAT_PAGE < from || to - PLAT_PAGE - from < n->bytes)
		return;
	at = to - PLAT_PAGE - n->bytes;
	if (to <= n->lo)
		n->below = at;
	else if (from >= n->hi && !(n->is_close && n->above))
		n->above = is_low ? from : at;
}

/*
 * A program that allocates by sbrk() has no other memory. So above the heap the far end of a gap is taken, even if the
 * nearest place is wanted. Before the first sbrk() no mapping shows where the heap will grow, and no kernel leaves room
 * behind the program on purpose.
 */
static void near_gap(struct near *n, uintptr_t from, uintptr_t to)
{
	if (from <= n->heap && n->heap < to) {
		near_piece(n, from, n->heap, n->is_close);
		near_piece(n, n->heap, to, 0);
	} else {
		near_piece(n, from, to, n->is_close);
	}
}

static int near_map(void *arg, const struct linux_map *m)
{
	struct near *n = arg;
	uintptr_t to = m->lo;

	if (m->is_stack)
		to = to > STACK_ROOM ? to - STACK_ROOM : 0;
	if (to > n->gap)
		near_gap(n, n->gap, to);
	n->gap = m->hi;
	return m->lo > n->hi && m->lo - n->hi > REACH;
}

/* Without /proc: try every 2 MiB, below first. */
static int near_probe(struct near *n, int prot, uintptr_t *out)
{
	const uintptr_t step = 2ul << 20;
	uintptr_t at;

	for (at = PLAT_PAGE_DOWN(n->lo) - n->bytes - PLAT_PAGE; at < n->lo && at > LOWEST && n->hi - at < REACH;
	     at -= step)
		if (!plat_map_at(at, n->bytes, prot)) {
			*out = at;
			return 0;
		}
	for (at = PLAT_PAGE_DOWN(end_of_reach(n->lo) - n->bytes); at > n->hi; at -= step)
		if (!plat_map_at(at, n->bytes, prot)) {
			*out = at;
			return 0;
		}
	return -ENOMEM;
}

int plat_map_near(uintptr_t lo, uintptr_t hi, size_t bytes, int prot, uintptr_t *out)
{
	struct near n = { .lo = lo, .hi = hi, .bytes = PLAT_PAGE_UP(bytes), .is_close = (prot & PLAT_CLOSE) != 0 };
	int tries;

	if (hi <= lo || hi - lo > REACH / 2)
		return -ENOMEM;
	/* Another thread may map something between the look and the mapping: then look again. */
	prot &= ~PLAT_CLOSE;
	for (tries = 0; tries < 8; tries++) {
		n.gap = n.below = n.above = 0;
		n.heap = PLAT_PAGE_UP((uintptr_t)sys_call3(__NR_brk, 0, 0, 0));
		if (linux_maps_walk(near_map, &n))
			break;
		near_gap(&n, n.gap, HIGHEST);
		if (!n.below && !n.above)
			return -ENOMEM;
		*out = n.below && !(n.is_close && n.above && n.above - hi < lo - n.below) ? n.below : n.above;
		if (!plat_map_at(*out, n.bytes, prot))
			return 0;
	}
	return near_probe(&n, prot, out);
}

/* ---- memory that will grow ------------------------------------------------------------------------------ */

static int growth_map(void *arg, const struct linux_map *m)
{
	struct plat_growing *stack = arg;

	if (m->is_stack && !stack->hi)
		*stack = (struct plat_growing){ m->lo > STACK_ROOM ? m->lo - STACK_ROOM : 0, m->lo };
	return 0;
}

int plat_growth(uintptr_t code, struct plat_growing r[PLAT_NGROWTH])
{
	r[0].lo = (uintptr_t)sys_call3(__NR_brk, 0, 0, 0);
	r[0].hi = r[0].lo + UFT_HEAP_ROOM;
	r[1] = (struct plat_growing){ 0, 0 };
	r[2] = (struct plat_growing){ end_of_reach(code), code < FIXED_LO ? HIGHEST : 0 };
	return linux_maps_walk(growth_map, &r[1]);
}
