#!/bin/sh
# SPDX-License-Identifier: MIT
#
# handlers.sh BUILD BENCH - no handler has more instructions than bench/baseline.txt keeps, nor fewer, so that it is kept anew
set -eu
found=$(sh "$2/handlers.sh" "$1")
[ "$found" ] || { echo "no handler was found in $1/runtime"; exit 1; }
bad=0
for line in $(echo "$found" | tr ' ' '='); do
	name=${line%=*} count=${line#*=}
	kept=$(awk -v k="instructions.$name" '$1 == "any" && $2 == k { print $3 }' "$2/baseline.txt")
	[ "$count" = "$kept" ] || { echo "$name: $count instructions, bench/baseline.txt keeps ${kept:-none} (make bench-quick KEEP=--keep)"; bad=1; }
done
exit $bad
