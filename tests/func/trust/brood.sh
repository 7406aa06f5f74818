#!/bin/sh
# SPDX-License-Identifier: MIT
#
# brood.sh BROOD SHIM - a fork child that cannot become a target is reported with the reason, once, and counted
#
# SHIM (no_pidfd.c) refuses the recorder the child's pidfd, as where it has too many descriptors. The child lives until that was said.
brood=$(realpath "$1") shim=$(realpath "$2")
. "$(dirname "$0")/../../lib/common.sh"
need timeout mkfifo

mkfifo in
LD_PRELOAD=$shim NO_PIDFD_OF=brood timeout -s KILL 200 "$uft" record -o t.uft -p function -l work "$brood" <in >out 2>err &
recorder=$!
ran="record $brood"
exec 9>in
eventually grep -q 'not followed' err || fail "nothing is said of the child"
echo more >&9
exec 9>&-
status=0
wait "$recorder" || status=$?
expect_status 0
check
[ "$(grep -c 'not followed: brood (process [0-9]*): Too many open files' err)" -eq 1 ] || { fail "the child is not named once, with the reason"; show; }
expect_err '1 process could not be followed'
