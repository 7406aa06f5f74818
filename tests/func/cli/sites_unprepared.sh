#!/bin/sh
# SPDX-License-Identifier: MIT
# sites_unprepared.sh - `uft sites` and `uft disas` on unprepared code
. "$(dirname "$0")/../../lib/common.sh"

need gcc

cat >prog.c <<'END'
#include <setjmp.h>
void *volatile where;
__attribute__((noinline)) void remembers(void) { where = __builtin_return_address(0); }
__attribute__((noinline)) int loops(int n)
{
	__asm__ volatile("" ::: "memory");
	while (n--)
		where = &where;
	return 7;
}
__attribute__((naked, noinline)) void spins(void) { __asm__("dec %edi; jnz spins; ret; nop; nop; nop; nop"); }
int main(int argc, char **argv)
{
	(void)argv;
	remembers();
	spins();
	return loops(argc);
}
END
gcc -O2 -fcf-protection=none -o prog prog.c || exit 1

# Sums: data lines with -S are the entries; what can be rewritten and the reasons sum to them.
run "$uft" sites -S prog
expect_equal "status" "$status" 0
lines=$(grep -vc '^#' out)
usable=$(grep -v '^#' out | grep -vc ' none ')
expect_equal "entries" "$(sed -n 's/^# unprepared code: [0-9]* of \([0-9]*\) .*/\1/p' out)" "$lines"
expect_equal "usable" "$(sed -n 's/^# unprepared code: \([0-9]*\) of .*/\1/p' out)" "$usable"
expect_equal "left alone" "$(sed -n 's/^# left alone: \([0-9]*\): .*/\1/p' out | awk '{ n += $1 } END { print n + 0 }')" \
	$((lines - usable))
expect_equal "main" "$(awk '$NF == "main" { print $2, $3, $4 }' out)" "code 5 unwind"
expect_equal "remembers" "$(grep -c 'remembers  \[function tracer only' out)" 1
expect_equal "spins" "$(grep -c 'spins  \[something jumps into its first bytes' out)" 1

# A filter keeps to its functions; without -S only what is usable is listed.
run "$uft" sites -l 'spin*' -l main prog
expect_equal "filtered" "$(grep -vc '^#' out)" 1
expect_equal "filtered sum" "$(grep -c '^# unprepared code: 1 of 2 ' out)" 1

# A prepared program's unprepared code is listed on request only, and never twice.
gcc -O2 -fpatchable-function-entry=5 -o prep prog.c || exit 1
run "$uft" sites -l main prep
expect_equal "prepared" "$(awk '$NF == "main" { print $2 }' out)" "nops"
expect_equal "prepared, unprepared" "$(grep -c 'unprepared code' out)" 0
run "$uft" sites -a -l main -l _start prep
expect_equal "all, main" "$(awk '$NF == "main" { print $2 }' out)" "nops"
expect_equal "all, unprepared" "$(grep -c 'unprepared code' out)" 1

# disas: the entry as it becomes, its slot, and the moved instructions with the way back to behind them.
run "$uft" disas main prog
expect_equal "disas status" "$status" 0
moved=$(sed -n 's/^main .* \([0-9]*\) bytes move)$/\1/p' out)
expect_equal "rewritten" "$(grep -c 'jmp <uft slot of main>' out)" 1
expect_equal "slot" "$(grep -c 'jmp \*<cell>' out)" 1
run "$uft" disas remembers prog
expect_equal "way back" "$(grep -cE "jmp 0x[0-9a-f]+ <remembers\+0x|ret" out | awk '{ print ($1 > 0) }')" 1
expect_equal "bytes moved" "$((${moved:-0} >= 5))" 1
run "$uft" disas spins prog
expect_equal "left alone" "$(grep -c 'left alone: something jumps' out)" 1
expect_equal "left alone, not rewritten" "$(grep -c rewritten out)" 0

# A process: what stands there now.
cat >wait.c <<'END'
#include <unistd.h>
int main(void) { write(1, "x", 1); pause(); return 0; }
END
gcc -O2 -o wait wait.c || exit 1
mkfifo ready
./wait >ready &
pid=$!
head -c 1 <ready >/dev/null
run "$uft" sites -l main "$pid"
expect_equal "now" "$(awk '$NF == "main" { print $2, $5 }' out)" "code original"
run "$uft" disas -s main "$pid"
expect_equal "disas now" "$(awk '/^address/ { print $NF }' out)" now
kill "$pid"
wait "$pid" 2>/dev/null
true

# A program by its name, as record and doctor take it; messages name the command that was typed.
mkdir bin
mv wait bin/waits
PATH=$PWD/bin:$PATH run "$uft" sites -l main waits
expect_equal "sites in PATH" "$(awk '$NF == "main" { print $2 }' out)" code
PATH=$PWD/bin:$PATH run "$uft" disas -s main waits
expect_status 0
run "$uft" attach "$pid"
expect_status 1
expect_err "uft attach: there is no process $pid"

# What a name that matches nothing may be for: the names are gone.
strip prog
run "$uft" record -l remembers ./prog
expect_status 1
expect_err "'remembers' matches no function with a name (the program is stripped;"
run "$uft" record ./prog
expect_err "2 functions were left alone, 1 of them: something jumps"
true
