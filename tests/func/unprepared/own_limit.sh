#!/bin/sh
# SPDX-License-Identifier: MIT
# own_limit.sh - a program limits its address space: it, its fork children and the programs that they execute get the same memory and read the same
# limits as without uft; all are traced, and after a detach they have the limits that they set
. "$(dirname "$0")/../../lib/common.sh"

${CC:-cc} -O1 -w -pthread "$top/tests/func/unprepared/own_limit.c" -o own_limit || exit 1
run ./own_limit
expect_status 7
[ "$(grep -c 'threads: 12' out)" -ge 6 ] || { show; skip "too little room for 12 threads in 80 MB here"; }
mv out want

for how in function_graph function profile "function_graph --watchdog"; do
	run "$uft" record -p $how -o x.uft ./own_limit
	expect_status 7
	check
	cmp -s out want || { fail "$how: another output"; diff want out; show; }
	check
	! grep -q 'not followed\|could not be followed' err || { fail "$how: not all were followed"; show; }
done
# Seven processes' worth of threads, all recorded: 12 each time that say() is called.
run "$uft" record -q -p function -l work -l say -o x.uft ./own_limit
expect_equal "threads recorded" "$("$uft" report x.uft | grep -c ': work <-')" "$((12 * $(grep -c threads: want)))"

# Attached before the limit is set, and detached behind it. The hard limit is no higher afterwards either.
mkfifo input
./own_limit wait <input >said &
pid=$!
exec 3>input
# The command begins when everything is armed.
run "$uft" record -q -p function -o a.uft -P $pid -- sh -c 'printf x >input; for i in $(seq 1200); do grep -q "^limited" said && exit; sleep 0.1; done; exit 1'
expect_status 0
expect_equal "limited while attached" "$(grep '^limited' said)" "$(grep '^limited' want)"
expect_left "detached" $pid
expect_equal "limits when detached" "$(sed -n 's/^Max address space  *\([0-9]*\)  *\([0-9]*\) .*/\1 \2/p' /proc/$pid/limits)" "104857600 125829120"
printf x >&3
status=0
wait $pid || status=$?
expect_status 0

# What it executes is not followed: by request, or for lack of data for the agent. There the session takes the hard limit back, too.
run "$uft" record -q --no-children -p function -o x.uft ./own_limit shell
expect_status 0
expect_equal "limits of a program that is not to be followed" "$(head -n 2 out | tr '\n' ' ')" "not executed, threads: 12 102400 "
run "$uft" record -p function -o x.uft ./own_limit little
expect_status 0
expect_err "not followed"
expect_equal "limits of a program that cannot be followed" "$(tr '\n' ' ' <out)" "not executed, threads: 12 102400 122880 "

# A preloaded program's loader maps the runtime under the limit, before the runtime runs: the program keeps room for it.
cat >inner.c <<'C'
__attribute__((noinline)) int work(void) { __asm__ volatile(""); return 0; }
int main(void) { return work(); }
C
build_traced inner
run "$uft" record -q --preload -p function -l work:mod:inner -o p.uft sh -c 'ulimit -v 500000; exec ./inner'
expect_status 0
expect_equal "calls under a limit, preloaded" "$(stat_value p.uft calls)" 1
