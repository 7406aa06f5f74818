#!/bin/sh
# SPDX-License-Identifier: MIT
# event_filter.sh SOURCE CC... - filters of a program's events run before a record is written: rejected events need no room
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "the tracing directory knows programs of x86_64 only"
source=$1
shift
export TMP="$tmp"
include="-I$source/include -I$source/include/uft/kernel -I$source/tests/func/observe/tracepoints"
"$@" -O2 $include -o prog "$source/tests/func/observe/tracepoints/program.c" 2>compiled || { cat compiled; fail "cannot build prog"; }

cat >lib <<'end'
cd /sys/kernel/tracing
S=events/uft_sample
bodies() { sed -n 's/^.*: \([a-z_0-9]*: .*\)$/\1/p' ${1:-.}/trace | tr '\n' ' '; echo; }
$TMP/prog 1 >/dev/null
end

# 40,000 records are a megabyte; a buffer of 64 KB has the first ones only if the others never were in it.
in_shell '. $TMP/lib; echo 64 >buffer_size_kb; echo 1 >$S/sample_one/enable
	echo "a == 3 || a == 70" >$S/sample_one/filter; $TMP/prog 40000 >/dev/null; bodies
	echo 0 >$S/sample_one/filter; echo >trace; $TMP/prog 40000 >/dev/null; grep -c "a=3$" trace; grep -c "a=39999$" trace'
expect_no_err
expect_equal "rejected in the program" "$(cat out)" "sample_one: a=3 sample_one: a=70 
0
1"

# Each instance has its own filter; the program writes what one of them wants.
in_shell '. $TMP/lib; mkdir instances/a; echo 1 >$S/sample_one/enable; echo 1 >instances/a/$S/sample_one/enable
	echo "a == 3" >$S/sample_one/filter; echo "!(a != 5)" >instances/a/$S/sample_one/filter; $TMP/prog 9 >/dev/null; bodies; bodies instances/a
	echo 0 >instances/a/$S/sample_one/filter; echo >trace; echo >instances/a/trace; $TMP/prog 3 >/dev/null; bodies; bodies instances/a; rmdir instances/a'
expect_no_err
expect_equal "two instances" "$(cat out)" "sample_one: a=3 
sample_one: a=5 

sample_one: a=0 sample_one: a=1 sample_one: a=2 "

# Texts, globs, fields of who writes: the same whether the program or only the session knows them.
in_shell '. $TMP/lib; R=$S/sample_request
	try() { echo >trace; echo "$2" >$S/$1/filter; sh -c "echo \$\$ >$TMP/pid; exec $TMP/prog 4" >/dev/null; echo "$2: $(bodies | grep -o "[ =][ai]d\?=[0-9]*" | tr -d " =aid" | tr "\n" " ")"; }
	echo 1 >$R/enable
	for f in "what ~ \"h*o\"" "what == \"no\"" "tag == \"tag\" && id > 1" "comm == \"prog\" && id == 2" "comm != \"prog\"" "!(comm == \"prog\") || id == 1" \
		"comm == \"sh\" || flags & 2" "len >= 43 && !(id & 1)" "CPU >= 0" "CPU & CPUS{4000}" "small == 255 && state == 3"; do try sample_request "$f"; done
	echo "common_pid == 1" >$R/filter; echo >trace; $TMP/prog 4 >/dev/null; bodies
	echo >trace; sh -c "echo common_pid == \$\$ >$R/filter; exec $TMP/prog 2" >/dev/null; bodies | wc -w'
expect_no_err
expect_equal "what they ask" "$(sed 's/ *$//' out)" 'what ~ "h*o": 0 1 2 3
what == "no":
tag == "tag" && id > 1: 2 3
comm == "prog" && id == 2: 2
comm != "prog":
!(comm == "prog") || id == 1: 1
comm == "sh" || flags & 2: 2 3
len >= 43 && !(id & 1): 2
CPU >= 0: 0 1 2 3
CPU & CPUS{4000}:
small == 255 && state == 3: 0 3

18'

# Programs look for their threads' numbers themselves: none is taken for its parent.
"$@" -O2 $include -o filter_tasks "$source/tests/func/tree/filter_tasks.c" -pthread 2>compiled || { cat compiled; fail "cannot build filter_tasks"; }
in_shell '. $TMP/lib; echo 1 >options/event-fork; echo 1 >$S/sample_one/enable; $TMP/filter_tasks 1 >/dev/null
	for odd in 1 0; do
		if [ $odd = 1 ]; then echo "common_pid & 1"; else echo "!(common_pid & 1)"; fi >$S/sample_one/filter
		echo >trace; $TMP/filter_tasks $odd | sort -n >$TMP/wanted; sed -n "s/^.*sample_one: a=//p" trace | sort -n >$TMP/found
		cmp $TMP/wanted $TMP/found; [ $(wc -l <$TMP/wanted) -gt 12 ] && echo some
	done'
expect_no_err
expect_equal "tasks" "$(cat out)" "some
some"
