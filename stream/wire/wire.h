/* SPDX-License-Identifier: MIT */
/*
 * wire.h - varints, strings and checksums of the .uft file (uft_file.h). Context: control.
 *
 * Both directions remember the first error and do nothing after it, so that callers check once.
 */
#ifndef UFT_STREAM_WIRE_H
#define UFT_STREAM_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wire {			/* a growing buffer; zero is an empty one */
	uint8_t *p;
	size_t n, cap;
	int err;		/* 0 or -ENOMEM */
};

void wire_put_u(struct wire *w, uint64_t v);
void wire_put_s(struct wire *w, int64_t v);
void wire_put_bytes(struct wire *w, const void *p, size_t n);	/* length first */
void wire_put_raw(struct wire *w, const void *p, size_t n);	/* the bytes alone */
void wire_put_str(struct wire *w, const char *s);		/* NULL is "" */
void wire_free(struct wire *w);

struct wire_in {		/* a cursor over hostile bytes */
	const uint8_t *p, *end;
	int bad;		/* read beyond the end, or a malformed number */
	int no_memory;		/* wire_get_str() or wire_get_text() returned NULL for lack of memory */
};

uint64_t wire_get_u(struct wire_in *in);
int64_t wire_get_s(struct wire_in *in);
uint32_t wire_get_u32(struct wire_in *in);		/* a number beyond 32 bits is bad */
size_t wire_get_bytes(struct wire_in *in, const uint8_t **p);
char *wire_get_text(struct wire_in *in);			/* the same, control characters kept; a 0 byte is bad */
/* malloc'd, control characters become '?'; NULL: bad or no memory */
char *wire_get_str(struct wire_in *in);

/* The 8 bytes at @p, at any alignment. */
static inline uint64_t wire_word(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t wire_sum(const void *p, size_t n);		/* XXH64, seed 0 */
/* The sentence about a file that a stream cannot be read to its end of, since somebody else wrote to it. */
#define WIRE_CHANGED "%s was cut off or overwritten while it was read, and the rest cannot be had " \
		     "(keep others from writing to it, and try again)"
/* Reads exactly @n bytes of a file at @at. 0, -EBADMSG: the file is shorter; or another negative errno. */
int wire_read_at(int fd, void *to, size_t n, uint64_t at);

#endif
