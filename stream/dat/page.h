/* SPDX-License-Identifier: MIT */
/* page.h - the records in a page of the kernel's ring buffer. Context: control. */
#ifndef UFT_STREAM_DAT_PAGE_H
#define UFT_STREAM_DAT_PAGE_H

#include <stdint.h>

struct dat_page {
	const uint8_t *p, *end;		/* the rest of the page */
	uint64_t time;			/* of the last record, in units of the clock */
	uint64_t missed;		/* events lost before its first; UINT64_MAX: an unknown number */
};

struct dat_record {
	uint64_t time;
	const uint8_t *data;		/* the kernel's record, with its 8 common bytes */
	uint32_t bytes;
};

/* The page of @bytes at @page. 0, or -EBADMSG: its header makes no sense. */
int dat_page_open(struct dat_page *to, const uint8_t *page, uint32_t bytes);
/* 1: *out, valid as long as the page; 0: no more; -EBADMSG: the rest makes no sense. */
int dat_page_next(struct dat_page *pg, struct dat_record *out);

#endif
