/* SPDX-License-Identifier: MIT */
/* rows.h - functions of the rows of the table, by file of the tree */
#ifndef UFT_TREE_ROWS_H
#define UFT_TREE_ROWS_H

#include "tree/core/tree_internal.h"

#define SHOW(name)	int show_##name(const struct place *at, struct tree_text *out)
#define STORE(name)	ssize_t store_##name(struct uft_handle *h, const char *p, size_t n)

/* Applies what a write of @n bytes set, and returns what the write does. @ret: not 0, the text was wrong. */
static inline ssize_t store_settings(struct uft_handle *h, const struct settings *set, int ret, size_t n)
{
	if (!ret)
		ret = tree_apply(h->at.in, set, NULL);
	return ret ? ret : (ssize_t)n;
}

/* user_events.c */
int open_user_events(struct uft_handle *h);
int release_user_events(struct uft_handle *h);
STORE(user_events);
SHOW(user_events_status);
void user_events_switch(struct uft_tree *t);	/* updates the enable bits of programs after a change of events */
void user_events_free(struct uft_tree *t);
int ioctl_user_events(struct uft_handle *h, unsigned cmd, uint64_t arg);
/* For dynamic_events: an event that stays, by `NAME[ FIELDS]`; the kernel's errors. */
int user_events_create(struct uft_tree *t, const char *text);
int user_events_remove(struct uft_tree *t, const char *name, size_t n, const char *args);	/* -ENOENT, -EBUSY */
int user_events_are_busy(struct uft_tree *t);
void user_events_remove_all(struct uft_tree *t);		/* up to one that is busy */
void user_events_show(struct uft_tree *t, struct tree_text *out);
/* trace.c: records the event of a program that wrote to @h. */
void event_write(struct uft_handle *h, const struct uft_event_type *type, const void *payload, size_t n);

/* values.c */
SHOW(available_tracers);
SHOW(current_tracer);
STORE(current_tracer);
SHOW(tracing_on);
STORE(tracing_on);
SHOW(tracing_thresh);
STORE(tracing_thresh);
SHOW(tracing_max_latency);
STORE(tracing_max_latency);
SHOW(sysprof_sample_period);
STORE(sysprof_sample_period);
SHOW(max_graph_depth);
STORE(max_graph_depth);
SHOW(buffer_size_kb);
STORE(buffer_size_kb);
SHOW(buffer_total_size_kb);
SHOW(buffer_subbuf_size_kb);
STORE(buffer_subbuf_size_kb);
SHOW(buffer_percent);
STORE(buffer_percent);
STORE(free_buffer);
int release_free_buffer(struct uft_handle *h);
SHOW(timestamp_mode);
SHOW(readme);
SHOW(sysctl);
STORE(sysctl);

/* hwlat_detector.c */
SHOW(hwlat_width);
STORE(hwlat_width);
SHOW(hwlat_window);
STORE(hwlat_window);
SHOW(hwlat_mode);
STORE(hwlat_mode);

/* mmiotrace_watch.c */
SHOW(mmiotrace_watch);
STORE(mmiotrace_watch);

/* osnoise.c */
SHOW(osnoise_runtime_us);
STORE(osnoise_runtime_us);
SHOW(osnoise_period_us);
STORE(osnoise_period_us);
SHOW(osnoise_cpus);
STORE(osnoise_cpus);

/* trace_options.c */
SHOW(trace_options);
STORE(trace_options);
SHOW(option);
STORE(option);

/* trace.c */
int open_trace(struct uft_handle *h);
int release_trace(struct uft_handle *h);
ssize_t read_trace(struct uft_handle *h, char *buf, size_t n, uint64_t offset, int flags);
int truncate_trace(const struct place *at);
STORE(trace);
int open_pipe(struct uft_handle *h);
int release_pipe(struct uft_handle *h);
int poll_pipe(struct uft_handle *h);
ssize_t read_pipe(struct uft_handle *h, char *buf, size_t n, uint64_t offset, int flags);
/* trace_pipe_raw.c */
int open_raw(struct uft_handle *h);
int release_raw(struct uft_handle *h);
int poll_raw(struct uft_handle *h);
ssize_t read_raw(struct uft_handle *h, char *buf, size_t n, uint64_t offset, int flags);
SHOW(kallsyms);
SHOW(header_page);
SHOW(header_event);
SHOW(format);

int open_marker(struct uft_handle *h);
STORE(marker);
STORE(marker_raw);
SHOW(stats);

/* snapshot.c */
STORE(snapshot);
void snapshot_help(const struct place *at, struct tree_text *out);	/* the text of an empty snapshot */
/* events.c */
SHOW(nothing);
SHOW(available_events);
SHOW(set_event);
STORE(set_event);
int truncate_set_event(const struct place *at);
SHOW(event_id);
SHOW(event_enable);
STORE(event_enable);
SHOW(event_filter);
STORE(event_filter);
SHOW(system_filter);
STORE(system_filter);
SHOW(events_enable);
STORE(events_enable);
void event_forget(struct uft_tree *t, uint32_t event);	/* before its type is removed: its filters in all instances */

int trace_clock_find(const char *name);	/* its number; -1: there is none */

/* event_triggers.c */
SHOW(event_trigger);
STORE(event_trigger);
int truncate_event_trigger(const struct place *at);
SHOW(event_hist);

/* synthetic_events.c */
SHOW(synthetic_events);
STORE(synthetic_events);
SHOW(dynamic_events);
STORE(dynamic_events);
int truncate_synthetic_events(const struct place *at);
int truncate_dynamic_events(const struct place *at);

/* dump_on_oops.c */
SHOW(dump_on_oops);
STORE(dump_on_oops);

/* set_ftrace_filter.c */
SHOW(functions);
STORE(functions);
int open_functions(struct uft_handle *h);
int release_functions(struct uft_handle *h);
SHOW(available_filter_functions);
SHOW(available_filter_functions_addrs);
SHOW(enabled_functions);

SHOW(touched_functions);
SHOW(dyn_ftrace_total_info);

/* trace_stat.c */
SHOW(stack_tracer_enabled);
STORE(stack_tracer_enabled);
SHOW(stack_max_size);
STORE(stack_max_size);
SHOW(stack_trace);
SHOW(function_profile_enabled);
STORE(function_profile_enabled);
SHOW(trace_stat);

/* tracing_cpumask.c, trace_clock.c, saved_cmdlines.c, error_log.c */
SHOW(tracing_cpumask);
STORE(tracing_cpumask);
SHOW(trace_clock);
STORE(trace_clock);
SHOW(saved_cmdlines);
SHOW(saved_cmdlines_size);
STORE(saved_cmdlines_size);
SHOW(saved_tgids);
SHOW(error_log);
STORE(error_log);
int truncate_error_log(const struct place *at);

/* set_ftrace_pid.c */
SHOW(pids);
STORE(pids);
int open_pids(struct uft_handle *h);
int release_pids(struct uft_handle *h);

#endif
