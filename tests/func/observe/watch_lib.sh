# SPDX-License-Identifier: MIT
# watch_lib.sh - sourced by the tests of mmiotrace: $T is the program; skips where memory cannot be watched
. "$(dirname "$0")/../../lib/common.sh"
T=$1
"$T" probe || skip "this machine does not tell of accesses (debug registers)"
[ "$(uname -m)" = x86_64 ] || skip "which memory an instruction touches is read on x86-64 only"
[ "$(printf '5.13\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 5.13 ] || skip "Linux $(uname -r) is older than 5.13"
# The machine tells of accesses, so a refusal is a failure unless uft names what this user may not have or another program has.
if ! "$uft" record -q -p mmiotrace --watch 0x1000,8 -o may.uft true 2>may; then
	! grep -qE 'perf_event_paranoid|may lock no more memory|no debug register' may || skip "$(cat may)"
	check
	fail "--watch is refused"
	cat may
	exit
fi
