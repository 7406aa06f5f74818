/* SPDX-License-Identifier: MIT */
/*
 * debugfile.c - symbol tables that are not in the object itself
 *
 * Two places: .gnu_debugdata, an xz-compressed ELF file inside a stripped one ("mini debug info"), and a separate debug
 * file, found by build-id under /usr/lib/debug/.build-id, by the name in .gnu_debuglink, or, if the user named servers
 * for it, by debuginfod (debuginfod.c). A file that does not fit its object (other build-id, wrong checksum) is
 * ignored; no problem here is an error. Debug information (source.h) is searched for in the same places.
 */
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/object_internal.h"

#define DEBUG_ROOT		"/usr/lib/debug"
#define DEBUGDATA_MAX_BYTES	(256ull << 20)	/* unpacked */
#define DEBUGDATA_MAX_RATIO	64u		/* symbol tables compress about 8 times with xz */
#define DEBUGDATA_MEMORY	(128ull << 20)	/* of the decoder */

/* Unpacks @in; NULL: it is damaged or too large. The result is charged to @bound until its file is closed. */
static uint8_t *debugdata_unpack(struct parse_bound *bound, const uint8_t *in, size_t len, size_t *out_len)
{
	uint64_t limit = (uint64_t)len * DEBUGDATA_MAX_RATIO + (1u << 20);
	lzma_stream xz = LZMA_STREAM_INIT;
	size_t room = len * 4 + 4096;
	uint8_t *out = NULL, *grown;
	uint64_t taken = 0;
	lzma_ret ret = LZMA_OK;

	if (limit > DEBUGDATA_MAX_BYTES)
		limit = DEBUGDATA_MAX_BYTES;
	if (room > limit)
		room = limit;
	if (lzma_stream_decoder(&xz, DEBUGDATA_MEMORY, 0) != LZMA_OK)
		return NULL;
	xz.next_in = in;
	xz.avail_in = len;
	while (ret == LZMA_OK && xz.total_out < limit) {
		if (out && xz.avail_out == 0)
			room = room * 2 < limit ? room * 2 : limit;
		if (room > taken && bound_take(bound, "compressed symbols", room - taken))
			break;
		taken = room > taken ? room : taken;
		grown = realloc(out, room);
		if (!grown)
			break;
		out = grown;
		xz.next_out = out + xz.total_out;
		xz.avail_out = room - xz.total_out;
		ret = lzma_code(&xz, LZMA_FINISH);
	}
	*out_len = xz.total_out;
	lzma_end(&xz);
	if (ret == LZMA_STREAM_END)
		return out;
	free(out);
	bound_return(bound, taken);
	return NULL;
}

static void debugdata_load(struct uft_object *obj)
{
	struct object_priv *priv = object_priv(obj);
	size_t len, unpacked, i = elf_section(&priv->view, ".gnu_debugdata", 0);
	const uint8_t *p = elf_section_data(&priv->view, i, &len);
	uint8_t *data = p && len ? debugdata_unpack(priv->view.bound, p, len, &unpacked) : NULL;
	struct elf_view *v = &priv->extra[priv->nextra];

	if (!data || elf_open_memory(v, data, unpacked, ELF_MALLOCED, obj->path, NULL))
		return;
	bound_put(v->bound);
	v->bound = bound_get(priv->view.bound);	/* part of the object's file */
	priv->nextra++;
}

/*
 * A debug file without a build-id is known by its checksum, which costs its whole size, though nearly all of that may
 * be a hole. Larger ones are not used.
 */
#define DEBUGLINK_MAX_BYTES	(256ull << 20)

/* CRC-32 as .gnu_debuglink has it (IEEE 802.3). */
static uint32_t debuglink_crc(const uint8_t *p, size_t len)
{
	static uint32_t table[256];
	uint32_t crc = ~0u;
	unsigned i, k;

	for (i = 0; !table[255] && i < 256; i++) {
		uint32_t c = i;

		for (k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
		table[i] = c;
	}
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

/* Opens @path as @v if it is a debug file of @obj. @crc: the required checksum; NULL: the build-id decides. */
static int debugfile_open(const struct uft_object *obj, const char *path, const uint32_t *crc, struct elf_view *v)
{
	uint8_t id[32];
	uint32_t n;
	int fits;

	if (elf_open(v, path, NULL))
		return 0;
	n = elf_build_id(v, id, sizeof(id));
	if (n && obj->build_id_len)
		fits = n == obj->build_id_len && !memcmp(id, obj->build_id, n);
	else
		fits = crc && v->size <= DEBUGLINK_MAX_BYTES /* GUARD(debuglink_bytes) */ &&
		       debuglink_crc(v->data, v->size) == *crc;
	if (fits && v->eh.e_type == obj->type)
		return 1;
	elf_close(v);
	return 0;
}

/* Tries one place. 1: taken. */
typedef int (*debugfile_try)(struct uft_object *obj, const char *path, const uint32_t *crc);

static int debugfile_names(struct uft_object *obj, const char *path, const uint32_t *crc)
{
	struct object_priv *priv = object_priv(obj);
	struct elf_view *v = &priv->extra[priv->nextra];
	struct elf_symtab t;

	if (!debugfile_open(obj, path, crc, v))
		return 0;
	elf_symtab_find(v, SHT_SYMTAB, &t);
	if (!t.n) {
		elf_close(v);
		return 0;
	}
	priv->nextra++;
	priv->debug_path = str_pool_copy(&priv->pool, path, strlen(path));
	return 1;
}

static int has_debug_info(const struct elf_view *v)
{
	return elf_section(v, ".debug_info", 0) || elf_section(v, ".zdebug_info", 0);
}

static int debugfile_info(struct uft_object *obj, const char *path, const uint32_t *crc)
{
	struct object_priv *priv = object_priv(obj);
	struct elf_view v;
	int has;

	if (!debugfile_open(obj, path, crc, &v))
		return 0;
	has = has_debug_info(&v);
	elf_close(&v);
	if (has)
		priv->info_path = str_pool_copy(&priv->pool, path, strlen(path));
	return has;
}

static int debugfile_by_build_id(struct uft_object *obj, debugfile_try try)
{
	char path[sizeof(DEBUG_ROOT "/.build-id/") + 2 * sizeof(obj->build_id) + 16];
	int at = snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/");
	uint32_t i;

	if (obj->build_id_len < 2)
		return 0;
	for (i = 0; i < obj->build_id_len; i++)
		at += snprintf(path + at, sizeof(path) - at, i ? "%02x" : "%02x/", obj->build_id[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	return try(obj, path, NULL);
}

static int debugfile_by_link(struct uft_object *obj, debugfile_try try)
{
	static const struct { const char *root, *sub; } place[] = { { "", "" }, { "", ".debug/" }, { DEBUG_ROOT, "" } };
	struct object_priv *priv = object_priv(obj);
	size_t len, n, i = elf_section(&priv->view, ".gnu_debuglink", 0);
	const char *name = (const char *)elf_section_data(&priv->view, i, &len);
	const char *slash = strrchr(obj->path, '/');
	int dir = slash ? (int)(slash - obj->path) + 1 : 0;
	char path[4096];
	uint32_t crc;
	unsigned k;

	if (!name)
		return 0;
	n = strnlen(name, len);
	if (!n || n > 255 || ((n + 4) & ~3ul) + 4 > len || memchr(name, '/', n) || name[0] == '.')
		return 0;
	crc = elf_get32((const uint8_t *)name + ((n + 4) & ~3ul));
	for (k = 0; k < sizeof(place) / sizeof(place[0]); k++) {
		if (*place[k].root && obj->path[0] != '/')
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s%.*s%s%s", place[k].root, dir, obj->path, place[k].sub,
				     name) >= sizeof(path))
			continue;
		if (strcmp(path, obj->path) && try(obj, path, &crc))
			return 1;
	}
	return 0;
}

/* 1: taken. */
static int debugfile_anywhere(struct uft_object *obj, debugfile_try try)
{
	char *path;
	int done = debugfile_by_build_id(obj, try) || debugfile_by_link(obj, try);

	if (done)
		return 1;
	path = debuginfod_fetch(obj);
	done = path && try(obj, path, NULL);
	free(path);
	return done;
}

void object_load_extra(struct uft_object *obj)
{
	struct object_priv *priv = object_priv(obj);
	struct elf_symtab t;

	if (!priv->has_file || priv->nextra || obj->type == ET_REL)
		return;
	elf_symtab_find(&priv->view, SHT_SYMTAB, &t);
	if (t.n)		/* not stripped: no other file has more */
		return;
	debugdata_load(obj);
	debugfile_anywhere(obj, debugfile_names);
}

char *object_debug_info(struct uft_object *obj)
{
	struct object_priv *priv = object_priv(obj);

	if (!priv->has_file || obj->type == ET_REL)
		return NULL;
	if (has_debug_info(&priv->view))
		return strdup(obj->path);
	if (!priv->info_path)
		debugfile_anywhere(obj, debugfile_info);
	return priv->info_path ? strdup(priv->info_path) : NULL;
}
