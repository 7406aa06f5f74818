#!/bin/sh
# SPDX-License-Identifier: MIT
# pid_numbers.sh SOURCE CC... - a recording names tasks of another pid namespace by the recorder's numbers for them
. "$(dirname "$0")/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
unshare --pid --fork true 2>err || skip "no right to make a pid namespace: $(cat err)"
need trace-cmd
source=$1
shift
include="-I$source/include -I$source/include/uft/kernel -I$source/tests/func/observe/tracepoints -I$tmp"
"$@" -O2 $include -o prog "$source/tests/func/observe/tracepoints/program.c" 2>compiled || { cat compiled; fail "cannot build prog"; }
mkfifo gate

# The program is number 1 there, and then a child of a shell that is
cat >script <<'end'
begin() { unshare --pid --fork sh -c "$1" <gate >/dev/null & U=$!; exec 9>gate; until P=$(cat /proc/$U/task/$U/children | tr -d " "); [ "$P" ]; do sleep 0.01; done; }
begin "read go; exec ./prog 2"
echo $P >first
echo >&9; exec 9>&-; wait $U
begin "read go; ./prog 3; true"
echo $P >second
echo >&9; exec 9>&-; wait $U
end
run "$uft" record -q -e uft_sample:sample_one -o rec.uft sh script
expect_status 0
first=$(cat first) second=$(cat second)
run "$uft" report --no-pager rec.uft
sed -n 's/^ *prog-\([0-9]*\) .*sample_one: .*/\1/p' out | uniq -c | sed 's/^ *//' >numbers
expect_equal "number 1 there" "$(sed -n 1p numbers)" "2 $first"
# Its number there is 2; here it is another one, which may be smaller than its parent's where numbers have begun again.
expect_equal "a child there" "$(sed -n 2p numbers | awk -v parent="$second" '{ print $1, ($2 > 2 && $2 != parent) }')" "3 1"
"$uft" export -f trace.dat -o rec.dat rec.uft
expect_equal "in trace.dat" "$(trace-cmd report rec.dat 2>/dev/null | sed -n 's/^ *prog-\([0-9]*\) .*sample_one: .*/\1/p' | uniq -c | sed 's/^ *//')" "$(cat numbers)"
