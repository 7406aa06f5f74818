#!/bin/sh
# SPDX-License-Identifier: MIT
# stack_warning.sh SOURCE CC... - uft warns of stacks in a program that may set a seccomp filter and would read them itself, and in no other
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../../lib/sample.sh"

source=$1
shift
cat >filter.c <<'end'
#include <sys/prctl.h>
__attribute__((constructor)) void keep_rights(void) { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
end
build_sample "$source" "$@" filter.c

warnings() { grep -c "process [0-9]* may use seccomp (prctl): uft reads stacks by process_vm_readv" err; }
for what in "-e sched" "-e sched -p function" "-e sched -p function_graph" "-e sched -p sysprof"; do
	# shellcheck disable=SC2086
	run "$uft" record -q $what -T ./prog
	expect_status 0
	expect_equal "$what: the kernel reads them" "$(warnings)" 0
done
for what in "-p function --func-stack" "-p kmemtrace -T" "-e uft_sample:* -T" "-e sched -e uft_sample:* -T" "-p function -e uft_sample:* -T"; do
	# shellcheck disable=SC2086
	set -f
	run "$uft" record -q $what ./prog
	set +f
	expect_status 0
	expect_equal "$what: the program reads them" "$(warnings)" 1
done

. "$(dirname "$0")/../../lib/shell.sh"
in_shell 'cd /sys/kernel/tracing; echo 1 >options/stacktrace; echo 1 >events/sched/enable; cd -; ./prog'
expect_status 0
expect_equal "an option and task events" "$(warnings)" 0
