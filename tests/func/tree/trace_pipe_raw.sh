#!/bin/sh
# SPDX-License-Identifier: MIT
# trace_pipe_raw.sh READER - trace_pipe_raw by splice and read in all ways: each page once and in order, and few waits
. "$(dirname "$0")/inside.sh"

export R="$1"
N=4000		# numbered markers, which fill some 300 pages of one CPU
export N
cat >number.sh <<'END'
cd /sys/kernel/tracing
echo 0 >buffer_percent
i=0; while [ $i -lt $N ]; do i=$((i + 1)); printf 'n%05d %0270d\n' $i 0; done | taskset -c $CPU dd of=trace_marker bs=278 iflag=fullblock 2>/dev/null
END
seq -f 'n%05.0f' $N >expected

# numbers FILE: of the markers in its pages
numbers() {
	grep -ao 'n[0-9]\{5\} 0' "$1" | cut -d ' ' -f 1
}

for how in whole part mixed; do
	inside 'sh $TMP/number.sh; "$R" '$how' per_cpu/cpu$CPU/trace_pipe_raw >$TMP/'$how
	numbers $how >seen
	expect_equal "by $how: markers" "$(wc -l <seen)" "$N"
	check
	cmp -s seen expected || { fail "by $how: not each once and in order"; diff seen expected | head; show; }
	cp err said.$how
done

# A reader waits once a splice, not once a page; the first splice tells how much one takes.
# The server sees that only where it may look at what a program of the shell waits in; what we may look at, as an ancestor, it may.
(in_shell "echo \$\$ >$tmp/asleep; exec sleep 100" >/dev/null 2>&1) &
until [ -s asleep ] || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
may_see=0
cat "/proc/$(cat asleep)/syscall" >/dev/null 2>&1 && may_see=1
kill "$(cat asleep)"
wait $!
if [ $may_see -eq 1 ]; then
	read -r pages waits <said.whole
	check
	[ "$pages" -ge 200 ] && [ $((waits * 3)) -lt "$pages" ] || fail "$pages pages took $waits waits"
else
	echo "SKIPPED: how often a splice waits: /proc/PID/syscall of another process cannot be read here"
fi

cat >asked <<'end'
import os, sys, time
f = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
print(os.fstat(f).st_size)
with open(sys.argv[2], 'w') as marker:
    marker.write('m')
r, w = os.pipe()
for _ in range(300):
    try:
        print(os.splice(f, w, 4096))
        break
    except BlockingIOError:		# it is not taken yet
        time.sleep(0.1)
end

# A process that opens it without reading takes nothing, as with the kernel's; a reader gets all, whatever other processes do meanwhile.
inside 'f=per_cpu/cpu$CPU/trace_pipe_raw; while [ ! -e $TMP/over ]; do stat -c %s $f; done >$TMP/sizes & sh $TMP/number.sh; for how in some whole; do "$R" $how $f; done >$TMP/watched
	touch $TMP/over; wait; stat -c %s $f per_cpu/cpu$CPU/snapshot_raw; tar cf - $f 2>/dev/null | head -c 20000 | wc -c
	echo 1 >snapshot; wc -c <per_cpu/cpu$CPU/snapshot_raw; taskset -c $CPU python3 $TMP/asked $f trace_marker'
expect_equal "sizes, and that of an archive" "$(tr '\n' ' ' <out)" "0 0 10240 0 0 4096 "
numbers watched >seen
check
cmp -s seen expected || { fail "with somebody who looks at it: not each once and in order"; diff seen expected | head; show; }

# A reader that takes some pages leaves the rest to the next: no more was taken for it than it asked for.
inside 'sh $TMP/number.sh; for how in some some some whole; do "$R" $how per_cpu/cpu$CPU/trace_pipe_raw; done >$TMP/several'
numbers several >seen
check
cmp -s seen expected || { fail "by several readers in turn: not each once and in order"; diff seen expected | head; show; }
