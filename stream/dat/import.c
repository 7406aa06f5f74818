/* SPDX-License-Identifier: MIT */
/*
 * import.c - convert the records of a trace.dat file to a recording
 *
 *	function			FUNC: the function by its number, the caller by its address
 *	kernel_stack			a stack of the event before it
 *	funcgraph_entry, _exit		ENTRY and EXIT; if the file has no entries: CALL, of rettime - calltime
 *	all others			EVENT of the type that their format describes (a FORMAT block)
 *	common_flags, _preempt_count	FLAGS, if they differ from those of the record before (UFT_FILE_LATENCY)
 *	lost events			LOST; 1 if the kernel did not report how many
 *
 * Each CPU of each buffer is a ring. A buffer is a slice, because tasks of one must not end calls of another. The idle
 * tasks of all CPUs have the number 0 and run at the same time, so each CPU's idle task has a slice of its own. A
 * task's process is not known, so each task is a process. All functions of kallsyms are one image, with an object for
 * each module.
 *
 * A guest's times become its host's (time_shift.h), so that both files are of one session, which has that clock.
 *
 * The clock of the rings is ns. Only with trace_clock mono is it CLOCK_MONOTONIC; other clocks get the flag
 * OTHER_CLOCK, so that readers do not compare them with times of other recordings. A trace.dat has no date: the file's
 * last change is the latest possible time of its last event (flag LATEST_DATE).
 *
 * Hostile input. Work is linear in the bytes read: each record takes bytes of a page, each page bytes of the file. A
 * page that makes no sense is left at that place, and the next page follows. symbol/event_format.c parses formats and
 * bounds them. Records of a type without a format, or shorter than their format, are left out and counted (in the
 * recording's command line).
 *
 * Sections: blocks - rings - records - formats - metadata - the whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/dat/dat.h"
#include "stream/dat/kallsyms.h"
#include "stream/dat/layout.h"
#include "stream/dat/page.h"
#include "stream/wire/uft_file.h"
#include "stream/wire/wire.h"
#include "symbol/event_type.h"
#include "uft/abi.h"

#define SUB_WORDS	(UFT_BLOCK_RUN / 8)
#define HEADER_WORDS	(sizeof(struct uft_sub_header) / 8)
#define CONTEXT_WORDS	3u
#define FLAGS_WORDS	1u
#define FLAGS_NONE	UINT32_MAX
#define KERNEL_IDS	65536u			/* common_type has 16 bits */
#define META_MAX	(UFT_BLOCK_MAX - 4096)
#define OBJECT_TYPE	2u			/* ET_EXEC: its addresses are runtime addresses */

enum what { IS_UNKNOWN, IS_EVENT, IS_STACK, IS_FUNCTION, IS_ENTRY, IS_EXIT };	/* from FUNCTION on: calls */

struct known {			/* a type of the file, by the kernel's id */
	enum what what;
	uint32_t id;			/* EVENT: in the recording; 0: none so far */
	/* STACK: caller, size. FUNCTION: ip, parent_ip. ENTRY, EXIT: func, calltime, rettime (0: none) */
	uint32_t a, b, c;
	uint32_t bytes, is_met;
	char *system, *format;
};

struct import {
	struct dat_layout l;
	struct dat_kallsyms syms;
	struct known *type;
	int fd;
	uint64_t at;			/* of the output */
	uint32_t types;			/* types of the records so far */
	int has_entries;
	uint64_t first, last, records, skipped;
	struct ring_out *ring[2];	/* of tasks; of the idle task */
};

/* ---- Blocks ------------------------------------------------------------ */

static int write_all(struct import *im, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n) {
		ssize_t done = pwrite(im->fd, p, n, (off_t)im->at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		p += done;
		im->at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static int put_block(struct import *im, struct uft_file_block head, const void *payload, size_t n)
{
	static const uint64_t zero;
	int ret;

	head.magic = UFT_BLOCK_MAGIC;
	head.stored = head.raw = (uint32_t)n;
	head.payload_sum = wire_sum(payload, n);
	head.head_sum = wire_sum(&head, offsetof(struct uft_file_block, head_sum));
	ret = write_all(im, &head, sizeof(head));
	ret = ret ? ret : write_all(im, payload, n);
	return ret ? ret : write_all(im, &zero, -n & 7);
}

/* A payload of varints, which is empty afterwards. */
static int put_meta(struct import *im, enum uft_block_type type, struct wire *w)
{
	int ret = w->err ? w->err : w->n > UFT_BLOCK_MAX ? -EBADMSG : 0;

	if (!ret)
		ret = put_block(im, (struct uft_file_block){.type = (uint16_t)type}, w->p, w->n);
	w->n = 0;
	return ret;
}

/* ---- Rings ------------------------------------------------------------ */

struct ring_out {
	uint32_t slice, ring, pid, used;	/* used: words of the sub-buffer in progress */
	uint64_t position, clock;
	uint32_t flags, told;			/* of the next record; of the last FLAGS record */
	uint64_t word[SUB_WORDS];
};

static void ring_begin(struct ring_out *r, uint32_t slice, uint32_t ring)
{
	r->slice = slice;
	r->ring = ring;
	r->used = 0;
	r->position = r->clock = 0;
	r->flags = FLAGS_NONE;
}

/* @all: the whole sub-buffer, its unused part too; else the ring's last bytes. */
static int ring_flush(struct import *im, struct ring_out *r, int all)
{
	struct uft_file_block head = {
		.type = UFT_BLOCK_RING, .slice = r->slice, .ring = r->ring, .position = r->position
	};
	uint32_t n = all ? SUB_WORDS : r->used;

	if (!r->used)
		return 0;
	memset(r->word + r->used, 0, (n - r->used) * 8ull);
	head.clock = r->word[2];
	r->position += UFT_BLOCK_RUN;
	r->used = 0;
	return put_block(im, head, r->word, n * 8ull);
}

/* Makes room for a record of @words of task @pid at @clock: returns its place, or NULL and *ret. */
static uint64_t *ring_room(struct import *im, struct ring_out *r, uint64_t clock, uint32_t pid, uint32_t words,
			   int *ret)
{
	uint64_t *to;

	clock = clock < r->clock ? r->clock : clock;
	*ret = r->used && r->used + CONTEXT_WORDS + FLAGS_WORDS + words > SUB_WORDS ? ring_flush(im, r, 1) : 0;
	if (*ret)
		return NULL;
	if (!r->used) {
		struct uft_sub_header h = {.position = r->position, .clock = clock, .pid = pid, .tid = pid};

		memcpy(r->word, &h, sizeof(h));
		r->used = HEADER_WORDS;
		r->told = FLAGS_NONE;
	} else if (pid != r->pid || clock >> 32 != r->clock >> 32) {
		to = &r->word[r->used];
		to[0] = UFT_REC_WORD(UFT_REC_CONTEXT, 0, clock);
		to[1] = clock;
		to[2] = pid | (uint64_t)pid << 32;
		r->used += CONTEXT_WORDS;
	}
	if (r->flags != r->told) {
		r->word[r->used++] = UFT_REC_WORD(UFT_REC_FLAGS, r->flags, clock);
		r->told = r->flags;
	}
	r->pid = pid;
	r->clock = clock;
	to = &r->word[r->used];
	r->used += words;
	return to;
}

/* ---- Records ------------------------------------------------------------ */

static uint64_t load(const struct dat_record *rec, uint32_t offset, uint32_t bytes)
{
	uint64_t v = 0;

	if (offset && offset + bytes <= rec->bytes)
		memcpy(&v, rec->data + offset, bytes);
	return v;
}

static int put_function(struct import *im, struct ring_out *r, const struct dat_record *rec, const struct known *k,
			uint32_t pid)
{
	uint64_t ip = load(rec, k->a, 8);
	uint32_t id = dat_kallsyms_id(&im->syms, ip);
	int ret;
	uint64_t *to = ring_room(im, r, rec->time, pid, 2, &ret);

	if (!to)
		return ret;
	to[0] = UFT_REC_WORD(UFT_REC_FUNC, id ? id : UFT_REC_VALUE_MAX, r->clock);
	to[1] = load(rec, k->b, 8);
	return 0;
}

static int put_graph(struct import *im, struct ring_out *r, const struct dat_record *rec, const struct known *k,
		     uint32_t pid)
{
	int is_call = k->what == IS_EXIT && !im->has_entries, ret;
	enum uft_rec_kind kind;
	uint32_t id = dat_kallsyms_id(&im->syms, load(rec, k->a, 8));
	uint64_t from = load(rec, k->b, 8), to_ns = load(rec, k->c, 8),
		 *to = ring_room(im, r, rec->time, pid, is_call ? 2 : 1, &ret);

	if (!to)
		return ret;
	kind = is_call ? UFT_REC_CALL : k->what == IS_EXIT ? UFT_REC_EXIT : UFT_REC_ENTRY;
	to[0] = UFT_REC_WORD(kind, id ? id : UFT_REC_VALUE_MAX, r->clock);
	if (is_call)
		to[1] = to_ns > from ? to_ns - from : 0;
	return 0;
}

/*
 * Writes the stack of the event before it. A caller in the file is an address in a function, mostly its first one, but
 * readers look in front of return addresses: so it is written plus one.
 */
static int put_stack(struct import *im, struct ring_out *r, const struct dat_record *rec, const struct known *k,
		     uint32_t pid)
{
	uint32_t n = (rec->bytes - k->a) / 8;
	uint64_t size = load(rec, k->b, 4), *to;
	int ret;

	n = size < n ? (uint32_t)size : n;
	n = n < UFT_STACK_MAX ? n : UFT_STACK_MAX;
	while (n && load(rec, k->a + 8 * (n - 1), 8) + 1 < 2)	/* a list's end */
		n--;
	to = n ? ring_room(im, r, rec->time, pid, 1 + n, &ret) : NULL;
	if (!to)
		return n ? ret : 0;
	to[0] = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(UFT_EVENT_STACK, n), r->clock);
	for (uint32_t i = 0; i < n; i++)
		to[1 + i] = load(rec, k->a + 8 * i, 8) + 1;
	to[1] |= UFT_STACK_ADDRESS | UFT_STACK_TRACEPOINT;
	return 0;
}

static int put_event(struct import *im, struct ring_out *r, const struct dat_record *rec, struct known *k, uint32_t pid)
{
	uint32_t n = rec->bytes - UFT_EVENT_COMMON, words;
	uint64_t *to;
	int ret;

	n = n < UFT_EVENT_PAYLOAD_MAX ? n : UFT_EVENT_PAYLOAD_MAX;
	words = (n + 7) / 8 ? (n + 7) / 8 : 1;
	if (!k->id)
		k->id = UFT_EVENT_FREE + UFT_NBUILTINS + im->types++;
	to = ring_room(im, r, rec->time, pid, 1 + words, &ret);
	if (!to)
		return ret;
	to[0] = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(k->id, words), r->clock);
	to[words] = 0;
	memcpy(to + 1, rec->data + UFT_EVENT_COMMON, n);
	return 0;
}

static int put_lost(struct import *im, struct ring_out *r, uint64_t clock, uint64_t lost)
{
	int ret;
	uint64_t *to = ring_room(im, r, clock, r->pid, 2, &ret);

	if (!to)
		return ret;
	to[0] = UFT_REC_WORD(UFT_REC_LOST, 0, r->clock);
	to[1] = lost == UINT64_MAX ? 1 : lost;
	return 0;
}

static uint64_t to_ns(const struct dat_layout *l, uint32_t cpu, uint64_t t)
{
	__int128 sum;

	t = dat_time_shift(&l->shift, cpu, t);
	if (l->tsc_mult) {
		t = (uint64_t)((unsigned __int128)t * l->tsc_mult >> l->tsc_shift);
		t = t > l->tsc_offset ? t - l->tsc_offset : 0;
	}
	sum = (__int128)t + l->offset;
	return sum < 0 ? 0 : sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

static struct known *type_of(const struct import *im, const struct dat_record *rec)
{
	return rec->bytes >= UFT_EVENT_COMMON ? &im->type[rec->data[0] | (uint32_t)rec->data[1] << 8] : NULL;
}

static int put_record(struct import *im, struct dat_record *rec)
{
	struct known *k = type_of(im, rec);
	uint32_t pid;
	struct ring_out *r;

	if (!k || k->what == IS_UNKNOWN || rec->bytes < k->bytes) {
		im->skipped++;
		return 0;
	}
	pid = (uint32_t)load(rec, 4, 4);
	r = im->ring[!pid];
	r->flags = rec->data[2] | (uint32_t)rec->data[3] << 8; /* common_flags, common_preempt_count */
	rec->time = to_ns(&im->l, r->ring, rec->time);
	im->first = rec->time < im->first ? rec->time : im->first;
	im->last = rec->time > im->last ? rec->time : im->last;
	im->records++;
	k->is_met = 1;
	switch (k->what) {
	case IS_FUNCTION: return put_function(im, r, rec, k, pid);
	case IS_ENTRY:
	case IS_EXIT: return put_graph(im, r, rec, k, pid);
	case IS_STACK: return put_stack(im, r, rec, k, pid);
	default: return put_event(im, r, rec, k, pid);
	}
}

static int put_page(struct import *im, const uint8_t *bytes, uint32_t n)
{
	struct dat_record rec;
	struct dat_page page;
	int ret = dat_page_open(&page, bytes, n);

	if (!ret && page.missed)
		ret = put_lost(im, im->ring[0], to_ns(&im->l, im->ring[0]->ring, page.time), page.missed);
	while (!ret && (ret = dat_page_next(&page, &rec)) > 0)
		ret = put_record(im, &rec);
	if (ret != -EBADMSG)
		return ret;
	im->skipped++; /* skips the rest of this page */
	return 0;
}

static int put_lane(struct import *im, uint32_t lane)
{
	struct dat_lane *d = &im->l.lane[lane];
	struct dat_pages pages;
	const uint8_t *page;
	int ret = dat_pages_open(&pages, &im->l, d);

	ring_begin(im->ring[0], d->buffer, d->cpu);
	ring_begin(im->ring[1], im->l.nbuffers + lane, d->cpu);
	while (!ret && (ret = dat_pages_next(&pages, &page)) > 0)
		ret = put_page(im, page, d->page_bytes);
	dat_pages_close(&pages);
	if (ret == -EBADMSG) { /* skips the rest of this CPU */
		im->skipped++;
		ret = 0;
	}
	ret = ret ? ret : ring_flush(im, im->ring[0], 0);
	return ret ? ret : ring_flush(im, im->ring[1], 0);
}

/* Does any lane have a record of an entry? */
static int find_entries(struct import *im)
{
	int ret = 0;

	for (uint32_t i = 0; i < im->l.nlanes && !ret && !im->has_entries; i++) {
		struct dat_pages pages;
		const uint8_t *bytes;

		ret = dat_pages_open(&pages, &im->l, &im->l.lane[i]);
		while (!ret && !im->has_entries && (ret = dat_pages_next(&pages, &bytes)) > 0) {
			struct dat_page page;
			struct dat_record rec;

			ret = dat_page_open(&page, bytes, im->l.lane[i].page_bytes) ? 0 : 1;
			while (ret > 0 && !im->has_entries && dat_page_next(&page, &rec) > 0)
				im->has_entries = type_of(im, &rec) && type_of(im, &rec)->what == IS_ENTRY;
			ret = 0;
		}
		dat_pages_close(&pages);
		ret = ret == -EBADMSG ? 0 : ret;
	}
	return ret;
}

/* ---- Formats ------------------------------------------------------------ */

static uint32_t offset_of(const struct uft_event_type *t, const char *field, uint32_t bytes)
{
	const struct uft_event_field *f = uft_event_field(t, field, strlen(field));

	return f && f->place == UFT_FIELD_FIXED && f->size == bytes ? f->offset : 0;
}

static void describe(struct known *k, const struct uft_event_type *t)
{
	static const struct {
		const char *name;
		enum what what;
		const char *a, *b, *c;
	} special[] = {
		{"function", IS_FUNCTION, "ip", "parent_ip", ""},
		{"funcgraph_entry", IS_ENTRY, "func", "", ""},
		{"funcgraph_retaddr_entry", IS_ENTRY, "func", "", ""},
		{"funcgraph_exit", IS_EXIT, "func", "calltime", "rettime"},
	};

	k->what = IS_EVENT;
	k->bytes = t->bytes;
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (!strcmp(t->system, "ftrace") && !strcmp(t->name, special[i].name)) {
			k->a = offset_of(t, special[i].a, 8);
			k->b = offset_of(t, special[i].b, 8);
			k->c = offset_of(t, special[i].c, 8);
			k->what = k->a ? special[i].what : IS_EVENT;
		}
	if (!strcmp(t->system, "ftrace") && !strcmp(t->name, "kernel_stack") &&
	    uft_event_field(t, "caller", strlen("caller"))) {
		k->what = IS_STACK;	/* its record is as long as it has callers */
		k->a = k->bytes = uft_event_field(t, "caller", strlen("caller"))->offset;
		k->b = offset_of(t, "size", 4);
	}
}

/* Built-in types have numbers of their own, which must not occur twice. */
static uint32_t builtin_id(const char *system, const char *name)
{
	static const char *const names[UFT_NBUILTINS] = {
		[UFT_BUILTIN_EXEC] = "sched_process_exec",
		[UFT_BUILTIN_EXIT] = "sched_process_exit",
		[UFT_BUILTIN_FORK] = "sched_process_fork"};

	for (uint32_t i = 0; i < UFT_NBUILTINS; i++)
		if (!strcmp(system, "sched") && !strcmp(name, names[i]))
			return UFT_EVENT_FREE + i;
	return 0;
}

static int read_formats(struct import *im)
{
	struct dat_format_cursor c = {0};
	struct dat_text text;
	int ret;

	while ((ret = dat_next_format(&im->l, &c, &text)) > 0) {
		struct uft_event_type *t;
		struct known *k;

		ret = uft_event_format_parse(c.system, text.p, &t, NULL);
		k = ret ? NULL : &im->type[t->kernel_id];
		if (!k || k->format) {
			free(text.p);
		} else {
			describe(k, t);
			k->id = builtin_id(t->system, t->name);
			k->system = strdup(c.system);
			k->format = text.p;
		}
		free(ret ? NULL : t);
		if (ret == -ENOMEM || (k && !k->system))
			return -ENOMEM;
	}
	return ret;
}

/* Writes the formats of the types that records had. */
static int put_formats(struct import *im)
{
	struct wire w = {0};
	int ret = 0;

	for (uint32_t i = 0; i < KERNEL_IDS && !ret; i++) {
		const struct known *k = &im->type[i];

		if (k->what != IS_EVENT || !k->is_met)
			continue;
		wire_put_u(&w, k->id);
		wire_put_str(&w, k->system);
		wire_put_str(&w, k->format);
		ret = put_meta(im, UFT_BLOCK_FORMAT, &w);
	}
	wire_free(&w);
	return ret;
}

/* ---- Metadata ------------------------------------------------------------ */

/* `PID NAME` a line. */
static int put_tasks(struct import *im)
{
	char *next = im->l.cmdlines.p;
	struct wire w = {0};
	int ret = 0;

	while (next && !ret) {
		char *line = strsep(&next, "\n"), *name;
		unsigned long pid = strtoul(line, &name, 10);

		if (name == line || *name != ' ' || pid > INT32_MAX)
			continue;
		wire_put_u(&w, pid);
		wire_put_u(&w, pid);
		wire_put_u(&w, 0);
		wire_put_u(&w, 1);
		wire_put_str(&w, name + 1);
		if (w.n > META_MAX / 2)
			ret = put_meta(im, UFT_BLOCK_TASKS, &w);
	}
	wire_put_u(&w, 0);
	wire_put_u(&w, 0);
	wire_put_u(&w, 0);
	wire_put_u(&w, 1);
	wire_put_str(&w, "<idle>");
	ret = ret ? ret : put_meta(im, UFT_BLOCK_TASKS, &w);
	wire_free(&w);
	return ret;
}

static int put_sites(struct import *im, uint32_t object, struct wire *w)
{
	const struct dat_object *o = &im->syms.object[object];
	int ret = 0;

	for (uint32_t at = 0; at < o->nfuncs && !ret;) {
		uint32_t n = o->nfuncs - at < 32768 ? o->nfuncs - at : 32768;
		uint64_t before = 0;

		wire_put_u(w, 1);
		wire_put_u(w, object);
		wire_put_u(w, at);
		wire_put_u(w, n);
		for (uint32_t i = 0; i < n; i++, at++) {
			uint64_t addr = im->syms.func[im->syms.by_object[o->first_func + at]].addr;

			wire_put_s(w, (int64_t)(addr - before));
			wire_put_s(w, 0);
			before = addr;
		}
		ret = put_meta(im, UFT_BLOCK_SITES, w);
	}
	return ret;
}

static int put_funcs(struct import *im, uint32_t object, struct wire *w)
{
	const struct dat_object *o = &im->syms.object[object];
	uint64_t before = 0;
	int ret = 0;

	for (uint32_t i = 0; i < o->nfuncs && !ret; i++) {
		const struct dat_func *f = &im->syms.func[im->syms.by_object[o->first_func + i]];

		if (!w->n) {
			wire_put_u(w, object + 1);
			before = 0;
		}
		wire_put_s(w, (int64_t)(f->addr - before));
		wire_put_u(w, f->size);
		wire_put_u(w, 0);
		wire_put_bytes(w, f->name, strnlen(f->name, 2048));
		before = f->addr;
		if (w->n > META_MAX / 2)
			ret = put_meta(im, UFT_BLOCK_FUNCS, w);
	}
	return ret || !w->n ? ret : put_meta(im, UFT_BLOCK_FUNCS, w);
}

static int put_objects(struct import *im)
{
	struct wire w = {0};
	int ret;

	wire_put_u(&w, 1);
	wire_put_str(&w, "kernel");
	ret = put_meta(im, UFT_BLOCK_IMAGE, &w);
	for (uint32_t i = 0; i < im->syms.nobjects && !ret; i++) {
		const struct dat_object *o = &im->syms.object[i];
		const uint64_t u[] = {62, OBJECT_TYPE, 0, 0}; /* machine, type, size and time of a file */

		wire_put_u(&w, 1);
		wire_put_u(&w, i);
		wire_put_u(&w, i + 1);
		wire_put_str(&w, o->name);
		wire_put_bytes(&w, "", 0);
		for (size_t k = 0; k < sizeof(u) / sizeof(u[0]); k++)
			wire_put_u(&w, u[k]);
		wire_put_s(&w, 0);
		wire_put_u(&w, o->start);
		wire_put_u(&w, o->end);
		wire_put_u(&w, 0);
		wire_put_u(&w, 0);
		wire_put_u(&w, o->first_id);
		wire_put_u(&w, o->nfuncs);
		wire_put_u(&w, 0);
		wire_put_u(&w, 0);
		ret = put_meta(im, UFT_BLOCK_OBJECT, &w);
		ret = ret ? ret : put_sites(im, i, &w);
		ret = ret ? ret : put_funcs(im, i, &w);
	}
	wire_free(&w);
	return ret;
}

static int put_slices(struct import *im)
{
	struct wire w = {0};
	int ret = 0;

	for (uint32_t i = 0; i < im->l.nbuffers + im->l.nlanes && !ret; i++) {
		wire_put_u(&w, i);
		wire_put_u(&w, 0);
		wire_put_u(&w, 0);
		wire_put_u(&w, 1);
		wire_put_u(&w, 0);
		ret = put_meta(im, UFT_BLOCK_SLICE, &w);
	}
	wire_free(&w);
	return ret;
}

/* Splits `Linux HOST RELEASE MACHINE` into the host's name and the rest, as recordings have them. */
static void split_uname(const char *text, char host[256], char uname[256])
{
	char word[4][256];

	host[0] = '\0';
	if (sscanf(text, "%255s %255s %255s %255s", word[0], word[1], word[2], word[3]) == 4) {
		snprintf(host, 256, "%s", word[1]);
		snprintf(uname, 256, "%.80s %.80s %.80s", word[0], word[2], word[3]);
	} else {
		snprintf(uname, 256, "%s", text);
	}
}

static int put_info(struct import *im)
{
	char cmdline[160], name[256], uname[256];
	struct wire w = {0};
	int ret;

	split_uname(im->l.uname.p ? im->l.uname.p : "", name, uname);
	snprintf(cmdline, sizeof(cmdline), "trace.dat of trace-cmd %.64s", im->l.maker.p ? im->l.maker.p : "");
	cmdline[strcspn(cmdline, "\n")] = '\0';
	if (im->skipped)
		snprintf(cmdline + strlen(cmdline), sizeof(cmdline) - strlen(cmdline),
			 ", %llu records or pages left out: damaged, or without a format",
			 (unsigned long long)im->skipped);
	wire_put_str(&w, cmdline);
	wire_put_str(&w, name);
	wire_put_str(&w, uname);
	ret = put_meta(im, UFT_BLOCK_INFO, &w);
	if (im->records) { /* ns are ns */
		wire_put_u(&w, im->first);
		wire_put_u(&w, im->first);
		wire_put_u(&w, im->first + 1000000000);
		wire_put_u(&w, im->first + 1000000000);
		ret = ret ? ret : put_meta(im, UFT_BLOCK_CLOCK, &w);
	}
	wire_free(&w);
	return ret;
}

static struct uft_file_header header_of(const struct import *im)
{
	struct uft_file_header h = {
		.magic = UFT_FILE_MAGIC, .version = UFT_FILE_VERSION, .abi = UFT_ABI_VERSION, .ncpus = im->l.ncpus,
		.ring_bytes = UFT_BLOCK_RUN, .sub_bytes = UFT_BLOCK_RUN, .tracer = UFT_TRACER_NOP,
		.flags = UFT_FILE_LATEST_DATE | UFT_FILE_LATENCY};
	struct stat st;

	h.session = im->l.shift.cpu ? im->l.shift.peer : im->l.session;
	for (uint32_t i = 0; i < KERNEL_IDS; i++)
		if (im->type[i].is_met && im->type[i].what >= IS_FUNCTION && h.tracer != UFT_TRACER_GRAPH)
			h.tracer = im->type[i].what == IS_FUNCTION ? UFT_TRACER_FUNCTION : UFT_TRACER_GRAPH;
	if (!im->l.clock.p || strcmp(im->l.clock.p, "mono"))
		h.flags |= UFT_FILE_OTHER_CLOCK;
	if (im->l.clock.p && !strcmp(im->l.clock.p, "counter"))
		h.flags |= UFT_FILE_COUNTER;
	if (im->records && !fstat(im->l.fd, &st)) {
		uint64_t changed = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
			 span = im->last - im->first;

		h.realtime_ns = changed > span ? changed - span : 0;
	}
	h.head_sum = wire_sum(&h, offsetof(struct uft_file_header, head_sum));
	return h;
}

/* ---- The whole file ------------------------------------------------------------ */

static int open_unlinked(const char *path)
{
	const char *slash = strrchr(path, '/'), *tmp = getenv("TMPDIR");
	char dir[4096], name[4200];
	int fd;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), "%s/uft-dat-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(name);
	return fd;
}

static int put_all(struct import *im)
{
	struct uft_file_header h = {0};
	struct stat st;
	int ret = write_all(im, &h, sizeof(h));

	ret = ret ? ret : put_slices(im);
	ret = ret ? ret : find_entries(im);
	for (uint32_t i = 0; i < im->l.nlanes && !ret; i++)
		ret = put_lane(im, i);
	ret = ret ? ret : put_info(im);
	ret = ret ? ret : put_formats(im);
	ret = ret ? ret : put_objects(im);
	ret = ret ? ret : put_tasks(im);
	ret = ret ? ret : put_block(im, (struct uft_file_block){.type = UFT_BLOCK_END}, "", 0);
	if (ret)
		return ret;
	h = header_of(im);
	im->at = 0;
	ret = write_all(im, &h, sizeof(h));
	/* Indices are kept beside the trace.dat, and are valid for this time. */
	if (!ret && (fstat(im->l.fd, &st) || futimens(im->fd, (struct timespec[2]){st.st_mtim, st.st_mtim})))
		ret = -errno;
	return ret;
}

static int import_alloc(struct import *im)
{
	static char nothing[1];

	im->type = calloc(KERNEL_IDS, sizeof(*im->type));
	im->ring[0] = calloc(1, sizeof(*im->ring[0]));
	im->ring[1] = calloc(1, sizeof(*im->ring[1]));
	if (!im->type || !im->ring[0] || !im->ring[1])
		return -ENOMEM;
	return dat_kallsyms_read(&im->syms, im->l.kallsyms.p ? im->l.kallsyms.p : nothing);
}

static void import_free(struct import *im)
{
	for (uint32_t i = 0; i < KERNEL_IDS && im->type; i++) {
		free(im->type[i].system);
		free(im->type[i].format);
	}
	free(im->type);
	free(im->ring[0]);
	free(im->ring[1]);
	dat_kallsyms_free(&im->syms);
	dat_layout_free(&im->l);
}

static int import(int fd, const char *path, int *out, struct uft_error *err)
{
	struct import im = {.fd = -1, .first = UINT64_MAX};
	int ret = dat_layout_read(&im.l, fd, path, err);

	*out = -1;
	if (ret) {
		import_free(&im);
		return ret;
	}
	ret = import_alloc(&im);
	ret = ret ? ret : read_formats(&im);
	if (!ret) {
		im.fd = open_unlinked(path);
		ret = im.fd < 0 ? im.fd : put_all(&im);
	}
	if (ret)
		uft_fail(err, ret, "%s: cannot be turned into a recording: %s", path, strerror(-ret));
	else if (!im.records && im.skipped)
		ret = uft_fail(err, -EBADMSG, "%s has no event that can be read: %llu have no format, or are damaged",
			       path,
			       (unsigned long long)im.skipped);
	if (ret && im.fd >= 0)
		close(im.fd);
	else if (!ret)
		*out = im.fd;
	import_free(&im);
	return ret;
}

/* Its pages have no checksums: a file that was written to since may have lost any of them. */
int dat_import(int fd, const char *path, int *out, struct uft_error *err)
{
	struct stat was, is;
	int ret;

	*out = -1;
	if (fstat(fd, &was))
		return uft_fail(err, -errno, "%s: %s", path, strerror(errno));
	ret = import(fd, path, out, err);
	/* GUARD(dat_changed, 1) */
	if (!fstat(fd, &is) && is.st_size == was.st_size && is.st_mtim.tv_sec == was.st_mtim.tv_sec &&
	    is.st_mtim.tv_nsec == was.st_mtim.tv_nsec)
		return ret;
	if (*out >= 0)
		close(*out);
	*out = -1;
	return uft_fail(err, -ESTALE, WIRE_CHANGED, path);
}
