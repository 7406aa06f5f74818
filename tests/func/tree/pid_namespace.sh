#!/bin/sh
# SPDX-License-Identifier: MIT
# pid_namespace.sh SOURCE CC... - set_event_pid and options/event-fork name a program in another pid namespace by its number outside of it
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "the tracing directory knows programs of x86_64 only"
unshare --pid --fork true 2>err || skip "no right to make a pid namespace: $(cat err)"
source=$1
shift
export TMP="$tmp"
include="-I$source/include -I$source/include/uft/kernel -I$source/tests/func/observe/tracepoints -I$tmp"
"$@" -O2 $include -o prog "$source/tests/func/observe/tracepoints/program.c" 2>compiled || { cat compiled; fail "cannot build prog"; }
mkfifo gate

cat >lib <<'end'
cd /sys/kernel/tracing
S=events/uft_sample
$TMP/prog 1 >/dev/null
echo 1 >$S/sample_one/enable; echo >trace
bodies() { sed -n 's/^.*: \([a-z_0-9]*: .*\)$/\1/p' ${1:-.}/trace | tr '\n' ' '; echo; }
child_of() { cat /proc/$1/task/$1/children 2>/dev/null | tr -d " "; }
# begin PROGRAM N: as pid 1 of a namespace, where it waits. P is its number here
begin() { unshare --pid --fork sh -c "read go; exec $*" <$TMP/gate >/dev/null & U=$!; exec 9>$TMP/gate; n=0; until P=$(child_of $U); [ "$P" ]; do sleep 0.01; done; }
go() { echo >&9; exec 9>&-; wait $U; }
end

# ---- Its number there is another one's here, or nobody's
in_shell '. $TMP/lib; begin $TMP/prog 2; echo $P >set_event_pid; go; bodies
	>set_event_pid; echo >trace; begin $TMP/prog 2; echo 1 >set_event_notrace_pid; go; bodies
	>set_event_pid; echo >trace; begin $TMP/prog 2; echo $P >set_event_notrace_pid; go; $TMP/prog 1 >/dev/null; bodies'
expect_equal "set_event_pid, set_event_notrace_pid" "$(cat out)" "sample_one: a=0 sample_one: a=1 
sample_one: a=0 sample_one: a=1 
sample_one: a=0 "

# ---- Triggers and histograms have the same events; an instance has others
in_shell '. $TMP/lib; mkdir instances/a; echo 1 >instances/a/$S/sample_one/enable; echo "hist:keys=a" >$S/sample_one/trigger; begin $TMP/prog 2; echo $P >set_event_pid; echo $P >instances/a/set_event_notrace_pid
	go; $TMP/prog 1 >/dev/null; grep -o "Hits: .*" $S/sample_one/hist; bodies; bodies instances/a; echo "!hist:keys=a" >$S/sample_one/trigger; rmdir instances/a'
expect_equal "triggers, instances" "$(cat out)" "Hits: 2
sample_one: a=0 sample_one: a=1 
sample_one: a=0 "

# ---- Children that come to be in another namespace join, and theirs
"$uft" record -q -e sched -o may.uft true 2>may || skip "options/event-fork: $(cat may)"
in_shell '. $TMP/lib; echo 1 >options/event-fork
	sh -c "echo \$\$ >set_event_pid; unshare --pid --fork $TMP/prog 1; unshare --pid --fork sh -c \"$TMP/prog 2; $TMP/prog 3; true\"; true" >/dev/null; $TMP/prog 7 >/dev/null; bodies
	echo >trace; sh -c "echo \$\$ >set_event_notrace_pid; echo >set_event_pid; unshare --pid --fork $TMP/prog 3; true" >/dev/null; $TMP/prog 1 >/dev/null; bodies'
expect_equal "event-fork" "$(cat out)" "sample_one: a=0 sample_one: a=0 sample_one: a=1 sample_one: a=0 sample_one: a=1 sample_one: a=2 
sample_one: a=0 "
