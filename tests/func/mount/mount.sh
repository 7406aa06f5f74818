#!/bin/sh
# SPDX-License-Identifier: MIT
# mount.sh SLOWREPLY - uft mount serves the tree, reports errors, and never leaves a mount that hangs
slowreply=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"

[ -c /dev/fuse ] && [ -w /dev/fuse ] || skip "no FUSE on this machine"
need fusermount3

# server DIR: the process that serves it
server() {
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/cmdline" 2>/dev/null | tr '\0' ' ')" = "$uft mount $1 " ] || continue
		[ "$(cat "$p/comm" 2>/dev/null)" = uft-guard ] || echo "${p#/proc/}"
	done
}

# gone PID: it ends
gone() {
	eventually sh -c '! kill -0 $0' "$1"
}

# Where it mounts if nobody says is nobody else's choice.
mkdir real run
ln -s "$tmp/real" run/uft
XDG_RUNTIME_DIR="$tmp/run" run "$uft" mount
expect_status 1
expect_err "$tmp/run/uft is not a directory that only user"

mkdir t
run "$uft" mount "$tmp/t"
expect_status 0
expect_equal "it prints where" "$(cat out)" "$tmp/t"
pid=$(server "$tmp/t")
check
[ -n "$pid" ] || fail "no process serves $tmp/t"

# Without requests, soon none of its threads wakes any more.
wakes() { cat "/proc/$pid/task/"*/status | awk '/^voluntary/ { n += $2 } END { print n }'; }
echo 1 >t/trace_marker
woken=1
for _ in 1 2 3 4 5 6 7 8 9 10; do
	before=$(wakes)
	sleep 1
	woken=$(($(wakes) - before))
	[ "$woken" -ne 0 ] || break
done
expect_equal "wakes of an idle server in a second" "$woken" 0

expect_equal "type of the mount" "$(awk -v d="$tmp/t" '$2 == d { print $3 }' /proc/mounts)" fuse.tracefs
expect_equal "mode of a file" "$(stat -c '%a %s %F' t/current_tracer)" "640 0 regular empty file"
expect_equal "mode of a read-only file" "$(stat -c %a t/available_tracers)" 440
expect_equal "mode of the directory" "$(stat -c '%a %F' t)" "700 directory"
expect_equal "what a file says" "$(cat t/current_tracer)" nop
run sh -c 'echo function >t/current_tracer'
expect_status 0
expect_equal "after a write" "$(cat t/current_tracer)" function
run bash -c 'echo bogus >t/current_tracer'
expect_err "Invalid argument"
expect_equal "after a refused write" "$(cat t/current_tracer)" function
run bash -c 'echo 1 >t/available_tracers'
expect_status 1
[ "$(id -u)" -ne 0 ] || expect_err "Invalid argument"
run touch t/new
expect_err "Permission denied"
run mkdir t/new
expect_err "Operation not permitted"
run rm -f t/current_tracer
expect_err "Operation not permitted"
run cat t/none
expect_err "No such file or directory"
run "$uft" mount t
expect_status 1
expect_err "mounted already"

# A hundred at once, readers and writers.
run bash -c 'for i in $(seq 50); do cat t/trace >/dev/null & echo m$i >t/trace_marker & done; wait; grep -c "tracing_mark_write: m" t/trace'
expect_equal "markers of fifty writers" "$(cat out)" 50
expect_no_err

# Reading and closing in a hurry: no answer's thread is left with a file that is closed. (meson poisons freed memory.)
run bash -c 'for k in 1 2 3 4 5 6; do for i in $(seq 400); do cat t/current_tracer t/tracing_on; done | sort | uniq -c & done; wait'
expect_equal "reads in a hurry" "$(sort -u out | tr -s ' ' | tr '\n' '/')" " 400 1/ 400 function/"
check
kill -0 "$pid" || fail "the server died of them"

# A request wakes one of the threads that serve, not all six: nobody goes to sleep more often than he was woken. Of a stat come three
# requests. On a busy machine who was woken is served a while later, and woken once for several: so the most of ten rounds.
slept() { cat "/proc/$pid"/task/*/status | awk '$1 == "voluntary_ctxt_switches:" { n += $2 } END { print n }'; }
most=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
	n=$(slept)
	stat -c %u $(yes t/current_tracer | head -n 200) >owners
	n=$(($(slept) - n))
	[ "$n" -le "$most" ] || most=$n
done
expect_equal "answers" "$(wc -l <owners)" 200
check
[ "$most" -ge 1 ] && [ "$most" -le 1200 ] || fail "200 times stat, and the threads of the server slept $most times"

# A file that is open does not keep it mounted; the server ends.
exec 9<t/current_tracer
run "$uft" umount "$tmp/t"
expect_status 0
check
gone "$pid" || fail "the server lives on after the unmount"
exec 9<&-
run "$uft" umount "$tmp/t"
expect_status 1
expect_err "nothing is mounted there"

# A server that is killed: errors, no waiting; umount cleans up.
run "$uft" mount "$tmp/t"
pid=$(server "$tmp/t")
kill -9 "$pid"
gone "$pid"
run timeout 10 cat t/current_tracer
expect_err "Transport endpoint is not connected"
run "$uft" mount "$tmp/t"
expect_status 1
expect_err "uft umount"
run "$uft" umount "$tmp/t"
expect_status 0

# The thread that has answered a reader serves the next one, which reads the same file while the first is still at it.
run env OVERLAP="$tmp/overlap" LD_PRELOAD="$slowreply" "$uft" mount "$tmp/t"
expect_status 0
expect_equal "bytes one by one" "$(dd if=t/README bs=1 count=40 2>/dev/null | wc -c)" 40
expect_equal "two at once" "$(ls overlap 2>&1)" overlap
run "$uft" umount "$tmp/t"

# A process that has closed a file is served by another thread than the close; it finds all as after the close, whatever other processes ask for meanwhile.
run env SLOW_CLOSE="$tmp/slow" LD_PRELOAD="$slowreply" "$uft" mount "$tmp/t"
expect_status 0
: >busy
while [ -e busy ]; do stat -c "it has mode %a" t/README; done >asked 2>&1 &
busy=$!
run bash -c 'cd t; for i in 1 2 3; do mkdir instances/foo; cat instances/foo/trace >/dev/null; rmdir instances/foo; echo $?
	cat trace_pipe >/dev/null & for try in $(seq 600); do ls -l /proc/$!/fd 2>/dev/null | grep -q trace_pipe && break; sleep 0.05; done; kill $!; wait $!; echo nop >current_tracer; echo $?
	echo :mod:none.so >set_ftrace_filter; printf "!:mod:none.so" >>set_ftrace_filter; cat set_ftrace_filter; done'
rm busy
wait "$busy"
expect_equal "after a close" "$(tr '\n' '/' <out)" "0/0/#### all functions enabled ####/0/0/#### all functions enabled ####/0/0/#### all functions enabled ####/"
expect_file slow
check
grep -q "^it has mode" asked || fail "nobody asked meanwhile"
run "$uft" umount "$tmp/t"

# A server that ends leaves alone what was mounted there meanwhile. A file that is open keeps its connection.
run env SLOW_END="$tmp/ending" LD_PRELOAD="$slowreply" "$uft" mount "$tmp/t"
expect_status 0
pid=$(server "$tmp/t")
exec 9<t/README
run "$uft" umount "$tmp/t"
run "$uft" mount "$tmp/t"
expect_status 0
exec 9<&-
check
gone "$pid" || fail "the server lives on after the unmount"
expect_equal "what was mounted meanwhile" "$(cat t/current_tracer)" nop
run "$uft" umount "$tmp/t"
expect_status 0

# Ended by a signal it unmounts.
run "$uft" mount "$tmp/t"
pid=$(server "$tmp/t")
kill "$pid"
check
gone "$pid" || fail "SIGTERM does not end the server"
expect_equal "mounts left" "$(grep -c "$tmp/t" /proc/mounts)" 0

run "$uft" mount "$tmp/none"
expect_status 1
expect_err "cannot mount at $tmp/none: No such file or directory"
: >file
run "$uft" mount file
expect_status 1
expect_err "not a directory"
run env XDG_RUNTIME_DIR="$tmp" "$uft" mount
expect_status 0
expect_out "$tmp/uft/tracing"
run env XDG_RUNTIME_DIR="$tmp" "$uft" umount
expect_status 0

# A user who may not open the device, in one line; only root can be another user, and hide the device from him.
if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
	echo "SKIPPED: a device that may not be opened: only root can arrange that"
elif has "a device that may not be opened" setpriv; then
	chmod 755 "$tmp"
	cp "$uft" copy && chmod 755 copy
	mkdir own own/dir
	: >device
	chmod 600 device
	chown -R 65534 own
	run unshare -m sh -c 'mount --bind device /dev/fuse && exec setpriv --reuid=65534 --regid=65534 --clear-groups env XDG_RUNTIME_DIR="$PWD/own" ./copy mount own/dir'
	expect_status 1
	expect_err "uft mount: /dev/fuse may not be opened: Permission denied (chmod 666 /dev/fuse, as distributions have it); uft shell --no-mount"
	expect_err_lines 1
fi
