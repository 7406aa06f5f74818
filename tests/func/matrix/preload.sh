#!/bin/sh
# SPDX-License-Identifier: MIT
#
# preload.sh UFT - a preloaded library defines mcount: the program's calls are recorded, and still made
#
# Nothing in the program's file says so. What it prints is how often its functions, and mcount, were called.
set -eu
uft=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
command -v gcc >/dev/null || exit 77
cat >main.c <<'END'
#include <stdio.h>
extern long own_mcount_calls __attribute__((weak));
static int calls;
__attribute__((noinline)) void work(void) { __asm__ volatile("" : : : "memory"); calls++; }
int main(void)
{
	for (int i = 0; i < 100; i++)
		work();
	printf("%d %ld\n", calls + 1, &own_mcount_calls ? own_mcount_calls : -1);
	return 0;
}
END
gcc -shared -Wl,-Bsymbolic -o libown.so "$here/own.S"
for flags in -pg '-pg -mfentry'; do
	gcc -O1 -fPIC $flags -c main.c
	gcc -pie -o main main.o
	[ "$(LD_PRELOAD=./libown.so ./main)" = '101 101' ] || { echo "untraced: mcount is not taken over"; exit 1; }
	for tracer in function function_graph; do
		for preload in ./libown.so ''; do
			want='101 101'
			[ -n "$preload" ] || want='101 -1'
			got=$(LD_PRELOAD=$preload "$uft" record -p $tracer -o x.uft ./main 2>log) || { cat log; exit 1; }
			[ "$got" = "$want" ] || { echo "$flags, $tracer, '$preload': printed $got, not $want"; exit 1; }
			"$uft" report --no-pager --profile x.uft >report
			awk '$1 == 100 && $NF == "work" { w = 1 } $1 == 1 && $NF == "main" { m = 1 } END { exit !(w && m) }' report ||
				{ echo "$flags, $tracer, '$preload': not all calls were recorded"; cat report; exit 1; }
		done
	done
done
