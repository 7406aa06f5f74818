#!/bin/sh
# SPDX-License-Identifier: MIT
# keep_slow.sh - --keep-slow records the complete graph of slow calls, and of no others; its memory is bounded
. "$(dirname "$0")/../../lib/common.sh"

cat >prog.c <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define FN __attribute__((noinline))
#define LIMIT 10000000
static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}
static long must, may;
static jmp_buf env;
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void mid(int n) { while (n--) leaf(); }
FN void nap(void) { struct timespec t = { 0, 15000000 }; leaf(); nanosleep(&t, 0); }
FN void jumps(void) { leaf(); longjmp(env, 1); }
FN void handle(int slow)
{
	long begin = now();
	mid(3);
	if (slow)
		nap();
	mid(2);
	if (now() - begin >= LIMIT)
		__atomic_add_fetch(&must, 1, __ATOMIC_RELAXED);
}
FN void outer(int slow) { mid(1); handle(slow); }
FN void big(int n) { mid(n); nap(); mid(7); }
FN void leaves(int slow)
{
	if (setjmp(env))
		return;
	if (slow)
		nap();
	jumps();
}
static void call(int slow)
{
	long begin = now();
	handle(slow);
	if (now() - begin >= LIMIT)
		__atomic_add_fetch(&may, 1, __ATOMIC_RELAXED);
}
static void *thread(void *arg)
{
	for (int i = 0; i < 40; i++)
		call(i % 2);
	return arg;
}
static void *big_thread(void *arg) { for (int i = 0; i < 3; i++) big(100000); return arg; }
static long anon_kb(void)
{
	char line[128];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RssAnon: %ld", &kb);
	return kb;
}
int main(int argc, char **argv)
{
	pthread_t t[8];

	if (!strcmp(argv[1], "calls")) {
		for (int i = 0; i < 300; i++)
			call(i % 30 == 29);
	} else if (!strcmp(argv[1], "threads")) {
		for (int i = 0; i < 8; i++)
			pthread_create(&t[i], 0, thread, 0);
		for (int i = 0; i < 8; i++)
			pthread_join(t[i], 0);
	} else if (!strcmp(argv[1], "memory")) {
		for (int i = 0; i < 8; i++)
			pthread_create(&t[i], 0, big_thread, 0);
		for (int i = 0; i < 8; i++)
			pthread_join(t[i], 0);
		printf("%ld\n", anon_kb());
		return 0;
	} else if (!strcmp(argv[1], "leaves")) {
		for (int i = 0; i < 40; i++)
			leaves(i % 10 == 9);
	} else if (!strcmp(argv[1], "nested")) {
		for (int i = 0; i < 20; i++)
			outer(i % 10 == 9);
	}
	printf("%ld %ld\n", must, may);
	return argc == 7;
}
END
build_traced prog -pthread

# calls_of NAME: in the recording, by its profile.
calls_of() {
	n=$("$uft" report --profile | awk -v name="$1" '$NF == name { print $1 }')
	echo "${n:-0}"
}

# Which calls must have been kept, by the program's own clock: inside it they took so long, outside it no less.
kept_is_right() {
	must=$(cut -d' ' -f1 out) may=$(cut -d' ' -f2 out) kept=$(calls_of handle)
	check
	[ "$must" -ge "$2" ] && [ "$kept" -ge "$must" ] && [ "$kept" -le "$may" ] ||
		fail "$kept calls kept, should be from $must to $may, of them $2 on purpose"
	expect_equal "kept and not kept" $((kept + $(stat_value trace.uft counter_not_kept))) "$1"
	expect_equal "lost" "$(stat_value trace.uft lost) $(stat_value trace.uft counter_keep_no_ring)" "0 0"
	expect_equal "calls of mid" "$(calls_of mid)" $((2 * kept))
	expect_equal "calls of leaf" "$(calls_of leaf)" $((5 * kept + $(calls_of nap)))
	expect_equal "calls of nap" "$(calls_of nap)" "$2"
}

# The calls of handle with nap inside, without times, CPUs, and the names that are added after a change of CPU.
slow_text() {
	"$uft" report | awk '/^ .*\|  handle\(\) \{/ { text = "" } { sub(/^[^|]*\|/, ""); sub(/ \/\*.*/, ""); text = text $0 "\n" }
		/^  \}/ && text ~ /nap/ { printf "%s", text }'
}

run "$uft" record -q -g handle ./prog calls
expect_equal "without the limit" "$(calls_of handle)" 300
slow_text >plain.txt
check
[ "$(grep -c 'nap() {' plain.txt)" -eq 10 ] || fail "the plain graph has not ten slow calls"
run "$uft" record -q --keep-slow handle=10ms ./prog calls
expect_status 0
kept_is_right 300 10
slow_text >kept.txt
check
cmp -s plain.txt kept.txt || { fail "the text of the slow calls differs"; diff plain.txt kept.txt | head; }

for flags in "" "--flight" "-b 256"; do
	# shellcheck disable=SC2086
	run "$uft" record -q $flags --keep-slow 'hand*=10ms' ./prog threads
	expect_status 0
	kept_is_right 320 160
	expect_equal "tasks $flags" "$(stat_value trace.uft tasks)" 8
done

# The same without preparation; leaf is too small there.
${CC:-cc} -O1 -g -pthread -o plain prog.c
run "$uft" record -q --keep-slow handle=10ms ./plain calls
expect_status 0
expect_equal "plain: calls of nap" "$(calls_of nap)" 10
expect_equal "plain: kept and not kept" $(($(calls_of handle) + $(stat_value trace.uft counter_not_kept))) 300

# Other roots beside it; a limit of its own for each; a slow root that is called by another root is that one's.
run "$uft" record -q -g mid --keep-slow handle=10ms --keep-slow nap=1us ./prog nested
expect_equal "mid of outer and of kept calls" "$(calls_of mid)" $((20 + 2 * $(calls_of handle)))
run "$uft" record -q --keep-slow outer=0 --keep-slow handle=1s ./prog nested
expect_equal "handle below outer" "$(calls_of outer) $(calls_of handle)" "20 20"
run "$uft" record -q --keep-slow mid=101s --keep-slow leaf=102s --keep-slow jumps=103s --keep-slow big=104s --keep-slow leaves=105s \
	--keep-slow thread=106s --keep-slow big_thread=107s --keep-slow outer=109s --keep-slow nap=10ms \
	./prog calls
expect_status 0
expect_equal "nine different times" "$(calls_of nap) $(calls_of mid)" "10 0"
run "$uft" record -q --keep-slow 'outer=100s' ./prog nested
expect_status 0
expect_equal "nothing was slow" "$(stat_value trace.uft events) $(stat_value trace.uft counter_not_kept)" "0 20"

# A root that is left by longjmp ends there.
run "$uft" record -q --keep-slow leaves=10ms ./prog leaves
expect_equal "left" "$(stat_value trace.uft counter_lost_return)" 0
run "$uft" report
check
[ "$(grep -c 'nap() {' out)" -eq 4 ] || { fail "slow calls that were left: $(grep -c 'nap() {' out), not 4"; show; }

# A call of more than the buffer holds: what is missing is counted, and memory is bounded.
before=$(./prog memory)
run "$uft" record -q --keep-slow big=10ms ./prog memory
expect_status 0
expect_equal "calls, recorded or lost" $(($(stat_value trace.uft calls) + $(stat_value trace.uft lost))) \
	$((8 * 3 * (100000 + 7 + 1 + 4)))
expect_equal "roots" "$(calls_of big)" 24
check
[ "$(stat_value trace.uft lost)" -gt 0 ] || fail "nothing was lost: the buffer is not bounded"
check
[ "$(cat out)" -lt $((before + 8 * 1200 + 8192)) ] || fail "$(cat out) KB of memory, untraced $before"

for bad in "--keep-slow handle" "--keep-slow =5ms" "--keep-slow handle=x" "--keep-slow handle=1ms -p function" \
	   "--keep-slow handle=1ms --thresh 5" "--keep-slow handle=1ms --budget 5"; do
	# shellcheck disable=SC2086
	run "$uft" record $bad ./prog calls
	expect_status 2
done
run "$uft" record -q --keep-slow nothing_like_it=1ms ./prog calls
expect_status 1
expect_err "matches no function"
