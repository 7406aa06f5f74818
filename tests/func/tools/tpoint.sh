#!/bin/sh
# SPDX-License-Identifier: MIT
# tpoint.sh SOURCE CC... - tpoint of perf-tools, inside uft shell: events of a later program, listed, live, filtered, with stacks
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
. "$top/tests/lib/sample.sh"
need tpoint-perf
[ "$(id -u)" -eq 0 ] || skip "perf-tools want to be root"
[ -e /var/tmp/.ftrace-lock ] && skip "perf-tools' lock is held: $(cat /var/tmp/.ftrace-lock)"
build_sample "$@"
export TMP="$tmp"

# traced N LINES OPTION...: tpoint with these until PROG N has run and it has printed as many lines of the event: its cat is what it waits for
cat >lib <<'end'
cd /sys/kernel/tracing; E=events/uft_sample/sample_one
$TMP/prog 1 >/dev/null
soon() { for soon in $(seq 600); do eval "$1" && return; sleep 0.1; done; }
traced() {
	n=$1 lines=$2; shift 2
	tpoint-perf "$@" >$TMP/said 2>&1 & P=$!
	soon "[ \$(cat $E/enable) = 1 ]"; $TMP/prog $n >/dev/null; soon "[ \$(grep -c \"sample_one: a=\" $TMP/said) -ge $lines ]"
	kill $(cat /proc/$P/task/$P/children); wait $P; sed -n "s/^.*: \(sample_one: .*\)$/\1/p; s/^ => main$/main/p" $TMP/said | tr "\n" " "; echo "left $(cat events/enable $E/filter options/stacktrace | tr "\n" " ")"
}
end
in_shell '. $TMP/lib; tpoint-perf -l | grep -c "^uft_sample:"; tpoint-perf -v uft_sample:sample_one | sed -n "s/.*field:\(int a;\).*/\1/p; /^print/p"
	traced 2 2 uft_sample:sample_one; traced 4 2 uft_sample:sample_one "a > 1"; traced 2 2 -s uft_sample:sample_one'
expect_equal "tpoint" "$(cat out)" '5
int a;
print fmt: "a=%d", REC->a
sample_one: a=0 sample_one: a=1 left 0 none 0 
sample_one: a=2 sample_one: a=3 left 0 none 0 
sample_one: a=0 main sample_one: a=1 main left 0 none 0 '
