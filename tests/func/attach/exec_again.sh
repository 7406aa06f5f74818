#!/bin/sh
# SPDX-License-Identifier: MIT
#
# exec_again.sh AGAIN - attach to a process that executes another program during planning and arming: uft follows it, or reports that it keeps
# executing; a problem of the earlier program is no answer
again=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"

"$again" & pid=$!
followed=0 kept_on=0
while [ $((followed + kept_on)) -lt 20 ] && [ "$checks_failed" -eq 0 ]; do
	run "$uft" attach -q -p function -l beat --duration 50ms -o rec.uft "$pid"
	check
	if [ "$status" -eq 0 ]; then
		followed=$((followed + 1))
		grep -q 'calls: [1-9]' stat 2>/dev/null || "$uft" stat rec.uft >stat
	elif grep -q 'keeps executing other programs' err; then
		kept_on=$((kept_on + 1))
	else
		fail "attach $((followed + kept_on + 1))"
		show
	fi
done
echo "$followed attaches, $kept_on that met no program for long enough"
touch stop
wait "$pid"
status=$?
expect_status 7
check
[ "$followed" -eq 0 ] || grep -q 'calls: [1-9]' stat || { fail "no call of any program was recorded"; cat stat; }
