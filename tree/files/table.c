/* SPDX-License-Identifier: MIT */
/*
 * table.c - every file of the tree, one row each
 *
 * A file without a row does not exist: no row is a fake. Row 0 is the top directory, and the directory of an instance.
 */
#include "tree/files/rows.h"

#include <sys/stat.h>

#define DIR(p, perm, where, text, ...)	{ .pub = { p, S_IFDIR | (perm), where, text }, __VA_ARGS__ }
#define FILE(p, perm, where, text, ...)	{ .pub = { p, S_IFREG | (perm), where, text }, __VA_ARGS__ }

#define TOP	UFT_SCOPE_TOP
#define SYSTEM	(UFT_SCOPE_INSTANCE | UFT_SCOPE_SYSTEM)
#define EACH	UFT_SCOPE_INSTANCE
#define CPU	(UFT_SCOPE_INSTANCE | UFT_SCOPE_CPU)
#define OPTION	(UFT_SCOPE_INSTANCE | UFT_SCOPE_OPTION)

#define EVENT	(UFT_SCOPE_INSTANCE | UFT_SCOPE_EVENT)

#define FORMAT(name)									\
	DIR("events/ftrace/" name, 0755, EACH, "the record " name),			\
	FILE("events/ftrace/" name "/format", 0440, EACH, "its layout", .show = show_format)
#define ID(name)	FILE("events/ftrace/" name "/id", 0440, EACH, "its number", .show = show_event_id)
#define TRIGGERS(path, where)								\
	FILE(path "trigger", 0640, where,						\
	     "what it does when it comes: traceon, stacktrace, snapshot, hist:keys=FIELD ... if FILTER; ! in front takes one out", \
	     .show = show_event_trigger, .store = store_event_trigger, .truncate = truncate_event_trigger, \
	     .takes = "Takes traceon, traceoff, stacktrace, snapshot, graph, graph:stop, enable_event:SYSTEM:EVENT, disable_event, enable_hist, disable_hist, hist:keys=..., each with if FILTER"), \
	FILE(path "hist", 0440, where, "the tables of its histograms", .show = show_event_hist)
#define TRACE	.open = open_trace, .release = release_trace, .read = read_trace, .store = store_trace, \
	.truncate = truncate_trace
#define PIPE	.open = open_pipe, .release = release_pipe, .read = read_pipe, .poll = poll_pipe, \
	.attr = UFT_ATTR_BLOCKS

#define SNAPSHOT .open = open_trace, .release = release_trace, .read = read_trace, .store = store_snapshot, \
	.flags = ROW_FROZEN, .takes = "Takes a number: 0 frees it, 1 takes one, another one clears it"
#define FUNCTIONS .open = open_functions, .release = release_functions, .show = show_functions, .store = store_functions

static const struct row rows[] = {
	DIR("", 0700, EACH, "the tracing directory"),
	FILE("README", 0440, TOP, "a short help; scripts look for features in it", .show = show_readme),
	FILE("available_tracers", 0440, EACH, "the tracers that current_tracer takes", .show = show_available_tracers),
	FILE("current_tracer", 0640, EACH, "the tracer in use; writing a name switches and clears the buffer",
	     .show = show_current_tracer, .store = store_current_tracer,
	     .takes = "No such tracer: available_tracers lists them"),
	FILE("tracing_on", 0640, EACH, "1: the buffer takes records; 0: it does not, and tracers stay armed",
	     .show = show_tracing_on, .store = store_tracing_on, .takes = "Takes 0 or 1"),
	FILE("tracing_enabled", 0640, EACH, "an old name of tracing_on",
	     .show = show_tracing_on, .store = store_tracing_on, .takes = "Takes 0 or 1"),
	FILE("trace", 0640, EACH, "the buffer as text; opening it with > clears the buffer", TRACE),
	FILE("trace_pipe", 0440, EACH, "the buffer as text, consumed by reading; one reader at a time", PIPE),
	FILE("trace_marker", 0220, EACH, "write text to record it as an event", .open = open_marker,
	     .store = store_marker),
	FILE("trace_marker_raw", 0220, EACH, "write a number of 4 bytes and data to record them as an event",
	     .open = open_marker, .store = store_marker_raw),
	FILE("available_filter_functions", 0440, TOP, "the functions that can be traced",
	     .show = show_available_filter_functions),
	FILE("available_filter_functions_addrs", 0440, TOP,
	     "the functions that can be traced, with their addresses in their files",
	     .show = show_available_filter_functions_addrs),
	FILE("enabled_functions", 0440, TOP, "the functions that are traced now", .show = show_enabled_functions),
	FILE("function_profile_enabled", 0640, TOP,
	     "1: count the calls of the functions and their time, with the tracer nop, function, function_graph or one that arms none",
	     .show = show_function_profile_enabled, .store = store_function_profile_enabled, .takes = "Takes 0 or 1"),
	FILE("stack_tracer_enabled", 0640, TOP,
	     "1: find the deepest stack of any thread, with the tracer nop; in /proc/sys/kernel of a kernel",
	     .show = show_stack_tracer_enabled, .store = store_stack_tracer_enabled, .takes = "Takes 0 or 1"),
	FILE("stack_max_size", 0640, TOP, "bytes of the deepest stack; write a size to look for a deeper one",
	     .show = show_stack_max_size, .store = store_stack_max_size, .takes = "Takes a number of bytes"),
	FILE("stack_trace", 0440, TOP, "the functions of the deepest stack, and the bytes of each",
	     .show = show_stack_trace),
	FILE("stack_trace_filter", 0640, TOP, "look only at these functions", FUNCTIONS),
	DIR("trace_stat", 0750, TOP, "the counts of the function profile"),
	FILE("trace_stat/function%", 0440, UFT_SCOPE_TOP | UFT_SCOPE_CPU, "the calls on one cpu, the most time first",
	     .show = show_trace_stat),
	FILE("touched_functions", 0440, TOP, "the functions that have been traced since their program started",
	     .show = show_touched_functions),
	FILE("dyn_ftrace_total_info", 0440, TOP,
	     "how many functions can be traced, the pages of the tables that say so, and their objects",
	     .show = show_dyn_ftrace_total_info),
	FILE("set_ftrace_filter", 0640, EACH, "trace only these functions", FUNCTIONS),
	FILE("set_ftrace_notrace", 0640, EACH, "do not trace these functions", FUNCTIONS),
	FILE("set_graph_function", 0640, TOP, "the graph shows only these functions and what they call", FUNCTIONS),
	FILE("set_graph_notrace", 0640, TOP, "the graph shows neither these functions nor what they call", FUNCTIONS),
	FILE("set_ftrace_pid", 0640, EACH,
	     "trace functions of these tasks only; processes from outside are attached to",
	     .open = open_pids, .release = release_pids, .show = show_pids, .store = store_pids),
	FILE("set_ftrace_notrace_pid", 0640, EACH, "do not trace functions of these tasks",
	     .open = open_pids, .release = release_pids, .show = show_pids, .store = store_pids),
	FILE("trace_options", 0640, EACH, "one option a line, with `no` in front when it is off",
	     .show = show_trace_options, .store = store_trace_options,
	     .takes = "No such option, or one of another tracer: trace_options lists those that there are, with no in front when off"),
	DIR("options", 0750, EACH, "a file for each option"),
	FILE("options/%", 0640, OPTION, "0 or 1", .show = show_option, .store = store_option, .takes = "Takes 0 or 1"),
	FILE("tracing_thresh", 0640, TOP,
	     "us: the graph shows only calls that took longer, a latency tracer the last that did; 0 all, the longest. hwlat, osnoise: what counts; 0 10 and 5",
	     .show = show_tracing_thresh, .store = store_tracing_thresh, .takes = "Takes a number of microseconds"),
	FILE("tracing_max_latency", 0640, EACH,
	     "us: the longest that the latency tracer has in the buffer; writing begins the search anew, above it",
	     .show = show_tracing_max_latency, .store = store_tracing_max_latency,
	     .takes = "Takes a number of microseconds"),
	DIR("hwlat_detector", 0750, TOP, "how the tracer hwlat looks for stolen time"),
	FILE("hwlat_detector/width", 0640, TOP, "us of each window in which its thread spins; the window at most",
	     .show = show_hwlat_width, .store = store_hwlat_width,
	     .takes = "Takes a number of microseconds, at least 1 and at most the window"),
	FILE("hwlat_detector/window", 0640, TOP, "us from one begin to the next; the width at least",
	     .show = show_hwlat_window, .store = store_hwlat_window,
	     .takes = "Takes a number of microseconds, at least the width"),
	FILE("hwlat_detector/mode", 0640, TOP,
	     "none: where the kernel runs it; round-robin: each cpu in turn; per-cpu: a thread for each",
	     .show = show_hwlat_mode, .store = store_hwlat_mode, .takes = "Takes none, round-robin or per-cpu"),
	DIR("osnoise", 0750, TOP, "how the tracer osnoise looks for noise"),
	FILE("osnoise/period_us", 0640, TOP, "us from one begin to the next; the runtime at least",
	     .show = show_osnoise_period_us, .store = store_osnoise_period_us,
	     .takes = "Takes a number of microseconds, at least the runtime"),
	FILE("osnoise/runtime_us", 0640, TOP, "us of each period in which its threads spin; the period at most",
	     .show = show_osnoise_runtime_us, .store = store_osnoise_runtime_us,
	     .takes = "Takes a number of microseconds, at most the period"),
	FILE("osnoise/cpus", 0640, TOP, "the CPUs that are measured: 0-3,5", .show = show_osnoise_cpus,
	     .store = store_osnoise_cpus, .takes = "Takes a list of cpus: 0-3,5"),
	FILE("sysprof_sample_period", 0640, TOP,
	     "us of CPU time between two samples of the tracer sysprof, in kernels up to 2.6.37",
	     .show = show_sysprof_sample_period, .store = store_sysprof_sample_period,
	     .takes = "Takes a number of microseconds"),
	FILE("mmiotrace_watch", 0640, TOP,
	     "the memory whose accesses the tracer mmiotrace shows: NAME or ADDRESS, with ,BYTES and :w (only writes) behind it",
	     .show = show_mmiotrace_watch, .store = store_mmiotrace_watch),
	FILE("max_graph_depth", 0640, TOP, "how deep the graph goes; 0 no limit",
	     .show = show_max_graph_depth, .store = store_max_graph_depth,
	     .takes = "Takes a number of levels; 0: no limit"),
	FILE("buffer_size_kb", 0640, EACH, "KiB that are kept of each cpu", .show = show_buffer_size_kb,
	     .store = store_buffer_size_kb, .takes = "Takes a number of KiB, at least 1"),
	FILE("buffer_total_size_kb", 0440, EACH, "KiB that are kept of all cpus together",
	     .show = show_buffer_total_size_kb),
	FILE("buffer_subbuf_size_kb", 0640, EACH,
	     "KiB of a page of trace_pipe_raw: 4 to 512; what is written is rounded up to a power of two, and clears the buffer",
	     .show = show_buffer_subbuf_size_kb, .store = store_buffer_subbuf_size_kb,
	     .takes = "Takes a number of KiB from 1 to 512"),
	FILE("buffer_percent", 0640, EACH,
	     "percent of a buffer that must be full to wake a poll of trace_pipe_raw; 0: any record wakes it",
	     .show = show_buffer_percent, .store = store_buffer_percent, .takes = "Takes a number from 0 to 100"),
	FILE("free_buffer", 0200, EACH,
	     "closing it shrinks the buffer to its least size; with disable_on_free tracing ends",
	     .store = store_free_buffer, .release = release_free_buffer),
	FILE("tracing_cpumask", 0640, EACH, "a bit for each cpu whose records the buffer takes, in hex",
	     .show = show_tracing_cpumask, .store = store_tracing_cpumask,
	     .takes = "Takes hexadecimal digits, a bit for each cpu"),
	FILE("snapshot", 0640, EACH, "a copy of the buffer: 1 takes one, 2 clears it, 0 frees it", SNAPSHOT),
	FILE("timestamp_mode", 0440, EACH, "how records carry their time", .show = show_timestamp_mode),
	FILE("trace_clock", 0640, EACH,
	     "the clock of records in brackets; writing a name switches and clears the buffer",
	     .show = show_trace_clock, .store = store_trace_clock),
	FILE("saved_cmdlines", 0440, TOP, "the names of recorded tasks", .show = show_saved_cmdlines),
	FILE("saved_cmdlines_size", 0640, TOP, "how many names saved_cmdlines lists: the last ones",
	     .show = show_saved_cmdlines_size, .store = store_saved_cmdlines_size,
	     .takes = "Takes a number of names, at least 1"),
	FILE("saved_tgids", 0440, TOP, "the processes of recorded tasks, with the option record-tgid",
	     .show = show_saved_tgids),
	FILE("error_log", 0640, EACH, "the reasons of the last refused writes; any write clears it",
	     .show = show_error_log, .store = store_error_log, .truncate = truncate_error_log),
	DIR("instances", 0750, TOP, "mkdir makes a tree with a buffer and settings of its own, rmdir removes it",
	    .flags = ROW_NAMES),
	DIR("per_cpu", 0750, EACH, "the files of each cpu"),
	DIR("per_cpu/cpu%", 0750, CPU, "the files of one cpu"),
	FILE("per_cpu/cpu%/trace", 0640, CPU, "the cpu's part of trace", TRACE),
	FILE("per_cpu/cpu%/trace_pipe", 0440, CPU, "the cpu's part of trace_pipe", PIPE),
	FILE("per_cpu/cpu%/trace_pipe_raw", 0440, CPU, "the cpu's part of trace_pipe as sub-buffers, for programs",
	     .open = open_raw, .release = release_raw, .read = read_raw, .poll = poll_raw, .attr = UFT_ATTR_BLOCKS |
		     UFT_ATTR_PAGES),
	FILE("per_cpu/cpu%/snapshot", 0640, CPU, "the cpu's part of snapshot", SNAPSHOT),
	FILE("per_cpu/cpu%/snapshot_raw", 0440, CPU,
	     "what the cpu's snapshot holds as sub-buffers, for programs; reading takes it out",
	     .open = open_raw, .release = release_raw, .read = read_raw, .poll = poll_raw, .attr = UFT_ATTR_PAGES,
	     .flags = ROW_FROZEN),
	FILE("per_cpu/cpu%/buffer_size_kb", 0640, CPU, "KiB that are kept of the cpu", .show = show_buffer_size_kb,
	     .store = store_buffer_size_kb, .takes = "Takes a number of KiB, at least 1"),
	FILE("per_cpu/cpu%/stats", 0440, CPU, "counts of the records that the cpu's buffer holds and has lost",
	     .show = show_stats),
	FILE("kallsyms", 0440, TOP, "names of the addresses in trace_pipe_raw, in the form of /proc/kallsyms",
	     .show = show_kallsyms),
	FILE("printk_formats", 0440, TOP, "the formats of a kernel's trace_printk(): programs have none",
	     .show = show_nothing),
	FILE("ftrace_dump_on_oops", 0640, TOP,
	     "1: the buffer is printed when the program that uft shell started crashes; 2: the part of its last CPU",
	     .show = show_dump_on_oops, .store = store_dump_on_oops, .takes = "Takes 0, 1, 2 or orig_cpu"),
	FILE("ftrace_enabled", 0640, TOP,
	     "the sysctl of that name, for tools that write it; it is kept and switches nothing", .show = show_sysctl,
	     .store = store_sysctl, .takes = "Takes a number"),
	FILE("traceoff_on_warning", 0640, TOP,
	     "a sysctl for tools that write it; switches nothing, as a program has no WARN()", .show = show_sysctl,
	     .store = store_sysctl, .takes = "Takes a number"),
	FILE("kprobes-optimization", 0640, TOP,
	     "a sysctl for tools that write it, 0 or 1; it is kept and switches nothing", .show = show_sysctl,
	     .store = store_sysctl, .takes = "Takes a number"),
	FILE("available_events", 0440, TOP, "the events that set_event takes", .show = show_available_events),
	FILE("set_event", 0640, EACH, "the events that are recorded", .show = show_set_event, .store = store_set_event,
	     .truncate = truncate_set_event),
	FILE("set_event_pid", 0640, EACH, "record events of these tasks only; processes from outside are attached to",
	     .open = open_pids, .release = release_pids, .show = show_pids, .store = store_pids),
	FILE("set_event_notrace_pid", 0640, EACH, "do not record events of these tasks",
	     .open = open_pids, .release = release_pids, .show = show_pids, .store = store_pids),
	FILE("user_events_data", 0640, TOP, "programs register events of theirs by ioctl and write them",
	     .open = open_user_events, .release = release_user_events, .store = store_user_events,
	     .ioctl = ioctl_user_events),
	FILE("user_events_status", 0440, TOP, "the events that programs have registered",
	     .show = show_user_events_status),
	FILE("synthetic_events", 0640, TOP,
	     "event types that a user defines: NAME TYPE FIELD[; TYPE FIELD]..; !NAME takes one out",
	     .show = show_synthetic_events, .store = store_synthetic_events, .truncate = truncate_synthetic_events,
	     .takes = "Takes NAME TYPE FIELD[; TYPE FIELD].. or !NAME"),
	FILE("dynamic_events", 0640, TOP,
	     "the same as s:[synthetic/]NAME TYPE FIELD.., and user events as u:NAME TYPE FIELD..; -:NAME takes one out",
	     .show = show_dynamic_events, .store = store_dynamic_events, .truncate = truncate_dynamic_events,
	     .takes = "Takes s:[synthetic/]NAME TYPE FIELD[; TYPE FIELD].., u:NAME TYPE FIELD.. or -:[GROUP/]NAME"),
	DIR("events", 0755, EACH, "the events that can be recorded, by system"),
	DIR("events/%", 0755, SYSTEM, "events of one system: sched has those of tasks"),
	FILE("events/%/enable", 0640, SYSTEM, "all of them on or off", .show = show_events_enable,
	     .store = store_events_enable, .takes = "Takes 0 or 1"),
	FILE("events/%/filter", 0640, SYSTEM, "a filter for all of them that have its fields; 0 takes them out",
	     .show = show_system_filter, .store = store_system_filter),
	DIR("events/%/%", 0755, EVENT, "one event"),
	FILE("events/%/%/enable", 0640, EVENT, "1: it is recorded", .show = show_event_enable,
	     .store = store_event_enable, .takes = "Takes 0 or 1"),
	FILE("events/%/%/filter", 0640, EVENT, "which of them: pid == 1 && comm ~ \"a*\"; 0 takes it out",
	     .show = show_event_filter, .store = store_event_filter),
	FILE("events/%/%/format", 0440, EVENT, "its fields", .show = show_format),
	TRIGGERS("events/%/%/", EVENT),
	FILE("events/%/%/id", 0440, EVENT, "its number", .show = show_event_id),
	FILE("events/enable", 0640, EACH, "all events on or off", .show = show_events_enable,
	     .store = store_events_enable, .takes = "Takes 0 or 1"),
	FILE("events/header_page", 0440, EACH, "layout of a sub-buffer", .show = show_header_page),
	FILE("events/header_event", 0440, EACH, "layout of a record's head", .show = show_header_event),
	DIR("events/ftrace", 0755, EACH, "the records of the tracers"),
	FORMAT("function"), ID("function"), ID("print"), FORMAT("funcgraph_entry"), FORMAT("funcgraph_exit"),
	FORMAT("print"), TRIGGERS("events/ftrace/print/", EACH), FORMAT("hwlat"), FORMAT("context_switch"),
	FORMAT("mmiotrace_rw"), FORMAT("mmiotrace_map"),
	FORMAT("osnoise"), FORMAT("kernel_stack"), FORMAT("raw_data"),
};

static const struct tree_part parts[] = {
	{ .slice_begin = profile_begin, .slice_end = profile_end, .tree_free = profile_free },
	{ .slice_begin = stack_begin, .slice_end = stack_end, .tree_free = stack_free },
	{ .slice_begin = event_hists_begin, .slice_end = event_hists_end, .tree_free = event_hists_free },
	{ .round = trigger_round, .switched = trigger_switched },
	{ .told = event_fork_take, .instance_free = event_fork_free },
	{ .exited = dump_on_end },
	{ .clock = clock_apply },
	{ .leave = pid_leave },
	{ .types_found = event_types_found, .applied = event_types_settle, .instance_free = event_free },
	{ .applied = user_events_switch, .tree_free = user_events_free },
};

static const struct command_ops commands = {
	.waits = trigger_waits, .put_words = trigger_put_words, .has_stacks = trigger_has_stacks,
	.wants_event_stacks = trigger_wants_event_stacks, .graph_turn = trigger_graph_turn,
	.put_wants = trigger_put_wants,
	.switches = trigger_switches, .switches_any = trigger_switches_any, .needs = trigger_wants_event,
	.has_functions = trigger_has_functions, .events = trigger_events, .mute = trigger_mute, .free = trigger_free,
};

int uft_tree_create(const struct uft_tree_opts *opts, struct uft_tree **out, struct uft_error *err)
{
	static const struct tree_table table = {
		.row = rows, .nrows = sizeof(rows) / sizeof(rows[0]), .part = parts,
		.nparts = sizeof(parts) / sizeof(parts[0]), .commands = &commands,
	};

	return tree_create(opts, &table, out, err);
}

const struct uft_tree_row *uft_tree_table(size_t i)
{
	return i < sizeof(rows) / sizeof(rows[0]) ? &rows[i].pub : NULL;
}
