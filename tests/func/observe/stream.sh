#!/bin/sh
# SPDX-License-Identifier: MIT
# stream.sh SOURCE CC... - uft stream: lines while the program waits, each once, with filters and functions; of a session; refusals
. "$(dirname "$0")/../../lib/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the tracing directory knows programs of x86_64 only"
source=$1
shift
cat >main.c <<'end'
#include <unistd.h>
void run(int n);
int main(void) { char c; while (read(0, &c, 1) == 1) run(c - '0'); return 4; }
end
"$@" -O2 -DIS_LIBRARY -I"$source/include" -I"$source/include/uft/kernel" -I"$source/tests/func/observe/tracepoints" -o prog main.c \
	"$source/tests/func/observe/tracepoints/program.c" 2>compiled || { cat compiled; fail "cannot build prog"; }
S=uft_sample
ones() { sed -n 's/^.*: sample_one: a=\([0-9]*\)$/\1/p' "$1" | tr '\n' ' '; }

# ---- The first lines are there while the program waits for more
mkfifo in
{ "$uft" stream -e $S:sample_one ./prog <in >live 2>err; echo "status $?" >>live; } &
exec 9>in
printf 2 >&9
eventually() { n=0; while ! "$@"; do n=$((n + 1)); [ $n -lt 1200 ] || return 1; sleep 0.05; done; }
check
eventually grep -q 'sample_one: a=1$' live || { fail "nothing is printed while the program runs"; cat live err; }
printf 1 >&9
exec 9>&-
wait
expect_equal "each once" "$(ones live)" "0 1 0 "
expect_equal "the program's status" "$(grep status live)" "status 4"

echo 5 | tr -d '\n' >five
stream() { status=0; "$uft" stream "$@" ./prog <five >out 2>err || status=$?; ran="uft stream $*"; }
stream -e "$S:*" -v -e "$S:sample_[!o]*" -e $S:sample_odd
expect_status 4
expect_equal "-v" "$(ones out) $(grep -c 'sample_' out)" "0 1 2 3 4  5"
stream -e $S:sample_one -f 'a > 2'
expect_equal "-f" "$(ones out)" "3 4 "
stream -e $S:sample_one -R 'traceoff if a == 1'
expect_equal "-R" "$(ones out)" "0 1 "
stream -p function -l 'main' -l run
expect_equal "functions" "$(sed -n 's/.*: \([a-z]*\) <-.*/\1/p' out | tr '\n' ' ')" "main run "
stream -g run -e $S:sample_one
expect_out "run() {"
expect_out "/* sample_one: a=4 */"
check
grep -q '^#' out && fail "there is a head: $(grep -m 1 '^#' out)"

# ---- A session's; its readers are told apart by what they consumed
run "$uft" shell --no-mount sh -c "'$uft' write set_event '$S:*' 2>/dev/null; echo sched:sched_process_exec | '$uft' write set_event; true; /bin/true
	'$uft' stream >part & while ! grep -q sched_process_exec part; do sleep 0.05; done; kill \$!"
expect_status 0

# ---- Refused
run "$uft" stream -e sched
expect_status 2
run "$uft" stream -S 1 ./prog
expect_status 2
run "$uft" stream ./nosuch
expect_status 127
run "$uft" stream -e $S:sample_one -f 'b == 1' ./prog
expect_status 1
expect_err "Field not found"
