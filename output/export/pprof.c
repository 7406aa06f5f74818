/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - the profile of pprof: protobuf in gzip, a sample for each call path with its calls and its own time
 *
 * The sums of all samples equal those of `uft report --tree`. The string table has a fixed order, so that no string has
 * to be looked up: first the words below, then for each function its name, its name as linked, its object and its file.
 * Comments (`pprof -comments`) give what samples cannot: lost records, calls open at the end. Memory: the tree, and one
 * message.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "output/export/export.h"
#include "output/export/protobuf.h"
#include "output/export/utf8.h"
#include "output/report/aggregate.h"

enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
       PROFILE_DURATION = 10, PROFILE_COMMENT = 13, PROFILE_DEFAULT_TYPE = 14 };
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4, FUNCTION_START = 5 };
enum { STRING_EMPTY, STRING_CALLS, STRING_COUNT, STRING_TIME, STRING_NS, STRING_COMMENT, STRING_FUNCS };

#define OUT_BYTES	(64u << 10)

struct pprof {
	FILE *out;
	z_stream z;
	int error;
	struct pb message, part, packed;
	struct utf8_text text;
	unsigned char room[OUT_BYTES];
};

static void squeeze(struct pprof *p, int flush)
{
	int done = Z_OK;

	p->z.next_in = (unsigned char *)p->message.data;
	p->z.avail_in = (unsigned)p->message.n;
	while (!p->error && done != Z_STREAM_END) {
		p->z.next_out = p->room;
		p->z.avail_out = OUT_BYTES;
		done = deflate(&p->z, flush);
		if (done == Z_STREAM_ERROR)
			p->error = -EIO;
		else if (fwrite(p->room, 1, OUT_BYTES - p->z.avail_out, p->out) != OUT_BYTES - p->z.avail_out)
			p->error = errno ? -errno : -EIO;
		if (flush == Z_NO_FLUSH && !p->z.avail_in && p->z.avail_out)
			break;
	}
	p->message.n = 0;
}

/* Writes the collected bytes once there are enough for a write. */
static void put(struct pprof *p)
{
	int error = p->message.error ? p->message.error : p->part.error ? p->part.error : p->packed.error;

	p->error = p->error ? p->error : error;
	if (p->message.n >= OUT_BYTES)
		squeeze(p, Z_NO_FLUSH);
}

static void put_string(struct pprof *p, const char *s)
{
	const char *clean = utf8_clean(&p->text, s);

	if (clean)
		pb_bytes(&p->message, PROFILE_STRING, clean, strlen(clean));
	else
		p->error = -ENOMEM;
	put(p);
}

static uint64_t string_of(uint32_t func, unsigned which)
{
	return STRING_FUNCS + 4 * (uint64_t)func + which;
}

static void put_strings(struct pprof *p, const struct agg *a, uint64_t nopen)
{
	static const char *const words[] = { [STRING_EMPTY] = "", [STRING_CALLS] = "calls", [STRING_COUNT] = "count",
		[STRING_TIME] = "time",
					     [STRING_NS] = "nanoseconds" };
	char comment[160];

	for (unsigned i = 0; i < STRING_COMMENT; i++)
		put_string(p, words[i]);
	snprintf(comment, sizeof(comment),
		 "uft: %" PRIu64 " record%s lost, %" PRIu64 " call%s open at the end, %" PRIu64 " call%s of unknown duration",
		 a->lost, a->lost == 1 ? "" : "s", nopen, nopen == 1 ? "" : "s", a->unknown,
		 a->unknown == 1 ? "" : "s");
	put_string(p, comment);
	for (uint32_t i = 0; i < a->nfuncs; i++) {
		put_string(p, a->func[i].name);
		put_string(p, a->func[i].key + (a->func[i].key[0] == AGG_INLINED));
		put_string(p, a->func[i].object);
		put_string(p, a->func[i].file ? a->func[i].file : a->func[i].object);
	}
}

static void put_types(struct pprof *p)
{
	for (unsigned i = STRING_CALLS; i <= STRING_TIME; i += 2) {
		p->part.n = 0;
		pb_uint(&p->part, TYPE_TYPE, i);
		pb_uint(&p->part, TYPE_UNIT, i + 1);
		pb_message(&p->message, PROFILE_SAMPLE_TYPE, &p->part);
	}
	pb_uint(&p->message, PROFILE_DEFAULT_TYPE, STRING_TIME);
	pb_uint(&p->message, PROFILE_COMMENT, STRING_COMMENT);
}

/* Writes the path of a sample, the innermost function first. */
static void put_sample(struct pprof *p, const struct agg *a, uint32_t node)
{
	const struct agg_node *n = &a->node[node];

	p->part.n = p->packed.n = 0;
	for (uint32_t up = node; up; up = a->node[up].parent)
		pb_varint(&p->packed, (uint64_t)a->node[up].func + 1);
	pb_message(&p->part, SAMPLE_LOCATION, &p->packed);
	p->packed.n = 0;
	pb_varint(&p->packed, n->calls);
	pb_varint(&p->packed, n->self);
	pb_message(&p->part, SAMPLE_VALUE, &p->packed);
	pb_message(&p->message, PROFILE_SAMPLE, &p->part);
	put(p);
}

/* @mapping: of its object. A location is a function: addresses of calls are not recorded. */
static void put_function(struct pprof *p, uint32_t func, uint32_t line, uint32_t mapping)
{
	p->part.n = 0;
	pb_uint(&p->part, FUNCTION_ID, (uint64_t)func + 1);
	pb_uint(&p->part, FUNCTION_NAME, string_of(func, 0));
	pb_uint(&p->part, FUNCTION_SYSTEM_NAME, string_of(func, 1));
	pb_uint(&p->part, FUNCTION_FILE, string_of(func, 3));
	if (line)
		pb_uint(&p->part, FUNCTION_START, line);
	pb_message(&p->message, PROFILE_FUNCTION, &p->part);
	p->part.n = p->packed.n = 0;
	pb_uint(&p->packed, LINE_FUNCTION, (uint64_t)func + 1);
	if (line)
		pb_uint(&p->packed, LINE_LINE, line);
	pb_uint(&p->part, LOCATION_ID, (uint64_t)func + 1);
	pb_uint(&p->part, LOCATION_MAPPING, mapping);
	pb_message(&p->part, LOCATION_LINE, &p->packed);
	pb_message(&p->message, PROFILE_LOCATION, &p->part);
	put(p);
}

static void put_mapping(struct pprof *p, uint32_t func, uint32_t mapping)
{
	p->part.n = 0;
	pb_uint(&p->part, MAPPING_ID, mapping);
	pb_uint(&p->part, MAPPING_FILE, string_of(func, 2));
	pb_uint(&p->part, MAPPING_HAS_FUNCTIONS, 1);
	pb_message(&p->message, PROFILE_MAPPING, &p->part);
	put(p);
}

/* Writes a mapping for each object. Function 0 is the whole recording. */
static int put_functions(struct pprof *p, const struct agg *a)
{
	uint32_t *first = malloc((a->nfuncs + 1) * sizeof(*first)), n = 0;

	if (!first)
		return -ENOMEM;
	for (uint32_t i = 1; i < a->nfuncs; i++) {
		uint32_t m = n;

		while (m && strcmp(a->func[first[m - 1]].object, a->func[i].object))
			m--;
		if (!m) {
			first[n++] = i;
			m = n;
			put_mapping(p, i, m);
		}
		put_function(p, i, a->func[i].line, m);
	}
	free(first);
	return 0;
}

static int write_profile(struct uft_stream *st, struct agg *a, FILE *out)
{
	struct pprof *p = calloc(1, sizeof(*p));
	uint64_t nopen = 0;
	int ret;

	(void)st;
	if (!p)
		return -ENOMEM;
	p->out = out;
	/* 16: with the header of gzip */
	if (deflateInit2(&p->z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(p);
		return -ENOMEM;
	}
	put_types(p);
	for (uint32_t i = 1; i < a->nnodes && !p->error; i++) {
		nopen += a->node[i].nopen;
		if (a->node[i].calls || a->node[i].self)
			put_sample(p, a, i);
	}
	ret = put_functions(p, a);
	put_strings(p, a, nopen);
	pb_uint(&p->message, PROFILE_DURATION, a->last_ns - a->first_ns);
	put(p);
	if (!ret && !p->error)
		squeeze(p, Z_FINISH);
	ret = ret ? ret : p->error;
	deflateEnd(&p->z);
	pb_free(&p->message);
	pb_free(&p->part);
	pb_free(&p->packed);
	utf8_free(&p->text);
	free(p);
	return ret;
}

int uft_export_pprof(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	return export_paths(st, path, o, err, write_profile);
}
