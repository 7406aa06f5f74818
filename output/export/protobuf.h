/* SPDX-License-Identifier: MIT */
/*
 * protobuf.h - messages of protocol buffers, encoded by hand
 *
 * A message is collected in a struct pb, and becomes a field of the next one or goes out. The first failure (no memory)
 * sticks in pb.error; later additions are dropped. Strings must be UTF-8: utf8_clean(). Context: control, one thread.
 */
#ifndef UFT_OUTPUT_EXPORT_PROTOBUF_H
#define UFT_OUTPUT_EXPORT_PROTOBUF_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/utf8.h"
#include "symbol/array.h"

#define PB_VARINT_MAX	10u

struct pb {
	char *data;
	size_t n, cap;
	int error;		/* 0 or -ENOMEM */
};

static inline char *pb_put_varint(char *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (char)(v | 0x80);
	*p++ = (char)v;
	return p;
}

/* Room for @n more bytes; NULL: no memory. */
static inline char *pb_room(struct pb *b, size_t n)
{
	if (!b->error)
		b->error = array_reserve(b->data, b->cap, b->n + n);
	return b->error ? NULL : b->data + b->n;
}

static inline void pb_varint(struct pb *b, uint64_t v)
{
	char *p = pb_room(b, PB_VARINT_MAX);

	if (p)
		b->n = (size_t)(pb_put_varint(p, v) - b->data);
}

/* These add a field: an integer, 8 bytes, bytes, a message. */
static inline void pb_uint(struct pb *b, uint32_t field, uint64_t v)
{
	pb_varint(b, (uint64_t)field << 3);
	pb_varint(b, v);
}

static inline void pb_fixed64(struct pb *b, uint32_t field, uint64_t v)
{
	char *p;

	pb_varint(b, (uint64_t)field << 3 | 1);
	p = pb_room(b, sizeof(v));
	for (unsigned i = 0; p && i < sizeof(v); i++)
		p[i] = (char)(v >> 8 * i);
	b->n += p ? sizeof(v) : 0;
}

/* Bytes without a field: of a list. */
static inline void pb_counted(struct pb *b, const void *data, size_t n)
{
	char *p;

	pb_varint(b, n);
	p = pb_room(b, n);
	if (p && n)
		memcpy(p, data, n);
	b->n += p ? n : 0;
}

static inline void pb_bytes(struct pb *b, uint32_t field, const void *data, size_t n)
{
	pb_varint(b, (uint64_t)field << 3 | 2);
	pb_counted(b, data, n);
}

/* @s in well-formed UTF-8, for which @clean has the memory. */
static inline void pb_text(struct pb *b, uint32_t field, const char *s, struct utf8_text *clean)
{
	const char *text = utf8_clean(clean, s);

	if (text)
		pb_bytes(b, field, text, strlen(text));
	else
		b->error = -ENOMEM;
}

static inline void pb_message(struct pb *b, uint32_t field, const struct pb *m)
{
	pb_bytes(b, field, m->data, m->n);
	b->error = b->error ? b->error : m->error;
}

static inline void pb_free(struct pb *b)
{
	free(b->data);
	*b = (struct pb){ 0 };
}

#endif
