#!/bin/sh
# SPDX-License-Identifier: MIT
# stacks.sh PLAIN READY MCOUNT - callers: every kind of frame, in unprepared code, in prepared code, behind a prologue
. "$(dirname "$0")/../../lib/common.sh"

[ "$(uname -m)" = x86_64 ] || skip "stacks are walked on x86-64 only"
end="main __libc_start_call_main "	# what follows in libc has no name everywhere

# stack ARGUMENTS OF TARGET: of its first call of leaf, a word a frame, as far as main's caller
stack() {
	run timeout 60 "$uft" record -q -p function -l leaf --func-stack -o rec.uft "$@"
	expect_status 0
	run timeout 60 "$uft" report --no-pager rec.uft
	expect_status 0
	sed -n '/<stack trace>/,$s/^ => //p' out | sed '/^_start$/q' >frames
	sed 's/libc\.so\.6+0x.*/(libc)/' frames | sed '/^main$/q' | tr '\n' ' '
}

for target; do
	name=${target##*/}
	expect_equal "$name: large, aligned, with arguments on the stack" "$(stack "$target" plain)" "leaf large aligned many outer main "
	expect_equal "$name: it ends where the program began" "$(tail -n 1 frames)" _start
	expect_equal "$name: recursion" "$(stack "$target" recurse 3)" "leaf recurse recurse recurse recurse main "
	# 32 callers, and the function itself
	stack "$target" recurse 100 >deep
	expect_equal "$name: no deeper than that" "$(grep -c '^ => ' out)" 33
	stack "$target" callback >words
	expect_equal "$name: through libc" "$(cut -d' ' -f1,2 words) $(grep -c ' main $' words)" "leaf compare 1"
	stack "$target" signal >words
	expect_equal "$name: from a handler to what was interrupted" \
		"$(cut -d' ' -f1,2 words) $(grep -c ' interrupted main $' words)" "leaf handler 1"
done

# Each event has its stack, in its task's order; each counts as an entry
run timeout 60 "$uft" record -q -p function -l leaf -l outer --func-stack -o rec.uft "$2" plain
run timeout 60 "$uft" report --no-pager rec.uft
expect_equal "an event, a stack" "$(sed -n 's/.*: \([a-z]*\) <-.*/\1/p; s/.*: <stack trace>/stack/p' out | tr '\n' ' ')" "outer stack leaf stack "
expect_equal "entries" "$(sed -n 's/^# entries-in-buffer.*: \([0-9/]*\) .*/\1/p' out)" "4/4"

# Arguments: behind the request; the graph's own return addresses are not in it
run timeout 60 "$uft" record -q -p blk -T -l '*' -o rec.uft "$1" read
run timeout 60 "$uft" report --no-pager rec.uft
expect_equal "behind the request" "$(sed -n '/ R + 1 \[/,/_start/s/^ => //p' out | sed '/^main$/q' | tr '\n' ' ')" "read reader main "

# trace-cmd prints them from a trace.dat
if command -v trace-cmd >/dev/null 2>&1; then
	run timeout 60 "$uft" record -q -p function -l leaf --func-stack -o rec.dat "$2" plain
	run trace-cmd report -i rec.dat
	expect_equal "trace-cmd report" "$(sed -n '/kernel_stack: *<stack trace/,$s/^=> \([a-z]*\) (.*/\1/p' out | sed '/^main$/q' | tr '\n' ' ')" \
		"leaf large aligned many outer main "
fi

# What has no stacks says so
run "$uft" record -q -p function_graph --func-stack -o rec.uft "$2" plain
expect_status 2
expect_err "--func-stack is for the tracer function, not for function_graph"
run "$uft" record -q -p function -T -o rec.uft "$2" plain
expect_status 2
expect_err "--stacktrace is for kmemtrace, blk, sysprof, the tracers of latencies and events (-e), not for function (--func-stack is)"
