#!/bin/sh
# SPDX-License-Identifier: MIT
# thread_ids.sh SOURCE CC... - a thread in set_event_pid and set_ftrace_pid means this thread alone; its process is attached while a thread is listed;
# also in another pid namespace
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "the tracing directory knows programs of x86_64 only"
source=$1
shift
export TMP="$tmp"
cat >program.c <<'end'
/* Two threads: at each line of standard input the second one calls the tracepoint and work() twice, the first once. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "sample.h"
static sem_t begin, end;
__attribute__((noinline)) void work(int by)
{
	trace_sample_one(by);
}
static void *second(void *unused)
{
	for (;;) {
		sem_wait(&begin);
		work(2);
		work(2);
		sem_post(&end);
	}
	return unused;
}
int main(void)
{
	pthread_t thread;
	char line[8];
	sem_init(&begin, 0, 0);
	sem_init(&end, 0, 0);
	pthread_create(&thread, NULL, second, NULL);
	while (fgets(line, sizeof(line), stdin)) {
		sem_post(&begin);
		sem_wait(&end);
		work(1);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
end
"$@" -O2 -fpatchable-function-entry=5 -I"$source/include" -I"$source/include/uft/kernel" -I"$source/tests/func/observe/tracepoints" -o program program.c -lpthread 2>compiled || { cat compiled; fail "cannot build program"; }

cat >lib <<'end'
cd /sys/kernel/tracing
bodies() { sed -n 's/^.*: \([a-z_0-9]*: .*\)$/\1/p' trace | tr '\n' ' '; echo; }
turn() { echo >trace; echo >&$1; read said <&$2; }
second_of() { T=; until T=$(ls /proc/$1/task 2>/dev/null | grep -v "^$1$") && [ "$T" ]; do sleep 0.01; done; }
end
mkfifo in out1

# ---- Started before, and outside: it is attached to for one of its threads, and for the other when that goes
"$tmp/program" <in >out1 &
P=$!
exec 3>in 4<out1
export P
in_shell '. $TMP/lib; second_of $P; echo $T >set_event_pid; echo $?; echo 1 >events/uft_sample/sample_one/enable; turn 3 4; bodies
	echo $P >>set_event_pid; turn 3 4; bodies; echo $P >set_event_pid; turn 3 4; bodies; echo $T >set_event_notrace_pid; turn 3 4; bodies
	>set_event_notrace_pid; echo $T >set_event_pid; turn 3 4; bodies; >set_event_pid; echo 0 >events/enable
	echo $T >set_ftrace_pid; echo work >set_ftrace_filter; echo function >current_tracer; turn 3 4; grep -c work trace; >set_ftrace_pid; turn 3 4; grep -c work trace'
expect_no_err
expect_equal "a thread" "$(cat out)" "0
sample_one: a=2 sample_one: a=2 
sample_one: a=2 sample_one: a=2 sample_one: a=1 
sample_one: a=2 sample_one: a=2 sample_one: a=1 
sample_one: a=1 
sample_one: a=2 sample_one: a=2 
2
0"
exec 3>&- 4<&-
wait $P

# ---- In another pid namespace
unshare --pid --fork true 2>err || skip "no right to make a pid namespace: $(cat err)"
in_shell '. $TMP/lib; unshare --pid --fork $TMP/program <$TMP/in >$TMP/out1 & U=$!; exec 3>$TMP/in 4<$TMP/out1
	P=; until P=$(cat /proc/$U/task/$U/children | tr -d " ") && [ "$P" ]; do sleep 0.01; done; second_of $P; echo $P $T >set_event_pid
	until grep -q sample_one available_events; do sleep 0.1; done; echo 1 >events/uft_sample/sample_one/enable; turn 3 4; bodies
	n=0; echo $T >set_event_pid; until turn 3 4; [ "$(bodies)" = "sample_one: a=2 sample_one: a=2 " ] || [ $n = 300 ]; do n=$((n + 1)); sleep 0.1; done; bodies; exec 3>&-'
expect_equal "a thread elsewhere" "$(cat out)" "sample_one: a=2 sample_one: a=2 sample_one: a=1 
sample_one: a=2 sample_one: a=2 "
