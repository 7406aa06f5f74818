#!/bin/sh
# SPDX-License-Identifier: MIT
# report_select.sh - uft report selects by time, CPU, thread, process and function, as text and as profile; the keys of uft stat
. "$(dirname "$0")/../../lib/common.sh"

# Three phases 100 ms apart, on a CPU each where there are two: 10 calls of first, 20 of second by another thread, 40 of third by
# a child. Says which CPUs and tasks they were.
cat >prog.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define FN __attribute__((noinline, noclone))
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void first(void) { leaf(); }
FN void second(void) { leaf(); }
FN void third(void) { leaf(); }
static int cpus[2] = { -1, -1 };
__attribute__((no_instrument_function, patchable_function_entry(0, 0))) static void say(const char *what, int want)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpus[want], &set);
	sched_setaffinity(0, sizeof(set), &set);
	printf("%s %d %d\n", what, (int)syscall(SYS_gettid), cpus[want]);
	fflush(stdout);
}
/* A moment that lies between the phases before and behind it, by the recording's clock. */
__attribute__((no_instrument_function, patchable_function_entry(0, 0))) static void say_gap(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("gap %lld\n", t.tv_sec * 1000000000ll + t.tv_nsec + 50000000);
	fflush(stdout);
}
static void *thread(void *arg)
{
	say("second", 1);
	for (int i = 0; i < 20; i++)
		second();
	return arg;
}
int main(void)
{
	cpu_set_t set;
	pthread_t t;
	sched_getaffinity(0, sizeof(set), &set);
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &set))
			cpus[cpus[0] >= 0] = c;
	if (cpus[1] < 0)
		cpus[1] = cpus[0];
	say("first", 0);
	for (int i = 0; i < 10; i++)
		first();
	say_gap();
	usleep(100000);
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	usleep(100000);
	if (!fork()) {
		say("third", 0);
		for (int i = 0; i < 40; i++)
			third();
		_exit(0);
	}
	wait(0);
	return 0;
}
END
build_traced prog -pthread

# seen OPTIONS: how often each phase, and leaf, are in the report.
seen() {
	run "$uft" report --no-pager "$@"
	expect_status 0
	case $want in "0 0 0 0") ;; *) expect_no_err ;; esac
	for name in first second third leaf; do
		printf '%s ' "$(grep -cE "(: |\|  +)$name(\(\)| <-)" out)"
	done >counts
	expect_equal "first, second, third, leaf with $*" "$(cat counts)" "$want "
}

# calls OPTIONS: the same of the profile.
calls() {
	run "$uft" report --profile --no-pager "$@"
	expect_status 0
	for name in first second third leaf; do
		printf '%s ' "$(awk -v n=$name '$NF == n { c = $1 } END { print c + 0 }' out)"
	done >counts
	expect_equal "first, second, third, leaf in the profile with $*" "$(cat counts)" "$want "
}

for tracer in function function_graph; do
	run "$uft" record -q -p $tracer ./prog
	expect_status 0
	cp out said
	tid=$(sed -n 's/^second \([0-9]*\) .*/\1/p' said) child=$(sed -n 's/^third \([0-9]*\) .*/\1/p' said)
	main=$(sed -n 's/^first \([0-9]*\) .*/\1/p' said) cpu=$(sed -n 's/^second .* //p' said)
	cpu0=$(sed -n 's/^first .* //p' said)
	gap=$(($(sed -n 's/^gap //p' said) - $(stat_value trace.uft first_ns)))ns
	for how in seen calls; do
		want="10 20 40 70"
		$how
		# Phases are 100 ms apart; how much later than the first event they are depends on the machine.
		want="10 0 0 10"
		$how -r "0~$gap"
		want="0 20 40 60"
		$how -r "$gap~"
		want="0 20 0 20"
		$how -t "$tid"
		want="0 0 40 40"
		$how --pid "$child"
		$how -t "1,$child"
		want="10 20 0 30"
		$how --pid "$main"
		if [ "$cpu" != "$cpu0" ]; then
			want="0 20 0 20"
			$how -C "$cpu"
			want="10 0 40 50"
			$how --cpu "$cpu0"
		fi
		want="0 20 40 0"
		$how -F second -F 'thir?'
		want="0 0 0 70"
		$how -F 'lea[a-f]:mod:prog'
		want="0 20 0 0"
		$how -F 'second' -t "$tid" -r "$gap~"
		want="0 0 0 0"
		$how -F 'second' -t "$child"
	done
done

# By the time stamps that the report itself prints, and by those alone: to the event.
run "$uft" record -q -p function ./prog
run "$uft" report
sed -n 's/.* \([0-9]*\.[0-9]*\): \([a-z]*\) <-.*/\1 \2/p' out >times
begin=$(awk '$2 == "second" { print $1; exit }' times)
end=$(awk '$2 == "third" { print $1; exit }' times)
want="0 20 40 60"
seen --from "$begin"
want="0 0 40 40"
seen --from "$end"
seen -r "$end~"
# Of what stands at the same microsecond nothing is left out.
want=$(awk -v t="$end" '$1 <= t { n[$2]++ } END { print n["first"], n["second"], n["third"], n["leaf"] }' times)
seen --to "$end"
want=$(awk -v f="$begin" -v t="$end" '$1 >= f && $1 <= t { n[$2]++ } END { print n["first"] + 0, n["second"], n["third"], n["leaf"] }' times)
seen --from "$begin" --to "$end"
seen -r "$begin~$end"
want="0 0 0 0"
seen --to 1ns
# With a unit it is always a time since the first event.
seen --from "${end}s"

# The keys that scripts rely on, each once; man uft-stat explains them.
for key in format complete tracer cmdline hostname uname events calls lost duration_ns first_ns tasks cpus objects functions bytes \
	bytes_per_event bytes_per_call damaged_bytes; do
	expect_equal "lines of $key" "$("$uft" stat | grep -c "^$key: .")" 1
	check
	grep -q "^\*.*\*$key\*\|^\*$key\*" "$top/doc/man/uft-stat.1.scd" || fail "man uft-stat does not explain $key"
done
expect_equal "tasks" "$(stat_value trace.uft tasks)" 3
expect_equal "first_ns" "$(awk -v ns="$(stat_value trace.uft first_ns)" 'BEGIN { printf "%.6f", ns / 1e9 }')" "$(sed -n '1s/ .*//p' times)"

# A selection that leaves nothing says so in every view, and what there is.
nothing() {
	text=$1
	shift
	run "$uft" "$@"
	expect_err "$text"
	expect_equal "lines on standard error of $*" "$(wc -l <err)" 1
}
"$uft" record -q ./prog >said
for view in '' --profile --tree --flat --timeline '--flat --json'; do
	nothing "no event is of a CPU that --cpu selects: the recording has those of CPU " report $view --cpu 1000000
	expect_status 0
	nothing "no event is of a thread that --tid selects: the recording has prog-" report $view --tid 1
	nothing "no event is of a process that --pid selects: the recording has prog-" report $view --pid 1
	nothing "no event is in the time selected: the recording takes 0." report $view --range 1000s~
	nothing "no function of the recording matches 'nosuch'" report $view --func nosuch --cpu 0-1000
done
nothing "no event is of a process that --pid selects" report --callers leaf --pid 1
expect_status 1
nothing "no event is of a CPU that --cpu selects" export --cpu 1000000 -o none.json
run "$uft" report --cpu 0-1000 --func leaf
expect_no_err

# Sums have functions alone, and become no file of events.
"$uft" record -q -p profile -o sums.uft ./prog >said
run "$uft" report --func leaf sums.uft
expect_no_err
expect_equal "sums of one function" "$(awk '!/^#/ { print $1, $NF }' out)" "70 leaf"
nothing "no function of the recording matches 'nosuch'" report --func nosuch sums.uft
nothing "only --func selects of them" report --cpu 0 sums.uft
expect_status 2
nothing "records sums of calls and no events" export -o sums.dat sums.uft
expect_status 1
nothing "records sums of calls and no events" record -p profile -o sums.dat ./prog
expect_status 2
nothing "has no calls with a duration" record -p function -o calls.svg ./prog
expect_status 2
expect_equal "files that were refused" "$(ls sums.dat* calls.svg* none 2>/dev/null)" ""
