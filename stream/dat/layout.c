/* SPDX-License-Identifier: MIT */
/*
 * layout.c - the parts of a trace.dat file
 *
 * Version 6 has its parts one after the other: magic, header_page and header_event, formats, kallsyms, printk,
 * cmdlines, then options, then a table of the pages of each CPU. Version 7 has sections, to which options point, in a
 * chain of option sections; a section may be packed. Both keep pages as they were in the kernel's ring buffer.
 *
 * Hostile input. The file is read with pread(), never mapped: a file that shrinks is damage, not a signal. Each size is
 * compared with the rest of the file before it is used. Unpacked data that are kept are limited by a budget that grows
 * with the file. Chains of options are followed forwards a bounded number of times.
 *
 * Source: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5), and files of trace-cmd 3.1.6.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "stream/dat/dat.h"
#include "stream/dat/layout.h"
#include "stream/wire/wire.h"
#include "symbol/array.h"

enum {
	OPT_DONE = 0, OPT_BUFFER = 3, OPT_TRACECLOCK = 4, OPT_UNAME = 5, OPT_OFFSET = 7, OPT_VERSION = 9,
	OPT_TRACEID = 11, OPT_TIME_SHIFT = 12, OPT_TSC2NSEC = 14,
	OPT_FTRACE_EVENTS = 17, OPT_EVENT_FORMATS = 18, OPT_KALLSYMS = 19, OPT_CMDLINES = 21,
};

#define OPTION_MAX	(1u << 20)	/* bytes of one option, at most */
#define OPTIONS_MAX	65536u		/* in a file */
#define CHUNK_MAX	(64u << 20)	/* bytes of a chunk of packed pages; trace-cmd makes some hundred KB */
#define PAGE_MAX	(1u << 20)
#define SECTION_PACKED	1u

static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

int dat_is_file(int fd)
{
	uint8_t head[sizeof(magic)];

	return !wire_read_at(fd, head, sizeof(head), 0) && !memcmp(head, magic, sizeof(magic));
}

/* ---- A cursor over the file: after the first failure it reads zeroes ----------------------------------------- */

struct place {
	struct dat_layout *l;
	uint64_t at;
	int err;
};

static void take(struct place *p, void *to, size_t n)
{
	if (!p->err)
		p->err = wire_read_at(p->l->fd, to, n, p->at);
	if (p->err)
		memset(to, 0, n);
	p->at += n;
}

static uint16_t take_u16(struct place *p) { uint16_t v; take(p, &v, 2); return v; }
static uint32_t take_u32(struct place *p) { uint32_t v; take(p, &v, 4); return v; }
static uint64_t take_u64(struct place *p) { uint64_t v; take(p, &v, 8); return v; }

static void skip(struct place *p, uint64_t n)
{
	if (!p->err && (p->at > p->l->size || n > p->l->size - p->at))
		p->err = -EBADMSG;
	p->at += p->err ? 0 : n;
}

/* Reads a string with its 0, of less than @room bytes. */
static void take_string(struct place *p, char *to, size_t room)
{
	size_t n = 0;

	do
		take(p, &to[n], 1);
	while (to[n] && ++n < room);
	if (n == room) {
		p->err = p->err ? p->err : -EBADMSG;
		to[0] = '\0';
	}
}

static int make_text(struct dat_layout *l, struct dat_text *t, uint64_t n)
{
	if (t->p)
		return -EBADMSG; /* the same part twice */
	if (n > l->budget)
		return -EBADMSG;
	l->budget -= n;
	t->p = calloc(1, n + 1);
	t->n = n;
	return t->p ? 0 : -ENOMEM;
}

static void take_text(struct place *p, struct dat_text *t, uint64_t n)
{
	if (!p->err && (p->at > p->l->size || n > p->l->size - p->at))
		p->err = -EBADMSG;
	if (!p->err)
		p->err = make_text(p->l, t, n);
	if (!p->err)
		take(p, t->p, n);
}

/* ---- Packed data ------------------------------------------------------------ */

static int unpack(enum dat_packing packing, uint8_t *to, size_t raw, const uint8_t *from, size_t n)
{
	uLongf got = raw;

	if (packing == DAT_ZSTD)
		return ZSTD_decompress(to, raw, from, n) == raw ? 0 : -EBADMSG;
	return uncompress(to, &got, from, n) == Z_OK && got == raw ? 0 : -EBADMSG;
}

/* Reads the content of a section of version 7 at @at. */
static int read_section(struct dat_layout *l, uint64_t at, uint32_t id, struct dat_text *t)
{
	struct place p = {l, at, 0};
	uint32_t seen = take_u16(&p), flags = take_u16(&p), packed, raw;
	uint64_t bytes;
	uint8_t *from;

	take_u32(&p);
	bytes = take_u64(&p);
	if (!p.err && seen != id)
		return -EBADMSG;
	if (!(flags & SECTION_PACKED)) {
		take_text(&p, t, bytes);
		return p.err;
	}
	packed = take_u32(&p);
	raw = take_u32(&p);
	if (p.err || l->packing == DAT_PLAIN || p.at > l->size || packed > l->size - p.at)
		return p.err ? p.err : -EBADMSG;
	from = malloc(packed + 1u);
	if (!from)
		return -ENOMEM;
	take(&p, from, packed);
	p.err = p.err ? p.err : make_text(l, t, raw);
	if (!p.err)
		p.err = unpack(l->packing, (uint8_t *)t->p, raw, from, packed);
	free(from);
	return p.err;
}

/* The same for a text that has its size in front, in @width bytes. */
static int read_sized_section(struct dat_layout *l, uint64_t at, uint32_t id, struct dat_text *t, size_t width)
{
	int ret = read_section(l, at, id, t);
	uint64_t n = 0;

	if (ret)
		return ret;
	memcpy(&n, t->p, t->n < width ? 0 : width);
	if (t->n < width || n > t->n - width)
		return -EBADMSG;
	memmove(t->p, t->p + width, n);
	t->p[n] = '\0';
	t->n = n;
	return 0;
}

/* ---- Lanes ------------------------------------------------------------ */

static int add_lane(struct dat_layout *l, uint32_t cpu, uint64_t offset, uint64_t bytes, uint32_t page_bytes)
{
	if (cpu >= DAT_CPUS_MAX || page_bytes < 64 || page_bytes > PAGE_MAX)
		return -EBADMSG;
	l->ncpus = cpu >= l->ncpus ? cpu + 1 : l->ncpus;
	if (!bytes)
		return 0;
	if (l->nlanes >= DAT_LANES_MAX || offset > l->size)
		return -EBADMSG;
	/* at a power of two, or none: doubles the room */
	if (!(l->nlanes & (l->nlanes - 1)) && array_resize(l->lane, l->nlanes ? 2 * l->nlanes : 1))
		return -ENOMEM;
	bytes = bytes < l->size - offset ? bytes : l->size - offset; /* the lane may have been cut */
	l->lane[l->nlanes++] = (struct dat_lane){offset, bytes, cpu, l->nbuffers, page_bytes};
	return 0;
}

/* Version 6: reads the table of all CPUs. */
static void take_lanes(struct place *p, uint32_t ncpus)
{
	for (uint32_t i = 0; i < ncpus && !p->err; i++) {
		uint64_t offset = take_u64(p), bytes = take_u64(p);

		if (!p->err)
			p->err = add_lane(p->l, i, offset, bytes, p->l->page_bytes);
	}
	p->l->nbuffers++;
}

/* ---- Options ------------------------------------------------------------ */

/* Keeps the part in brackets of `local [global] counter`. */
static void cut_clock(struct dat_text *t)
{
	char *open = t->p ? strchr(t->p, '[') : NULL, *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return;
	*close = '\0';
	t->n = (size_t)(close - open - 1);
	memmove(t->p, open + 1, t->n + 1);
}

struct dat_options {			/* of version 6: buffers beside the first */
	uint64_t buffer[64];
	uint32_t nbuffers;
};

static int time_shift_option(struct dat_layout *l, struct place p, uint32_t n)
{
	struct dat_text bytes = {0};

	if (l->shift.cpu)
		return -EBADMSG;
	take_text(&p, &bytes, n);
	if (!p.err)
		p.err = dat_time_shift_read(&l->shift, bytes.p, n);
	free(bytes.p);
	return p.err;
}

/* Reads the offset that the user had added to all times: a number in text. */
static int offset_option(struct dat_layout *l, struct place p, uint32_t n)
{
	struct dat_text text = {0};

	take_text(&p, &text, n < 64 ? n : 64);
	if (!p.err)
		l->offset = (int64_t)((uint64_t)l->offset + (uint64_t)strtoll(text.p, NULL, 0));
	free(text.p);
	return p.err;
}

/* Reads a buffer of version 7. */
static int buffer_option(struct dat_layout *l, struct place p, uint64_t end)
{
	char name[4096], clock[64];
	uint32_t page_bytes, ncpus;

	take_u64(&p);
	take_string(&p, name, sizeof(name));
	take_string(&p, clock, sizeof(clock));
	page_bytes = take_u32(&p);
	ncpus = take_u32(&p);
	if (p.err || ncpus > DAT_CPUS_MAX || p.at > end || (end - p.at) / 20 < ncpus)
		return p.err ? p.err : -EBADMSG;
	for (uint32_t i = 0; i < ncpus && !p.err; i++) {
		uint32_t cpu = take_u32(&p);
		uint64_t offset = take_u64(&p), bytes = take_u64(&p);

		if (!p.err)
			p.err = add_lane(l, cpu, offset, bytes, page_bytes);
	}
	l->nbuffers++;
	return p.err;
}

static int one_option(struct dat_layout *l, struct dat_options *o, struct place p, uint32_t id, uint32_t n)
{
	uint64_t end = p.at + n;

	switch (id) {
	case OPT_TRACECLOCK:
		if (l->clock.p)
			return 0;
		take_text(&p, &l->clock, n);
		cut_clock(&l->clock);
		return p.err;
	case OPT_UNAME:
		if (!l->uname.p)
			take_text(&p, &l->uname, n);
		return p.err;
	case OPT_VERSION:
		if (!l->maker.p)
			take_text(&p, &l->maker, n);
		return p.err;
	case OPT_OFFSET: return offset_option(l, p, n);
	case OPT_TRACEID:
		l->session = take_u64(&p);
		return p.err;
	case OPT_TIME_SHIFT: return time_shift_option(l, p, n);
	case OPT_TSC2NSEC:
		l->tsc_mult = take_u32(&p);
		l->tsc_shift = take_u32(&p);
		l->tsc_offset = take_u64(&p);
		return p.err ? p.err : l->tsc_shift > 63 ? -EBADMSG : 0;
	case OPT_BUFFER:
		if (l->version == 7)
			return buffer_option(l, p, end);
		if (o->nbuffers < sizeof(o->buffer) / sizeof(o->buffer[0]))
			o->buffer[o->nbuffers++] = take_u64(&p);
		return p.err;
	case OPT_FTRACE_EVENTS: return read_section(l, take_u64(&p), id, &l->ftrace);
	case OPT_EVENT_FORMATS: return read_section(l, take_u64(&p), id, &l->events);
	case OPT_KALLSYMS: return read_sized_section(l, take_u64(&p), id, &l->kallsyms, 4);
	case OPT_CMDLINES: return read_sized_section(l, take_u64(&p), id, &l->cmdlines, 8);
	}
	return 0;
}

/* Reads one list of options; *next: where the next list is, 0: none. */
static void take_options(struct place *p, struct dat_options *o, uint32_t *left, uint64_t *next)
{
	*next = 0;
	while (!p->err) {
		uint32_t id = take_u16(p), n;

		if (!p->err && !(*left)--)
			p->err = -EBADMSG;
		if (id == OPT_DONE && p->l->version == 6)
			return;
		n = take_u32(p);
		if (!p->err && (n > OPTION_MAX || p->at > p->l->size || n > p->l->size - p->at))
			p->err = -EBADMSG;
		if (p->err)
			return;
		if (id == OPT_DONE) {
			*next = n >= 8 ? take_u64(p) : 0;
			return;
		}
		p->err = one_option(p->l, o, *p, id, n);
		p->at += n;
	}
}

/* ---- The versions ------------------------------------------------------------ */

/* Skips a part that has its size in front. */
static void skip_sized(struct place *p)
{
	skip(p, take_u64(p));
}

/* Skips @systems times { name, number, formats }, or the formats of ftrace itself. */
static void skip_formats(struct place *p, int has_systems)
{
	uint32_t systems = has_systems ? take_u32(p) : 1, events;
	char name[256];

	while (systems-- && !p->err) {
		if (has_systems)
			take_string(p, name, sizeof(name));
		for (events = take_u32(p); events && !p->err; events--)
			skip_sized(p);
	}
}

static void take_formats(struct place *p, int has_systems, struct dat_text *t)
{
	uint64_t from = p->at, n;

	skip_formats(p, has_systems);
	n = p->at - from;
	p->at = from;
	if (!p->err)
		take_text(p, t, n);
}

static int read_v6(struct place *p, const char *path, struct uft_error *err)
{
	struct dat_options o = {.nbuffers = 0};
	uint32_t ncpus, left = OPTIONS_MAX;
	char word[13];
	uint64_t next;

	take(p, word, 12);
	skip_sized(p);
	take(p, word, 13);
	skip_sized(p);
	take_formats(p, 0, &p->l->ftrace);
	take_formats(p, 1, &p->l->events);
	take_text(p, &p->l->kallsyms, take_u32(p));
	skip(p, take_u32(p)); /* printk */
	take_text(p, &p->l->cmdlines, take_u64(p));
	ncpus = take_u32(p);
	take(p, word, 10);
	if (!p->err && !memcmp(word, "options  ", 10)) {
		take_options(p, &o, &left, &next);
		take(p, word, 10);
	}
	if (!p->err && !memcmp(word, "latency  ", 10))
		return uft_fail(err, -EPROTONOSUPPORT,
				"%s holds the text of a latency tracer, no events: read it with trace-cmd report -i %s",
				path, path);
	if (!p->err && (memcmp(word, "flyrecord", 10) || ncpus > DAT_CPUS_MAX))
		p->err = -EBADMSG;
	take_lanes(p, ncpus);
	for (uint32_t i = 0; i < o.nbuffers && !p->err; i++) {
		p->at = o.buffer[i];
		take(p, word, 10);
		if (!p->err && memcmp(word, "flyrecord", 10))
			p->err = -EBADMSG;
		take_lanes(p, ncpus);
	}
	return p->err;
}

static int read_v7(struct place *p, const char *path, struct uft_error *err)
{
	struct dat_options o = {.nbuffers = 0};
	uint32_t left = OPTIONS_MAX;
	char name[32], version[64];
	uint64_t next;

	take_string(p, name, sizeof(name));
	take_string(p, version, sizeof(version));
	next = take_u64(p);
	if (!p->err && strcmp(name, "none") && strcmp(name, "zstd") && strcmp(name, "zlib"))
		return uft_fail(err, -EPROTONOSUPPORT,
				"%s is packed by %.31s, which is not known: trace-cmd convert --compression none "
				"unpacks it",
				path, name);
	p->l->packing = !strcmp(name, "zstd") ? DAT_ZSTD : !strcmp(name, "zlib") ? DAT_ZLIB : DAT_PLAIN;
	while (next && !p->err) {
		uint32_t flags;

		p->at = next;
		take_u16(p);
		flags = take_u16(p);
		take_u32(p);
		take_u64(p);
		if (!p->err && flags & SECTION_PACKED)
			return uft_fail(err, -EPROTONOSUPPORT, "%s has packed options, which are not read: "
					"trace-cmd convert --compression none unpacks it", path);
		take_options(p, &o, &left, &next);
		if (!left)
			p->err = -EBADMSG;
	}
	return p->err;
}

int dat_layout_read(struct dat_layout *l, int fd, const char *path, struct uft_error *err)
{
	struct place p = {l, sizeof(magic), 0};
	uint8_t endian_long[2];
	char version[8];
	struct stat st;
	int ret;

	*l = (struct dat_layout){.fd = fd};
	if (fstat(fd, &st))
		return uft_fail(err, -errno, "%s: %s", path, strerror(errno));
	l->size = (uint64_t)st.st_size;
	l->budget = (64u << 20) + 16 * l->size;
	take_string(&p, version, sizeof(version));
	take(&p, endian_long, 2);
	l->page_bytes = take_u32(&p);
	l->long_bytes = endian_long[1];
	if (!p.err && endian_long[0])
		return uft_fail(err, -EPROTONOSUPPORT, "%s was made on a big endian machine, which is not read", path);
	if (!p.err && l->long_bytes != 8)
		return uft_fail(err, -EPROTONOSUPPORT, "%s is of a machine with %u-byte longs: only 8 are read", path,
				l->long_bytes);
	l->version = !strcmp(version, "6") ? 6 : !strcmp(version, "7") ? 7 : 0;
	if (!p.err && !l->version)
		return uft_fail(err, -EPROTONOSUPPORT, "%s has version %.7s of trace.dat: 6 and 7 are read", path,
				version);
	ret = p.err ? p.err : l->version == 6 ? read_v6(&p, path, err) : read_v7(&p, path, err);
	if (ret == -EBADMSG)
		return uft_fail(err, ret, "%s is damaged, or was cut before its end: near byte %llu", path,
				(unsigned long long)p.at);
	if (ret == -ENOMEM)
		return uft_fail(err, ret, "out of memory");
	if (!ret && !l->ftrace.p)
		return uft_fail(err, -EBADMSG, "%s has no formats of events", path);
	if (ret && ret != -EPROTONOSUPPORT)
		return uft_fail(err, ret, "%s: cannot be read: %s", path, strerror(-ret));
	return ret;
}

void dat_layout_free(struct dat_layout *l)
{
	struct dat_text *const text[] = {&l->kallsyms, &l->cmdlines, &l->ftrace, &l->events,
					&l->uname,    &l->clock,    &l->maker};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		free(text[i]->p);
	free(l->lane);
	dat_time_shift_free(&l->shift);
	*l = (struct dat_layout){.fd = -1};
}

/* ---- Formats ------------------------------------------------------------ */

static int get(const struct dat_text *t, size_t *at, void *to, size_t n)
{
	if (t->n - *at < n)
		return 0;
	memcpy(to, t->p + *at, n);
	*at += n;
	return 1;
}

/* Moves to the next system that has events; 0: damage. */
static int next_system(const struct dat_text *t, struct dat_format_cursor *c)
{
	while (!c->events && c->systems) {
		const char *end = memchr(t->p + c->at, '\0', t->n - c->at);

		if (!end)
			return 0;
		c->system = t->p + c->at;
		c->at = (size_t)(end - t->p) + 1;
		c->systems--;
		if (!get(t, &c->at, &c->events, 4))
			return 0;
	}
	return 1;
}

int dat_next_format(const struct dat_layout *l, struct dat_format_cursor *c, struct dat_text *text)
{
	const struct dat_text *t = c->part < 2 ? &l->ftrace : &l->events;
	uint64_t n;

	if (c->part == 0) {
		c->system = "ftrace";
		c->part = 1;
		c->is_bad = !get(t, &c->at, &c->events, 4);
	}
	if (c->part == 1 && !c->events && !c->is_bad) {
		t = &l->events;
		c->part = 2;
		c->at = 0;
		if (t->p && !get(t, &c->at, &c->systems, 4))
			c->is_bad = 1;
	}
	if (c->part == 2 && !c->is_bad && t->p)
		c->is_bad = !next_system(t, c);
	if (c->is_bad || !c->events)
		return 0;
	c->events--;
	if (!get(t, &c->at, &n, 8) || n > t->n - c->at) {
		c->is_bad = 1;
		return 0;
	}
	text->p = strndup(t->p + c->at, n);
	text->n = n;
	c->at += n;
	return text->p ? 1 : -ENOMEM;
}

/* ---- Pages ------------------------------------------------------------ */

int dat_pages_open(struct dat_pages *p, const struct dat_layout *l, const struct dat_lane *lane)
{
	*p = (struct dat_pages){.l = l, .lane = lane, .at = lane->offset, .end = lane->offset + lane->bytes};
	if (l->packing == DAT_PLAIN) {
		p->cap = lane->page_bytes;
		p->chunk = malloc(p->cap);
		return p->chunk ? 0 : -ENOMEM;
	}
	if (p->end - p->at < 4)
		return -EBADMSG;
	p->at += 4;
	p->end += l->size - p->end < 4 ? l->size - p->end : 4; /* trace-cmd 3.1.6 does not count the number of chunks */
	return wire_read_at(l->fd, &p->chunks, 4, lane->offset);
}

/* 1: unpacked; 0: the end. */
static int next_chunk(struct dat_pages *p)
{
	uint32_t size[2];
	int ret;

	if (!p->chunks)
		return 0;
	p->chunks--;
	if (p->end - p->at < 8)
		return -EBADMSG;
	ret = wire_read_at(p->l->fd, size, 8, p->at);
	p->at += 8;
	if (ret)
		return ret;
	if (size[0] > p->end - p->at || !size[1] || size[1] > CHUNK_MAX || size[1] % p->lane->page_bytes)
		return -EBADMSG;
	ret = array_reserve(p->chunk, p->cap, size[1]);
	ret = ret ? ret : array_reserve(p->packed, p->cap_packed, size[0] + 1u);
	ret = ret ? ret : wire_read_at(p->l->fd, p->packed, size[0], p->at);
	ret = ret ? ret : unpack(p->l->packing, p->chunk, size[1], p->packed, size[0]);
	p->at += size[0];
	p->nchunk = ret ? 0 : size[1];
	p->pos = 0;
	return ret ? ret : 1;
}

int dat_pages_next(struct dat_pages *p, const uint8_t **page)
{
	int ret;

	if (p->l->packing == DAT_PLAIN) {
		if (p->end - p->at < p->lane->page_bytes)
			return 0;
		ret = wire_read_at(p->l->fd, p->chunk, p->lane->page_bytes, p->at);
		p->at += p->lane->page_bytes;
		*page = p->chunk;
		return ret ? ret : 1;
	}
	if (p->pos == p->nchunk) {
		ret = next_chunk(p);
		if (ret <= 0)
			return ret;
	}
	*page = p->chunk + p->pos;
	p->pos += p->lane->page_bytes;
	return 1;
}

void dat_pages_close(struct dat_pages *p)
{
	free(p->chunk);
	free(p->packed);
	*p = (struct dat_pages){0};
}
