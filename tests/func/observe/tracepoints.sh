#!/bin/sh
# SPDX-License-Identifier: MIT
# tracepoints.sh SOURCE CC... - events that a program declares with uft/trace_event.h: all ways of building, off, recorded, as text, as trace.dat
. "$(dirname "$0")/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip "stacks are walked on x86_64 only: emulated/tracepoints.sh has the rest"
source=$1
shift
include="-I$source/include -I$source/include/uft/kernel -I$source/tests/func/observe/tracepoints"
compile() { out=$1; shift; "$@" -Wall -Wextra $include -o "$out" "$source/tests/func/observe/tracepoints/program.c" $flags >compiled 2>&1 || { cat compiled; fail "cannot build $out"; }; }
body() { sed -n 's/^.*: \(sample_[a-z]*: .*\)$/\1/p' "$1"; }

cp "$source/tests/func/observe/tracepoints/wanted" wanted || exit 1

# ---- Without uft: no argument is evaluated
flags=
compile plain "$@" -O2 -fPIE -pie
expect_equal "no warning" "$(cat compiled)" ""
expect_equal "off" "$(./plain 4)" "evaluated 0 enabled 0"

if command -v objdump >/dev/null; then
	expect_equal "records are cleared word by word" "$(objdump -d plain | sed -n '/<__uft_write_sample_number.*>:$/,/ret/p' | grep -cE 'call +[*]|rep stos')" 1
fi

# ---- Strict ISO, and all warnings: the headers have none, and the program still has its own
cat >strict.h <<'end'
#undef TRACE_SYSTEM
#define TRACE_SYSTEM strict
#if !defined(STRICT_H) || defined(TRACE_HEADER_MULTI_READ)
#define STRICT_H
#include <linux/tracepoint.h>
TRACE_EVENT(said, TP_PROTO(int n, const char *text), TP_ARGS(n, text),
	TP_STRUCT__entry(__field(int, n) __string(text, text) __dynamic_array(int, list, 2)),
	TP_fast_assign(__entry->n = n; __assign_str(text); ((int *)__get_dynamic_array(list))[0] = n;),
	TP_printk("n=%d text=%s", __entry->n, __get_str(text)))
#endif
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE strict
#include <trace/define_trace.h>
end
cat >strict.c <<'end'
#include <uft/marker.h>
#define CREATE_TRACE_POINTS
#include "strict.h"
DECLARE_TRACE(bare, TP_PROTO(int n), TP_ARGS(n))
DEFINE_TRACE(bare)
int main(int argc, char **argv)
{
	uft_begin("slice");
	trace_bare(argc);
	trace_printk("hello %d\n", argc);
	trace_said(argc, argv[0]);
	uft_end();
#ifdef WRONG
	trace_printk("hello %d\n", "text");
#endif
	return 0;
}
end
for with in "gcc -std=c99" "gcc -std=c11" "clang -std=c11" "g++ -x c++ -std=c++11" "g++ -x c++ -std=c++20" "clang++ -x c++ -std=c++11" "clang++ -x c++ -std=c++20"; do
	command -v ${with%% *} >/dev/null || { echo "not run: no ${with%% *}"; continue; }
	for more in -O0 -O2; do
		# shellcheck disable=SC2086
		$with $more -Wall -Wextra -pedantic $include -I. -c -o strict.o strict.c >said 2>&1
		expect_equal "$with $more: no warning" "$(cat said)" ""
	done
	# shellcheck disable=SC2086
	$with -DWRONG -Wall -Wextra $include -I. -c -o strict.o strict.c 2>&1 | grep -q 'Wformat' || fail "$with: the program's own mistake is not told"
done

# ---- Prepared for a tracer: the functions of these headers are none of the program's
for way in "-pg" "-pg -mfentry" "-fpatchable-function-entry=5"; do
	for with in "$*" "g++ -x c++ -fpermissive" clang; do
		command -v ${with%% *} >/dev/null || { echo "not run: no ${with%% *}"; continue; }
		# shellcheck disable=SC2086
		$with -w -O0 $way $include -DUFT_TRACE_PROBES -S -o prepared.s "$source/tests/func/observe/tracepoints/program.c" || { fail "$with $way"; continue; }
		awk '/^[A-Za-z_].*:/ { f = $1 } /call.*(mcount|__fentry__)|__patchable_function_entries/ { print f }' prepared.s | sort -u >prepared
		expect_equal "$with $way: the program's" "$(grep -c 'main:' prepared)" 1
		expect_equal "$with $way: ours" "$(grep -E 'uft_|trace_|tracepoint_' prepared)" ""
	done
done

# ---- Each way to build it
for way in "-O2 -fPIE -pie" "-O0" "-O2 -flto" "-O2 -static" "-O2 -s" "-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections"; do
	rm -f prog
	compile prog "$@" $way
	run "$uft" record -q -e 'uft_sample:*' -o rec.uft ./prog 4
	expect_status 0
	expect_equal "$way: on" "$(cat out)" "evaluated 4 enabled 1"
	run "$uft" report --no-pager rec.uft
	body out >got
	expect_equal "$way: text" "$(diff wanted got)" ""
done

# ---- A library that is loaded while the program runs
compile lib.so "$@" -O2 -fPIC -shared -DIS_LIBRARY
flags=-ldl
compile prog "$@" -O2 -DNO_TRACEPOINTS
run "$uft" record -q -e uft_sample:sample_odd -o rec.uft ./prog 4 ./lib.so
expect_equal "only one is on" "$(cat out)" "evaluated 0 enabled 0"
run "$uft" report --no-pager rec.uft
expect_equal "of a library" "$(body out | tr '\n' ' ')" "sample_odd: a=1 sample_odd: a=3 "

# ---- As a file of trace-cmd
flags=
run "$uft" record -q -e 'uft_sample:*' -o rec.uft ./plain 4
expect_equal "too large: counted" "$("$uft" stat rec.uft | grep -c 'event_too_large.*1')" 1
run "$uft" export -o rec.dat rec.uft
expect_status 0
if command -v trace-cmd >/dev/null 2>&1; then
	# libtraceevent writes arrays in another way than the kernel
	trace-cmd report rec.dat 2>/dev/null | sed -n 's/^.*: \(sample_[a-z]*\): *\(.*\)$/\1: \2/p' | sed 's/list=.*state/state/; s/ *$//' >got
	expect_equal "trace-cmd's text" "$(sed 's/list=.*state/state/; s/ *$//' wanted | diff - got)" ""
fi

expect_equal "how often each came" "$("$uft" stat rec.uft | sed -n 's/^event_//p' | sort | tr '\n' ' ')" \
	"uft_sample:sample_odd: 2 uft_sample:sample_one: 4 uft_sample:sample_request: 4 uft_sample:sample_text: 4 uft_sample:sample_two: 4 "
expect_equal "of a trace.dat" "$("$uft" stat rec.dat | grep -c '^event_')" 5

# ---- A stack behind each event: where the tracepoint is, and the callers
run "$uft" record -q -T -e 'uft_sample:*' -o stacks.uft ./plain 4
expect_status 0
run "$uft" report --no-pager stacks.uft
expect_equal "a stack for each event" "$(grep -c ' <stack trace>$' out)" "$(grep -c ': sample_' out)"
expect_equal "behind its event, from the tracepoint outwards" \
	"$(sed -n '/: sample_one: a=2$/,/: sample_two:/s/^ => //p' out | sed -n '/^run/s/[.].*//p; /^main/p' | tr '\n' ' ')" "run main "
run "$uft" record -q -p function -T -e 'uft_sample:*' -o stacks.uft ./plain 4
run "$uft" report --no-pager stacks.uft
expect_equal "none for functions" "$(grep -c ' <stack trace>$' out)" "$(grep -c ': sample_' out)"

# ---- Lists: of a file without running it; of a session; as trace-cmd has them
run "$uft" list -e ./plain
expect_equal "events of a file" "$(sort out | tr '\n' ' ')" "sched:sched_process_exec sched:sched_process_exit sched:sched_process_fork uft_sample:sample_odd uft_sample:sample_one uft_sample:sample_request uft_sample:sample_text uft_sample:sample_two "
run "$uft" list -e -F ./plain
expect_equal "fields" "$(sed -n '/^name: sample_text/,/^system:/p' out | sed 's/^ID: .*/ID/; /^system/d')" "$(printf 'name: sample_text\nID\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:__data_loc char[] text;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:int c;\toffset:12;\tsize:4;\tsigned:1;\n')"
run "$uft" list -e -F --csv ./plain
expect_equal "fields as CSV" "$(sed -n 's/^\(uft_sample:sample_text\),[0-9]*,/\1,/p' out | tr '\n' ' ')" "uft_sample:sample_text,text,__data_loc char[],8,4,1, uft_sample:sample_text,c,int,12,4,1, "
run "$uft" list -e --full ./plain
expect_equal "print formats" "$(grep -c '^print fmt: ' out)" 8
run "$uft" list -e "$tmp/wanted"
expect_status 1
run "$uft" list -F
expect_status 2

# ---- -v leaves out what follows; report shows the events that a filter names
run "$uft" record -q -e 'uft_sample:*' -v -e 'uft_sample:sample_t*' -e '*:sample_odd' -o some.uft ./plain 4
expect_status 0
run "$uft" report --no-pager some.uft
expect_equal "left out" "$(body out | sed 's/:.*//' | sort | uniq -c | tr -s ' \n' ' ')" " 4 sample_one 4 sample_request "
shown() { run "$uft" report --no-pager "$@" rec.uft; body out | tr '\n' ' '; }
expect_equal "report -F" "$(shown -F 'sample_one: a > 1')" "sample_one: a=2 sample_one: a=3 "
expect_equal "two, by system" "$(shown -F 'uft_sample:sample_odd, sample_two:a == 3' -F 'uft_sample/sample_one:a==0')" "sample_one: a=0 sample_two: two=0x03 sample_odd: a=3 "
expect_equal "strings" "$(shown -F 'sample_text:text ~ "so*"' | wc -w)" 6
expect_equal "no filter" "$(shown -F sample_odd: | wc -w)" 4
run "$uft" report --no-pager -F 'sample_one: b == 1' rec.uft
expect_status 1
expect_err "Field not found"
run "$uft" report --no-pager -F 'sample_none: a == 1' rec.uft
expect_err "no event that 'sample_none' names"
run "$uft" record -q -f 'pid == 1' -e sched -o none.uft true
expect_status 2
run "$uft" record -q -e sched_process_exit -f 'nosuch == 1' -o none.uft true
expect_err "Field not found"

# ---- -f: of the -e in front of it, in the program and in what the kernel tells of tasks
run "$uft" record -q -e uft_sample:sample_one -f 'a > 0' -f 'a != 2' -e uft_sample:sample_two -e sched_process_exec -f 'filename ~ "*plain"' -e sched_process_exit -f 'comm == "none"' -o some.uft ./plain 4
expect_status 0
run "$uft" report --no-pager some.uft
expect_equal "filtered" "$(body out | tr '\n' ' ')" "sample_two: two=0x00 sample_one: a=1 sample_two: two=0x01 sample_two: two=0x02 sample_one: a=3 sample_two: two=0x03 "
expect_equal "of tasks" "$(grep -c 'sched_process_exec: filename=.*plain' out) $(grep -c sched_process_exit out)" "1 0"
