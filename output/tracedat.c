/* SPDX-License-Identifier: MIT */
/*
 * tracedat.c - a stream as trace.dat, the file of trace-cmd and KernelShark
 *
 * The file has the records that the kernel's function and function_graph tracers would have left in their ring buffers,
 * for stock tools. It is written without their libraries.
 *
 * Objects: struct dat owns the spool (spool.h), the address space (datsyms.h) and one struct dat_cpu per CPU met: its
 * page writer (kbuf.h), its chunk of collected pages, its lane in the spool. When the stream ends, datfile.c puts the
 * file together. One thread, one pass, memory bounded by CPUs (140 KiB each) and functions; the pages lie twice on disk
 * for a moment.
 *
 *	event --> record in the CPU's page --> chunk --(zstd)--> lane of the spool ==> the file
 *
 * krecord.c makes records of the events. A function that was dropped by --budget is a print before the first
 * event after it.
 *
 * A task that called exec has its last name. Invariants: every event is one record, per CPU in time order
 * (tests/golden/tracedat counts with trace-cmd and with libkshark). Failure: an incomplete file is removed, an older
 * one is kept if nothing was written yet; the error names path and reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "output/datfile.h"
#include "output/discard.h"
#include "output/emit.h"
#include "output/krecord.h"
#include "output/tracedat.h"
#include "symbol/array.h"
#include "symbol/newfile.h"

#define CHUNK_BYTES	(DAT_CHUNK_PAGES * KBUF_PAGE)
#define MAX_CPUS	65536u

struct dat_cpu {
	struct dat *dat;
	struct spool_lane lane;
	uint32_t chunk_used, nchunks;
	struct uft_kbuf kbuf;
	uint64_t page[KBUF_PAGE / 8];
	char chunk[CHUNK_BYTES];
};

struct dat {
	enum dat_version version;
	struct emit_source src;
	struct dat_syms syms;
	struct spool spool;
	ZSTD_CCtx *zstd;
	char *packed;			/* ZSTD_compressBound(CHUNK_BYTES) + 8 */
	struct dat_cpu **cpu;
	uint32_t ncpus;
};

/* ---- Pages ---- */

static int flush_packed(struct dat *dat, struct dat_cpu *c)
{
	size_t room = ZSTD_compressBound(CHUNK_BYTES);
	size_t n = ZSTD_compressCCtx(dat->zstd, dat->packed + 8, room, c->chunk, c->chunk_used, DAT_ZSTD_LEVEL);
	uint32_t sizes[2] = { (uint32_t)n, c->chunk_used };

	if (ZSTD_isError(n))	/* all has room, so memory is what it lacks */
		return -ENOMEM;
	memcpy(dat->packed, sizes, 8);
	c->nchunks++;
	return spool_add(&dat->spool, &c->lane, dat->packed, (uint32_t)n + 8);
}

static int flush_chunk(struct dat *dat, struct dat_cpu *c)
{
	int ret = 0;

	if (c->chunk_used)
		ret = dat->zstd ? flush_packed(dat, c) : spool_add(&dat->spool, &c->lane, c->chunk, c->chunk_used);
	c->chunk_used = 0;
	return ret;
}

/* The page writer's sink. */
static int add_page(void *ctx, const void *page)
{
	struct dat_cpu *c = ctx;

	memcpy(c->chunk + c->chunk_used, page, KBUF_PAGE);
	c->chunk_used += KBUF_PAGE;
	return c->chunk_used == CHUNK_BYTES ? flush_chunk(c->dat, c) : 0;
}

static int grow_cpus(struct dat *dat, uint32_t ncpus)
{
	if (!ncpus || ncpus > MAX_CPUS)		/* 0: the number of a CPU is UINT32_MAX */
		return -EBADMSG;
	if (array_resize(dat->cpu, ncpus))
		return -ENOMEM;
	memset(dat->cpu + dat->ncpus, 0, (ncpus - dat->ncpus) * sizeof(*dat->cpu));
	dat->ncpus = ncpus;
	return 0;
}

static int get_cpu(struct dat *dat, uint32_t cpu, struct dat_cpu **out)
{
	struct dat_cpu *c;
	int ret;

	if (cpu >= dat->ncpus && (ret = grow_cpus(dat, cpu + 1)) < 0)
		return ret;
	c = dat->cpu[cpu];
	if (!c) {
		c = dat->cpu[cpu] = malloc(sizeof(*c));
		if (!c)
			return -ENOMEM;
		memset(c, 0, offsetof(struct dat_cpu, kbuf));
		c->dat = dat;
		uft_kbuf_init(&c->kbuf, c->page, sizeof(c->page), add_page, c);
	}
	*out = c;
	return 0;
}

static int put_events(struct dat *dat, struct uft_stream *st)
{
	struct uft_drop_row drop;
	size_t ndrop = 0;
	const struct uft_event *ev;
	struct dat_cpu *c;
	int ret = 0;

	while (!ret && (ev = emit_source_next(&dat->src))) {
		ret = get_cpu(dat, ev->cpu, &c);
		for (; !ret && uft_stream_drop(st, ndrop, &drop) && drop.ts_ns <= ev->ts_ns; ndrop++)
			ret = krecord_put_drop(&c->kbuf, &dat->syms, ev, &drop);
		if (!ret)
			ret = krecord_put(&c->kbuf, &dat->syms, ev);
	}
	for (uint32_t i = 0; i < dat->ncpus && !ret; i++) {
		c = dat->cpu[i];
		if (c && !(ret = uft_kbuf_flush(&c->kbuf)))
			ret = flush_chunk(dat, c);
	}
	return ret;
}

/* ---- The file ---- */

static int by_tid(const void *a, const void *b)
{
	const struct uft_task *x = *(const struct uft_task *const *)a, *y = *(const struct uft_task *const *)b;

	return x->tid != y->tid ? (x->tid > y->tid) - (x->tid < y->tid) : (x->index > y->index) - (x->index < y->index);
}

static char *put_cmdline(char *p, const struct uft_task *task)
{
	const char *comm = task->comm && *task->comm ? task->comm : "<...>";

	p = digits_plain(p, task->tid);
	*p++ = ' ';
	for (size_t k = 0; k < 15 && comm[k]; k++)
		*p++ = (unsigned char)comm[k] < ' ' || comm[k] == 0x7f ? '?' : comm[k];
	*p++ = '\n';
	return p;
}

/* saved_cmdlines: one `tid comm` line each, the last name a task had. malloc'd. */
static char *cmdlines_text(struct uft_stream *st, size_t *len)
{
	const struct uft_task *task, **list;
	size_t n = uft_stream_tasks(st, &task);
	char *text = malloc(n * 32 + 1), *p = text;

	list = malloc((n + 1) * sizeof(*list));
	for (size_t i = 0; list && i < n; i++)
		list[i] = &task[i];
	if (list && n)
		qsort(list, n, sizeof(*list), by_tid);
	for (size_t i = 0; text && list && i < n; i++)
		if (i + 1 == n || list[i + 1]->tid != list[i]->tid)
			p = put_cmdline(p, list[i]);
	*len = (size_t)(p - text);
	if (!list) {
		free(text);
		text = NULL;
	}
	free(list);
	return text;
}

static int write_file(struct dat *dat, struct uft_stream *st, const struct uft_info *info, int fd)
{
	static const struct spool_lane nothing;
	struct dat_file file = { .version = dat->version, .info = info, .clock = uft_stream_clock_name(st),
		.events = uft_stream_events(st), .ncpus = dat->ncpus, .spool = &dat->spool };
	struct dat_cpu_data *cpu = calloc(dat->ncpus + 1, sizeof(*cpu));
	char *kallsyms = dat_syms_text(&dat->syms, &file.kallsyms_len);
	char *cmdlines = cmdlines_text(st, &file.cmdlines_len);
	int ret = -ENOMEM;

	if (cpu && kallsyms && cmdlines) {
		for (uint32_t i = 0; i < dat->ncpus; i++) {
			struct dat_cpu *c = dat->cpu[i];

			cpu[i].lane = c ? &c->lane : &nothing;
			if (!c)
				continue;
			cpu[i].nchunks = c->nchunks;
			cpu[i].entries = c->kbuf.entries;
			cpu[i].lost = c->kbuf.lost;
		}
		file.kallsyms = kallsyms;
		file.cmdlines = cmdlines;
		file.cpu = cpu;
		ret = dat_file_write(&file, fd);
	}
	free(cmdlines);
	free(kallsyms);
	free(cpu);
	return ret;
}

static int fill_output(struct dat *dat, struct uft_stream *st, const struct uft_info *info, int fd, int *is_new)
{
	struct stat sb;

	if (fstat(fd, &sb) < 0)
		return -errno;
	if (S_ISREG(sb.st_mode)) {
		if (ftruncate(fd, 0) < 0)
			return -errno;
		*is_new = 1;		/* nothing is left that would be worth keeping */
	}
	return write_file(dat, st, info, fd);
}

static void dat_free(struct dat *dat)
{
	for (uint32_t i = 0; i < dat->ncpus; i++) {
		if (dat->cpu[i])
			spool_lane_free(&dat->cpu[i]->lane);
		free(dat->cpu[i]);
	}
	free(dat->cpu);
	free(dat->packed);
	ZSTD_freeCCtx(dat->zstd);
	dat_syms_free(&dat->syms);
	spool_close(&dat->spool);
	free(dat);
}

static int dat_init(struct dat *dat, struct uft_stream *st, const char *path, enum dat_version version, uint32_t ncpus)
{
	dat->version = version;
	emit_source_init(&dat->src, st);
	dat_syms_init(&dat->syms);
	if (version == DAT_V7_ZSTD) {
		dat->zstd = ZSTD_createCCtx();
		dat->packed = malloc(ZSTD_compressBound(CHUNK_BYTES) + 8);
		if (!dat->zstd || !dat->packed)
			return -ENOMEM;
	}
	if (ncpus && grow_cpus(dat, ncpus) < 0)
		return -ENOMEM;
	return spool_open(&dat->spool, path);
}

static int export_fd(struct uft_stream *st, const char *path, enum dat_version version, int fd, int *is_new)
{
	struct dat *dat = calloc(1, sizeof(*dat));
	const struct uft_info *info = uft_stream_info(st);
	int ret = -ENOMEM;

	if (!dat)
		return -ENOMEM;
	dat->spool.fd = -1;
	if (info) {
		ret = dat_init(dat, st, path, version, info->ncpus);
		if (!ret)
			ret = put_events(dat, st);
		if (!ret)
			ret = uft_stream_check_file(st, NULL);
		if (!ret)
			ret = fill_output(dat, st, info, fd, is_new);
		ret = ret ? ret : uft_stream_check_file(st, NULL);	/* names of tasks need memory, too */
	}
	dat_free(dat);
	return ret;
}

/*
 * The output is opened before the input is read, so that a path that cannot be written fails at once. An older file is
 * kept until the new contents are ready.
 */
static int export_to(struct uft_stream *st, const char *path, enum dat_version version, struct uft_error *err)
{
	const char *why;
	int is_new, fd = uft_newfile_open(path, 0, &is_new, &why), ret;
	struct stat file = { 0 };

	if (fd < 0)
		return uft_fail(err, fd, "cannot write %s: %s", path, why ? why : strerror(-fd));
	ret = fstat(fd, &file) < 0 ? -errno : export_fd(st, path, version, fd, &is_new);
	if (close(fd) < 0 && !ret)
		ret = -errno;
	if (ret < 0 && is_new)
		output_discard(path, &file);
	if (ret < 0 && uft_stream_check_file(st, err))
		return ret;
	return ret < 0 ? uft_fail(err, ret, "cannot write %s: %s", path, strerror(-ret)) : 0;
}

int uft_tracedat_v6(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	(void)o;
	return export_to(st, path, DAT_V6, err);
}

int uft_tracedat_v7(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	(void)o;
	return export_to(st, path, DAT_V7, err);
}

int uft_tracedat_v7_zstd(struct uft_stream *st, const char *path, const struct uft_export_opts *o,
			 struct uft_error *err)
{
	(void)o;
	return export_to(st, path, DAT_V7_ZSTD, err);
}
