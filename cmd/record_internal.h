/* SPDX-License-Identifier: MIT */
/* record_internal.h - a recording that is made (record.c), and what is said of it (record_summary.c) */
#ifndef UFT_CMD_RECORD_INTERNAL_H
#define UFT_CMD_RECORD_INTERNAL_H

#include <limits.h>

#include "cmd/cmd.h"
#include "cmd/recorder.h"
#include "cmd/recordopts.h"
#include "cmd/status.h"
#include "cmd/targets.h"
#include "control/session.h"
#include "stream/stream.h"

#define DROPPED_SAID	5u	/* functions by name; all are in the report */

struct recording {
	const struct cmd_syntax *syntax;	/* of record, or attach: which command speaks */
	const struct record_opts *opts;
	struct uft_session *session;
	struct recorder *recorder;
	struct status status;
	char path[PATH_MAX];		/* of the .uft file that is written */
	char image[PATH_MAX];		/* of the program that is traced, under the name that the kernel has for it */
	struct uft_prefetch *ahead;	/* of its file; NULL none */
	char kept[PATH_MAX];		/* where the file that was there before went; "" none */
	int had_empty;			/* it was empty, and stays when nothing is recorded */
	pid_t program;
	int is_started;
	unsigned ndropped;		/* functions, by --budget and --max-rate */
	int is_warned;			/* of gprof, or there was no need */
	struct cmd_targets *targets;	/* running programs; NULL: we start one */
	char *const *command;		/* with targets: not traced, recording lasts as long as it runs; NULL: none */
	int command_status;		/* -1: it runs */
	int is_detached;		/* ended by a signal to us while the program went on: its number */
	uint64_t end_ns;		/* --duration ends then; 0: never */
	/* when the program was seen to have ended, and others run on; 0: not yet, 1: that was said */
	uint64_t ended_ns;
	int is_limited;			/* the limit of size, room or time was reached: */
	int is_released;		/* the program goes on without us */
	int late_status;		/* what the session's end told of it */
	int is_left;			/* its last process was taken from us by uft detach, and goes on */
	int error;			/* of the writer */
};

/* ---- record.c ---- */
struct uft_export;
/* the recording that was there before; restored when nothing could be started */
int record_keep_old(struct recording *rec, struct uft_error *err);
void record_restore_old(struct recording *rec);
/* what is in rec->path, into the output; 0, or the exit status */
int record_export(struct recording *rec, const struct uft_export *format);

/* ---- record_pack.c: what was not packed while it was recorded; it stays so when @is_ended says so meanwhile ---- */
void record_pack_rest(struct recording *rec, struct uft_writer_stats *total, int (*is_ended)(void));

/* ---- record_events.c ---- */
int record_arms(const struct recording *rec);	/* Are functions of the program traced? */
struct uft_session_events record_listener(struct recording *rec);

/* ---- record_triggers.c: returns the exit status; *is_asked: the signal that ended the recording, 0: none -------- */
int record_with_triggers(struct recording *rec, const struct uft_export *format, char *const argv[],
			 int (*is_asked)(void));

/* ---- record_summary.c: sentences for the terminal, above the line of the status ---- */
void record_say(struct recording *rec, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* After the end: prints what was lost and why; less with --quiet. */
void record_say_losses(struct recording *rec, const struct uft_session_stats *s, const struct uft_info *counted);
/* No function was traced: a warning that says so, and why: the processes ended, or which tracer can trace some. */
void record_say_nothing(struct recording *rec, const struct uft_session_stats *s);
void record_say_attached(struct recording *rec, const struct uft_session_stats *s);
void record_say_absent_events(struct recording *rec);	/* events that were asked for and that no program declares */
void record_say_time(struct recording *rec, const struct uft_writer_stats *total);
/* Reads the file @path in place of the writer's estimates; leaves all as it is where it cannot be read. */
void record_count(const char *path, struct uft_writer_stats *total, const char **unit, int *is_exact,
		  struct uft_info *out);

#endif
