/* SPDX-License-Identifier: MIT */
/*
 * spool.h - several growing byte streams in one unnamed file, to be read back one after the other
 *
 * trace.dat needs each CPU's pages in one piece, but events come in time order over all CPUs. Every lane collects a
 * chunk in memory; a full chunk goes to the end of the file, and the lane remembers its place. The file has no name
 * (O_TMPFILE, else unlinked at once) and lies beside the output, on the file system that must have room for it.
 * Context: control, one thread.
 */
#ifndef UFT_OUTPUT_SPOOL_H
#define UFT_OUTPUT_SPOOL_H

#include <stddef.h>
#include <stdint.h>

struct spool_extent {
	uint64_t offset;
	uint32_t bytes;
};

struct spool_lane {
	struct spool_extent *extent;
	size_t n, cap;
	uint64_t bytes;
};

struct spool {
	int fd;
	uint64_t end;
};

/* Opens a spool in the directory of @near, the file that will be written. 0 or -errno. */
int spool_open(struct spool *sp, const char *near);
void spool_close(struct spool *sp);
/* Appends to a lane. @n bytes become one extent, or join the lane's last one. 0 or -errno. */
int spool_add(struct spool *sp, struct spool_lane *lane, const void *data, uint32_t n);
/* Copies a whole lane to the end of @fd (its file position). 0 or -errno. */
int spool_copy(const struct spool *sp, const struct spool_lane *lane, int fd);
void spool_lane_free(struct spool_lane *lane);

/* write(2) until all is written. 0 or -errno. */
int spool_write_all(int fd, const void *data, size_t n);

#endif
