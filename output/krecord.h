/* SPDX-License-Identifier: MIT */
/* krecord.h - events as records of the kernel's ring buffer, and the texts that describe them. Theory: krecord.c. */
#ifndef UFT_OUTPUT_KRECORD_H
#define UFT_OUTPUT_KRECORD_H

#include "output/datsyms.h"
#include "output/kbuf.h"
#include "stream/stream.h"

enum krecord_id { KRECORD_FUNCTION = 1, KRECORD_SWITCH = 2, KRECORD_STACK = 4, KRECORD_PRINT = 5, KRECORD_MMIO_RW = 7,
	KRECORD_MMIO_MAP = 8, KRECORD_EXIT = 10, KRECORD_ENTRY = 11, KRECORD_HWLAT = 15, KRECORD_OSNOISE = 16,
	KRECORD_RAW = 18 };

/* The kernel's files events/header_page and events/header_event. */
extern const char krecord_header_page[], krecord_header_event[];
#define KRECORD_HEADER_MAX	256
/* The header_page of pages of another size. Returns its length. */
int krecord_put_header_page(char out[KRECORD_HEADER_MAX], uint32_t page_bytes);

/* Formats for the files events/ftrace/NAME/format. */
#define KRECORD_NFORMATS	11
struct krecord_format {
	const char *name, *text;
};
extern const struct krecord_format krecord_formats[KRECORD_NFORMATS];

/*
 * Writes @ev, whose task is known unless it is LOST, to the pages of its CPU, with addresses of @syms. 0, -ENOMEM, or
 * the error of the sink.
 */
int krecord_put(struct uft_kbuf *kb, struct dat_syms *syms, const struct uft_event *ev);
/* Writes a print with the dropped function as ip at the time of @ev: calls of the function after it are missing. */
int krecord_put_drop(struct uft_kbuf *kb, struct dat_syms *syms, const struct uft_event *ev,
		     const struct uft_drop_row *drop);

#endif
