#!/bin/sh
# SPDX-License-Identifier: MIT
#
# mcount.sh MACHINE CC PAD EMULATOR - calls behind the prologue (-pg): counts and callers by both tracers, whatever the frame, with
# mcount's argument (gcc) and without one (clang); a frame that is not what it seems is left alone and counted
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc -pg
cat >main.c <<'END'
#include <stdarg.h>
#define STEP __attribute__((noinline))
#define USED(p) __asm__ volatile("" : : "r"(p) : "memory")
STEP int leaf(int x) { USED(&x); return x; }
STEP int large(int x) { char b[70000]; USED(b); return leaf(x) + 1; }
STEP int page(int x) { char b[5000]; USED(b); return leaf(x) + 1; }
STEP int varying(int n) { char b[n]; USED(b); return leaf(n) + 1; }
STEP int variable(int n, ...) { va_list v; va_start(v, n); n = leaf(va_arg(v, int)); va_end(v); return n + 1; }
STEP double many(int a, double b, int c, double d, long e, float f, int g, int h, int i, int j, int k, int l)
{
	return a + b + c + d + (double)e + f + g + h + i + j + k + leaf(l);
}
#ifdef ODD
void odd(void);
#else
#define odd()
#endif
int main(void)
{
	odd();
	return large(1) + page(2) + varying(30) + variable(1, 4) != 41 || many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) != 78;
}
END
case $machine in	# the argument is not what stands in the frame
aarch64) odd='stp x29, x30, [sp, #-16]!; mov x29, sp; mov x0, x29; bl _mcount; ldp x29, x30, [sp], #16; ret' ;;
riscv64) odd='addi sp, sp, -16; sd ra, 8(sp); mv a0, sp; call _mcount; ld ra, 8(sp); addi sp, sp, 16; ret' ;;
esac
printf '.globl odd\n.type odd, %%function\nodd: %s\n.size odd, . - odd\n' "$odd" >odd.s
# shellcheck disable=SC2086
must_build $cc -pg -DODD main.c odd.s -o odd
# shellcheck disable=SC2086
$emulator ./odd || skip "the emulator does not run a program"

# recorded NAME PROGRAM TRACER WANT: what a sed script makes of the report's lines.
recorded() {
	run timeout 60 "$uft" record -q "--emulator=$emulator" -p "$3" -o rec.uft "./$2"
	expect_status 0
	case $3 in
	function) says='s/main <-.*/main/; s/.*: //p' ;;	# a stripped libc has called main
	*) says='s/.*| *\([a-z]*\)().*/\1/p' ;;
	esac
	"$uft" report rec.uft | grep -v '^#' | sed -n "$says" | LC_ALL=C sort | tr '\n' ' ' >seen
	expect_equal "$1 $3" "$(cat seen)" "$4 "
}
calls='large leaf leaf leaf leaf leaf main many page variable varying'
callers='large <-main leaf <-large leaf <-many leaf <-page leaf <-variable leaf <-varying main many <-main page <-main variable <-main varying <-main'

both() {
	recorded "$1" main function "$callers"
	recorded "$1" main function_graph "$calls"
	check
	"$uft" stat rec.uft | grep -q '^counter_no_slot: 0$' || fail "$1: $("$uft" stat rec.uft)"
}

for opt in -O0 -O1 -O2 -Os; do
	$cc $opt -pg main.c -o main || fail "gcc $opt"
	both "gcc $opt"
	command -v clang >/dev/null || { echo 'SKIP: clang is not installed'; continue; }
	# It compiles only: it is not told where libraries are.
	clang "--target=$machine-linux-gnu" $opt -pg -c main.c -o main.o || fail "clang $opt"
	$cc main.o -o main || fail "clang $opt: link"
	both "clang $opt"
done
# Frames that are made piece by piece are not understood on arm64: left alone, not wrong.
$cc -O2 -pg -fstack-clash-protection main.c -o clash || fail "gcc -fstack-clash-protection"
[ "$machine" != aarch64 ] || recorded clash clash function_graph "${calls#large }"
recorded odd odd function_graph "$calls"
expect_err '1 call was left alone'
check
"$uft" stat rec.uft | grep -q '^counter_no_slot: 1$' || fail "odd: $("$uft" stat rec.uft)"

# Stripped, and on riscv64 no unwind data of C: the list alone knows the calls, each as what it is.
entries() { "$uft" sites main | awk '/^0x/ && $2 != "none" { print $1, $2, $3 }'; }
# listed NAME [OPTION]: main.o linked, stripped, traced
listed() {
	"$uft" recordmcount --quiet ${2-} main.o && $cc -Wl,--gc-sections main.o -o main || fail "$1: build"
	entries >want
	"${cc%gcc}strip" main
	entries >seen
	check
	[ "$(wc -l <want)" -eq 7 ] && cmp -s want seen || fail "$1: stripped: $(diff want seen)"
	run timeout 60 "$uft" record -q "--emulator=$emulator" -p function_graph -o rec.uft ./main
	expect_status 0
	check
	"$uft" stat rec.uft | grep -q '^calls: 11$' || fail "$1: $("$uft" stat rec.uft | grep calls)"
}
for nop in '' --nop; do
	$cc -O2 -pg -ffunction-sections -c main.c -o main.o || fail 'gcc: build'
	listed "gcc $nop" $nop
	command -v clang >/dev/null || continue
	clang "--target=$machine-linux-gnu" -O2 -pg -fPIE -ffunction-sections -c main.c -o main.o || fail 'clang: build'
	listed "clang $nop" $nop
done
