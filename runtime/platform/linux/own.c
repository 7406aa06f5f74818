/* SPDX-License-Identifier: MIT */
/*
 * own.c - the list of all memory that the runtime has mapped, so that a detach can give it back
 *
 * Code that maps memory for long does it by functions of this file. Entries lie in chunks that are never freed before
 * the end; an entry is free while `at` is 0. Any thread may map (a thread's shadow stack): it claims an entry by one
 * compare-and-swap and publishes it by a store of `at`. A fork child has a copy; an entry that was claimed at that
 * moment is lost to it, which is harmless, because it lists no memory.
 */
#include "runtime/base/sys.h"
#include "runtime/platform/linux/own.h"
#include "runtime/platform/platform.h"
#include "uft/abi.h"

#define CLAIMED		1ull
#define CHUNK_BYTES	4096u

_Static_assert(sizeof(struct uft_own_chunk) == CHUNK_BYTES, "a page");

struct uft_own_chunk uft_own_first;	/* read by the session where a start has failed: remote_unmap_blob() */
static uint64_t own_bytes;

static uint64_t in_pages(uint64_t bytes)
{
	return ((bytes & ~UFT_OWNED_TP) + 4095) & ~4095ull;
}

uint64_t mem_owned_bytes(void)
{
	return __atomic_load_n(&own_bytes, __ATOMIC_SEQ_CST);
}

static void count(uint64_t bytes)
{
	__atomic_add_fetch(&own_bytes, bytes, __ATOMIC_SEQ_CST);
}

static struct uft_owned *own_claim(struct uft_own_chunk *c)
{
	for (unsigned i = 0; i < sizeof(c->range) / sizeof(c->range[0]); i++)
		if (!uft_load(&c->range[i].at) && uft_cas(&c->range[i].at, 0, CLAIMED))
			return &c->range[i];
	return NULL;
}

/* Adds a chunk, which lists itself first. If two threads add one at once, the loser's is unmapped. */
static struct uft_own_chunk *own_grow(struct uft_own_chunk *last)
{
	struct uft_own_chunk *c, *none = NULL;
	long m = sys_mmap(0, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (sys_is_error(m))
		return NULL;
	c = (struct uft_own_chunk *)m;
	c->range[0] = (struct uft_owned){ (uint64_t)m, CHUNK_BYTES };
	if (!__atomic_compare_exchange_n(&last->next, &none, c, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		sys_munmap((uint64_t)m, CHUNK_BYTES);
	else
		count(CHUNK_BYTES);
	return last->next;
}

int mem_own(uint64_t at, uint64_t bytes)
{
	for (struct uft_own_chunk *c = &uft_own_first; c;) {
		struct uft_owned *r = own_claim(c);
		struct uft_own_chunk *next = uft_load_acquire(&c->next);

		if (r) {
			r->bytes = bytes;
			uft_store_release(&r->at, at);
			count(in_pages(bytes));
			limit_follow();
			return 0;
		}
		c = next ? next : own_grow(c);
	}
	return -ENOMEM;
}

void mem_disown(uint64_t at)
{
	for (struct uft_own_chunk *c = &uft_own_first; c; c = uft_load_acquire(&c->next))
		for (unsigned i = 0; i < sizeof(c->range) / sizeof(c->range[0]); i++)
			if (uft_load(&c->range[i].at) == at) {
				count(0 - in_pages(c->range[i].bytes));
				uft_store_release(&c->range[i].at, 0);
				return;
			}
}

long mem_map(uint64_t addr, size_t bytes, int prot, int flags, int fd)
{
	long at = sys_mmap(addr, bytes, prot, flags, fd, 0);

	if (at == -ENOMEM && limit_make_room(in_pages(bytes)))
		at = sys_mmap(addr, bytes, prot, flags, fd, 0);
	if (!sys_is_error(at) && mem_own((uint64_t)at, bytes)) {
		sys_munmap((uint64_t)at, bytes);
		return -ENOMEM;
	}
	return at;
}

/*
 * Where mem_map_apart() put the last mapping. If that place is free, it is taken again, because qemu-user searches
 * upwards from its last answer and keeps notes of each page that it ever gave, which a fork copies.
 */
static struct { uint64_t at, bytes; } last;

/* Maps at the last place. It is free again when a fork child got that mapping, and its parent makes the next one. */
static long map_again(size_t bytes, int prot, int flags, int fd)
{
	const uint64_t at = uft_load(&last.at);
	long got = uft_load(&last.bytes) == bytes ? mem_map(at, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd) : -ENOENT;

	if (sys_is_error(got) || (uint64_t)got == at)
		return got;
	mem_unmap((uint64_t)got, bytes);	/* before Linux 4.17 */
	return -EEXIST;
}

long mem_map_apart(size_t bytes, int prot, int flags, int fd)
{
	static uint64_t first;
	const uint64_t hint = uft_load(&first);
	const size_t room = bytes + ARCH_REACH;
	long at = map_again(bytes, prot, flags, fd);

	if (!sys_is_error(at))
		return at;
	/*
	 * Maps at the lower end of a hole that has room for the mapping and for code; if another thread takes the hole
	 * meanwhile, where the kernel likes. Two large mappings would fill all that code of the libraries above
	 * reaches, and hooks would have no room.
	 */
	if (ARCH_REACH < 1ull << 30 || bytes > ARCH_REACH / 4)
		at = sys_mmap(hint, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!sys_is_error(at)) {
		sys_munmap((uint64_t)at, room);
		at = mem_map((uint64_t)at, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd);
	}
	if (sys_is_error(at))
		at = mem_map(hint, bytes, prot, flags, fd);
	if (!hint && !sys_is_error(at))
		uft_store(&first, (uint64_t)at);
	if (!sys_is_error(at)) {
		uft_store(&last.at, (uint64_t)at);
		uft_store(&last.bytes, (uint64_t)bytes);
	}
	return at;
}

void mem_unmap(uint64_t at, size_t bytes)
{
	mem_disown(at);		/* first: the thread that gets the address next lists it, too */
	sys_munmap(at, bytes);
	limit_follow();
}

uint32_t plat_list_owned(struct uft_owned *to, uint32_t max)
{
	uint32_t n = 0;

	for (struct uft_own_chunk *c = &uft_own_first; c; c = uft_load_acquire(&c->next))
		for (unsigned i = 0; i < sizeof(c->range) / sizeof(c->range[0]); i++) {
			struct uft_owned r = { uft_load_acquire(&c->range[i].at), c->range[i].bytes };

			if (r.at <= CLAIMED)
				continue;
			if (n < max)
				to[n] = r;
			n++;
		}
	return n;
}

int mem_next_owned(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	int found = 0;

	for (struct uft_own_chunk *c = &uft_own_first; c; c = uft_load_acquire(&c->next))
		for (unsigned i = 0; i < sizeof(c->range) / sizeof(c->range[0]); i++) {
			uint64_t from = uft_load_acquire(&c->range[i].at), bytes = c->range[i].bytes & ~UFT_OWNED_TP;

			if (from <= CLAIMED || from + bytes <= at || from >= *lo)
				continue;
			*lo = from;
			*hi = (from + bytes + 4095) & ~4095ull;	/* the list has sizes as they were asked for */
			found = 1;
		}
	return found;
}
