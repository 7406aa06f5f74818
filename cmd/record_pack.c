/* SPDX-License-Identifier: MIT */
/*
 * record_pack.c - pack the rest of a recording after its programs have ended
 *
 * While the programs ran, the writer packed as much as it could without taking a CPU from them (UFT_PACK_IDLE). The
 * rest is packed here as by uft pack: into a new file that replaces the recording when it is complete. Until then, and
 * after a signal, a full disk or the end of this process, the recording is unchanged and complete. A rest that would
 * take long is left to uft pack.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cmd/record_internal.h"
#include "output/export/sink.h"
#include "stream/file/pack_file.h"

#define REST_MAX	(128ull << 20)	/* 0.13 s of CPU time (doc/performance.md) */
#define REST_PART	16u		/* of the recording: less is not worth reading all of it */
#define FREE_PART	20u		/* of the file system stays free, as while recording (stream/file/writer.c) */

static int has_room(const char *path, uint64_t bytes)
{
	struct statvfs fs;

	return !statvfs(path, &fs) &&
	       (uint64_t)fs.f_bavail * fs.f_frsize > bytes + (uint64_t)fs.f_blocks / FREE_PART * fs.f_frsize;
}

/* A recording that another user reads stays readable to that user. */
static int keep_mode(const char *path, FILE *out)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	return fchmod(fileno(out), st.st_mode & 0777) < 0 ? -errno : 0;
}

void record_pack_rest(struct recording *rec, struct uft_writer_stats *total, int (*is_ended)(void))
{
	struct uft_pack pack = { .is_in_place = 1, .is_ended = is_ended };
	struct uft_error err = { "" };
	struct export_sink sink;
	int ret;

	if (!total->plain_bytes || total->plain_bytes > REST_MAX || total->plain_bytes < total->bytes / REST_PART ||
	    !has_room(rec->path, total->bytes))
		return;
	if (export_sink_open(&sink, rec->path, &err))
		return;
	ret = keep_mode(rec->path, sink.out);
	if (!ret)
		ret = uft_pack_file(rec->path, sink.out, &pack, &err);
	if (!export_sink_close(&sink, ret, &err))
		total->bytes = pack.packed;
}
