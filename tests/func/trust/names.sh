#!/bin/sh
# SPDX-License-Identifier: MIT
#
# names.sh NAMES - many processes with names for their made code: the recorder reads up to its bound for all together
names=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
need timeout
run timeout -s KILL 100 "$uft" record -o t.uft -p function -l work "$names" 4 33
xargs rm -f <out
expect_status 0
check
[ "$(wc -l <out)" -eq 4 ] || { fail "not all children wrote their maps"; show; }
sed -n 's/.*only the first \([0-9]*\) MB of its perf-.*/\1/p' err >read
[ "$(wc -l <read)" -eq 4 ] || { fail "the maps of $(wc -l <read) children were read"; show; }
[ "$(awk '{ n += $1 } END { print n }' read)" -le 64 ] || { fail "more than 64 MB were read"; show; }
run "$uft" stat t.uft
expect_status 0
