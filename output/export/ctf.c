/* SPDX-License-Identifier: MIT */
/*
 * ctf.c - the Common Trace Format 1.8: a directory with `metadata` (TSDL) and one stream of packets
 *
 * Events stand in the order of time over all tasks; the context of each is its process and thread. A function is a
 * value of an enumeration whose labels are the names, so an event takes 21 to 22 bytes; the metadata is written last,
 * because only then all names are known. An event before the first call of a thread gives its name and program.
 * func_exit.how is `returned`, `left` or `open` (not returned at the end of the recording). Lost records are an event,
 * and count as events_discarded of the packet. An event of the program has a class with the fields of its type; a mark
 * is `mark`; an event of the session itself is `event` with a text. The clock is ns since the first event.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/export.h"
#include "output/export/nest.h"
#include "output/export/sink.h"
#include "output/export/utf8.h"
#include "symbol/array.h"

#define MAGIC		0xc1fc1fc1u
#define PACKET_BYTES	(256u << 10)
#define EVENT_ROOM	64u
#define TEXT_MAX	4096u		/* of a name or path in a task event */

/* typed: a class for each */
enum event_id { EVENT_ENTRY, EVENT_EXIT, EVENT_LOST, EVENT_TASK, EVENT_MARK, EVENT_OTHER, EVENT_TYPED };
#define MAX_TYPED	(255u - EVENT_TYPED)	/* types beyond it are EVENT_OTHER */
/* a byte that is no UTF-8 becomes three */
#define TYPED_ROOM	(EVENT_FIELDS * (sizeof(uint64_t) + 1) + 3 * EVENT_TEXTS)

/* As trace.packet.header and stream.packet.context of the metadata. */
struct packet_head {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t begin_ns, end_ns, content_bits, packet_bits, discarded;
} __attribute__((packed));

struct event_head {
	uint8_t id;
	uint64_t ns;
	uint32_t pid, tid;
} __attribute__((packed));

struct ctf {
	FILE *out;
	char *packet;			/* PACKET_BYTES; `used` of them are written, the head included */
	uint32_t used;
	uint64_t begin_ns, end_ns, discarded;
	uint8_t *known;			/* tasks that were described, by index */
	uint32_t nknown;
	const struct uft_sym **sym;	/* by index: functions that were met */
	uint32_t nsyms;
	const struct uft_event_type *typed[MAX_TYPED];
	uint32_t ntyped;
	struct utf8_text text;
	int error;			/* -ENOMEM: a text is not in the file */
	uint8_t uuid[16];
};

static const char *clean_text(struct ctf *c, const char *s)
{
	const char *clean = utf8_clean(&c->text, s);

	if (!clean)
		c->error = -ENOMEM;
	return clean ? clean : "";
}

/* ---- The stream ---- */

static int put_packet(struct ctf *c)
{
	struct packet_head head = { MAGIC, { 0 }, 0, c->begin_ns, c->end_ns, 8ull * c->used, 8ull * c->used,
		c->discarded };

	if (c->used == sizeof(head))
		return 0;
	memcpy(head.uuid, c->uuid, sizeof(head.uuid));
	memcpy(c->packet, &head, sizeof(head));
	errno = 0;
	if (fwrite(c->packet, 1, c->used, c->out) != c->used)
		return errno ? -errno : -EIO;
	c->used = sizeof(head);
	return 0;
}

/* Room for the event's fields, @n bytes at most; NULL: the packet could not be written, *ret is the error. */
static inline char *put_event(struct ctf *c, enum event_id id, const struct uft_task *task, uint64_t ns, size_t n,
			      int *ret)
{
	struct event_head head = { (uint8_t)id, ns, task ? task->pid : 0, task ? task->tid : 0 };
	char *at;

	if (PACKET_BYTES - c->used < sizeof(head) + n) {
		*ret = put_packet(c);
		if (*ret)
			return NULL;
	}
	if (c->used == sizeof(struct packet_head))
		c->begin_ns = ns;
	c->end_ns = ns;
	at = c->packet + c->used;
	memcpy(at, &head, sizeof(head));
	c->used += (uint32_t)sizeof(head);
	return at + sizeof(head);
}

static void end_event(struct ctf *c, const char *end)
{
	c->used = (uint32_t)(end - c->packet);
}

/* Puts whole characters of @s, in at most @max bytes with the 0 byte. */
static char *put_string(struct ctf *c, char *at, const char *s, size_t max)
{
	const char *clean = clean_text(c, s ? s : "");
	size_t n = utf8_whole(clean, strnlen(clean, max - 1));

	memcpy(at, clean, n);
	at[n] = '\0';
	return at + n + 1;
}

static char *put_text(struct ctf *c, char *at, const char *s)
{
	return put_string(c, at, s, TEXT_MAX);
}

static int describe(struct ctf *c, const struct uft_task *t, uint64_t ns)
{
	int ret = 0;
	char *at;

	if (array_reach(c->known, c->nknown, t->index) < 0)
		return -ENOMEM;
	if (c->known[t->index])
		return 0;
	c->known[t->index] = 1;
	at = put_event(c, EVENT_TASK, t, ns, 2 * TEXT_MAX, &ret);
	if (at)
		end_event(c, put_text(c, put_text(c, at, t->comm && *t->comm ? t->comm : "?"),
				      t->image ? t->image->exe : NULL));
	return ret;
}

static inline char *put_func(char *at, const struct uft_sym *sym)
{
	memcpy(at, &sym->index, sizeof(sym->index));
	return at + sizeof(sym->index);
}

static int begin(void *ctx, const struct uft_task *task, const struct nest_call *call)
{
	struct ctf *c = ctx;
	int ret = task->index < c->nknown && c->known[task->index] ? 0 : describe(c, task, call->begin_ns);
	char *at;

	if (ret)
		return ret;
	if (array_reach(c->sym, c->nsyms, call->sym->index) < 0)
		return -ENOMEM;
	c->sym[call->sym->index] = call->sym;
	at = put_event(c, EVENT_ENTRY, task, call->begin_ns, EVENT_ROOM, &ret);
	if (at)
		end_event(c, put_func(at, call->sym));
	return ret;
}

static int end(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns, enum nest_end how)
{
	struct ctf *c = ctx;
	int ret = 0;
	char *at = put_event(c, EVENT_EXIT, task, ns, EVENT_ROOM, &ret);

	if (!at)
		return ret;
	at = put_func(at, call->sym);
	*at++ = (char)how;
	end_event(c, at);
	return 0;
}

static int lost(void *ctx, const struct uft_task *task, uint64_t ns, uint64_t records)
{
	struct ctf *c = ctx;
	int ret = 0;
	char *at;

	c->discarded += records;
	at = put_event(c, EVENT_LOST, task, ns, EVENT_ROOM, &ret);
	if (!at)
		return ret;
	memcpy(at, &records, sizeof(records));
	end_event(c, at + sizeof(records));
	return 0;
}

/* ---- Events ---- */

/* 1: the type has no more fields than an event may have here, and no name twice. */
static int is_class(const struct uft_event_type *type)
{
	for (uint32_t i = 0; i < type->nfields && type->nfields <= EVENT_FIELDS; i++)
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(type->field[i].name, type->field[k].name))
				return 0;
	return type->nfields <= EVENT_FIELDS;
}

/* The class of @type; EVENT_OTHER: there are too many classes. */
static uint32_t class_of(struct ctf *c, const struct uft_event_type *type)
{
	uint32_t i;

	for (i = 0; i < c->ntyped; i++)
		if (c->typed[i] == type)
			return EVENT_TYPED + i;
	if (i == MAX_TYPED || !is_class(type))
		return EVENT_OTHER;
	c->typed[c->ntyped++] = type;
	return EVENT_TYPED + i;
}

static char *put_fields(struct ctf *c, char *at, const struct export_event *e)
{
	for (uint32_t i = 0; i < e->nfields; i++) {
		const struct export_field *f = &e->field[i];

		if (f->text) {
			at = put_string(c, at, f->text, 3 * EVENT_TEXTS);
			continue;
		}
		memcpy(at, &f->number, sizeof(f->number));
		at += sizeof(f->number);
	}
	return at;
}

static int event(void *ctx, const struct uft_task *task, const struct nest_call *in, uint64_t ns,
		 const struct export_event *e, const struct uft_event *ev)
{
	struct ctf *c = ctx;
	uint32_t class = ev->kind == UFT_EV_MARK ? EVENT_MARK : UFT_EVENT_IS_NAMED(ev->data) ? class_of(c, ev->type) :
		EVENT_OTHER;
	int ret = describe(c, task, ns);
	char *at = ret ? NULL : put_event(c, (enum event_id)class, task, ns, TYPED_ROOM, &ret);

	(void)in;
	if (!at)
		return ret;
	if (class >= EVENT_TYPED) {
		end_event(c, put_fields(c, at, e));
		return 0;
	}
	if (class == EVENT_OTHER)
		at = put_text(c, put_text(c, at, e->system), e->name);
	end_event(c, put_text(c, at, e->text));
	return 0;
}

/* ---- The metadata ---- */

/* A string literal of TSDL. */
static void put_literal(struct ctf *c, FILE *out, const char *s)
{
	const char *clean = clean_text(c, s);

	putc('"', out);
	for (; *clean; clean++)
		if (*clean == '"' || *clean == '\\')
			fprintf(out, "\\%c", *clean);
		else if ((unsigned char)*clean < 0x20 || *clean == 0x7f)
			putc('?', out);
		else
			putc(*clean, out);
	putc('"', out);
}

static void put_uuid(FILE *out, const uint8_t uuid[16])
{
	for (int i = 0; i < 16; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static const char types[] =
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n";

static const char stream[] =
	"\tpacket.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };\n};\n\n"
	"clock { name = uft; description = \"since the first event\"; freq = 1000000000; offset = 0; };\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.uft.value; } := uft_clock_t;\n\n"
	"stream {\n\tid = 0;\n"
	"\tpacket.context := struct { uft_clock_t timestamp_begin; uft_clock_t timestamp_end; uint64_t content_size; uint64_t packet_size; uint64_t events_discarded; };\n"
	"\tevent.header := struct { uint8_t id; uft_clock_t timestamp; };\n"
	"\tevent.context := struct { uint32_t vpid; uint32_t vtid; };\n};\n\n"
	"enum uft_how : uint8_t { \"returned\" = 0, \"left\" = 1, \"open\" = 2 };\n";

static const char events[] =
	"event { name = \"func_entry\"; id = 0; stream_id = 0; fields := struct { enum uft_func func; }; };\n"
	"event { name = \"func_exit\"; id = 1; stream_id = 0; fields := struct { enum uft_func func; enum uft_how how; }; };\n"
	"event { name = \"lost\"; id = 2; stream_id = 0; fields := struct { uint64_t records; }; };\n"
	"event { name = \"task\"; id = 3; stream_id = 0; fields := struct { string procname; string exe; }; };\n"
	"event { name = \"mark\"; id = 4; stream_id = 0; fields := struct { string text; }; };\n"
	"event { name = \"event\"; id = 5; stream_id = 0; fields := struct { string system; string name; string text; }; };\n";

/* Writes the name behind an underscore, which readers remove. So no name is a keyword of the grammar. */
static void put_identifier(FILE *out, const char *s)
{
	putc('_', out);
	for (; *s; s++)
		putc((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ? *s : '_', out);
}

static void put_class(struct ctf *c, FILE *out, uint32_t i)
{
	const struct uft_event_type *t = c->typed[i];
	char name[256];

	snprintf(name, sizeof(name), "%s:%s", t->system, t->name);
	fputs("event { name = ", out);
	put_literal(c, out, name);
	fprintf(out, "; id = %" PRIu32 "; stream_id = 0; fields := struct {", EVENT_TYPED + i);
	for (uint32_t k = 0; k < t->nfields; k++) {
		const struct uft_event_field *f = &t->field[k];

		fputs(f->is_string || f->is_array ? " string " : f->is_signed ? " int64_t " : " uint64_t ", out);
		put_identifier(out, f->name);
		putc(';', out);
	}
	fputs(" }; };\n", out);
}

static void put_metadata(struct ctf *c, FILE *out, const struct uft_info *info)
{
	int is_first = 1;

	fprintf(out, "/* CTF 1.8 */\n\n%s\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", types);
	put_uuid(out, c->uuid);
	fprintf(out, "\";\n\tbyte_order = le;\n%s\nenv {\n\ttracer_name = \"uft\";\n\thostname = ", stream);
	put_literal(c, out, info->hostname ? info->hostname : "");
	fputs(";\n};\n\nenum uft_func : uint32_t {\n", out);
	for (uint32_t i = 0; i < c->nsyms; i++) {
		if (!c->sym[i])
			continue;
		fputs(is_first ? "\t" : ",\n\t", out);
		put_literal(c, out, c->sym[i]->name);
		fprintf(out, " = %" PRIu32, i);
		is_first = 0;
	}
	if (is_first)
		fputs("\t\"?\" = 0", out);
	fprintf(out, "\n};\n\n%s", events);
	for (uint32_t i = 0; i < c->ntyped; i++)
		put_class(c, out, i);
}

/* The same recording always gets the same UUID. */
static void make_uuid(struct ctf *c, const struct uft_info *info)
{
	uint64_t part[2] = { info->first_ns * 0x9e3779b97f4a7c15ull ^ info->bytes,
		(info->events + 1) * 0xc2b2ae3d27d4eb4full ^ info->duration_ns };

	memcpy(c->uuid, part, sizeof(part));
	c->uuid[6] = (uint8_t)((c->uuid[6] & 0x0f) | 0x40);
	c->uuid[8] = (uint8_t)((c->uuid[8] & 0x3f) | 0x80);
}

int uft_export_ctf(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	static const struct nest_ops ops = { begin, end, lost, event };
	struct ctf c = { .used = sizeof(struct packet_head) };
	struct export_sink sink;
	struct nest_result r;
	int ret = export_sink_open_dir(&sink, path, "stream", "metadata", err);

	(void)o;
	if (ret)
		return ret;
	c.out = sink.out;
	c.packet = malloc(PACKET_BYTES);
	make_uuid(&c, uft_stream_info(st));
	ret = c.packet ? nest_run(st, &ops, &c, &r) : -ENOMEM;
	if (!ret)
		ret = put_packet(&c);
	if (!ret)
		put_metadata(&c, sink.second, uft_stream_info(st));
	ret = ret ? ret : c.error;
	free(c.packet);
	free(c.known);
	free(c.sym);
	utf8_free(&c.text);
	return export_sink_finish(&sink, st, ret, err);
}
