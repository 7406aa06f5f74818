#!/bin/sh
# SPDX-License-Identifier: MIT
#
# bti.sh CC EMULATOR - code whose pages enforce landing pads (BTI) and whose returns are signed (PAC), traced; the same on an old CPU
#
# It is a library without start files: C libraries without landing pads keep whole programs from being guarded. That pages
# are guarded is seen first: a call by pointer behind a landing pad ends the program.
. "$(dirname "$0")/../../lib/common.sh"
cc=$1 emulator=$2
# shellcheck disable=SC2086
need $cc ${emulator%% *}
cat >guarded.c <<'END'
__attribute__((noinline)) int leaf(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
__attribute__((noinline)) int by_pointer(int (*f)(int), int x) { return f(x) + 1; }
static int (*volatile again)(int, int);
__attribute__((noinline)) int down(int n, int x) { again = down; return n ? again(n - 1, x) + leaf(x) : by_pointer(leaf, x); }
__attribute__((noinline)) int tail(int x) { __asm__ volatile("" : "+r"(x)); return leaf(x); }
END
cat >main.c <<'END'
int leaf(int x), by_pointer(int (*f)(int), int x), down(int n, int x), tail(int x);
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return by_pointer((int (*)(int))((char *)leaf + 4), 1) != 3;
	return down(5, 1) + tail(1) != 3 + 5 * 2 + 2;
}
END

# recorded EMULATOR: both tracers, exact counts. Nothing is prepared where $pad is 0: then a library is traced if it is named.
recorded() {
	for tracer in function function_graph; do
		run timeout 60 "$uft" record -q "--emulator=$1" -p $tracer -l '*:mod:libguarded*' -o rec.uft ./main
		expect_status 0
		"$uft" report --profile rec.uft | grep -v '^#' | awk '{ print $NF, $1 }' | sort >seen
		printf 'by_pointer 1\ndown 6\nleaf 7\ntail 1\n' >want
		check
		cmp -s want seen || fail "$1 $pad $tracer: $(cat seen)"
	done
}

for pad in 2 4,2 3,1 0; do
	$cc -O2 -fPIC -shared -nostartfiles -mbranch-protection=standard -Wl,-z,force-bti "-fpatchable-function-entry=$pad" guarded.c \
		-o libguarded.so 2>err || skip "$cc builds no guarded library: $(cat err)"
	# shellcheck disable=SC2016
	$cc -O2 main.c -o main ./libguarded.so -Wl,-rpath,"$tmp" || fail "$pad: build"
	# shellcheck disable=SC2086
	$emulator ./main >out 2>&1 || skip "the emulator does not run it: $(cat out)"
	check
	# shellcheck disable=SC2086
	$emulator ./main bad >out 2>&1
	[ $? -eq 132 ] || skip "this emulator does not guard pages"
	recorded "$emulator"
done
# The first CPU of this kind: no landing pads, no signed returns, no atomic instructions but exclusive pairs.
recorded "${emulator%% *} -cpu cortex-a53 ${emulator#* }"
