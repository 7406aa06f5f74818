/* SPDX-License-Identifier: MIT */
/* detach.c - uft detach: detach from a traced process and restore its code */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "control/session.h"

static const struct cmd_option detach_options[] = { { 0 } };

static const struct cmd_syntax detach_syntax = {
	"detach", "PID|NAME...",
	"Stop tracing processes: restore their code, stacks and memory. A recording continues with its other "
	"processes, or is saved.",
	detach_options, 0
};

int cmd_detach(int argc, char **argv)
{
	int unused, status = cmd_parse(&detach_syntax, &argc, argv, &unused);

	if (status >= 0)
		return status;
	if (argc < 2)
		return cmd_usage(&detach_syntax, "no process is named: give its PID");
	status = 0;
	for (int i = 1; i < argc; i++) {
		struct uft_error err = { "" };

		if (uft_detach(argv[i], &err) < 0)
			status = cmd_fail("detach", "%s", err.text);
	}
	return status;
}
