#!/bin/sh
# SPDX-License-Identifier: MIT
# tree.sh PLAIN READY - the options of stacks, and the kernel's text of them
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

[ "$(uname -m)" = x86_64 ] || skip "stacks are walked on x86-64 only"
export T="$2" P="$1" TMP="$tmp"
inside() {
	in_shell "cd /sys/kernel/tracing; $1"
}

# ---- func_stack_trace: an option of the function tracer, as there
inside 'grep -c func_stack_trace trace_options; echo leaf:mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer
	grep -c "^nofunc_stack_trace" trace_options; $T plain; grep -c "stack trace" trace
	echo 1 >options/func_stack_trace; echo >trace; $T plain; cat trace >$TMP/on
	echo 1 >options/sym-offset; grep "=>" trace >$TMP/offset; echo 0 >options/sym-offset
	echo 1 >options/sym-addr; grep "=>" trace >$TMP/addr; echo 0 >options/sym-addr
	echo 0 >options/func_stack_trace; echo >trace; $T plain; grep -c "stack trace" trace'
expect_equal "the option, off, and off again" "$(tr '\n' ' ' <out)" "0 1 0 0 "
expect_equal "a stack behind the event" "$(grep -A 7 'leaf <-large' on | sed '1s/.*: //; 2s/.*: //' | tr '\n' ';')" \
"leaf <-large;<stack trace>; => leaf; => large; => aligned; => many; => outer; => main;"
expect_equal "with offsets" "$(grep -c '^ => leaf+0x0/0x[0-9a-f]*$\|^ => large+0x[1-9a-f][0-9a-f]*/0x[0-9a-f]*$' offset)" 2
expect_equal "with addresses" "$(grep -c '^ => large <[0-9a-f]\{16\}>$' addr)" 1

# ---- stacktrace, userstacktrace: behind what tracers with arguments show; the text of each
inside 'echo blk >current_tracer; $P read; grep -c "stack trace" trace
	echo 1 >options/stacktrace; echo >trace; $P read; cat trace >$TMP/kernel
	echo 1 >options/userstacktrace; cat trace >$TMP/both; echo 0 >options/stacktrace; cat trace >$TMP/user
	echo 1 >options/sym-userobj; cat trace >$TMP/userobj; echo 0 >options/sym-userobj
	echo 0 >options/userstacktrace; echo >trace; $P read; grep -c "stack trace" trace'
expect_equal "without" "$(tr '\n' ' ' <out)" "0 0 "
expect_equal "stacktrace" "$(sed -n '/ Q   R + 1 /,/ C   R + 1 /s/.*\(<stack trace>\)/\1/p; / Q   R + 1 /,/ C   R + 1 /s/^ => //p' kernel | sed 's/@.*//; /^main$/q' | tr '\n' ' ')" \
	"<stack trace> read reader main "
expect_equal "both" "$(grep -c ': <stack trace>$' both)" "$(grep -c ': <user stack trace>$' both)"
grep -q ': <stack trace>$' both || fail "nothing was shown with both"
expect_equal "userstacktrace" "$(grep -c ': <stack trace>$' user) $(grep '^ =>' user | grep -vc '^ =>  <[0-9a-f]\{16\}>$')" "0 0"
expect_equal "sym-userobj" "$(grep '^ =>' userobj | grep -vc '^ => /[^ ]*\[+0x[0-9a-f]*\]$')" 0
grep -q "^ => $P\[+0x" userobj || fail "sym-userobj does not name the program"
