/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - files made to cost: every one must be read in time linear in its size and in bounded memory
 *
 * usage: hostile CASE; each case is a process of its own, so that its peak memory is its own. 0: fine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "stream/stream.h"
#include "stream/wire/uft_file.h"
#include "stream/wire/wire.h"

#define MIB		(1u << 20)
#define MAX_RSS_MIB	300
#define MAX_SECONDS	20.0

static FILE *out;
static uint64_t file_bytes;
static uint32_t slice;			/* of the blocks that are put */

static void put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, out) != n)
		exit(3);
	file_bytes += n;
}

static void put_header(void)
{
	struct uft_file_header h = {
		.magic = UFT_FILE_MAGIC, .version = UFT_FILE_VERSION, .abi = UFT_ABI_VERSION,
		.tracer = UFT_TRACER_GRAPH, .ncpus = 2, .nexch = 2, .ring_bytes = 16 * MIB, .sub_bytes = MIB,
	};

	h.head_sum = wire_sum(&h, offsetof(struct uft_file_header, head_sum));
	put(&h, sizeof(h));
}

static void put_block(unsigned type, uint32_t ring, uint64_t position, const void *p, size_t n, int pack)
{
	static uint8_t packed[2 * MIB];
	struct uft_file_block b = {
		.magic = UFT_BLOCK_MAGIC, .type = (uint16_t)type, .slice = slice, .ring = ring, .position = position,
		.raw = (uint32_t)n, .stored = (uint32_t)n,
	};

	if (pack) {
		b.stored = (uint32_t)ZSTD_compress(packed, sizeof(packed), p, n, 1);
		b.flags = UFT_BLOCK_ZSTD;
		p = packed;
	}
	b.payload_sum = wire_sum(p, b.stored);
	b.head_sum = wire_sum(&b, offsetof(struct uft_file_block, head_sum));
	put(&b, sizeof(b));
	put(p, b.stored);
	put("\0\0\0\0\0\0\0", -b.stored & 7);
}

/* Sub-buffers full of what @word makes of a number. */
static void put_records(uint32_t ring, uint32_t mib, uint64_t (*word)(uint64_t), int pack)
{
	static uint64_t sub[MIB / 8];
	uint64_t n = 0;

	for (uint64_t i = 0; i < mib; i++) {
		struct uft_sub_header h = { .position = i * MIB, .clock = 1000 + i, .pid = 1, .tid = 1 };

		memcpy(sub, &h, sizeof(h));
		for (size_t k = 4; k < MIB / 8; k++)
			sub[k] = word(n++);
		put_block(UFT_BLOCK_RING, ring, i * MIB, sub, MIB, pack);
	}
}

static uint64_t word_entry(uint64_t n)
{
	return UFT_REC_WORD(UFT_REC_ENTRY, n & 0xfffffff, 5000);
}

/* A deep stack, then exits of what is not on it. */
static uint64_t word_search(uint64_t n)
{
	return UFT_REC_WORD(n < 3000000 ? UFT_REC_ENTRY : UFT_REC_EXIT, n < 3000000 ? 1 : 2 + (n & 0xff), 5000);
}

static uint64_t word_context(uint64_t n)
{
	return n % 3 == 0 ? UFT_REC_WORD(UFT_REC_CONTEXT, 0, 5000) : n % 3 == 1 ? 5000 : n << 8;
}

/*
 * A call each of tasks that fall together in a table whose place is bits 32 and up of a product by the golden ratio: its
 * inverse times a count.
 */
static uint64_t word_collide(uint64_t n)
{
	uint64_t task = 0xf1de83e19937733dull * (n / 5);

	switch (n % 5) {
	case 0: return UFT_REC_WORD(UFT_REC_CONTEXT, 0, 5000);
	case 1: return 5000;
	case 2: return task << 32 | task >> 32;
	case 3: return UFT_REC_WORD(UFT_REC_FUNC, 1, 5000);
	default: return 0;
	}
}

/* Functions whose every parent and id is another unknown one. */
static uint64_t word_unknown(uint64_t n)
{
	return n & 1 ? n << 20 : UFT_REC_WORD(UFT_REC_FUNC, n & 0xfffffff, 5000);
}

static uint64_t word_unwind(uint64_t n)
{
	return n & 1 ? UFT_REC_WORD(UFT_REC_UNWIND, 0xfffffff, 5000) : UFT_REC_WORD(UFT_REC_ENTRY, 1, 5000);
}

static uint64_t word_pad(uint64_t n)
{
	(void)n;
	return 0;
}

static uint64_t word_magic(uint64_t n)
{
	(void)n;
	return UFT_BLOCK_MAGIC;
}

static void put_names(void)
{
	struct wire w = { 0 };

	/* one object, then as many functions without names as a megabyte can say, packed to almost nothing */
	for (int i = 0; i < 3; i++)
		wire_put_u(&w, 0);
	wire_put_str(&w, "/x");
	wire_put_bytes(&w, "", 0);
	for (int i = 0; i < 13; i++)
		wire_put_u(&w, 0);
	put_block(UFT_BLOCK_OBJECT, 0, 0, w.p, w.n, 0);
	wire_free(&w);
	wire_put_u(&w, 0);
	while (w.n < MIB - 8) {
		wire_put_s(&w, 1);
		wire_put_u(&w, 1);
		wire_put_u(&w, 0);
		wire_put_str(&w, "");
	}
	for (int i = 0; i < 3000; i++)
		put_block(UFT_BLOCK_FUNCS, 0, 0, w.p, w.n, 1);
	wire_free(&w);
}

#define OBJECTS		60000u
#define OBJECT_IDS	16u
#define OBJECT_BYTES	0x1000u

/* Of each object in turn one is called, from another. */
static uint64_t word_object(uint64_t n)
{
	uint64_t call = n / 2, object = call % OBJECTS;

	return n & 1 ? (OBJECTS - object) * OBJECT_BYTES + call / OBJECTS + 1 :
	       UFT_REC_WORD(UFT_REC_FUNC, object * OBJECT_IDS + call / OBJECTS, 5000);
}

static uint64_t word_stack(uint64_t n)
{
	uint64_t stack = n / 2, object = stack % OBJECTS;

	return n & 1 ? UFT_STACK_ADDRESS | ((object + 1) * OBJECT_BYTES + stack / OBJECTS + 1) :
	       UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(UFT_EVENT_STACK, 1), 5000);
}

static void put_image(uint32_t number)
{
	struct wire w = { 0 };

	wire_put_u(&w, number);
	wire_put_str(&w, "/program");
	put_block(UFT_BLOCK_IMAGE, 0, 0, w.p, w.n, 0);
	w.n = 0;
	for (int i = 0; i < 5; i++)		/* number, pid, ppid, image, clock */
		wire_put_u(&w, i == 1 ? number + 1 : i % 3 == 0 ? number : 0);
	put_block(UFT_BLOCK_SLICE, 0, 0, w.p, w.n, 0);
	wire_free(&w);
}

/* One image with many objects, each with code, ids and a name of its own. */
static void put_object_list(void)
{
	struct wire w = { 0 };
	char path[32];

	put_image(0);
	for (uint64_t i = 0; i < OBJECTS; i++) {
		const uint64_t mapped[] = { 0, (i + 1) * OBJECT_BYTES, (i + 2) * OBJECT_BYTES, i * OBJECT_IDS,
			OBJECT_IDS,
			0, 0, 0, 0 };

		w.n = 0;
		wire_put_u(&w, 0);
		wire_put_u(&w, i);
		wire_put_u(&w, i);
		snprintf(path, sizeof(path), "/uft-hostile/%llu", (unsigned long long)i);
		wire_put_str(&w, path);
		wire_put_bytes(&w, "", 0);
		wire_put_u(&w, 62);		/* EM_X86_64 */
		wire_put_u(&w, 3);		/* ET_DYN */
		wire_put_u(&w, 0);
		wire_put_u(&w, 0);
		for (size_t k = 0; k < sizeof(mapped) / sizeof(mapped[0]); k++)
			wire_put_u(&w, mapped[k]);
		put_block(UFT_BLOCK_OBJECT, 0, 0, w.p, w.n, 0);
	}
	wire_free(&w);
}

static void put_objects(void)
{
	put_object_list();
	put_records(0, 3, word_object, 1);
}

/* In each of the objects in turn a stack begins, of the one frame that is a sample. */
static void put_stacks(void)
{
	put_object_list();
	put_records(0, 3, word_stack, 1);
}

#define IMAGES		10000u
#define IMAGE_CALLS	100u

/* Programs that call in turn, each another function each time. */
static void put_images(void)
{
	uint64_t sub[4 + 2 * IMAGE_CALLS];

	for (uint32_t i = 0; i < IMAGES; i++)
		put_image(i);
	for (slice = 0; slice < IMAGES; slice++) {
		struct uft_sub_header h = { .clock = 1000, .pid = slice + 1, .tid = slice + 1 };

		memcpy(sub, &h, sizeof(h));
		for (uint32_t i = 0; i < IMAGE_CALLS; i++) {
			sub[4 + 2 * i] = UFT_REC_WORD(UFT_REC_FUNC, i + 1, 5000);
			sub[5 + 2 * i] = 0;
		}
		put_block(UFT_BLOCK_RING, 0, 0, sub, sizeof(sub), 1);
	}
}

static void put_sites(void)
{
	struct wire w = { 0 };

	for (uint64_t i = 0; i < 200000; i++) {
		w.n = 0;
		wire_put_u(&w, 0);
		wire_put_u(&w, 0);
		wire_put_u(&w, 0xffffff00 + i % 200);	/* far out, one entry */
		wire_put_u(&w, 1);
		wire_put_s(&w, 5);
		wire_put_s(&w, 5);
		put_block(UFT_BLOCK_SITES, 0, 0, w.p, w.n, 0);
	}
	wire_free(&w);
}

static void put_many_rings(void)
{
	static uint64_t sub[MIB / 8];

	for (uint32_t ring = 0; ring < 1500; ring++) {
		struct uft_sub_header h = { .clock = 1000, .pid = 1, .tid = ring };

		memcpy(sub, &h, sizeof(h));
		for (size_t k = 4; k < 60; k++)		/* all rings are open at once, record by record */
			sub[k] = UFT_REC_WORD(UFT_REC_ENTRY, k, 2000 + 1000 * (k % 10));
		put_block(UFT_BLOCK_RING, ring, 0, sub, MIB, 1);
	}
}

static const struct hostile_case {
	const char *name;
	void (*write)(void);		/* or */
	uint64_t (*word)(uint64_t);	/* in so many MiB of one ring */
	uint32_t mib;
	int pack;
} cases[] = {
	{ .name = "entries", .word = word_entry, .mib = 128 },
	{ .name = "search", .word = word_search, .mib = 128 },
	{ .name = "contexts", .word = word_context, .mib = 64 },
	{ .name = "collide", .word = word_collide, .mib = 10 },
	{ .name = "unknown", .word = word_unknown, .mib = 64 },
	{ .name = "unwind", .word = word_unwind, .mib = 64 },
	{ .name = "pad", .word = word_pad, .mib = 1500, .pack = 1 },
	{ .name = "magic", .word = word_magic, .mib = 64 },
	{ .name = "names", .write = put_names },
	{ .name = "objects", .write = put_objects },
	{ .name = "stacks", .write = put_stacks },
	{ .name = "images", .write = put_images },
	{ .name = "sites", .write = put_sites },
	{ .name = "rings", .write = put_many_rings },
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int read_back(const char *path)
{
	static struct uft_event ev[256];
	uint64_t events = 0;
	struct uft_stream *st;
	struct rusage ru;
	double start = now();
	size_t n;

	if (uft_stream_open(path, NULL, &st, NULL))
		return 2;
	while ((n = uft_stream_batch(st, ev, 256)))
		events += n;
	uft_stream_info(st);
	uft_stream_close(st);
	start = now() - start;
	getrusage(RUSAGE_SELF, &ru);
	printf("%.1f MiB in %.2f s, %ld MiB, %llu events\n", (double)file_bytes / MIB, start, ru.ru_maxrss >> 10,
	       (unsigned long long)events);
	return start > MAX_SECONDS || ru.ru_maxrss >> 10 > MAX_RSS_MIB;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/uft-hostile-XXXXXX";
	int fd = mkstemp(path), ret = 2;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc < 2 || strcmp(cases[i].name, argv[1]))
			continue;
		out = fdopen(fd, "wb");
		put_header();
		if (cases[i].write)
			cases[i].write();
		else
			put_records(0, cases[i].mib, cases[i].word, cases[i].pack);
		fclose(out);
		ret = read_back(path);
	}
	unlink(path);
	return ret;
}
