#!/bin/sh
# SPDX-License-Identifier: MIT
# recorded.sh TARGET - uft hist: of a recording, and of a command, the tables that a kernel 6.12 had of the same events (kernel/), and what is refused
. "$(dirname "$0")/../../lib/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
target=$1
here=$top/tests/golden/hist
traffic='r1,100,alpha r2,200,beta d1,150,alpha r3,300,gamma d3,1300,gamma r1,5000,alpha d2,1024,beta d1,5007,alpha'	# as lib.sh has it

run "$uft" record -q -e 'app:*' -o all.uft "$target" fire $traffic
expect_status 0

# The cases of golden.sh: of each histogram they make, the table alone.
mask() { sed 's/\[ *[0-9]*\] }/[N] }/; s/common_pid: *[0-9]*/common_pid: N/; s/\(cpu\|CPU\): *[0-9]*/\1: N/g; /^$/d'; }
one() { echo "> $1"; "$uft" hist --no-pager -e app:req -R "$1" all.uft 2>>refused | mask; }
sed -n '/^one /p' "$here/cases/tables" >cases
. ./cases >got
awk -v quote="'" '/^> events\/app\/req\/trigger / { is_table = 0; sub(/^[^ ]* [^ ]* ./, ""); sub(/.$/, ""); if (!/^!/) print "> " $0; next }
	/^==/ { exit } /^[<>]/ { is_table = 0 } /^# event histogram/ { is_table = 1 } is_table && NF' "$here/kernel/tables" >want
check
diff want got >differ || { fail "tables (< kernel, > here)"; head -n 40 differ; cat refused; }
expect_equal "there are tables" "$(($(grep -c 'Totals' got) > 20))" 1

# The short options are the same histogram, and so is that of a command.
"$uft" hist -e app:req -R 'hist:keys=name:vals=us:sort=us.descending:size=512 if id < 3' all.uft >long
run "$uft" hist -e app:req -k name -v us -s us.descending -n 512 -f 'id < 3' -i all.uft
expect_status 0
expect_equal "short options" "$(cat out)" "$(cat long)"
run "$uft" hist -e app:req -k name -v us -s us.descending -n 512 -f 'id < 3' -- "$target" fire $traffic
expect_status 0
expect_equal "of a command" "$(cat out)" "$(cat long)"
"$uft" record -q -e 'app:*' -o all.dat "$target" fire $traffic
run "$uft" hist -e app:req -k name -v us -s us.descending -n 512 -f 'id < 3' all.dat
expect_equal "of a trace.dat" "$(cat out)" "$(cat long)"
expect_equal "its entries" "$(grep -c '^{ name: \(alpha\|beta\) ' out) $(sed -n 's/ *Hits: //p' out)" "2 3"
run "$uft" hist -e app:req -- "$target"
expect_status 2
expect_equal "temporary files" "$(ls -d "${TMPDIR:-/tmp}"/uft-hist.* 2>/dev/null | wc -l)" 0
run "$uft" hist -e app:done all.uft
expect_equal "default keys" "$(grep -c '^{ common_pid: golden  *\[ *[0-9]*\] } hitcount: *4$' out)" 1

# Variables go from one event to another, in the order of time.
run "$uft" hist -e app:req -R 'hist:keys=id:t=us' -e app:done -R 'hist:keys=id:d=us-$t:onmax($d).save(name)' all.uft
expect_status 0
expect_equal "of two events" "$(grep '^# event: ' out | tr '\n' ' ')" "# event: app:req # event: app:done "
expect_equal "largest difference" "$(sed -n 's/^\tmax: *\([0-9]*\) *name: *\([a-z]*\) *$/\1 \2/p' out | sort -n | tr '\n' ' ')" "50 alpha 824 beta 1000 gamma "

# Stacks
run "$uft" record -q -T -e app:req -o stacks.uft "$target" fire $traffic
expect_status 0
run "$uft" hist -e app:req -k common_stacktrace stacks.uft
expect_status 0
expect_equal "stacks" "$(grep -c '^         req+0x' out) $(sed -n 's/ *Hits: //p' out)" "1 4"
run "$uft" hist -e app:req -k common_stacktrace -- "$target" fire $traffic
expect_equal "stacks of a command" "$(grep -c '^         req+0x' out) $(sed -n 's/ *Hits: //p' out)" "1 4"

# Refused, with the kernel's words and place
run "$uft" hist -e app:req -k nothing all.uft
expect_status 1
expect_equal "field" "$(cat err)" "uft hist: app:req: Couldn't find field
    hist:keys=nothing
              ^"
run "$uft" report -F "req:id ==" all.uft
expect_equal "caret of report -F" "$(tail -n 2 err)" "    id ==
          ^"
run "$uft" hist -e app:req -f 'id ==' all.uft
expect_status 1
expect_err "app:req: "
run "$uft" hist -e app:req -R 'hist:keys=id if' all.uft
expect_status 1
run "$uft" hist -e app:req -R 'hist:keys=id:onmax($x).snapshot()' all.uft
expect_err "A recording has no snapshot"
run "$uft" hist -e app:req -R 'hist:keys=id:cont' all.uft
expect_err "nonexistent hist trigger"
run "$uft" hist -e app:nothing all.uft
expect_err "the recording has no event that 'app:nothing' names"
for wrong in "-k id" "-e app:req -R traceon" "-e app:req -i all.uft -- true" "-e app:req --" "-e app:req a b" ""; do
	run "$uft" hist $wrong
	expect_status 2
done
