#!/bin/sh
# SPDX-License-Identifier: MIT
#
# short_recording.sh MACHINE CC PAD EMULATOR - a very short recording has times of the emulated clock, and so has one whose recorder is killed
. "$(dirname "$0")/../../lib/common.sh"
cc=$2 pad=$3 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
cat >main.c <<'END'
#include <stdio.h>
#include <time.h>
#define PLAIN __attribute__((patchable_function_entry(0)))
static PLAIN double us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}
__attribute__((noinline)) double within(void)
{
	double from = us();

	while (us() < from + 500)
		;
	return us() - from;
}
/* What a call took at least and at most. */
int main(void)
{
	double from = us(), inner = within();

	printf("%.3f %.3f\n", inner, us() - from);
	return 0;
}
END
# shellcheck disable=SC2086
must_build $cc -O1 "-fpatchable-function-entry=$pad" main.c -o main
# shellcheck disable=SC2086
$emulator ./main >/dev/null || skip "the emulator does not run a program"
for i in 1 2 3 4 5 6 7 8; do
	run timeout 60 "$uft" record -q "--emulator=$emulator" -l within -o rec.uft ./main
	expect_status 0
	"$uft" report --profile --csv rec.uft | awk -F, '$NF == "within" { print $2 / 1000 }' >took
	check
	# A quarter more or less: the rate of the counter of riscv64 is measured, beside whatever the machine does.
	awk 'NR == 1 { took = $1 } NR == 2 { ok = took > $1 * 0.75 && took < $2 * 1.25 } END { exit !ok }' took out ||
		fail "$i: took $(cat took) us by the recording, by the program from .. to $(cat out)"
done
# The rest is put behind it by who guards it, on this machine: its clock is not the program's.
cat >naps.c <<'END'
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) int nap(int ms) { return usleep(ms * 1000); }
int main(void)
{
	time_t end = time(NULL) + 300;

	for (int i = 0; access("go", F_OK) && time(NULL) < end; i++) {
		nap(50);
		if (i == 5)
			close(creat("ready", 0600));
	}
	close(creat("over", 0600));
	return 0;
}
END
$cc -O1 "-fpatchable-function-entry=$pad" naps.c -o naps || fail "naps.c"
is_rescued() { "$uft" stat rec.uft | grep -q '^rescued_bytes'; }
rm -f rec.uft
"$uft" record -q "--emulator=$emulator" -l nap -o rec.uft ./naps &
pid=$!
eventually test -e ready || fail 'six naps take two minutes'
kill -KILL $pid
wait $pid 2>/dev/null
eventually is_rescued || fail 'not rescued in two minutes'
touch go
eventually test -e over || fail 'it does not go on'
check
"$uft" report --profile --csv rec.uft | awk -F, '$NF == "nap" { ok = $1 >= 5 && $9 > 50000000 * 0.75 } END { exit !ok }' ||
	fail "naps of 50 ms, rescued: $("$uft" report rec.uft)"
