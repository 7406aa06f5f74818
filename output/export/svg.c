/* SPDX-License-Identifier: MIT */
/*
 * svg.c - a flame graph as one self-contained SVG file: no script, no font, nothing from elsewhere
 *
 * A box is a call path; its width is its time, callees included; its callees are on top of it. A browser shows the
 * whole name, time, share and calls of the box under the pointer. Boxes narrower than MIN_WIDTH are left out, and a
 * line tells how many.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/export.h"
#include "output/report/aggregate.h"
#include "output/report/table.h"

#define WIDTH		1200.0
#define MARGIN		10.0
#define ROW		17.0
#define TOP		58.0
#define MIN_WIDTH	0.2
#define CHAR_WIDTH	6.7	/* of 11 px monospace */
#define MAX_DEPTH	400u	/* rows that are drawn */

static void put_xml(FILE *out, const char *s, size_t max)
{
	for (unsigned n; *s && max; s += n ? n : 1, max--) {
		n = table_utf8(s);
		if (!n)
			fputs("\xef\xbf\xbd", out);
		else if (*s == '&')
			fputs("&amp;", out);
		else if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '>')
			fputs("&gt;", out);
		else if (*s == '"')
			fputs("&quot;", out);
		else if ((unsigned char)*s < 0x20 || *s == 0x7f)
			putc('?', out);
		else if (n == 3 && (!memcmp(s, "\xef\xbf\xbe", 3) || !memcmp(s, "\xef\xbf\xbf", 3)))
			fputs("\xef\xbf\xbd", out);	/* no characters of XML */
		else
			fwrite(s, 1, n, out);
	}
}

/* Warm colours; the same function has the same one in every graph. */
static void put_colour(FILE *out, const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	fprintf(out, "rgb(%u,%u,%u)", 215 + h % 40, 90 + (h >> 8) % 120, 40 + (h >> 16) % 50);
}

struct box { double x; unsigned depth; };

static void put_box(FILE *out, const struct agg *a, uint32_t i, double x, double y, double width, double all)
{
	const struct agg_node *n = &a->node[i];
	const struct agg_func *f = &a->func[n->func];
	const char *name = f->name;
	char total[TABLE_TIME_ROOM], self[TABLE_TIME_ROOM];
	size_t room = width > 3 * CHAR_WIDTH ? (size_t)((width - 6) / CHAR_WIDTH) : 0, len = strlen(name);

	fputs("<g><title>", out);
	put_xml(out, name, 400);
	fprintf(out, ": %s (%.2f %%)", table_time(total, n->total), 100 * (double)n->total / all);
	if (!n->is_inlined)
		fprintf(out, ", self %s, %" PRIu64 " call%s", table_time(self, n->self), n->calls,
			n->calls == 1 ? "" : "s");
	if (n->nopen)
		fprintf(out, ", %" PRIu64 " open at the end", n->nopen);
	if (f->file) {
		fputs(", ", out);
		put_xml(out, f->file, 400);
		fprintf(out, ":%" PRIu32, f->line);
	}
	fprintf(out, "</title><rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" fill=\"", x, y, width,
		ROW - 1);
	put_colour(out, name);
	fputs("\" rx=\"1\"/>", out);
	if (room >= 3) {
		fprintf(out, "<text x=\"%.1f\" y=\"%.0f\">", x + 3, y + ROW - 5);
		put_xml(out, name, len > room ? room - 2 : room);
		fputs(len > room ? "..</text>" : "</text>", out);
	}
	fputs("</g>\n", out);
}

/*
 * Places each node, and returns the number of rows. A node that is too narrow has depth 0, and so have all nodes on it.
 */
static unsigned place(const struct agg *a, struct box *box, uint64_t *nhidden)
{
	double scale = a->node[0].total ? (WIDTH - 2 * MARGIN) / (double)a->node[0].total : 0;
	unsigned deepest = 0;
	double *next = malloc(a->nnodes * sizeof(*next));

	box[0] = (struct box){ MARGIN, 1 };
	if (!next)
		return 0;
	next[0] = MARGIN;
	/* A parent has a smaller index, so it is placed first. Siblings are in the order of their first calls. */
	for (uint32_t i = 1; i < a->nnodes; i++) {
		const struct agg_node *n = &a->node[i];
		double width = (double)n->total * scale;

		box[i].x = next[n->parent];
		next[i] = box[i].x;
		next[n->parent] += width;
		box[i].depth = width >= MIN_WIDTH && box[n->parent].depth && box[n->parent].depth < MAX_DEPTH ?
		box[n->parent].depth + 1 : 0;
		*nhidden += !box[i].depth;
		deepest = box[i].depth > deepest ? box[i].depth : deepest;
	}
	free(next);
	return deepest ? deepest : 1;
}

static int put(struct uft_stream *st, struct agg *a, FILE *out)
{
	struct box *box = calloc(a->nnodes, sizeof(*box));
	uint64_t nhidden = 0;
	unsigned rows = box ? place(a, box, &nhidden) : 0;
	double height = TOP + rows * ROW + 40,
	       scale = a->node[0].total ? (WIDTH - 2 * MARGIN) / (double)a->node[0].total : 0;
	const char *cmdline = uft_stream_info(st)->cmdline;
	char total[TABLE_TIME_ROOM];

	if (!rows) {
		free(box);
		return -ENOMEM;
	}
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"monospace\" font-size=\"11\">\n<title>Flame graph</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fffdf5\"/>\n"
		"<text x=\"%.0f\" y=\"24\" font-size=\"16\">", WIDTH, height, WIDTH, height, MARGIN);
	put_xml(out, cmdline && *cmdline ? cmdline : "Flame graph", 110);
	fprintf(out,
		"</text>\n<text x=\"%.0f\" y=\"42\" fill=\"#555\">Time in traced functions: %s. The width of a box is its time, callees included.",
		MARGIN,
		table_time(total, a->node[0].total));
	fputs("</text>\n<g stroke=\"#fffdf5\" stroke-width=\"0.3\">\n<g stroke=\"none\">\n", out);
	for (uint32_t i = 1; i < a->nnodes && !ferror(out); i++)
		if (box[i].depth)
			put_box(out, a, i, box[i].x, TOP + (rows - box[i].depth) * ROW,
				(double)a->node[i].total * scale, (double)a->node[0].total);
	fprintf(out,
		"</g>\n</g>\n<text x=\"%.0f\" y=\"%.0f\" fill=\"#555\">%" PRIu64 " path%s too narrow or too deep to be drawn.",
		MARGIN, height - 14,
		nhidden, nhidden == 1 ? " is" : "s are");
	if (a->lost)
		fprintf(out, " %" PRIu64 " record%s lost: what they held is not here.", a->lost,
			a->lost == 1 ? " was" : "s were");
	fputs("</text>\n</svg>\n", out);
	free(box);
	return 0;
}

int uft_export_svg(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err)
{
	return export_paths(st, path, o, err, put);
}
