#!/bin/sh
# SPDX-License-Identifier: MIT
# pid_namespace.sh SOURCE CC... - set_event_pid and options/event-fork name a program in another pid namespace by its outer number
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

# ---- Functions, texts, filters and keys: all by the numbers outside, as a kernel's are by those of its first namespace
cat >calls.c <<'end'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "app.h"

static char byte;

__attribute__((noinline)) void of_main(void) { __asm__ volatile("" ::: "memory"); trace_req(0); }
__attribute__((noinline)) void of_thread(void) { __asm__ volatile("" ::: "memory"); trace_req(1); }

static void *body(void *arg)
{
	while (!*(volatile char *)&byte)
		usleep(1000);
	of_thread();
	return arg;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, NULL) || puts("ready") < 0 || fflush(stdout) || read(0, &byte, 1) != 1)
		return 1;
	pthread_join(thread, NULL);
	of_main();
	return 0;
}
end
cat >app.h <<'end'
#undef TRACE_SYSTEM
#define TRACE_SYSTEM app
#if !defined(APP_H) || defined(TRACE_HEADER_MULTI_READ)
#define APP_H
#include <linux/tracepoint.h>
TRACE_EVENT(req, TP_PROTO(int id), TP_ARGS(id), TP_STRUCT__entry(__field(int, id)), TP_fast_assign(__entry->id = id;), TP_printk("id=%d", __entry->id));
#endif
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE app
#include <trace/define_trace.h>
end
"$@" -O2 -g $include -fpatchable-function-entry=5 -pthread -o calls calls.c 2>compiled || { cat compiled; fail "cannot build calls"; }
cat >>lib <<'end'
# waiting PROGRAM: it has said `ready`; P and Q are its number and that of its other thread here
waiting() { rm -f $TMP/said; unshare --pid --fork $1 <$TMP/gate >$TMP/said & U=$!; exec 9>$TMP/gate; n=0; until grep -q ready $TMP/said || [ $((n += 1)) = 3000 ]; do sleep 0.01; done; P=$(child_of $U); Q=$(ls /proc/$P/task | grep -v "^$P\$"); }
named() { sed "s/\<$P\>/P/g; s/\<$Q\>/Q/g"; }
lines() { grep -v ^# trace | sed 's/^ *\([^ ]*\) .*[0-9]: \([a-z_]*\).*$/\1 \2/' | named | tr '\n' ' '; echo; }
known() { n=0; until [ "$(grep -c "^\($P\|$Q\) calls" saved_cmdlines)" = 2 ] || [ $((n += 1)) = 600 ]; do sleep 0.05; done; }
end
in_shell '. $TMP/lib; echo x | $TMP/calls >/dev/null; echo "of_*" >set_ftrace_filter; echo function >current_tracer
	for list in "" P Q; do waiting $TMP/calls; known; >set_ftrace_pid; eval "echo \$$list" >set_ftrace_pid; echo >trace; go; lines; done; >set_ftrace_pid
	for list in 1 2 P Q; do waiting $TMP/calls; known; eval "echo \${$list-$list}" >set_ftrace_notrace_pid; echo >trace; go; lines; done; >set_ftrace_notrace_pid'
expect_equal "functions" "$(cat out)" "calls-Q of_thread calls-P of_main 
calls-Q of_thread calls-P of_main 
calls-Q of_thread 
calls-Q of_thread calls-P of_main 
calls-Q of_thread calls-P of_main 

calls-P of_main "
in_shell '. $TMP/lib; E=events/app/req; echo x | $TMP/calls >/dev/null; echo 1 >$E/enable; echo >trace
	waiting $TMP/calls; known; echo "hist:keys=common_pid:sort=common_pid" >$E/trigger; echo "hist:keys=id,common_pid.execname if common_pid == $Q" >>$E/trigger; go; lines; grep "^{" $E/hist | named
	>$E/trigger; echo >trace
	for filter in "common_pid == P" "common_pid == Q" "common_pid < 3"; do waiting $TMP/calls; known; echo "$filter" | sed "s/P/$P/; s/Q/$Q/" >$E/filter; echo >trace; go; lines; done'
expect_equal "events" "$(sed 's/  */ /g' out)" "calls-Q req calls-P req 
{ common_pid: P } hitcount: 1
{ common_pid: Q } hitcount: 1
{ id: 1, common_pid: calls [ Q] } hitcount: 1
calls-P req 
calls-Q req "

# ---- One that runs already, outside, is attached to
rm -f said
unshare --pid --fork ./calls <gate >said &
outside=$!
exec 8>gate
until grep -q ready said; do sleep 0.05; done
pid=$(tr -d ' ' <"/proc/$outside/task/$outside/children")
P=$pid Q=$(ls "/proc/$pid/task" | grep -v "^$pid$")
export P Q
in_shell '. $TMP/lib; echo x | $TMP/calls >/dev/null; echo "of_*" >set_ftrace_filter; echo function >current_tracer; echo $P >set_ftrace_pid; echo "hist:keys=common_pid:sort=common_pid" >events/app/req/trigger; known; echo >trace
	echo >$TMP/gate; n=0; until grep -q of_thread trace || [ $((n += 1)) = 600 ]; do sleep 0.05; done; while [ -d /proc/$P/task/$P/fd ] && [ -e /proc/$P/exe ]; do sleep 0.05; done; lines; grep "^{" events/app/req/hist | named'
exec 8>&-
expect_equal "attached" "$(sed 's/  */ /g' out)" "calls-Q of_thread calls-P of_main 
{ common_pid: P } hitcount: 1
{ common_pid: Q } hitcount: 1"
