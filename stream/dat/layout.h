/* SPDX-License-Identifier: MIT */
/* layout.h - the parts of a trace.dat file, versions 6 and 7. Theory: layout.c. Context: control. */
#ifndef UFT_STREAM_DAT_LAYOUT_H
#define UFT_STREAM_DAT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "stream/dat/time_shift.h"
#include "symbol/error.h"

#define DAT_CPUS_MAX	4096u
#define DAT_LANES_MAX	(4u * DAT_CPUS_MAX)

struct dat_text {		/* a part of the file, in memory, with a 0 behind it */
	char *p;
	size_t n;
};

enum dat_packing { DAT_PLAIN, DAT_ZSTD, DAT_ZLIB };

struct dat_lane {		/* the pages of one CPU in one buffer */
	uint64_t offset, bytes;
	uint32_t cpu, buffer, page_bytes;
};

struct dat_layout {
	int fd;
	uint64_t size;
	uint32_t version, page_bytes, long_bytes;
	enum dat_packing packing;
	struct dat_text kallsyms, cmdlines;
	struct dat_text ftrace, events;		/* the sections of formats as they are: dat_next_format() */
	struct dat_text uname, clock, maker;	/* options; clock: the name in brackets, or "" */
	struct dat_lane *lane;
	uint32_t nlanes, nbuffers, ncpus;	/* ncpus: one more than the highest */
	uint32_t tsc_mult, tsc_shift;		/* option TSC2NSEC; mult 0: none */
	uint64_t tsc_offset;
	int64_t offset;				/* option OFFSET, ns */
	uint64_t session;			/* option TRACEID; 0: none */
	struct dat_time_shift shift;		/* cpu NULL: none */
	uint64_t budget;			/* bytes that may still be allocated for texts */
};

int dat_layout_read(struct dat_layout *l, int fd, const char *path, struct uft_error *err);
void dat_layout_free(struct dat_layout *l);

/* A cursor over the formats of a file: those of ftrace itself first. */
struct dat_format_cursor {
	size_t at;
	uint32_t part, systems, events;		/* still to come */
	const char *system;
	int is_bad;
};
/* 1: *text has the next format, which the caller frees; 0: the end, or damage (is_bad); -ENOMEM. */
int dat_next_format(const struct dat_layout *l, struct dat_format_cursor *c, struct dat_text *text);

/* The bytes of a lane, page by page, unpacked. */
struct dat_pages {
	const struct dat_layout *l;
	const struct dat_lane *lane;
	uint64_t at, end;			/* in the file */
	uint32_t chunks;			/* packed chunks still to come */
	uint8_t *chunk, *packed;
	size_t nchunk, pos, cap, cap_packed;
};
/* 0 or -errno */
int dat_pages_open(struct dat_pages *p, const struct dat_layout *l, const struct dat_lane *lane);
/* 1: *page has lane->page_bytes bytes; 0: the end; -EBADMSG, -ENOMEM, or the error of reading. */
int dat_pages_next(struct dat_pages *p, const uint8_t **page);
void dat_pages_close(struct dat_pages *p);

#endif
