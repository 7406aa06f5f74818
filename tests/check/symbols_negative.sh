#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols_negative.sh - check-symbols.sh fails for a call that runs up, and for a circle of too many files
#
#	symbols_negative.sh TOOLS
set -eu
tools=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# object BUILD PATH CODE
object() {
	mkdir -p "$dir/$1/symbol" "$dir/$1/control" "$dir/$1/stream"
	echo "$3" | cc -x c -c -o "$dir/$1/$2" -
}

# ring BUILD N: each of N files of control/arm calls the next one, and the last the first
ring() {
	i=1
	while [ $i -le "$2" ]; do
		object "$1" control/arm_f$i.c.o "int f$((i % $2 + 1))(void); int f$i(void) { return f$((i % $2 + 1))(); }"
		i=$((i + 1))
	done
}

object up symbol/low.c.o 'int high(void); int low(void) { return high(); }'
object up control/arm_high.c.o 'int high(void) { return 1; }'
! sh "$tools/check-symbols.sh" "$dir/up" 2>"$dir/err" || { echo "a call that runs up passes"; exit 1; }
grep -q 'symbol/low.c needs high of control/arm' "$dir/err" || { cat "$dir/err"; exit 1; }
object streams stream/select_low.c.o 'int high(void); int low(void) { return high(); }'
object streams stream/decode_high.c.o 'int high(void) { return 1; }'
! sh "$tools/check-symbols.sh" "$dir/streams" 2>"$dir/err" || { echo "a call that runs up in stream/ passes"; exit 1; }
grep -q 'stream/select/low.c needs high of stream/decode' "$dir/err" || { cat "$dir/err"; exit 1; }
mkdir -p "$dir/trees/tree"
object trees tree/core_low.c.o 'int high(void); int low(void) { return high(); }'
object trees tree/triggers_high.c.o 'int high(void) { return 1; }'
! sh "$tools/check-symbols.sh" "$dir/trees" 2>"$dir/err" || { echo "a call that runs up in tree/ passes"; exit 1; }
grep -q 'tree/core/low.c needs high of tree/triggers' "$dir/err" || { cat "$dir/err"; exit 1; }
mkdir -p "$dir/patch/runtime/libuft_core.a.p" "$dir/patch/symbol"
object patch runtime/libuft_core.a.p/patch_low.c.o 'int high(void); int low(void) { return high(); }'
object patch runtime/libuft_core.a.p/patch_bytes_high.c.o 'int high(void) { return 1; }'
! sh "$tools/check-symbols.sh" "$dir/patch" 2>"$dir/err" || { echo "a call that runs up in runtime/patch passes"; exit 1; }
grep -q 'runtime/patch/low.c needs runtime:high of runtime/patch/bytes' "$dir/err" || { cat "$dir/err"; exit 1; }
ring small 5
sh "$tools/check-symbols.sh" "$dir/small"
ring large 6
! sh "$tools/check-symbols.sh" "$dir/large" 2>"$dir/err" || { echo "a circle of six files passes"; exit 1; }
grep -q '6 files of a circle' "$dir/err" || { cat "$dir/err"; exit 1; }
