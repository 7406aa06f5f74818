/* SPDX-License-Identifier: MIT */
/*
 * record.c - uft record, uft attach: record function calls of a program that uft starts, or of running processes
 *
 * Two threads: this one owns the session (ptrace allows no other), recorder.c's owns the file.
 *
 * The program's input, output, errors, exit status and job control are as without uft. The terminal sends Ctrl-C to the
 * program and to uft; uft only notes the signal and waits for the end of the program.
 *
 *	SIGINT, SIGQUIT from the terminal	once: wait for the program; twice: as SIGTERM
 *	SIGTERM, SIGHUP, SIGINT by kill(2)	restore the program's code, save, let the program go on
 *	program ends				save; exit with its status, 128 + n when signal n ended it
 *	attached: SIGINT, SIGTERM, SIGHUP	restore the code, save, exit 0; the last target ends: the same
 *	attached while a command runs: it ends	restore the code, save, exit with its status
 *	saved, and -o FILE.dat is written	any of them ends us by it; FILE.dat.uft stays
 *	file cannot be written (disk full)	stop recording, print a message, stay until the program ends
 *	a limit: --max-size, --duration,	restore the code, save, print a message; wait for the program and exit
 *	5 % of the file system free		with its status; attached: exit 0
 *
 * The former recording is kept as FILE.old, and is restored if the program could not be started.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/cmdline.h"
#include "cmd/export.h"
#include "cmd/input.h"
#include "cmd/program.h"
#include "cmd/record_internal.h"
#include "cmd/recorder.h"
#include "cmd/recordopts.h"
#include "cmd/status.h"
#include "cmd/symbols.h"
#include "cmd/targets.h"
#include "control/session.h"
#include "output/losses.h"
#include "output/output.h"
#include "stream/file/rescue.h"
#include "symbol/newfile.h"
#include "symbol/now.h"
#include "symbol/tracer.h"

#define POLL_MS		100
#define SUB_BUFFERS_MIN	4u	/* abi.h: ring_bytes / sub_bytes at least */

/* processes of a name or a cgroup that are attached at most: others may start meanwhile */
#define MAX_FOUND	1024
#define KEEP_RINGS	32u	/* slow calls that may run at the same time */

/* ---- Signals ------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupts;	/* Ctrl-C and Ctrl-\ from the terminal */
static volatile sig_atomic_t detach_signal;	/* a signal for uft alone, not for the program */
/* uft started no program, so any signal is for uft; set before a signal can come */
static int is_attached;
/* a background job of a script: SIGINT was ignored, so the terminal's SIGINT is not for us */
static int is_background;

static void on_interrupt(int sig, siginfo_t *info, void *context)
{
	(void)context;
	/* The terminal's signals come from the kernel, and the program got them as well; kill(2) sends only to us. */
	if (info->si_code == SI_USER || info->si_code == SI_TKILL || (is_attached && !is_background) ||
	    (!is_background && ++interrupts > 1))
		detach_signal = sig;
}

static int asked(void)
{
	return detach_signal;
}

static void on_request(int sig)
{
	detach_signal = sig;
}

static void on_nothing(int sig)
{
	(void)sig;
}

/*
 * Sets a handler, never SIG_IGN: exec resets handlers to the default, so the program starts with the dispositions that
 * uft was started with. An ignored signal (nohup, background jobs of scripts) stays ignored for both. After an attach
 * there is no program: then SIGINT is caught also if it was ignored, since a script ends its background job by SIGINT.
 */
static void catch(int sig, void (*handler)(int), void (*detailed)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_flags = 0 }, old;

	if (detailed) {
		action.sa_sigaction = detailed;
		action.sa_flags = SA_SIGINFO;
	} else {
		action.sa_handler = handler;
	}
	if (sigaction(sig, NULL, &old))
		return;
	is_background |= is_attached && sig == SIGINT && old.sa_handler == SIG_IGN;
	if (old.sa_handler != SIG_IGN || (is_background && sig == SIGINT))
		sigaction(sig, &action, NULL);
}

static void catch_signals(void)
{
	catch(SIGINT, NULL, on_interrupt);
	catch(SIGQUIT, NULL, on_interrupt);
	catch(SIGTERM, on_request, NULL);
	catch(SIGHUP, on_request, NULL);
	/* A failed write must return: the recording goes on after a closed stderr or at a file size limit. */
	catch(SIGPIPE, on_nothing, NULL);
	catch(SIGXFSZ, on_nothing, NULL);
}

/* ---- Before the start ---------------------------------------------------------------------- */

/* The export format of the output's name; NULL: the output is the recording itself. */
static const struct uft_export *wanted_export(const char *output)
{
	size_t len = strlen(output);

	if (len > 4 && strcmp(output + len - 4, ".uft") == 0)
		return NULL;
	return uft_export_find(output);
}

static int may_replace(const char *path, struct uft_error *err)
{
	const char *why = NULL;
	int ret = uft_newfile_may_replace(path, &why);

	return ret ? uft_fail(err, ret, "cannot write %s: %s", path, why ? why : strerror(-ret)) : 0;
}

/* Renames the former recording. An open file that /proc names (/dev/stdout) is only written to. */
int record_keep_old(struct recording *rec, struct uft_error *err)
{
	struct stat st;
	int ret;

	if (lstat(rec->path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	rec->had_empty = st.st_size == 0;
	if (rec->had_empty)
		return 0;
	if ((size_t)snprintf(rec->kept, sizeof(rec->kept), "%s.old", rec->path) >= sizeof(rec->kept)) {
		rec->kept[0] = '\0';
		return uft_fail(err, -ENAMETOOLONG, "the name of the output is too long");
	}
	ret = may_replace(rec->path, err);
	ret = ret ? ret : may_replace(rec->kept, err);
	if (ret) {
		rec->kept[0] = '\0';
		return ret;
	}
	if (rename(rec->path, rec->kept) < 0) {
		rec->kept[0] = '\0';
		return uft_fail(err, -errno, "cannot keep the earlier %s as %s.old: %s", rec->path, rec->path,
				strerror(errno));
	}
	return 0;
}

static int make_empty(const char *path)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = ftruncate(fd, 0) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

void record_restore_old(struct recording *rec)
{
	struct stat st;

	if (lstat(rec->path, &st) == 0 && S_ISREG(st.st_mode) && (!rec->had_empty || make_empty(rec->path) < 0))
		unlink(rec->path);
	if (rec->kept[0])
		rename(rec->kept, rec->path);
}

static uint32_t ring_bytes(uint64_t wanted)
{
	uint32_t bytes = SUB_BUFFERS_MIN * UFT_PAGE;

	if (!wanted)
		return 0;
	while (bytes < wanted && bytes < 1u << 31)
		bytes <<= 1;
	return bytes;
}

/* ---- The recording ------------------------------------------------------------------------- */

/* Runs in the guard after we were killed. It cannot report what it could not save. */
static void save_rest(const struct uft_arena *head, void *arena, int file)
{
	uft_rescue(head, arena, file);
}

static int start_session(struct recording *rec, char *const argv[], struct uft_error *err)
{
	const struct record_opts *o = rec->opts;
	struct uft_session_opts opts = {
		.ring_bytes = ring_bytes(o->buffer_bytes), .ring_max = ring_bytes(o->buffer_max),
		.overwrite = o->overwrite, .no_children = o->no_children,
		.nexch = o->keep.n || o->emulator ? KEEP_RINGS : 0, .preload = o->preload,
		.emulator = (const char *const *)o->emulator_words, 
		.watchdog = o->watchdog || o->int3, .int3 = o->int3, .perf_map = o->perf_map,
		.rescue = save_rest, .program = rec->targets ? NULL : argv,
	};
	struct uft_session_events events = record_listener(rec);
	struct uft_ops op = {
		.tracer = (uint32_t)o->tracer, .filter = o->filter.item, .notrace = o->notrace.item,
		.roots = o->roots.item, .keep = o->keep.item, .keep_ns = o->keep_ns, .pids = o->pids.item,
		.npids = o->pids.n,
		.max_depth = o->max_depth, .thresh_ns = o->thresh_ns, .events = o->events,
		.stacks = (o->func_stack ? UFT_STACKS_FUNC : 0) | (o->stack ? UFT_STACKS_EVENT : 0) |
			  (o->stack && o->event.n ? UFT_STACKS_TRACEPOINT : 0),
		.watch = o->watch.item, .sample_ns = o->sample_ns, .has_switches = o->has_switches,
	};
	struct uft_trace_spec spec = {
		.ops = &op, .nops = 1, .tasks = o->tasks, .trace_events = (const char *const *)o->trace_events,
		.event_filters = o->event_filters,
		.min_size = o->min_size, .budget_ppm = o->budget_ppm, .max_rate = o->max_rate,
		.counts = o->clock == RECORD_COUNTER,
	};
	int ret;

	if (o->int3)
		record_say(rec, "warning: %s", CMD_INT3_RISK);
	ret = uft_session_create(&opts, &events, &rec->session, err);
	/* not earlier: two threads of one address space would wait for each other's page faults */
	if (!ret && record_arms(rec))
		rec->ahead = uft_prefetch_begin(rec->image, uft_session_look_ahead);
	return ret ? ret : uft_session_trace(rec->session, &spec, err);
}

/* Packs by default while a CPU is idle, and the rest at the end; not a compressed or exported recording. */
static enum uft_writer_pack how_to_pack(const struct record_opts *o)
{
	if (o->pack)
		return UFT_PACK_ALWAYS;
	if (o->no_pack || o->compress || wanted_export(o->output))
		return UFT_PACK_NEVER;
	return o->tracer == UFT_TRACER_FUNCTION || o->tracer == UFT_TRACER_GRAPH ? UFT_PACK_IDLE : UFT_PACK_NEVER;
}

static int start_writer(struct recording *rec, char *const argv[], struct uft_error *err)
{
	char cmdline[4096];
	struct uft_writer_opts opts = {
		.tracer = (uint32_t)rec->opts->tracer, .cmdline = cmdline, .compress = (int)rec->opts->compress,
		.pack = how_to_pack(rec->opts),
		.overwrite = rec->opts->overwrite, .max_bytes = rec->opts->max_bytes,
		.counts = rec->opts->clock == RECORD_COUNTER,
	};
	int ret;

	if (rec->opts->emulator) {
		opts.clock = uft_session_clock;
		opts.clock_arg = rec->session;
	}
	if (rec->targets)
		cmd_cmdline_of_targets(rec->targets, cmdline, sizeof(cmdline));
	else
		cmd_cmdline_of_args(argv, cmdline, sizeof(cmdline));
	ret = recorder_start(rec->path, uft_session_arena(rec->session), &opts, &rec->recorder, err);
	if (!ret)
		uft_session_rescue_into(rec->session, recorder_file(rec->recorder));
	for (uint32_t i = 0; !ret && i < UFT_NBUILTINS; i++) {
		const struct uft_event_type *type = uft_event_table_at(uft_session_types(rec->session), i);

		if (type->tasks & rec->opts->tasks)
			recorder_format(rec->recorder, type);
	}
	return ret;
}

/* Switches recording off everywhere; the targets run on with their original code. */
static void stop_tracing(struct recording *rec)
{
	struct uft_trace_spec nothing = { .nops = 0 };
	struct uft_error err = { "" };

	if (uft_session_trace(rec->session, &nothing, &err) < 0)
		record_say(rec, "cannot switch recording off: %s", err.text);
}

/* Stops recording after an error as a full disk; the program still runs under uft. */
static void on_writer_error(struct recording *rec, int error)
{
	rec->error = error;
	record_say(rec, "writing %s failed: %s; recording stopped, what is in the file stays "
				 "readable, the program goes on", rec->path, strerror(-error));
	stop_tracing(rec);
}

/* Milliseconds until --duration is over, POLL_MS at most. */
static int poll_ms(const struct recording *rec)
{
	uint64_t now = now_ns(), left = rec->end_ns > now ? rec->end_ns - now : 0;

	return rec->end_ns && left < POLL_MS * 1000000ull ? (int)(left / 1000000) + 1 : POLL_MS;
}

/* processes that outlive the program for so long are named: most children end with it */
#define WAIT_SAID_NS	500000000ull

/* Has the program ended while its children (a daemon, say) run on? Returns 1: do not wait for them. */
static int is_left_running(struct recording *rec)
{
	char name[64] = "";
	pid_t pid;

	if (rec->targets || uft_session_status(rec->session) < 0)
		return 0;
	if (rec->opts->no_wait)
		return 1;
	if (!rec->ended_ns)
		rec->ended_ns = now_ns();
	if (rec->ended_ns == 1 || now_ns() - rec->ended_ns < WAIT_SAID_NS)
		return 0;
	pid = uft_session_waits_for(rec->session, name, sizeof(name));
	if (pid && !rec->opts->is_quiet)
		record_say(rec,
			   "the program has ended; waiting for process %d (%s), which it started: --no-wait ends with the program",
			   pid, name);
	rec->ended_ns = pid ? 1 : rec->ended_ns;
	return 0;
}

static int is_command_over(struct recording *rec)
{
	if (rec->command && rec->command_status < 0 && waitpid(rec->program, &rec->command_status, WNOHANG) == 0)
		rec->command_status = -1;
	return rec->command && rec->command_status >= 0;
}

/* Runs until the last target or the command ends, or until we have to detach. */
static void follow(struct recording *rec)
{
	struct uft_writer_stats stats;

	if (rec->opts->duration_ns)
		rec->end_ns = now_ns() + rec->opts->duration_ns;
	while (!detach_signal && !rec->is_limited && !is_command_over(rec) &&
	       uft_session_poll(rec->session, poll_ms(rec)) > 0 && !is_left_running(rec)) {
		int error = recorder_error(rec->recorder);

		recorder_sync_images(rec->recorder);
		if (error && !rec->error)
			on_writer_error(rec, error);
		recorder_stats(rec->recorder, &stats);
		status_update(&rec->status, &stats);
		rec->is_limited = stats.stop || (rec->end_ns && now_ns() >= rec->end_ns);
	}
	if (rec->command && is_command_over(rec)) {
		stop_tracing(rec);
	} else if (uft_session_status(rec->session) < 0) {
		rec->is_detached = detach_signal;
		rec->is_released = !detach_signal && rec->is_limited;
		rec->is_left = !detach_signal && !rec->is_limited;
	}
	if (detach_signal || rec->is_limited || is_left_running(rec))
		stop_tracing(rec);
}

/* ---- After the end ------------------------------------------------------------------------- */

/* Was no function traced? The reason was printed when the program started; its children could have differed. */
static int is_nothing_traced(const struct recording *rec, const struct uft_session_stats *stats)
{
	return record_arms(rec) && !uft_tracer((uint32_t)rec->opts->tracer)->is_inits &&
	       stats->counters[UFT_CNT_PATCHED] == 0;
}

/* Were functions traced whose calls would all be recorded, but no call came? */
static int is_uncalled(const struct recording *rec, const struct uft_writer_stats *total)
{
	const struct record_opts *o = rec->opts;
	int tracer = o->tracer;

	return (tracer == UFT_TRACER_FUNCTION || tracer == UFT_TRACER_GRAPH || tracer == UFT_TRACER_PROFILE) &&
	       !total->events && !total->lost && !total->overwritten && !o->roots.n && !o->keep.n && !o->thresh_ns &&
	       !o->is_quiet;
}

/* 0, or the exit status. */
int record_export(struct recording *rec, const struct uft_export *format)
{
	struct uft_select all = { 0 };
	struct uft_error err = { "" };
	char who[24], last[2 * PATH_MAX + 96];
	struct uft_stream *st;
	int ret;

	snprintf(who, sizeof(who), "uft %s", rec->syntax->name);
	snprintf(last, sizeof(last), "%s: %s was not written to its end; the recording is in %s\n", who,
		 rec->opts->output, rec->path);
	status_clear(&rec->status);
	if (detach_signal) {
		status_say(&rec->status, "%.*s", (int)strlen(last) - 1, last);
		return 128 + detach_signal;
	}
	ret = uft_stream_open(rec->path, &all, &st, &err);
	if (ret == 0) {
		ret = cmd_export_write(format, st, rec->path, rec->opts->output, who, rec->opts->is_quiet, last, NULL,
				       &err);
		uft_stream_close(st);
	}
	if (ret)
		return cmd_fail(rec->syntax->name, "%s; the recording is in %s",
				err.text[0] ? err.text : strerror(-ret), rec->path);
	unlink(rec->path);
	return 0;
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int program_status(const struct recording *rec)
{
	int status = uft_session_status(rec->session);

	if (rec->targets)
		return 0;
	if (rec->is_detached)
		return 128 + rec->is_detached;
	if (status < 0)
		return rec->is_left || rec->is_released ? 0 : CMD_FAILED;
	return exit_status(status);
}

/*
 * The writer estimates the number of events from the bytes that it copied. A reader knows the number, but has to read
 * the file, at some hundred MB a second: done only for files so small that the user does not notice the time.
 */
#define COUNT_BYTES_MAX	(64ull << 20)

/* Saves everything and prints the summary. Returns the program's exit status unless recording failed. */
static int finish(struct recording *rec, const struct uft_export *format)
{
	struct uft_session_stats stats = { 0 };
	struct uft_writer_stats total = { 0 };
	struct uft_info info = { 0 };
	struct uft_error err = { "" };
	const struct cmd_list *const lists[] = { &rec->opts->filter, &rec->opts->roots, &rec->opts->keep };
	const char *unit = "events";
	int status = program_status(rec), ret, failed = rec->error != 0, is_exact = 0;
	/* Counting and packing would disturb processes that run on. */
	const int is_over = !rec->targets && uft_session_status(rec->session) >= 0 && !rec->opts->no_wait;

	interrupts = 1;			/* signals from here on are for the export, */
	detach_signal = 0;		/* not the one that ended the recording */
	recorder_sync_images(rec->recorder);
	uft_session_stats(rec->session, &stats);
	if (!failed)
		record_say_absent_events(rec);
	ret = recorder_finish(rec->recorder, &total, &err);
	rec->recorder = NULL;
	rec->late_status = uft_session_destroy(rec->session);
	rec->session = NULL;
	record_say_attached(rec, &stats);
	if (!ret && !failed && is_over)
		record_pack_rest(rec, &total, asked);
	info.lost_parts =
		stats.counters[UFT_CNT_LOST_PART] < total.lost ? stats.counters[UFT_CNT_LOST_PART] : total.lost;
	total.lost -= info.lost_parts;
	info.lost = total.lost;
	info.events = total.events;
	info.stop = total.stop;
	info.stop_bytes = total.stop_bytes;
	record_say_time(rec, &total);
	if (!rec->opts->is_quiet && (total.bytes < COUNT_BYTES_MAX || rec->opts->tracer == UFT_TRACER_PROFILE))
		record_count(rec->path, &total, &unit, &is_exact, &info);
	record_say_losses(rec, &stats, &info);
	if (!failed && !ret && record_arms(rec))
		cmd_warn_absent(rec->syntax->name, rec->path, &rec->status, lists, sizeof(lists) / sizeof(lists[0]));
	if (!failed && !ret && is_nothing_traced(rec, &stats)) {
		record_say_nothing(rec, &stats);
		failed = rec->targets != 0;	/* uft returns the status of a program that it started in any case */
	} else if (!failed && !ret && is_exact && is_uncalled(rec, &total)) {
		record_say(rec, "warning: nothing was recorded: no traced function was called%s",
			   rec->opts->filter.n ? "" : "; -l '*:mod:*' traces the functions of libraries, too");
	}
	if (ret && !rec->error)
		failed = cmd_fail(rec->syntax->name, "writing %s failed: %s; what is in the file stays readable",
				  rec->path, strerror(-ret));
	if (!failed && format)
		failed = record_export(rec, format);
	total.lost += losses_unrecorded(stats.counters);
	status_summary(&rec->status, &total, unit, is_exact, format && !failed ? rec->opts->output : rec->path);
	return failed && status == 0 ? failed : status;
}

/* Waits for the end of the program after the recording is saved. Returns the exit status. */
static int wait_program(struct recording *rec, int saved)
{
	struct pollfd fd = { .fd = (int)syscall(SYS_pidfd_open, rec->program, 0), .events = POLLIN };
	int status = -1, got;

	interrupts = 0;
	if (!rec->opts->is_quiet)
		record_say(rec, "the %s runs on; uft ends with it", rec->command ? "command" : "program");
	while ((got = waitpid(rec->program, &status, WNOHANG)) == 0 && !detach_signal)
		poll(&fd, 1, POLL_MS);
	if (fd.fd >= 0)
		close(fd.fd);
	if (detach_signal)
		return 128 + detach_signal;
	if (got < 0)
		status = rec->late_status;
	if (got < 0 && status < 0)
		return CMD_FAILED;
	status = exit_status(status);
	return status ? status : saved;
}

static int start_command(struct recording *rec, struct uft_error *err)
{
	rec->program = fork();
	if (rec->program == 0) {
		execvp(rec->command[0], rec->command);
		_exit(errno == ENOENT ? 127 : 126);
	}
	return rec->program < 0 ? uft_fail(err, -errno, "cannot start %s: %s", rec->command[0], strerror(errno)) : 0;
}

/* Returns the exit status after the recording: waits for the program or the command. */
static int last_status(struct recording *rec, int saved)
{
	int status = rec->command && rec->command_status >= 0 ? exit_status(rec->command_status) : 0;

	if (rec->command ? rec->command_status < 0 : rec->is_released && !rec->targets)
		return wait_program(rec, saved);
	return status ? status : saved;
}

/*
 * Attaches to all targets. It is no failure if a process ended meanwhile, unless none is left, or if a process found by
 * name cannot be attached to.
 */
static int attach(struct recording *rec, struct uft_error *err)
{
	size_t n = 0, nsaid = 0;

	/* Processes that are not attached yet may have forked meanwhile. */
	for (size_t i = 0;
	     !detach_signal && (i < rec->targets->n || (i < MAX_FOUND && cmd_targets_renew(rec->targets))); i++) {
		const struct target_pid *t = &rec->targets->item[i];
		char name[32];
		unsigned left_out = t->is_found ? 0 : cmd_targets_left_out(rec->targets, t->pid, name, sizeof(name));
		int ret = uft_session_attach(rec->session, t->pid, err);

		n += !ret;
		if (!ret && left_out && !rec->opts->is_quiet)
			record_say(rec,
				   "process %d has %u child%s of its own name already, not recorded: uft attach %s takes all of them",
				   t->pid, left_out,
			    left_out == 1 ? "" : "ren", name);
		if (ret && ret != -EEXIST && !t->is_found && !(ret == -ESRCH && rec->targets->n > 1))
			return ret;
		if (ret && ret != -EEXIST && !(ret == -ESRCH && (t->is_found || rec->targets->n == 1))) {
			record_say(rec, "warning: %s", err->text);
			nsaid++;
		}
	}
	if (!n && nsaid && !detach_signal)	/* do not print the last one again */
		return uft_fail(err, -ESRCH, "could not attach to any process");
	return n || detach_signal ? uft_session_check(rec->session, err) : -ESRCH;
}

static int start(struct recording *rec, char *const argv[], struct uft_error *err)
{
	int ret;

	if (rec->targets) {
		ret = attach(rec, err);
		return !ret && rec->command ? start_command(rec, err) : ret;
	}
	recorder_hold(rec->recorder);		/* until the listener's released() */
	ret = uft_session_launch(rec->session, argv, &rec->program, err);
	if (!ret)
		recorder_release(rec->recorder);
	return ret;
}

static int record(struct recording *rec, const struct uft_export *format, char *const argv[])
{
	struct uft_error err = { "" };
	int ret = start_session(rec, argv, &err);

	if (ret == 0)
		ret = record_keep_old(rec, &err);
	if (ret == 0)
		ret = start_writer(rec, argv, &err);
	if (ret == 0)
		ret = start(rec, argv, &err);
	if (ret == 0) {
		rec->is_started = 1;
		follow(rec);
		return last_status(rec, finish(rec, format));
	}
	if (rec->recorder) {
		struct uft_writer_stats unused;

		recorder_finish(rec->recorder, &unused, NULL);
		rec->recorder = NULL;
		record_restore_old(rec);
	} else if (rec->kept[0]) {
		record_restore_old(rec);
	}
	if (rec->session)
		uft_session_destroy(rec->session);
	return cmd_fail(rec->syntax->name, "%s", err.text[0] ? err.text : strerror(-ret));
}

/*
 * Finds the running processes that `uft attach` and `uft record -P` name. @argc: counts the operands that name one. -1
 * to go on.
 */
static int find_targets(struct record_opts *o, const struct cmd_syntax *syntax, int argc, char **argv,
			struct cmd_targets *targets)
{
	struct uft_error err = { "" };
	char number[16];
	int ret = 0;

	for (int i = 1; !ret && i < argc; i++)
		ret = cmd_targets_add(targets, TARGET_ANY, argv[i], &err);
	for (size_t i = 0; !ret && i < o->names.n; i++)
		ret = cmd_targets_add(targets, TARGET_NAME, o->names.item[i], &err);
	for (size_t i = 0; !ret && i < o->cgroups.n; i++)
		ret = cmd_targets_add(targets, TARGET_CGROUP, o->cgroups.item[i], &err);
	for (size_t i = 0; (syntax == &cmd_record_syntax || !targets->n) && !ret && i < o->pids.n; i++) {
		snprintf(number, sizeof(number), "%u", o->pids.item[i]);
		ret = cmd_targets_add(targets, TARGET_ANY, number, &err);
	}
	if (ret)
		return ret == -EINVAL ? cmd_usage(syntax, "%s", err.text) : cmd_fail(syntax->name, "%s", err.text);
	if (!targets->n)
		return cmd_usage(syntax, syntax == &cmd_record_syntax ?
				 "no program given: name it last; an option may have taken it as its value" :
				 "no process is named: give a PID, a NAME or a CGROUP");
	if (syntax == &cmd_record_syntax || argc < 2)
		o->pids.n = 0;		/* these pids name processes to attach to, not threads */
	is_attached = 1;
	return -1;
}

/* Does one of the processes write to our terminal, on standard error? */
static int is_on_our_terminal(const struct cmd_targets *targets)
{
	struct stat ours, its;
	char path[64];

	if (fstat(STDERR_FILENO, &ours) || !S_ISCHR(ours.st_mode))
		return 0;
	for (size_t i = 0; i < targets->n; i++)
		for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
			snprintf(path, sizeof(path), "/proc/%d/fd/%d", targets->item[i].pid, fd);
			if (stat(path, &its) == 0 && S_ISCHR(its.st_mode) && its.st_rdev == ours.st_rdev)
				return 1;
		}
	return 0;
}

static enum status_line line_of(const struct recording *rec)
{
	if (rec->opts->wants_status || (rec->targets && !is_on_our_terminal(rec->targets)))
		return STATUS_ALWAYS;
	return rec->targets ? STATUS_NEVER : STATUS_UNSHARED;
}

/* Prints a message on a terminal where no status line can show that uft works. */
static void say_attaching(struct recording *rec)
{
	if (isatty(STDERR_FILENO) && !rec->opts->is_quiet && rec->targets && !rec->status.is_live)
		record_say(rec, "recording %zu process%s, to %s; Ctrl-C ends it", rec->targets->n,
			   rec->targets->n == 1 ? "" : "es", rec->path);
}

static int run(struct record_opts *o, const struct cmd_syntax *syntax, int argc, char **argv,
	       struct cmd_targets *targets)
{
	struct recording rec = { .syntax = syntax, .opts = o, .command_status = -1 };
	const struct uft_export *format;
	char program[PATH_MAX] = "", output[PATH_MAX];
	struct stat st;
	const char *why;
	int done = cmd_parse(syntax, &argc, argv, o);
	char *first[] = { argc > 1 ? argv[1] : NULL, NULL }, *const *operands = first;

	if (done >= 0)
		return done;
	if (syntax == &cmd_attach_syntax)
		operands = argv + 1;
	done = record_opts_check(o, syntax, operands);
	if (done < 0 && (syntax == &cmd_attach_syntax || argc < 2 || o->pids.n || o->names.n || o->cgroups.n)) {
		rec.command = syntax == &cmd_record_syntax && argc > 1 ? argv + 1 : NULL;
		done = find_targets(o, syntax, rec.command ? 1 : argc, argv, targets);
		rec.targets = targets;
	}
	if (done >= 0)
		return done;
	if (!strcmp(o->output, "-"))
		return cmd_usage(syntax, "--output: a recording cannot be written to standard output: name a file, "
				 "then `uft export -o OUT FILE` or `uft report -i FILE` (./- names a file '-')");
	done = rec.targets && !rec.command ? 0 : cmd_need_program(syntax->name, argv[1], program, sizeof(program));
	if (done)
		return done;
	format = wanted_export(o->output);
	why = format ? uft_export_why_not(format, (uint32_t)o->tracer, o->event.n || o->has_switches) : NULL;
	if (why)
		return cmd_usage(syntax,
				 "--output: %s cannot become a file of the format %s: %s (a name that ends in .uft "
				 "keeps the recording)", o->output, format->name, why);
	if ((size_t)snprintf(output, sizeof(output), "%s%s", o->output, format ? ".uft" : "") >= sizeof(output))
		return cmd_fail(syntax->name, "the name of the output is too long");
	done = uft_newfile_resolve(output, rec.path, sizeof(rec.path), &why);
	if (done)
		return cmd_fail(syntax->name, "cannot write %s: %s", output, why ? why : strerror(-done));
	if (stat(rec.path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return cmd_fail(syntax->name, "cannot write %s: it is a %s, and a recording needs a file", output,
				S_ISFIFO(st.st_mode) ? "pipe" : S_ISSOCK(st.st_mode) ? "socket" : "device");
	if (rec.targets)		/* lists without a file's name are for the first */
		snprintf(program, sizeof(program), "/proc/%d/exe", targets->item[0].pid);
	if (!realpath(program, rec.image))
		memcpy(rec.image, program, sizeof(program));
	done = cmd_symbols_use(syntax->name, &o->symbols, rec.image);
	if (done)
		return done;
	status_begin(&rec.status, o->is_quiet, line_of(&rec));
	catch_signals();
	say_attaching(&rec);
	done = record_opts_has_triggers(o) ? record_with_triggers(&rec, format, argv + 1, asked) :
		record(&rec, format, argv + 1);
	if (rec.is_started)
		cmd_symbols_end(syntax->name);
	uft_prefetch_end(rec.ahead);
	return done;
}

static int record_or_attach(const struct cmd_syntax *syntax, int argc, char **argv)
{
	struct record_opts o = { .tracer = -1, .output = CMD_DEFAULT_FILE };
	struct cmd_targets targets = { 0 };
	int status;

	cmd_heap_prepare();
	record_opts_begin();
	status = run(&o, syntax, argc, argv, &targets);
	cmd_targets_free(&targets);
	record_opts_free(&o);
	return status;
}

int cmd_record(int argc, char **argv)
{
	return record_or_attach(&cmd_record_syntax, argc, argv);
}

int cmd_attach(int argc, char **argv)
{
	return record_or_attach(&cmd_attach_syntax, argc, argv);
}
