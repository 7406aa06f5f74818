/* SPDX-License-Identifier: MIT */
/* record_internal.h - a running recording (record.c), and its messages (record_summary.c) */
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
	const struct cmd_syntax *syntax;	/* of record, or attach: the command that messages name */
	const struct record_opts *opts;
	struct uft_session *session;
	struct recorder *recorder;
	struct status status;
	char path[PATH_MAX];		/* of the .uft file that is written */
	char image[PATH_MAX];		/* path of the traced program, as the kernel shows it */
	struct uft_prefetch *ahead;	/* of its file; NULL none */
	char kept[PATH_MAX];		/* new name of the former file; "" none */
	int had_empty;			/* the former file was empty, and stays if nothing is recorded */
	pid_t program;
	int is_started;
	unsigned ndropped;		/* functions, by --budget and --max-rate */
	int is_warned;			/* the check for gprof was made */
	struct cmd_targets *targets;	/* running programs; NULL: we start one */
	char *const *command;		/* with targets: not traced, recording lasts as long as it runs; NULL: none */
	int command_status;		/* -1: it runs */
	int is_detached;		/* ended by a signal to us while the program went on: its number */
	uint64_t end_ns;		/* --duration ends then; 0: never */
	/* when the end of the program was seen while children run on; 0: not yet, 1: the message was printed */
	uint64_t ended_ns;
	int is_limited;			/* the limit of size, room or time was reached: */
	int is_released;		/* the program goes on without us */
	int late_status;		/* its status by the end of the session */
	int is_left;			/* uft detach detached from its last process, which goes on */
	int error;			/* of the writer */
};

/* ---- record.c ---- */
struct uft_export;
/* renames the former recording, which is restored if the program could not be started */
int record_keep_old(struct recording *rec, struct uft_error *err);
void record_restore_old(struct recording *rec);
/* exports rec->path to the output; 0, or the exit status */
int record_export(struct recording *rec, const struct uft_export *format);

/* ---- record_pack.c: packs the rest after the recording, until @is_ended returns 1 ------------------------------ */
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
/* Warns that no function was traced, and why: the processes ended, or another tracer would be needed. */
void record_say_nothing(struct recording *rec, const struct uft_session_stats *s);
void record_say_attached(struct recording *rec, const struct uft_session_stats *s);
void record_say_absent_events(struct recording *rec);	/* warns of events in options that no program declares */
void record_say_time(struct recording *rec, const struct uft_writer_stats *total);
/* Replaces the writer's estimates by counts from the file @path; changes nothing if it cannot be read. */
void record_count(const char *path, struct uft_writer_stats *total, const char **unit, int *is_exact,
		  struct uft_info *out);

#endif
