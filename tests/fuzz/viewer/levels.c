/* SPDX-License-Identifier: MIT */
/*
 * levels.c - forged files of levels: sums that fit, and numbers that do not
 *
 * usage: levels [rounds] [seed]
 *
 * Passed: no crash, no sanitizer's report, no endless loop (the test's time); what is taken can be drawn.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/wire/wire.h"
#include "tests/lib/synth.h"
#include "view/levels_file.h"
#include "view/lod_internal.h"
#include "view/making.h"

static uint64_t seed;

static uint64_t rnd(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 20) % below;
}

static void die(const char *what)
{
	fprintf(stderr, "levels: %s\n", what);
	exit(1);
}

static int go_on(void *arg, const struct making *m, struct uft_stream *st, double progress)
{
	(void)arg;
	(void)m;
	(void)st;
	(void)progress;
	return 0;
}

static uint8_t *slurp(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	uint8_t *p = size < 0 ? NULL : malloc((size_t)size);

	if (!p || pread(fd, p, (size_t)size, 0) != size)
		die("the file of levels cannot be read");
	close(fd);
	*n = (size_t)size;
	return p;
}

/* It has that size already. */
static void spit(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		die("a file of levels cannot be written");
	close(fd);
}

/* Sums as they have to be: @l has the tracks that the file had when it was made. */
static void fix_sums(uint8_t *p, const struct lod *l)
{
	struct levels_head *h = (struct levels_head *)p;
	const uint8_t *at = p + sizeof(*h) + h->described;
	uint64_t sum[2] = {0, 0};

	for (uint32_t i = 0; i < l->ntrack; i++)
		for (uint32_t k = 0; k < l->track[i]->nlevels; k++) {
			size_t n = l->track[i]->level[k].n * sizeof(struct lod_span);

			sum[1] = wire_sum(at, n);
			sum[0] = wire_sum(sum, sizeof(sum));
			at += n;
		}
	h->spans_sum = sum[0];
	h->described_sum = wire_sum(p + sizeof(*h), h->described);
	h->sum = wire_sum(h, offsetof(struct levels_head, sum));
}

static void put(void *arg, uint32_t lane, const struct lod_span *s)
{
	uint64_t *n = arg;

	*n += lane + s->count;
}

/* As pictures of it would be. */
static void look_at(const struct levels *v, struct names *names, struct rows *rows)
{
	const struct lod_row *row;
	size_t n = lod_rows(v->lod, &row);
	uint64_t seen = 0;
	struct row r;

	for (size_t i = 0; i < n; i++) {
		if (!rows_at(rows, row[i].row, &r))
			die("a row that is no task's was taken");
		for (unsigned k = 0; k < 4; k++) {
			uint64_t from = k < 2 ? 0 : rnd(row[i].last + 2),
				 to = from + 1 + rnd(k & 1 ? 1000 : UINT32_MAX);

			lod_query(v->lod, NULL,
				  &(struct lod_asked){.row = k ? row[i].row : ROW_CPU | (uint32_t)i,
				  .behind_lane = LOD_LANES,
						      .from = from, .to = to, .pixel = (to - from) / 500}, put, &seen);
		}
	}
	if (names_count(names) > NAMES_MAX)
		die("too many names");
}

static void change(uint8_t *p, size_t n)
{
	struct levels_head *h = (struct levels_head *)p;
	size_t from = rnd(3) ? sizeof(*h) : sizeof(*h) + h->described,
	       to = from == sizeof(*h) ? from + h->described : n;

	for (uint64_t i = 1 + rnd(4); i--;) {
		size_t at = from + rnd(to - from);

		p[at] = rnd(2) ? (uint8_t)rnd(256) : p[at] ^ (uint8_t)(1u << rnd(8));
	}
	if (rnd(20) == 0) {
		uint64_t *field[] = {&h->matches, &h->first_ns, &h->last_ns, &h->described, &h->spans};

		*field[rnd(5)] = rnd(2) ? rnd(2 * n) : UINT64_MAX - rnd(100);
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 2000, taken = 0;
	struct synth_load load = {.ncalls = 3000, .tracer = UFT_TRACER_GRAPH, .seed = 1};
	struct synth_expect expect;
	struct uft_select all = {.no_parents = 1};
	struct making m = {.spans = 1u << 14, .is_new_index = 1, .first_ns = UINT64_MAX};
	char dir[] = "/tmp/uft-levels-XXXXXX", path[64], name[80];
	struct uft_stream *st;
	struct uft_error err;
	struct names names;
	struct rows rows;
	uint8_t *good, *bad;
	size_t n;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	if (!mkdtemp(dir))
		die("no directory");
	snprintf(path, sizeof(path), "%s/a.uft", dir);
	snprintf(name, sizeof(name), "%s.levels", path);
	if (synth_file(path, &load, &expect) || uft_stream_open(path, &all, &st, &err) || names_init(&names) ||
	    rows_init(&rows))
		die("no recording");
	free(expect.func_calls);
	m.names = &names;
	m.rows = &rows;
	m.index = uft_index_new(st, 0);
	if (!m.index || making_run(&m, st, 1, &(struct making_watch){go_on, NULL}) ||
	    levels_save(path, uft_stream_recording(st), &(struct levels){m.lod, m.matches, m.first_ns, m.last_ns},
			&names, &rows))
		die("no levels");
	good = slurp(name, &n);
	bad = malloc(n);
	for (unsigned i = 0; bad && i < rounds; i++) {
		struct names own_names;
		struct rows own_rows;
		struct levels v;
		int ret;

		if (names_init(&own_names) || rows_init(&own_rows))
			die("out of memory");
		memcpy(bad, good, n);
		if (i)
			change(bad, n);
		if (((struct levels_head *)bad)->described == ((struct levels_head *)good)->described)
			fix_sums(bad, m.lod);
		spit(name, bad, n);
		ret = levels_open(path, uft_stream_recording(st), &own_names, &own_rows, &v);
		if (!i && ret)
			die("what was made is refused");
		if (!ret) {
			taken++;
			look_at(&v, &own_names, &own_rows);
			lod_free(v.lod);
		}
		names_free(&own_names);
		rows_free(&own_rows);
	}
	free(good);
	free(bad);
	making_free(&m);
	uft_stream_close(st);
	names_free(&names);
	rows_free(&rows);
	unlink(name);
	unlink(path);
	if (rmdir(dir))
		die("files are left");
	printf("%u of %u were taken\n", taken, rounds);
	return taken > 1 && taken < rounds ? 0 : 1;
}
