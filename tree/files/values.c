/* SPDX-License-Identifier: MIT */
/* values.c - files that hold one value, and the constant ones */
#include "symbol/tracer.h"
#include "tree/files/rows.h"

#include <errno.h>
#include <string.h>

int show_available_tracers(const struct place *at, struct tree_text *out)
{
	uint32_t tracer[UFT_NTRACERS];
	size_t n = uft_tracers_offered(!at->in->number, tracer);

	for (size_t i = 0; i < n; i++)
		text_printf(out, "%s%s", uft_tracer_name(tracer[i]), i + 1 < n ? " " : "\n");
	return 0;
}

int show_current_tracer(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%s\n", uft_tracer_name(at->in->set.tracer));
	return 0;
}

ssize_t store_current_tracer(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	struct uft_error err = { "" };
	uint32_t tracer[UFT_NTRACERS];
	size_t len = n, count = uft_tracers_offered(!h->at.in->number, tracer);
	int ret;

	text_strip(&p, &len);
	for (size_t i = 0; i < count; i++) {
		const char *name = uft_tracer_name(tracer[i]);

		if (strlen(name) != len || memcmp(name, p, len))
			continue;
		if ((h->at.in->pipes || h->at.in->nraw) && tracer[i] != set.tracer) {
			h->t->conflict = "A trace_pipe, trace_pipe_raw or snapshot_raw of it is open";
			return -EBUSY;
		}
		set.tracer = tracer[i];
		set.max_latency_us = 0;
		ret = tree_apply(h->at.in, &set, &err);
		if (ret && err.text[0] && h->t->opts.warning)	/* the text tells which right is missing */
			h->t->opts.warning(h->t->opts.arg, err.text);
		if (err.text[0])	/* else ops.c may have said why */
			h->t->refused = err;
		return ret ? ret : (ssize_t)n;
	}
	return -EINVAL;
}

int show_tracing_on(const struct place *at, struct tree_text *out)
{
	if (at->in->triggers)
		tree_pull(at->t);
	text_printf(out, "%d\n", at->in->set.is_on);
	return 0;
}

ssize_t store_tracing_on(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set;
	uint64_t on;
	int ret = text_number(p, n, 10, &on);

	if (ret)
		return ret;
	if (h->at.in->triggers)		/* effects of earlier commands come first */
		tree_pull(h->t);
	set = h->at.in->set;
	set.is_on = on != 0;
	ret = tree_apply(h->at.in, &set, NULL);
	handle_wake_all(h->t);		/* a waiting reader may be at its end now */
	return ret ? ret : (ssize_t)n;
}

/* ---- Sysctls --------------------------------------------------------------------------------- */

/*
 * Files in which the kernel's tools expect a number, in the order of uft_tree.sysctl. uft shell mounts them over those
 * of /proc/sys.
 */
static const struct { const char *name; int is_bool; } sysctls[] = {
	{ "ftrace_enabled", 0 }, { "traceoff_on_warning", 0 }, { "kprobes-optimization", 1 },
};

static size_t sysctl_of(const struct place *at)
{
	size_t i = 0;

	while (strcmp(sysctls[i].name, at->row->pub.path))
		i++;
	return i;
}

int show_sysctl(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%d\n", at->t->sysctl[sysctl_of(at)]);
	return 0;
}

ssize_t store_sysctl(struct uft_handle *h, const char *p, size_t n)
{
	size_t i = sysctl_of(&h->at);
	uint64_t value = 0;
	int ret = text_number(p, n, 10, &value);

	if (ret || value > (sysctls[i].is_bool ? 1 : INT32_MAX))
		return -EINVAL;
	h->t->sysctl[i] = (int32_t)value;
	return (ssize_t)n;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

int show_tracing_thresh(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%llu\n", (unsigned long long)at->in->set.thresh_us);
	return 0;
}

ssize_t store_tracing_thresh(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	int ret = text_number_in(p, n, 0, UINT64_MAX / 1000, &set.thresh_us);

	return store_settings(h, &set, ret, n);
}

/* The maximum in the buffer, or the value written to begin the search with. */
int show_tracing_max_latency(const struct place *at, struct tree_text *out)
{
	const struct instance *in = at->in;
	struct uft_text_opts opts = {
		.tracer = in->set.tracer, .floor_ns = in->set.max_latency_us * 1000, .from_ns = in->latency_from_ns,
	};
	struct uft_stream *st;
	uint64_t ns = 0;
	int ret;

	tree_pull(at->t);
	ret = uft_live_snapshot(in->live, UFT_LIVE_ALL, &st);
	if (ret)
		return ret;
	ret = uft_latency_longest(st, &opts, &ns);
	uft_stream_close(st);
	text_printf(out, "%llu\n", (unsigned long long)(ns ? ns / 1000 : in->set.max_latency_us));
	return ret;
}

/* Restarts the search: latencies that ended before do not count. */
ssize_t store_tracing_max_latency(struct uft_handle *h, const char *p, size_t n)
{
	uint64_t us = 0;
	int ret = text_number_in(p, n, 0, UINT64_MAX / 1000, &us);

	if (ret)
		return ret;
	h->at.in->set.max_latency_us = us;
	h->at.in->latency_from_ns = uft_live_now(h->at.in->live);
	return (ssize_t)n;
}

int show_max_graph_depth(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%u\n", at->in->set.max_depth);
	return 0;
}

ssize_t store_max_graph_depth(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	uint64_t depth = 0;
	int ret = text_number_in(p, n, 0, UINT32_MAX, &depth);

	set.max_depth = (uint32_t)depth;
	return store_settings(h, &set, ret, n);
}

#define SAMPLE_US	1000u
#define SAMPLE_US_MIN	100u		/* lower values are raised to this, as in the kernel */

int show_sysprof_sample_period(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%llu\n", (unsigned long long)(at->in->set.sample_us ? at->in->set.sample_us : SAMPLE_US));
	return 0;
}

ssize_t store_sysprof_sample_period(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	int ret = text_number_in(p, n, 0, UINT32_MAX, &set.sample_us);

	set.sample_us = set.sample_us < SAMPLE_US_MIN ? SAMPLE_US_MIN : set.sample_us;
	return store_settings(h, &set, ret, n);
}


uint64_t buffer_kb(const struct instance *in, uint32_t cpu)
{
	return in->cpu_kb[cpu] ? in->cpu_kb[cpu] : in->set.buffer_kb;
}

/* X: cpus have different sizes. */
int show_buffer_size_kb(const struct place *at, struct tree_text *out)
{
	int is_cpu = at->row->pub.scope & UFT_SCOPE_CPU;
	uint64_t kb = buffer_kb(at->in, is_cpu ? at->index : 0);

	for (uint32_t i = 1; i < tree_ncpus(at->t) && !is_cpu; i++)
		if (buffer_kb(at->in, i) != kb) {
			text_printf(out, "X\n");
			return 0;
		}
	text_printf(out, "%llu\n", (unsigned long long)kb);
	return 0;
}

/* Whole sub-buffers, two at least. The top's file is for all cpus. */
ssize_t store_buffer_size_kb(struct uft_handle *h, const char *p, size_t n)
{
	int is_cpu = h->at.row->pub.scope & UFT_SCOPE_CPU;
	struct instance *in = h->at.in;
	struct settings set = in->set;
	uint64_t kb = 0;
	int ret = text_number_in(p, n, 1, UINT64_MAX / 2048, &kb);

	kb = kb <= 2 * in->subbuf_kb ? 2 * in->subbuf_kb : (kb + in->subbuf_kb - 1) / in->subbuf_kb * in->subbuf_kb;
	set.buffer_kb = kb;
	if (!ret && !is_cpu)
		ret = tree_apply(in, &set, NULL);
	for (uint32_t i = 0; i < tree_ncpus(h->t) && !ret; i++)
		if (!is_cpu || i == h->at.index) {
			in->cpu_kb[i] = is_cpu ? kb : 0;
			uft_live_limit_cpu(in->live, i, in->cpu_kb[i] * 1024);
		}
	return ret ? ret : (ssize_t)n;
}

int show_buffer_total_size_kb(const struct place *at, struct tree_text *out)
{
	uint64_t kb = 0;

	for (uint32_t i = 0; i < tree_ncpus(at->t); i++)
		kb += buffer_kb(at->in, i);
	text_printf(out, "%llu\n", (unsigned long long)kb);
	return 0;
}

int show_buffer_subbuf_size_kb(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%u\n", at->in->subbuf_kb);
	return 0;
}

#define SUBBUF_MAX_KB	512u

/*
 * Sets the page size of trace_pipe_raw: 4 KiB times the next power of two. As in the kernel this empties the buffer and
 * keeps its size, which the next write of it rounds to whole pages. Rings of targets lose 4 KiB at a time in any case.
 */
ssize_t store_buffer_subbuf_size_kb(struct uft_handle *h, const char *p, size_t n)
{
	uint32_t size = SUBBUF_MIN_KB;
	uint64_t kb = 0;
	int ret = text_number_in(p, n, 1, SUBBUF_MAX_KB, &kb);

	if (ret)
		return ret;
	while (size < kb)
		size *= 2;
	if (size == h->at.in->subbuf_kb)
		return (ssize_t)n;
	tree_clear(h->at.in, UFT_LIVE_ALL);
	raw_set_page(h->at.in, size);
	return (ssize_t)n;
}

int show_buffer_percent(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%u\n", at->in->buffer_percent);
	return 0;
}

ssize_t store_buffer_percent(struct uft_handle *h, const char *p, size_t n)
{
	uint64_t percent = 0;
	int ret = text_number_in(p, n, 0, 100, &percent);

	if (ret)
		return ret;
	h->at.in->buffer_percent = (uint32_t)percent;
	handle_wake_all(h->t);
	return (ssize_t)n;
}

/* Only the closing counts, so that a program that holds it open frees the buffer even when it is killed. */
ssize_t store_free_buffer(struct uft_handle *h, const char *p, size_t n)
{
	(void)h, (void)p;
	return (ssize_t)n;
}

int release_free_buffer(struct uft_handle *h)
{
	struct settings set;
	int ret;

	if (h->at.in->triggers)		/* this and the wake: as in store_tracing_on() */
		tree_pull(h->t);
	set = h->at.in->set;
	set.buffer_kb = 2 * h->at.in->subbuf_kb;
	set.is_on = set.is_on && !(set.options & OPT_BIT(OPT_DISABLE_ON_FREE));
	ret = tree_apply(h->at.in, &set, NULL);
	for (uint32_t i = 0; i < tree_ncpus(h->t) && !ret; i++) {
		h->at.in->cpu_kb[i] = 0;
		uft_live_limit_cpu(h->at.in->live, i, 0);
	}
	handle_wake_all(h->t);
	return ret;
}

int show_timestamp_mode(const struct place *at, struct tree_text *out)
{
	(void)at;
	text_printf(out, "[delta] absolute\n");
	return 0;
}

/* The kernel's words, since scripts search for them; only of features that work here. */
int show_readme(const struct place *at, struct tree_text *out)
{
	static const char text[] =
		"tracing mini-HOWTO:\n\n"
		"By default tracefs removes all OTH file permission bits.\n"
		"# echo 0 > tracing_on : quick way to disable tracing\n"
		"# echo 1 > tracing_on : quick way to re-enable tracing\n\n"
		" Important files:\n"
		"  trace\t\t\t- The static contents of the buffer\n"
		"\t\t\t  To clear the buffer write into this file: echo > trace\n"
		"  trace_pipe\t\t- A consuming read to see the contents of the buffer\n"
		"  current_tracer\t- function and latency tracers\n"
		"  available_tracers\t- list of configured tracers for current_tracer\n"
		"  error_log\t- error log for failed commands (that support it)\n"
		"  buffer_size_kb\t- view and modify size of per cpu buffer\n"
		"  buffer_total_size_kb  - view total size of all cpu buffers\n\n"
		"  trace_clock\t\t- change the clock used to order events\n"
		"       local:   Per cpu clock but may not be synced across CPUs\n"
		"      global:   Synced across CPUs but slows tracing down.\n"
		"     counter:   Not a clock, but just an increment\n"
		"      uptime:   Jiffy counter from time of boot\n"
		"        perf:   Same clock that perf events use\n"
#ifdef __x86_64__
		"     x86-tsc:   TSC cycle counter\n"
#endif
		"\n"
		"  timestamp_mode\t- view the mode used to timestamp events\n"
		"       delta:   Delta difference against a buffer-wide timestamp\n"
		"    absolute:   Absolute (standalone) timestamp\n\n"
		"  trace_marker\t\t- Writes into this file writes into the kernel buffer\n\n"
		"  trace_marker_raw\t\t- Writes into this file writes binary data into the kernel buffer\n"
		"  tracing_cpumask\t- Limit which CPUs to trace\n"
		"  instances\t\t- Make sub-buffers with: mkdir instances/foo\n"
		"\t\t\t  Remove sub-buffer with rmdir\n"
		"  trace_options\t\t- Set format or modify how tracing happens\n"
		"\t\t\t  Disable an option by prefixing 'no' to the\n"
		"\t\t\t  option name\n"
		"  saved_cmdlines_size\t- echo command number in here to store comm-pid list\n"
		"\n  available_filter_functions - list of functions that can be filtered on\n"
		"  set_ftrace_filter\t- echo function name in here to only trace these\n"
		"\t\t\t  functions\n"
		"\t     accepts: func_full_name or glob-matching-pattern\n"
		"\t     modules: Can select a group via module\n"
		"\t      Format: :mod:<module-name>\n"
		"\t     example: echo :mod:ext3 > set_ftrace_filter\n"
		"\t    triggers: a command to perform when function is hit\n"
		"\t      Format: <function>:<trigger>[:count]\n"
		"\t     trigger: traceon, traceoff\n"
		"\t\t      enable_event:<system>:<event>\n"
		"\t\t      disable_event:<system>:<event>\n"
		"\t\t      stacktrace\n"
		"\t\t      snapshot\n"
		"\t\t      dump\n"
		"\t\t      cpudump\n"
		"\t     example: echo do_fault:traceoff > set_ftrace_filter\n"
		"\t              echo do_trap:traceoff:3 > set_ftrace_filter\n"
		"\t     The first one will disable tracing every time do_fault is hit\n"
		"\t     The second will disable tracing at most 3 times when do_trap is hit\n"
		"\t       The first time do trap is hit and it disables tracing, the\n"
		"\t       counter will decrement to 2. If tracing is already disabled,\n"
		"\t       the counter will not decrement. It only decrements when the\n"
		"\t       trigger did work\n"
		"\t     To remove trigger without count:\n"
		"\t       echo '!<function>:<trigger> > set_ftrace_filter\n"
		"\t     To remove trigger with a count:\n"
		"\t       echo '!<function>:<trigger>:0 > set_ftrace_filter\n"
		"  set_ftrace_notrace\t- echo function name in here to never trace.\n"
		"\t    accepts: func_full_name, *func_end, func_begin*, *func_middle*\n"
		"\t    modules: Can select a group via module command :mod:\n"
		"\t    Does not accept triggers\n"
		"  set_ftrace_pid\t- Write pid(s) to only function trace those pids\n"
		"\t\t    (function)\n"
		"  set_ftrace_notrace_pid\t- Write pid(s) to not function trace those pids\n"
		"\t\t    (function)\n"
		"  set_graph_function\t- Trace the nested calls of a function (function_graph)\n"
		"  set_graph_notrace\t- Do not trace the nested calls of a function (function_graph)\n"
		"  max_graph_depth\t- Trace a limited depth of nested calls (0 is unlimited)\n\n"
		"  snapshot\t\t- Like 'trace' but shows the content of the static\n"
		"\t\t\t  snapshot buffer. Read the contents for more\n"
		"\t\t\t  information\n"
		"  stack_trace\t\t- Shows the max stack trace when active\n"
		"  stack_max_size\t- Shows current max stack size that was traced\n"
		"\t\t\t  Write into this file to reset the max size (trigger a\n"
		"\t\t\t  new trace)\n"
		"  stack_trace_filter\t- Like set_ftrace_filter but limits what stack_trace\n"
		"\t\t\t  traces\n";

	(void)at;
	text_put(out, text, sizeof(text) - 1);
	return 0;
}
