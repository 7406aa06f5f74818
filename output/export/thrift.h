/* SPDX-License-Identifier: MIT */
/*
 * thrift.h - structs of thrift's compact protocol, encoded by hand, for Parquet's page headers and footer
 *
 * Fields of a struct are given in ascending order; `last` is the number of the one before, 0 at the start of
 * a struct. A struct ends by thrift_stop(). Failures stick in the struct pb (protobuf.h). Context: control,
 * one thread.
 */
#ifndef UFT_OUTPUT_EXPORT_THRIFT_H
#define UFT_OUTPUT_EXPORT_THRIFT_H

#include "output/export/protobuf.h"

enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

static inline void thrift_byte(struct pb *b, uint8_t v)
{
	char *p = pb_room(b, 1);

	if (p) {
		*p = (char)v;
		b->n++;
	}
}

static inline void thrift_field(struct pb *b, uint8_t *last, uint8_t field, enum thrift_type type)
{
	thrift_byte(b, (uint8_t)((field - *last) << 4 | type));
	*last = field;
}

/* Integers of both widths are zigzag varints. */
static inline void thrift_value(struct pb *b, uint64_t v)
{
	pb_varint(b, v << 1 ^ (uint64_t)((int64_t)v >> 63));
}

static inline void thrift_int(struct pb *b, uint8_t *last, uint8_t field, enum thrift_type type, uint64_t v)
{
	thrift_field(b, last, field, type);
	thrift_value(b, v);
}

static inline void thrift_text(struct pb *b, uint8_t *last, uint8_t field, const char *s)
{
	thrift_field(b, last, field, THRIFT_BINARY);
	pb_counted(b, s, strlen(s));
}

static inline void thrift_list(struct pb *b, uint8_t *last, uint8_t field, enum thrift_type type, uint32_t n)
{
	thrift_field(b, last, field, THRIFT_LIST);
	if (n < 15) {
		thrift_byte(b, (uint8_t)(n << 4 | type));
	} else {
		thrift_byte(b, (uint8_t)(0xf0 | type));
		pb_varint(b, n);
	}
}

static inline void thrift_stop(struct pb *b)
{
	thrift_byte(b, 0);
}

#endif
