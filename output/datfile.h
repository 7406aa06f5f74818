/* SPDX-License-Identifier: MIT */
/*
 * datfile.h - the layout of a trace.dat file around its pages: versions 6 and 7
 *
 * tracedat.c makes the pages of every CPU and the texts; datfile.c puts them into a file. The part in front of the
 * pages is built in memory, because its size decides where the pages lie, and is written at once; the pages follow. No
 * byte is written twice and the file is never sought, so the output may be a pipe. Source: trace-cmd.dat.v6(5),
 * trace-cmd.dat.v7(5), and files that trace-cmd 3.1.6 writes. Context: control.
 */
#ifndef UFT_OUTPUT_DATFILE_H
#define UFT_OUTPUT_DATFILE_H

#include "output/spool.h"
#include "stream/stream.h"

enum dat_version { DAT_V6, DAT_V7, DAT_V7_ZSTD };

/* Pages are compressed in chunks of this many; a reader unpacks a chunk to see one page. */
#define DAT_CHUNK_PAGES	32u
#define DAT_ZSTD_LEVEL	1

struct dat_cpu_data {
	const struct spool_lane *lane;	/* pages, or with zstd: chunks {u32 packed, u32 raw, data} */
	uint32_t nchunks;
	uint64_t entries, lost;		/* for the statistics options */
};

struct dat_file {
	enum dat_version version;
	const struct uft_info *info;
	const char *clock;		/* the kernel's name of it */
	const char *kallsyms, *cmdlines;
	size_t kallsyms_len, cmdlines_len;
	const struct dat_cpu_data *cpu;
	uint32_t ncpus;
	const struct uft_event_table *events;
	const struct spool *spool;
};

/* Writes the whole file to @fd. 0 or -errno. */
int dat_file_write(const struct dat_file *file, int fd);

#endif
