#!/bin/sh
# SPDX-License-Identifier: MIT
#
# args.sh MACHINE CC PAD EMULATOR - arguments and results of functions, the same on each machine (args.c), prepared and unprepared
#
# EMULATOR may be empty: this machine, with --preload.
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 pad=$3 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *} taskset
# shellcheck disable=SC2086
need_libc $cc
first_cpus
cat >both <<'END'
four(0x1, 0x1234567890abcdef, 0xffffffffffffffff, 0x4); /* = 0x1234567890abcdf3 */
ten(0x1, 0x2, 0x3, 0x4); /* = 0x279c */
half(0x5, 0x6, 0x7, 0x8); /* = 0xc */
fails(0xfffffffffffffffd, 0x3, 0x7fffffff, 0x80000000); /* = -22 */
deep(0x2, 0xa, 0x14, 0x1e) {
  deep(0x1, 0xb, 0x14, 0x1e) {
    deep(0x0, 0xc, 0x14, 0x1e); /* = 0x65 */
  } /* deep = 0x66 */
} /* deep = 0x67 */
passes_on(0x1, 0x2, 0x3, 0x4) {
  four(0x4, 0x3, 0x2, 0x1); /* = 0xa */
} /* passes_on = 0xa */
END
sed 's/([^)]*)/()/' both >results
sed 's: /\*.*::' both >arguments
sed 's/([^)]*)/()/' arguments >neither

# calls WANT OPTIONS...: what the report shows of args.c's functions is the file WANT, but for times. On one CPU: who comes to
# another one in a call has its end in a line of its own.
calls() {
	want=$1
	shift
	set -- "${emulator:+--emulator=$emulator}" "$@"
	[ -n "$1" ] || { shift && set -- --preload "$@"; }
	run timeout 120 taskset -c "$CPU" "$uft" record -q -l four -l ten -l half -l fails -l deep -l passes_on -o rec.uft "$@" ./main
	expect_status 0
	run timeout 60 "$uft" report --no-pager rec.uft
	expect_status 0
	check
	sed -n 's/^ [^|]*|  //p' out | cmp -s - "$want" || { fail "$machine, $built, $*: not what is in $want"; show; }
}

for built in "-O2 -fpatchable-function-entry=$pad" "-O1 -fpatchable-function-entry=$pad" -O2 -pg; do
	# shellcheck disable=SC2086
	must_build $cc -Wall -Wextra $built "$top/tests/func/emulated/args.c" -o main
	# shellcheck disable=SC2086
	$emulator ./main || skip "the emulator does not run a program"
	check
	if [ "$built" = -pg ]; then		# they are gone when mcount is called
		calls neither -O funcgraph-args -O funcgraph-retval
		continue
	fi
	calls both -O funcgraph-args -O funcgraph-retval
	calls arguments -O funcgraph-args
	calls results -O funcgraph-retval
	calls neither -O nosleep-time
done
