/* SPDX-License-Identifier: MIT */
/*
 * doctor.c - uft doctor: check what would work on this machine, and why other things would not
 *
 * One line a check: LEVEL SUBJECT: sentence (remedy); or a row of a table in JSON or CSV. The checks and their
 * meaning are in control/doctor.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "control/doctor/doctor.h"
#include "output/report/table.h"
#include "symbol/clean.h"

struct doctor_opts {
	int is_quiet, is_json, is_csv;
};

static const struct cmd_option doctor_options[] = {
	{ "quiet", 'q', NULL, "print only warnings and failures", cmd_flag, offsetof(struct doctor_opts, is_quiet),
		NULL },
	{ "json", 0, NULL, "print JSON", cmd_flag, offsetof(struct doctor_opts, is_json), NULL },
	{ "csv", 0, NULL, "print CSV", cmd_flag, offsetof(struct doctor_opts, is_csv), NULL },
	{ 0 }
};

static const struct cmd_syntax doctor_syntax = {
	.name = "doctor", .operands = "[OPTIONS] [PROG|PID]",
	.doc = "Check what can be traced on this machine, in a program or in a process, and say why the rest cannot.",
	.options = doctor_options, .is_wrapper = 1,
};

/* A number is a process unless a file has that name, as in `uft sites`. */
static pid_t pid_of(const char *operand)
{
	size_t digits = strspn(operand, "0123456789");

	return digits && digits < 10 && !operand[digits] && access(operand, F_OK) < 0 ? (pid_t)atoi(operand) : 0;
}

static const char *const levels[] = { "ok", "warn", "fail" };
static const struct table_column columns[] = {
	{ NULL, "level", TABLE_NAME, 0 }, { NULL, "subject", TABLE_NAME, 0 },
	{ NULL, "text", TABLE_NAME, 0 }, { NULL, "remedy", TABLE_NAME, 0 },
};

static void print_finding(struct table *t, const char *subject, struct doctor_finding *found)
{
	if (t->form != UFT_FORM_TEXT) {
		struct table_cell remedy = CELL_NAME(found->remedy);

		remedy.is_known = found->remedy[0] != '\0';
		table_row(t, (struct table_cell[]){ CELL_NAME(levels[found->level]), CELL_NAME(subject),
						    CELL_NAME(found->text), remedy }, 0);
		return;
	}
	uft_clean(found->text, strlen(found->text), 0);
	uft_clean(found->remedy, strlen(found->remedy), 0);
	fprintf(t->out, "%-4s  %s: %s", levels[found->level], subject, found->text);
	if (found->remedy[0])
		fprintf(t->out, " (%s)", found->remedy);
	fputc('\n', t->out);
}

/* Returns 1 if something fails. */
static int print_checks(struct table *t, const struct doctor_facts *f, unsigned scope, int is_quiet)
{
	int failed = 0;

	for (const struct doctor_check *c = doctor_checks; c->subject; c++) {
		struct doctor_finding found = { .level = DOCTOR_OK };

		if (!(c->scope & scope) || !c->judge(f, &found))
			continue;
		failed |= found.level == DOCTOR_FAIL;
		if (!is_quiet || found.level != DOCTOR_OK)
			print_finding(t, c->subject, &found);
	}
	return failed;
}

int cmd_doctor(int argc, char **argv)
{
	struct table table = { .out = stdout, .column = columns, .ncolumns = sizeof(columns) / sizeof(columns[0]) };
	struct doctor_opts opts = { 0 };
	struct doctor_facts *f;
	unsigned scope = DOCTOR_MACHINE;
	int done = cmd_parse(&doctor_syntax, &argc, argv, &opts), failed;
	pid_t pid;

	if (done >= 0)
		return done;
	if (argc > 2)
		return cmd_usage(&doctor_syntax, "one program or process at a time");
	if (opts.is_json && opts.is_csv)
		return cmd_usage(&doctor_syntax, "--json and --csv exclude each other");
	f = calloc(1, sizeof(*f));
	if (!f)
		return cmd_fail("doctor", "no memory");
	doctor_look_at_machine(f);
	if (argc == 2) {
		pid = pid_of(argv[1]);
		scope = pid ? DOCTOR_PROCESS : DOCTOR_PROGRAM;
		if (pid)
			doctor_look_at_process(f, pid);
		else
			doctor_look_at_program(f, argv[1]);
	}
	table.form = opts.is_json ? UFT_FORM_JSON : opts.is_csv ? UFT_FORM_CSV : UFT_FORM_TEXT;
	if (table.form != UFT_FORM_TEXT && !f->is_gone)
		table_begin(&table, "doctor");
	failed = print_checks(&table, f, f->is_gone ? 0 : scope, opts.is_quiet);
	if (table.form != UFT_FORM_TEXT && !f->is_gone && table_end(&table))
		failed = cmd_fail("doctor", "cannot write to standard output");
	if (f->is_gone)
		failed = cmd_fail("doctor", "no file and no process %d", f->pid);
	free(f);
	return failed ? CMD_FAILED : 0;
}
