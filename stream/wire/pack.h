/* SPDX-License-Identifier: MIT */
/*
 * pack.h - the code of packed RING blocks (uft_file.h, "Packed ring data"). Context: control.
 *
 * Both directions work on the words of one block alone and keep nothing from one block to the next. pack_decode() gives
 * the bytes that pack_encode() got, whatever the bytes are.
 */
#ifndef UFT_STREAM_PACK_H
#define UFT_STREAM_PACK_H

#include <stddef.h>
#include <stdint.h>

/* Readable bytes that must follow the packed ones, because pack_decode() checks its bounds once per 64 records. */
#define PACK_SLACK	512u

struct pack;			/* tables of both directions; for one thread */
struct pack *pack_new(void);	/* NULL: no memory */
void pack_free(struct pack *p);

/*
 * Packs @n bytes, at most UFT_BLOCK_MAX. *@to stays valid until the next call. Returns the packed bytes; 0: not fewer
 * than @room.
 */
size_t pack_encode(struct pack *p, const uint8_t *raw, size_t n, size_t room, const uint8_t **to);
/*
 * Unpacks exactly @n bytes. 0, or -EBADMSG: @packed, which may be hostile, is no code of @n bytes; the content of @to
 * is undefined then.
 */
int pack_decode(struct pack *p, const uint8_t *packed, size_t stored, uint8_t *to, size_t n);

#endif
