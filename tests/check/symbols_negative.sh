#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols_negative.sh - check-symbols.sh fails for a call that runs up, and for an exception that is no longer needed
#
#	symbols_negative.sh TOOLS BUILD
set -eu
tools=$1 build=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir -p "$dir/b/symbol" "$dir/b/control"
for x in 'symbol/low.c.o:int high(void); int low(void) { return high(); }' 'control/arm_high.c.o:int high(void) { return 1; }'; do
	echo "${x#*:}" | cc -x c -c -o "$dir/b/${x%%:*}" -
done
: >"$dir/none"
! sh "$tools/check-symbols.sh" "$dir/b" "$dir/none" 2>"$dir/err" || { echo "a call that runs up passes"; exit 1; }
grep -q 'symbol/low.c needs high of control/arm' "$dir/err" || { cat "$dir/err"; exit 1; }
echo 'symbol/low.c high' >"$dir/one"
sh "$tools/check-symbols.sh" "$dir/b" "$dir/one"
cp "$tools/symbols-allowed.txt" "$dir/more"
echo 'symbol/nothing.c nothing' >>"$dir/more"
! sh "$tools/check-symbols.sh" "$build" "$dir/more" 2>"$dir/err" || { echo "an exception that is not needed passes"; exit 1; }
