#!/bin/sh
# SPDX-License-Identifier: MIT
# faults.sh READER - readers, targets and sessions that are killed or block each other, and users without rights
reader=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"

[ -c /dev/fuse ] && [ -w /dev/fuse ] || skip "no FUSE on this machine"
need fusermount3 timeout taskset
first_cpus

# until_true COMMAND...: it becomes true within a minute
until_true() {
	for _ in $(seq 600); do
		! "$@" 2>/dev/null || return 0
		sleep 0.1
	done
	fail "not in a minute: $*"
}

cat >prog.c <<'END'
#include <unistd.h>
__attribute__((noinline)) void work(void) { __asm__ volatile(""); }
int main(void) { for (;; usleep(1000)) work(); }
END
build_traced prog
mkdir t u
"$uft" mount "$tmp/t" >/dev/null || exit 1
"$uft" mount "$tmp/u" >/dev/null || exit 1
one='' two=''
end() {
	ended=$?
	kill $one $two 2>/dev/null
	"$uft" umount "$tmp/t"
	"$uft" umount "$tmp/u"
	(exit $ended)
	finish_test
}
trap end EXIT

# ---- A reader that waits is killed: at once, the next can open it, and what comes then is not the first one's
has_open() { readlink "/proc/$1/fd/3" | grep -q trace_pipe; }
for _ in $(seq 20); do
	cat t/trace_pipe >/dev/null &
	until_true has_open $!
	kill -KILL $!
	wait $!
	[ $? -eq 137 ] || fail "a reader ended otherwise"
done
echo after >t/trace_marker
expect_equal "the next reader" "$(timeout 60 head -n 1 t/trace_pipe 2>/dev/null | sed 's/.*: //')" after

# ---- A reader by splice is killed in the middle of it; the next has whole pages, each once and in order
echo 0 >t/buffer_percent
for _ in 1 2 3; do
	"$reader" on t/per_cpu/cpu$CPU/trace_pipe_raw >taken &
	pid=$!
	seq -f 'lost%05.0f' 3000 | taskset -c $CPU dd of=t/trace_marker bs=10 iflag=fullblock 2>/dev/null
	until_true test -s taken
	seq -f 'lost%05.0f' 3000 | taskset -c $CPU dd of=t/trace_marker bs=10 iflag=fullblock 2>/dev/null &
	kill -KILL $pid
	wait
done
echo >t/trace
seq -f 'kept%05.0f' 3000 >expected
taskset -c $CPU dd of=t/trace_marker bs=10 iflag=fullblock <expected 2>/dev/null
"$reader" whole t/per_cpu/cpu$CPU/trace_pipe_raw 2>/dev/null | grep -ao 'kept[0-9]*' >seen
check
cmp -s seen expected || { fail "after readers that were killed"; diff seen expected | head; }

# ---- A target that another session has is refused, and nothing changes; that it is killed leaves what it wrote, and another can be traced
./prog & one=$!
./prog & two=$!
has_started() { [ "$(cat "/proc/$1/comm")" = prog ]; }
for pid in $one $two; do until_true has_started "$pid"; done
traced() { grep -q "prog-$2 .*: work <-main" "$1/trace"; }
echo $two >u/set_ftrace_pid
echo $one >t/set_ftrace_pid
for dir in t u; do
	echo work >$dir/set_ftrace_filter
	echo function >$dir/current_tracer
done
until_true traced t $one
until_true traced u $two
for f in set_ftrace_pid set_ftrace_filter current_tracer tracing_on; do cat u/$f; done >before
run bash -c "echo $one >>u/set_ftrace_pid"
expect_status 1
expect_err "Device or resource busy"
for f in set_ftrace_pid set_ftrace_filter current_tracer tracing_on; do cat u/$f; done >after
expect_equal "after what was refused" "$(cat after)" "$(cat before)"
kill -KILL $one
wait $one 2>/dev/null
check
traced t $one || fail "what a target wrote is gone with it"
echo >u/set_ftrace_pid
kill -0 $two || fail "who was left does not live"
echo $two >t/set_ftrace_pid
until_true traced t $two

# ---- Another user sees nothing of it
if [ "$(id -u)" -eq 0 ] && has "another user" setpriv; then
	chmod 711 "$tmp"
	for command in 'cat t/trace' 'ls t' 'echo 0 >t/tracing_on'; do
		run setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "$command"
		check
		[ "$status" -ne 0 ] && grep -q "Permission denied" err || { fail "another user may: $command"; show; }
	done
fi
expect_equal "still on" "$(cat t/tracing_on)" 1
