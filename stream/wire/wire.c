/* SPDX-License-Identifier: MIT */
/* wire.c - see wire.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/wire/wire.h"
#include "symbol/array.h"

static uint8_t *wire_room(struct wire *w, size_t n)
{
	if (!w->err)
		w->err = array_reserve(w->p, w->cap, w->n + n);
	return w->err ? NULL : w->p + w->n;
}

void wire_put_u(struct wire *w, uint64_t v)
{
	uint8_t *p = wire_room(w, 10);

	if (!p)
		return;
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	w->n = (size_t)(p - w->p);
}

void wire_put_s(struct wire *w, int64_t v)
{
	wire_put_u(w, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void wire_put_raw(struct wire *w, const void *p, size_t n)
{
	uint8_t *to = wire_room(w, n);

	if (to && n) {
		memcpy(to, p, n);
		w->n += n;
	}
}

void wire_put_bytes(struct wire *w, const void *p, size_t n)
{
	wire_put_u(w, n);
	wire_put_raw(w, p, n);
}

void wire_put_str(struct wire *w, const char *s)
{
	wire_put_bytes(w, s ? s : "", s ? strlen(s) : 0);
}

void wire_free(struct wire *w)
{
	free(w->p);
	memset(w, 0, sizeof(*w));
}

uint64_t wire_get_u(struct wire_in *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && in->p < in->end; shift += 7) {
		uint8_t b = *in->p++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return in->bad ? 0 : v;
	}
	in->bad = 1;
	in->p = in->end;
	return 0;
}

int64_t wire_get_s(struct wire_in *in)
{
	uint64_t v = wire_get_u(in);

	return (int64_t)((v >> 1) ^ -(v & 1));
}

uint32_t wire_get_u32(struct wire_in *in)
{
	uint64_t v = wire_get_u(in);

	if (v > UINT32_MAX) {
		in->bad = 1;
		in->p = in->end;
		return 0;
	}
	return (uint32_t)v;
}

size_t wire_get_bytes(struct wire_in *in, const uint8_t **p)
{
	uint64_t n = wire_get_u(in);

	*p = in->p;
	if (n > (uint64_t)(in->end - in->p)) {
		in->bad = 1;
		in->p = in->end;
		return 0;
	}
	in->p += n;
	return n;
}

char *wire_get_text(struct wire_in *in)
{
	const uint8_t *p;
	size_t n = wire_get_bytes(in, &p);

	char *s;

	if (in->bad || memchr(p, 0, n))
		return NULL;
	s = strndup((const char *)p, n);
	in->no_memory |= !s;
	return s;
}

char *wire_get_str(struct wire_in *in)
{
	const uint8_t *p;
	size_t n = wire_get_bytes(in, &p);
	char *s;

	if (in->bad)
		return NULL;
	s = malloc(n + 1);
	in->no_memory |= !s;
	if (!s)
		return NULL;
	/* Replaces control characters: names from a hostile file are printed on terminals and in line based formats. */
	for (size_t i = 0; i < n; i++)
		s[i] = p[i] < 0x20 || p[i] == 0x7f ? '?' : (char)p[i];
	s[n] = 0;
	return s;
}

/* ---- XXH64 -------------------------------------------------------------------------------- */

#define XX1 0x9e3779b185ebca87ull
#define XX2 0xc2b2ae3d27d4eb4full
#define XX3 0x165667b19e3779f9ull
#define XX4 0x85ebca77c2b2ae63ull
#define XX5 0x27d4eb2f165667c5ull

static inline uint64_t xx_rol(uint64_t v, unsigned n)
{
	return v << n | v >> (64 - n);
}

static inline uint64_t xx_round(uint64_t acc, uint64_t v)
{
	return xx_rol(acc + v * XX2, 31) * XX1;
}

uint64_t wire_sum(const void *data, size_t n)
{
	const uint8_t *p = data, *end = n ? p + n : p;	/* an empty payload may be NULL */
	uint64_t h = XX5;

	if (n >= 32) {
		uint64_t a[4] = { XX1 + XX2, XX2, 0, -XX1 };

		/* No inner loop, so that the four sums stay in registers: 5 instructions for 8 bytes instead of 12. */
		for (; end - p >= 32; p += 32) {
			a[0] = xx_round(a[0], wire_word(p));
			a[1] = xx_round(a[1], wire_word(p + 8));
			a[2] = xx_round(a[2], wire_word(p + 16));
			a[3] = xx_round(a[3], wire_word(p + 24));
		}
		h = xx_rol(a[0], 1) + xx_rol(a[1], 7) + xx_rol(a[2], 12) + xx_rol(a[3], 18);
		for (int i = 0; i < 4; i++)
			h = (h ^ xx_round(0, a[i])) * XX1 + XX4;
	}
	h += n;
	for (; end - p >= 8; p += 8)
		h = xx_rol(h ^ xx_round(0, wire_word(p)), 27) * XX1 + XX4;
	if (end - p >= 4) {
		uint32_t v;

		memcpy(&v, p, 4);
		h = xx_rol(h ^ v * XX1, 23) * XX2 + XX3;
		p += 4;
	}
	for (; p < end; p++)
		h = xx_rol(h ^ *p * XX5, 11) * XX1;
	h = (h ^ h >> 33) * XX2;
	h = (h ^ h >> 29) * XX3;
	return h ^ h >> 32;
}

int wire_read_at(int fd, void *to, size_t n, uint64_t at)
{
	uint8_t *p = to;

	while (n) {
		ssize_t got = at > INT64_MAX ? 0 : pread(fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		p += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}
