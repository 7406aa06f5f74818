#!/bin/sh
# SPDX-License-Identifier: MIT
#
# shadow_reuse.sh MACHINE CC N EMULATOR - old contents of a shadow entry do not affect the call that reuses it
#
# A fork child returns from calls that were recorded for its parent, in silence. Calls as deep go by the fast path then, which stores no flags.
. "$(dirname "$0")/../../lib/common.sh"
cc=$2 n=$3 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
cat >freed.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
#define CALL __attribute__((noipa)) static
CALL void leaf(void) { }
CALL void outer(int n)
{
	while (n--)
		leaf();
}
CALL int forks(void) { int pid = fork(); __asm__ volatile("" : "+r"(pid)); return pid; }
CALL int calls(void) { int pid = forks(); __asm__ volatile("" : "+r"(pid)); return pid; }
int main(void)
{
	int status = 0;

	if (!calls())
		outer(100);
	else
		wait(&status);
	return status;
}
END
must_build "$cc" -O2 -fpatchable-function-entry="$n" -falign-functions=8 freed.c -o freed
run timeout 120 "$uft" record -q "--emulator=$emulator" -p function_graph -o rec.uft ./freed
check
[ "$status" -eq 0 ] || fail "status $status: $(cat err)"
"$uft" report rec.uft >report
check
[ "$(grep -c 'leaf();' report)" -eq 100 ] || fail "calls of the child were left open: $(grep leaf report | head -n 4)"
