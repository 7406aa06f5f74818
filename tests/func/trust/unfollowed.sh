#!/bin/sh
# SPDX-License-Identifier: MIT
#
# unfollowed.sh UNFOLLOWED - many children that cause warnings: the session's own warnings are printed all the same
unfollowed=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
need timeout
[ "$(uname -m)" = x86_64 ] || skip "only x86-64 lets a process forbid itself to read the clock"
run timeout -s KILL 100 "$uft" record -o t.uft -p function -l work "$unfollowed" 80
expect_status 159
check
[ "$(grep -c 'not followed: .* it must not read the clock' err)" -eq 80 ] || { fail "not all children are named"; show; }
expect_err 'the program was killed by SIGSYS'
