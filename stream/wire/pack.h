/* SPDX-License-Identifier: MIT */
/*
 * pack.h - the code of packed RING blocks (uft_file.h, "Packed ring data"). Context: control.
 *
 * Both directions work on the words of one block alone and keep nothing from one block to the next. What comes out of
 * pack_decode() is what went into pack_encode(), byte for byte, whatever the bytes are.
 */
#ifndef UFT_STREAM_PACK_H
#define UFT_STREAM_PACK_H

#include <stddef.h>
#include <stdint.h>

/* Readable bytes that must follow the packed ones: pack_decode() checks once per 64 records that it is within them. */
#define PACK_SLACK	512u

struct pack;			/* tables of both directions; for one thread */
struct pack *pack_new(void);	/* NULL: no memory */
void pack_free(struct pack *p);

/*
 * Packs @n bytes, at most UFT_BLOCK_MAX. *@to stays valid until the next call. Returns how many they are packed; 0: not
 * fewer than @room.
 */
size_t pack_encode(struct pack *p, const uint8_t *raw, size_t n, size_t room, const uint8_t **to);
/*
 * Unpacks to exactly @n bytes. 0, or -EBADMSG: @packed, which is hostile, is no code of @n bytes. @to then holds
 * anything.
 */
int pack_decode(struct pack *p, const uint8_t *packed, size_t stored, uint8_t *to, size_t n);

#endif
