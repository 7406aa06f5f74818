/* SPDX-License-Identifier: MIT */
/*
 * record_events.c - pass the session's events on to the writer's thread (recorder.c) or the terminal
 *
 * Once the file is complete there is no recorder, and events for it are dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/record_internal.h"
#include "symbol/newfile.h"
#include "symbol/tracer.h"

/* Are functions of the program traced? */
int record_arms(const struct recording *rec)
{
	return rec->opts->tracer != UFT_TRACER_NOP && uft_tracer_kind((uint32_t)rec->opts->tracer) != UFT_KIND_OWN;
}

/* gprof counts by the calls that uft turns into nops: warn before the program runs. */
static void warn_of_gprof(struct recording *rec, const struct uft_image *img)
{
	if (!rec->is_warned && record_arms(rec) && img->nobj && img->obj[0].obj->has_gmon &&
	    img->obj[0].obj->nsite)
		record_say(rec, "warning: %s is linked for gprof: its gmon.out will lack the calls "
			   "that are traced", img->exe);
	rec->is_warned |= img->nobj != 0;
}

/*
 * Warns that AddressSanitizer and LeakSanitizer find the callers of malloc() by frame pointers, and so see the stubs in
 * place of return addresses. Their other method, by unwind tables, is hooked (control/plan/hooks.c).
 */
static void warn_of_sanitizer(struct recording *rec, const struct uft_image *img)
{
	static const char *const inits[] = { "__asan_init", "__lsan_init", "__hwasan_init" };
	static const char slow[] = "fast_unwind_on_malloc=0";
	const char *asan = getenv("ASAN_OPTIONS"), *lsan = getenv("LSAN_OPTIONS");
	struct uft_object *obj = img->nobj ? img->obj[0].obj : NULL;
	int is_one = 0;

	if (rec->is_warned || !obj || !record_arms(rec) || rec->opts->tracer == UFT_TRACER_FUNCTION ||
	    (asan && strstr(asan, slow)) || (lsan && strstr(lsan, slow)))
		return;
	for (size_t i = 0; i < sizeof(inits) / sizeof(inits[0]) && !is_one; i++)
		is_one = uft_object_imports(obj, inits[i]) > 0 || uft_object_symbol(obj, inits[i], NULL);
	if (is_one)
		record_say(rec,
			   "warning: %s is built with a sanitizer, which finds callers by frame pointers: those in its reports are stubs of uft "
			 "(with %s in ASAN_OPTIONS and LSAN_OPTIONS, or -p function, they are the program's)", img->exe,
				 slow);
}

static void on_event_type(void *arg, const struct uft_event_type *type)
{
	struct recording *rec = arg;

	if (rec->recorder)
		recorder_format(rec->recorder, type);
}

static void on_slice_begin(void *arg, uint32_t slice, pid_t pid, pid_t ppid, const struct uft_image *img)
{
	struct recording *rec = arg;

	warn_of_sanitizer(rec, img);
	warn_of_gprof(rec, img);
	if (rec->recorder)
		recorder_slice_begin(rec->recorder, slice, (uint32_t)pid, (uint32_t)ppid, img);
}

static void on_slice_end(void *arg, uint32_t slice, pid_t pid)
{
	struct recording *rec = arg;

	(void)pid;
	if (rec->recorder)
		recorder_slice_end(rec->recorder, slice);
}

static void on_task(void *arg, pid_t pid, pid_t tid, pid_t ppid, const struct uft_image *img, const char *comm)
{
	struct recording *rec = arg;

	if (rec->recorder)
		recorder_task(rec->recorder, (uint32_t)pid, (uint32_t)tid, (uint32_t)ppid, img ? img->id : 0, comm);
}

static void on_outer(void *arg, uint32_t slice, pid_t tid, pid_t outer)
{
	struct recording *rec = arg;

	if (rec->recorder)
		recorder_outer(rec->recorder, slice, (uint32_t)tid, (uint32_t)outer);
}

static void on_released(void *arg)
{
	struct recording *rec = arg;

	if (rec->recorder)
		recorder_release(rec->recorder);
}

static void on_dropped(void *arg, const struct uft_drop *d)
{
	struct recording *rec = arg;

	if (rec->recorder)
		recorder_drop(rec->recorder, &(struct uft_writer_drop){
			.image = d->img->id, .stub_id = d->stub_id, .cost_ppm = d->cost_ppm, .pid = (uint32_t)d->pid,
			.why = d->why,
			.clock = d->clock, .calls_per_s = d->calls_per_s });
	if (!rec->opts->is_quiet && rec->ndropped++ < DROPPED_SAID)
		record_say(rec, "dropped %s: %llu calls/s took %.1f %% of the CPU time", d->name,
			   (unsigned long long)d->calls_per_s, d->cost_ppm / 1e4);
}

static void on_warning(void *arg, const char *text)
{
	struct recording *rec = arg;

	record_say(rec, "warning: %s", text);
}

/* The watchdog's report is a file beside the recording. */
static void on_fault(void *arg, pid_t pid, const char *text)
{
	struct recording *rec = arg;
	char path[PATH_MAX + 8];
	const char *why = NULL;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "%s.fault", rec->path);
	fd = uft_newfile_open(path, O_APPEND, NULL, &why);
	f = fd < 0 ? NULL : fdopen(fd, "a");
	if (f)
		fprintf(f, "%s\n", text);
	if (!f || fclose(f))
		record_say(rec, "cannot write %s: %s\n%s", path, why ? why : strerror(fd < 0 ? -fd : errno), text);
	else
		record_say(rec, "warning: process %d was put back as it was after a fault: %.*s; see %s",
			   pid, (int)strcspn(text, "\n"), text, path);
}

struct uft_session_events record_listener(struct recording *rec)
{
	return (struct uft_session_events){
		.arg = rec, .slice_begin = on_slice_begin, .slice_end = on_slice_end, .outer = on_outer,
		.task = on_task, .released = on_released, .dropped = on_dropped, .event_type = on_event_type,
		.warning = on_warning, .fault = on_fault,
	};
}
