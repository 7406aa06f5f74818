#!/bin/sh
# SPDX-License-Identifier: MIT
# buffer.sh PROGRAM - snapshot, free_buffer, buffer_percent, buffer_subbuf_size_kb and the positions of events, as in a 6.12 kernel
. "$(dirname "$0")/inside.sh"

export T="$1"
M=$(basename "$T")
export M TMP="$tmp"
one="main work helper leaf helper leaf "

# The texts of an empty snapshot are the kernel's, byte by byte.
inside 'cat $D/snapshot; cat $D/per_cpu/cpu0/snapshot | tail -n 9'
expect_equal "an empty snapshot" "$(cat out)" "# tracer: nop
#
#
# * Snapshot is freed *
#
# Snapshot commands:
# echo 0 > snapshot : Clears and frees snapshot buffer
# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.
#                      Takes a snapshot of the main buffer.
# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)
#                      (Doesn't have to be '2' works with any number that
#                       is not a '0' or '1')
# * Snapshot is freed *
#
# Snapshot commands:
# echo 0 > snapshot : Invalid for per_cpu snapshot file.
# echo 1 > snapshot : Not supported with this kernel.
#                     Must use main snapshot file to allocate.
# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)
#                      (Doesn't have to be '2' works with any number that
#                       is not a '0' or '1')"

# It is read as often as one likes, by cpu too, and the next takes its place; 2 and 0; what is refused changes nothing.
inside 'cd $D; echo :mod:$M >set_ftrace_filter; echo function >current_tracer; $T 1; echo 1 >snapshot; $T 2; cat snapshot >$OLDPWD/a; cat snapshot >$OLDPWD/b
	cat per_cpu/cpu*/snapshot | grep -c " <-"; cat trace >$OLDPWD/live
	for v in abc -1 ""; do echo "$v" >snapshot; echo $?; done; echo 1 >per_cpu/cpu0/snapshot; echo $?; echo 0 >per_cpu/cpu0/snapshot; echo $?
	: >snapshot; grep -c " <-" snapshot; for c in per_cpu/cpu*; do echo 2 >$c/snapshot; done; grep Snapshot.is snapshot
	echo 1 >snapshot; grep -c " <-" snapshot; echo 5 >snapshot; grep Snapshot.is snapshot; echo 0 >snapshot; grep Snapshot.is snapshot; echo 2 >snapshot; grep Snapshot.is snapshot'
expect_equal "taken" "$(names a)" "$one"
expect_equal "what goes on" "$(names live)" "${one}work helper leaf helper leaf "
check
cmp -s a b || fail "a snapshot read twice gives two texts"
expect_equal "the rest" "$(tr '\n' '/' <out)" \
	"6/1/1/1/1/1/6/# * Snapshot is allocated */11/# * Snapshot is allocated */# * Snapshot is freed */# * Snapshot is freed */"

# No event is lost between a snapshot and what comes after it.
inside 'cd $D; echo work:mod:$M >set_ftrace_filter; echo function >current_tracer; $T 3000 100 & n=0
	for i in 1 2 3 4 5; do sleep 0.05; echo 1 >snapshot; n=$((n + $(grep -c " <-main" snapshot))); done; wait; echo $((n + $(grep -c " <-main" trace)))'
expect_equal "events in five snapshots and the rest" "$(cat out)" 3000

inside 'cd $D; for v in 101 -1 x; do echo $v >buffer_percent; echo $?; done; echo 100 >buffer_percent; cat buffer_percent
	for v in 0 1024 x; do echo $v >buffer_subbuf_size_kb; echo $?; done; echo 4 >buffer_subbuf_size_kb; cat buffer_subbuf_size_kb
	echo >free_buffer; sleep 0.1; cat buffer_size_kb tracing_on; cat free_buffer; echo $?
	cat set_event events/enable; for v in foo foo:bar "!foo"; do echo $v >set_event; echo $?; done; echo >set_event; echo $?
	echo 3 >events/enable; echo $?; echo 0 >events/enable; echo $?'
expect_equal "values" "$(tr '\n' ' ' <out)" "1 1 1 100 1 1 1 4 8 1 1 0 1 1 1 0 1 0 "

# Pages of other sizes: what trace_pipe_raw gives is what header_page says, of each instance its own; a new size clears the buffer.
inside 'cd $D; mkdir instances/foo; for v in 8 16 5 3 32; do echo $v >buffer_subbuf_size_kb && cat buffer_subbuf_size_kb; sed -n "s/.*data;.*size:\([0-9]*\);.*/\1/p" events/header_page; done; cat instances/foo/buffer_subbuf_size_kb
	echo gone >trace_marker; echo 16 >buffer_subbuf_size_kb; grep -c gone trace; echo 100 >buffer_size_kb; cat buffer_size_kb
	i=0; while [ $i -lt 1500 ]; do i=$((i + 1)); printf "n%05d %050d\\n" $i 0; done | taskset -c 0 dd of=trace_marker bs=58 iflag=fullblock 2>/dev/null
	for i in 1 2; do dd if=per_cpu/cpu0/trace_pipe_raw bs=20000 count=1 iflag=nonblock 2>/dev/null >$TMP/page$i.raw; wc -c <$TMP/page$i.raw; done
	for i in 1 2; do od -An -tu4 -j8 -N4 $TMP/page$i.raw | tr -d " " | awk "{ n = \$1 % 1073741824; print (n > 12000 && n <= 16368 ? \"full\" : n) }"; done'
expect_equal "sizes of pages" "$(tr '\n' ' ' <out)" "8 8176 16 16368 8 8176 4 4080 32 32752 4 0 112 16384 16384 full full "
[ "$(cat page1.raw page2.raw | grep -ao 'n[0-9]* 0' | sort | uniq -d | wc -l)" = 0 ] && [ "$(cat page1.raw page2.raw | grep -ao 'n[0-9]* 0' | wc -l)" -gt 400 ] || fail "markers in two pages"

# A poll for pages wakes when there is as much as buffer_percent says.
cat >poll.py <<'END'
import glob, select
p = select.poll()
files = [open(name, "rb", 0) for name in glob.glob("/sys/kernel/tracing/per_cpu/cpu*/trace_pipe_raw")]
for f in files:
    p.register(f, select.POLLIN)
print(len(p.poll(300)))
END
if command -v python3 >/dev/null 2>&1; then
	inside 'python3 poll.py; echo x >$D/trace_marker; python3 poll.py; echo 0 >$D/buffer_percent; python3 poll.py'
	expect_equal "polls" "$(tr '\n' ' ' <out)" "0 0 1 "
fi
