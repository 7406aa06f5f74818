#!/bin/sh
# SPDX-License-Identifier: MIT
# pages.sh READER - trace_pipe_raw by splice and read in all ways: each page once and in order, and few waits
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

# Who takes some leaves the rest to the next: nothing was taken for him that he did not ask for.
inside 'sh $TMP/number.sh; for how in some some some whole; do "$R" $how per_cpu/cpu$CPU/trace_pipe_raw; done >$TMP/several'
numbers several >seen
check
cmp -s seen expected || { fail "by several readers in turn: not each once and in order"; diff seen expected | head; show; }
