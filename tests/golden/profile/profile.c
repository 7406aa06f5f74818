/* SPDX-License-Identifier: MIT */
/* profile.c - the rows of uft_output_profile() and uft_output_stat() for streams of known content */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_stream.h"
#include "output/histogram.h"
#include "output/output.h"
#include "output/report/table.h"

static int failures;

static void check(const char *what, int ok)
{
	printf("%s %s\n", ok ? "ok" : "FAIL", what);
	failures += !ok;
}

static char *profile(struct uft_stream *st, const struct uft_report_opts *o)
{
	FILE *f = tmpfile();
	char *text;
	long n;

	if (!f || uft_output_profile(st, f, o))
		check("uft_output_profile", 0);
	n = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	if (fread(text, 1, (size_t)n, f) != (size_t)n)
		check("read back", 0);
	fclose(f);
	return text;
}

#define HEADER	"calls,total_ns,self_ns,self_share,avg_ns,p50_ns,p99_ns,max_ns,min_ns,variance_ns2,function\n"

/* The exact figures, as CSV has them. */
static void expect(const char *what, struct uft_stream *st, enum uft_profile_sort sort, size_t limit, const char *rows)
{
	char *got = profile(st, &(struct uft_report_opts){ .form = UFT_FORM_CSV, .sort = sort, .limit = limit }), *body;
	int is_same;

	body = strchr(got, '\n') + 1;
	is_same = !strncmp(got, HEADER, strlen(HEADER)) && !strcmp(body, rows);
	if (!is_same)
		printf("want:\n%s%sgot:\n%s", HEADER, rows, got);
	check(what, is_same);
	free(got);
	fake_rewind(st, 1);
}

struct calls {
	struct uft_stream *st;
	const struct uft_task *t;
};

static struct uft_event *leave(struct calls *c, enum uft_event_kind kind, const struct uft_sym *f, uint32_t depth,
			       uint64_t ns, uint64_t self)
{
	struct uft_event *ev = fake_add(c->st, kind, 0, 0, c->t, f);

	ev->depth = depth;
	ev->duration_ns = ns;
	ev->self_ns = self;
	return ev;
}

static void test_recursion(void)
{
	struct calls c = { .st = fake_new(UFT_TRACER_GRAPH, 1) };
	const struct uft_sym *f = fake_sym(c.st, "f", "", 0), *g = fake_sym(c.st, "g", "", 0);

	c.t = fake_task(c.st, 1, "a", NULL);
	/* f 10 us -> f 6 us -> g 5 us -> f 1 us */
	fake_entry(c.st, 0, 0, c.t, f, 0);
	fake_entry(c.st, 0, 0, c.t, f, 1);
	fake_entry(c.st, 0, 0, c.t, g, 2);
	fake_entry(c.st, 0, 0, c.t, f, 3);
	leave(&c, UFT_EV_EXIT, f, 3, 1000, 1000);
	leave(&c, UFT_EV_EXIT, g, 2, 5000, 4000);
	leave(&c, UFT_EV_EXIT, f, 1, 6000, 1000);
	leave(&c, UFT_EV_EXIT, f, 0, 10000, 4000);
	expect("recursion: total counts outermost calls only", c.st, UFT_SORT_TOTAL, 0,
	       "3,10000,6000,0.6,5667,5952,10000,10000,1000,20333333.3,f\n"
	       "1,5000,4000,0.4,5000,5000,5000,5000,5000,0,g\n");
	expect("limit", c.st, UFT_SORT_NAME, 1, "3,10000,6000,0.6,5667,5952,10000,10000,1000,20333333.3,f\n");
	uft_stream_close(c.st);
}

static void test_threads_do_not_mix(void)
{
	struct calls c = { .st = fake_new(UFT_TRACER_GRAPH, 2) };
	const struct uft_task *u = fake_task(c.st, 2, "b", NULL);
	const struct uft_sym *f = fake_sym(c.st, "f", "", 0);

	c.t = fake_task(c.st, 1, "a", NULL);
	fake_entry(c.st, 0, 0, c.t, f, 0);
	fake_entry(c.st, 1, 0, u, f, 0);
	leave(&c, UFT_EV_EXIT, f, 0, 2000, 2000);
	c.t = u;
	leave(&c, UFT_EV_EXIT, f, 0, 2000, 2000);
	expect("threads do not mix", c.st, UFT_SORT_TOTAL, 0, "2,4000,4000,1,2000,2000,2000,2000,2000,0,f\n");
	uft_stream_close(c.st);
}

static void test_lost_exit(void)
{
	struct calls c = { .st = fake_new(UFT_TRACER_GRAPH, 1) };
	const struct uft_sym *f = fake_sym(c.st, "f", "", 0);

	c.t = fake_task(c.st, 1, "a", NULL);
	fake_entry(c.st, 0, 0, c.t, f, 0);	/* its exit is lost */
	for (int i = 0; i < 2; i++) {
		fake_entry(c.st, 0, 0, c.t, f, 0);
		leave(&c, UFT_EV_EXIT, f, 0, 1000, 1000);
	}
	expect("a lost exit does not hide later calls", c.st, UFT_SORT_TOTAL, 0,
	       "3,2000,2000,1,1000,1000,1000,1000,1000,0,f\n");
	uft_stream_close(c.st);
}

static void test_left(void)
{
	struct calls c = { .st = fake_new(UFT_TRACER_GRAPH, 1) };
	const struct uft_sym *f = fake_sym(c.st, "f", "", 0), *g = fake_sym(c.st, "g", "", 0);

	c.t = fake_task(c.st, 1, "a", NULL);
	fake_entry(c.st, 0, 0, c.t, f, 0);
	fake_entry(c.st, 0, 0, c.t, g, 1);
	leave(&c, UFT_EV_LEFT, g, 1, 2000, 2000);
	leave(&c, UFT_EV_EXIT, g, 1, 9000, 9000);	/* it returned after all */
	leave(&c, UFT_EV_EXIT, f, 0, 3000, 1000);
	leave(&c, UFT_EV_EXIT, f, 0, 3000, 1000);	/* began before the selection */
	leave(&c, UFT_EV_EXIT, f, 0, 0, 0)->flags = UFT_EVF_ORPHAN;
	fake_lost(c.st, 0, 0, 5);
	expect("left, returned after all, selected in the middle, orphan", c.st, UFT_SORT_SELF, 0,
	       "3,6000,2000,0.5,3000,3000,3000,3000,3000,0,f\n"
	       "1,2000,2000,0.5,2000,2000,2000,2000,2000,0,g\n");
	uft_stream_close(c.st);
}

static void test_thresh(void)
{
	struct calls c = { .st = fake_new(UFT_TRACER_GRAPH, 1) };
	const struct uft_sym *f = fake_sym(c.st, "f", "", 0);
	static const struct { uint64_t end, ns; } call[] = {
		{ 10000, 1000 }, { 12000, 1000 }, { 13000, 6000 },	/* two within a third */
		{ 20000, 2000 },					/* on its own */
	};

	c.t = fake_task(c.st, 1, "a", NULL);
	for (size_t i = 0; i < 4; i++) {
		struct uft_event *ev = leave(&c, UFT_EV_EXIT, f, 0, call[i].ns, call[i].ns);

		ev->ts_ns = call[i].end;
		ev->flags = UFT_EVF_CALL;
	}
	expect("threshold: nested calls are not counted twice", c.st, UFT_SORT_CALLS, 0,
	       "4,8000,10000,1,2500,1000,6000,6000,1000,5666666.67,f\n");
	uft_stream_close(c.st);
}

static void test_function_tracer(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_FUNCTION, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);

	for (int i = 0; i < 5; i++)
		fake_func(st, 0, 0, t, fake_sym(st, i % 2 ? "odd(int, char)" : "even", "", 0), NULL);
	expect("function tracer: hits only", st, UFT_SORT_CALLS, 0,
	       "3,,,,,,,,,,even\n"
	       "2,,,,,,,,,,\"odd(int, char)\"\n");
	uft_stream_close(st);
}

static void test_profile_tracer(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_PROFILE, 1);
	struct uft_profile_row r = { .sym = fake_sym(st, "f", "", 0), .hits = 2, .total_ns = 4000, .self_ns = 3000,
				     .min_ns = 1000, .max_ns = 3000, .squares_ns2 = 1e6 + 9e6 };

	fake_profile(st, &r);
	r = (struct uft_profile_row){ .sym = fake_sym(st, "never", "", 0) };
	fake_profile(st, &r);
	expect("profile tracer: variance, no percentiles", st, UFT_SORT_TOTAL, 0,
	       "2,4000,3000,1,2000,,,3000,1000,2000000,f\n");
	uft_stream_close(st);
	st = fake_new(UFT_TRACER_PROFILE, 1);
	expect("nothing", st, UFT_SORT_TOTAL, 0, "");
	uft_stream_close(st);
}

static void test_orders(void)
{
	static const enum uft_profile_sort order[] = { UFT_SORT_TOTAL, UFT_SORT_SELF, UFT_SORT_CALLS, UFT_SORT_AVG,
						       UFT_SORT_MAX, UFT_SORT_NAME };
	static const char *const first[] = { "b", "c", "c", "b", "b", "a" };
	struct calls c = { .st = fake_new(UFT_TRACER_GRAPH, 1) };
	char *got;

	c.t = fake_task(c.st, 1, "a", NULL);
	for (int i = 0; i < 6; i++) {
		const struct uft_sym *f = fake_sym(c.st, i < 1 ? "a" : i < 2 ? "b" : "c", "", 0);

		fake_entry(c.st, 0, 0, c.t, f, 0);
		leave(&c, UFT_EV_EXIT, f, 0, i < 1 ? 100 : i < 2 ? 9000 : 500, i < 1 ? 100 : i < 2 ? 10 : 500);
	}
	for (size_t i = 0; i < 6; i++) {
		got = profile(c.st, &(struct uft_report_opts){ .sort = order[i], .limit = 1 });
		check("order", got[strlen(got) - 2] == *first[i]);
		free(got);
		fake_rewind(c.st, 1);
	}
	check("bad order",
	      uft_output_profile(c.st, stdout,
				 &(struct uft_report_opts){ .sort = (enum uft_profile_sort)99 }) == -EINVAL);
	uft_stream_close(c.st);
}

/* Against exact ranks of the same values, over all magnitudes. */
static void test_percentiles(void)
{
	struct hist_pool pool = { 0 };
	uint64_t state = 88172645463325252ull, v[5000];
	double worst = 0;

	for (int shift = 0; shift < 60; shift += 3) {
		struct histogram h = { { 0 } };

		for (size_t i = 0; i < 5000; i++) {
			size_t k = i;
			uint64_t x;

			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			x = (state >> (63 - shift)) + 1;
			hist_add(&pool, &h, x);
			for (; k && v[k - 1] > x; k--)
				v[k] = v[k - 1];
			v[k] = x;
		}
		for (size_t r = 1; r <= 5000; r += 499) {
			double e = fabs((double)hist_rank(&pool, &h, r) - (double)v[r - 1]) / (double)v[r - 1];

			worst = e > worst ? e : worst;
		}
	}
	printf("worst error of a rank: %.4f\n", worst);
	check("percentiles within 1/64", worst <= 1.0 / 64);
	for (uint64_t x = 0; x < 64; x++)
		if (hist_value(hist_octave(x), hist_bucket(x, hist_octave(x))) != x)
			check("small values are exact", 0);
	check("largest value has a bucket", hist_octave(~0ull) <= HIST_OCTAVES && hist_bucket(~0ull, 59) == 31);
	free(pool.block);
}

static void test_stat(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 4);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);
	char *got = NULL;
	size_t n;
	FILE *f = open_memstream(&got, &n);

	fake_entry(st, 0, 1000, t, fake_sym(st, "f", "", 0), 0);
	fake_exit(st, 0, 3000, t, fake_sym(st, "f", "", 0), 0, 2000);
	fake_lost(st, 0, 3000, 9);
	fake_info(st)->bytes = 17;
	fake_info(st)->cmdline = "./prog 'a\nb'";
	fake_info(st)->counters[UFT_CNT_SHADOW_FULL] = 3;
	fake_info(st)->counters[UFT_CNT_SITE_REFUSED] = 1;
	check("stat returns 0", uft_output_stat(st, f, UFT_FORM_TEXT) == 0);
	fclose(f);
	check("stat", !strcmp(got,
		"format: fake\ncomplete: yes\ntracer: function_graph\ncmdline: ./prog 'a?b'\nhostname: host\n"
		"uname: Linux 6.1 x86_64\nevents: 2\ncalls: 1\nlost: 9\nlost_parts: 0\noverwritten: 0\nduration_ns: 2000\nfirst_ns: 1000\ntasks: 1\n"
		"cpus: 4\nobjects: 0\nfunctions: 1\nbytes: 17\nbytes_per_event: 8.50\nbytes_per_call: 17.00\n"
		"damaged_bytes: 0\ncounter_no_ring: 0\ncounter_shadow_full: 3\ncounter_no_thread: 0\n"
		"counter_recursion: 0\ncounter_no_slice: 0\ncounter_request_timeout: 0\ncounter_site_refused: 1\n"
		"counter_lost_return: 0\ncounter_shared_thread_pointer: 0\ncounter_patched: 0\ncounter_site_live: 0\n"
		"counter_not_kept: 0\ncounter_keep_no_ring: 0\ncounter_site_reach: 0\ncounter_no_slot: 0\ncounter_site_taken: 0\n"
		"counter_lost_part: 0\ncounter_event_too_large: 0\ncounter_no_memory: 0\n"
		"missing: 9 of 10 calls and other events were lost: the buffer was full (record fewer functions with -l, or let rings grow "
		"further: --buffer-max 512M)\nmissing: 3 calls were not followed: nested too deep (limit the depth (-D))\n"
		"missing: 1 function entry was left alone: its bytes were not what was expected\n"));
	free(got);
	uft_stream_close(st);
}

static void test_export_find(void)
{
	check("by name",
	      uft_export_find("trace.dat-v6") && !strcmp(uft_export_find("trace.dat-v6")->name, "trace.dat-v6"));
	check("by suffix",
	      uft_export_find("/x/y.dat") == &uft_exports[0] && uft_export_find("trace.dat") == &uft_exports[0]);
	check("the longer ending", !strcmp(uft_export_find("x.speedscope.json")->name, "speedscope") &&
					   !strcmp(uft_export_find("x.json")->name, "chrome"));
	check("none",
	      !uft_export_find("x.png") && !uft_export_find("") && !uft_export_find(".dat") && !uft_export_find(NULL));
}

/* A table for people: it fits a terminal, the name starts where the eye finds it, each time has its unit. */
static void test_text(void)
{
	static const struct { uint64_t ns; const char *text; } time[] = {
		{ 0, "0ns" }, { 999, "999ns" }, { 1000, "1.00us" }, { 9994, "9.99us" }, { 9996, "10.0us" },
		{ 99960, "100us" },
		{ 999499, "999us" }, { 999500, "1.00ms" }, { 59999000000ull, "60.0s" }, { 9999400000000ull, "9999s" },
		{ 36000000000000ull, "10.0h" }, { ~0ull, "5124096h" },
	};
	struct calls c = { .st = fake_new(UFT_TRACER_GRAPH, 1) };
	char long_name[300], *got;

	for (size_t i = 0; i < sizeof(time) / sizeof(time[0]); i++) {
		char buf[TABLE_TIME_ROOM];

		if (strcmp(table_time(buf, time[i].ns), time[i].text))
			printf("%s, not %s\n", buf, time[i].text);
		check("a time", !strcmp(buf, time[i].text));
	}
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	c.t = fake_task(c.st, 1, "a", NULL);
	fake_entry(c.st, 0, 0, c.t, fake_sym(c.st, long_name, "", 0), 0);
	fake_entry(c.st, 0, 0, c.t, fake_sym(c.st, "bad\033[1m", "", 0), 1);
	leave(&c, UFT_EV_EXIT, fake_sym(c.st, "bad\033[1m", "", 0), 1, 30000, 30000);
	leave(&c, UFT_EV_EXIT, fake_sym(c.st, long_name, "", 0), 0, 40000, 10000);
	got = profile(c.st, &(struct uft_report_opts){ .width = 100 });
	check("text", !strcmp(got,
		"#   calls  total   self self%    avg    p50    p99    max  function\n"
		"        1 40.0us 10.0us 25.00 40.0us 40.0us 40.0us 40.0us  nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...\n"
		"        1 30.0us 30.0us 75.00 30.0us 30.0us 30.0us 30.0us  bad?[1m\n"));
	free(got);
	uft_stream_close(c.st);
}

/* Names that mean something to a format, and one that is no UTF-8. */
static void test_names(void)
{
	static const char *const name[] = { "a,b", "q\"q\"", "line\nfeed", "back\\slash", "no utf8 \xff\xc0\x80",
		"h\xc3\xa9", " x" };
	struct uft_stream *st = fake_new(UFT_TRACER_FUNCTION, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);
	char *got;

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		fake_func(st, 0, 0, t, fake_sym(st, name[i], "", 0), NULL);
	expect("names in CSV", st, UFT_SORT_NAME, 0,
	       "1,,,,,,,,,,\" x\"\n1,,,,,,,,,,\"a,b\"\n1,,,,,,,,,,back\\slash\n1,,,,,,,,,,h\xc3\xa9\n"
	       "1,,,,,,,,,,\"line\nfeed\"\n1,,,,,,,,,,\"no utf8 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n1,,,,,,,,,,\"q\"\"q\"\"\"\n");
	got = profile(st, &(struct uft_report_opts){ .form = UFT_FORM_JSON, .sort = UFT_SORT_NAME });
	check("names in JSON", strstr(got, "\"a,b\"}") && strstr(got, "\"q\\\"q\\\"\"}") &&
	      strstr(got, "\"line\\u000afeed\"}") &&
	      strstr(got, "\"back\\\\slash\"}") && strstr(got, "\"no utf8 \\ufffd\\ufffd\\ufffd\"}") &&
	      strstr(got, "\"h\xc3\xa9\"}") &&
	      strstr(got, "\"total_ns\":null"));
	free(got);
	uft_stream_close(st);
}

int main(void)
{
	test_recursion();
	test_threads_do_not_mix();
	test_lost_exit();
	test_left();
	test_thresh();
	test_function_tracer();
	test_profile_tracer();
	test_orders();
	test_text();
	test_names();
	test_percentiles();
	test_stat();
	test_export_find();
	return failures != 0;
}
