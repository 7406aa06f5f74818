#!/bin/sh
# SPDX-License-Identifier: MIT
# calls.sh SOURCE - the table of doc/design/runtime.md names each system call that the runtime makes, and no other
set -eu
cd "$1"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/uft-calls.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# Which call each function of sys.h makes; of those for which there are two the one that x86-64 has.
awk '/^static inline/ && match($0, /sys_[a-z0-9_]+\(/) { fn = substr($0, RSTART, RLENGTH - 1) }
	/#else/ { other = 1 } /#endif/ { other = 0 }
	match($0, /__NR_[a-z0-9_]+, /) && fn && !other { print fn, substr($0, RSTART + 5, RLENGTH - 7) }' runtime/base/sys.h | sort -u >"$tmp/functions"
echo "sys_open openat" >>"$tmp/functions"

# Numbers of calls that the program makes are looked at in hook.c and sandbox.c.
files=$(find runtime/agent runtime/platform/linux runtime/trace -name '*.c' ! -name hook.c ! -name sandbox.c)
{
	grep -ohE 'sys_call[0-9]\(__NR_[a-z0-9_]+|return __NR_[a-z0-9_]+' $files | sed 's/.*__NR_//'
	grep -ohE 'sys_[a-z0-9_]+\(' $files | sed 's/(//' | sort -u |
		awk 'NR == FNR { call[$1] = $2; next } $1 in call { print call[$1] }' "$tmp/functions" -
} | sort -u >"$tmp/made"
awk -F '|' '/^\| call \|/ { on = 1; next } !/^\|/ { on = 0 } on && $2 !~ /---/ { gsub(/[ ]/, "", $2); gsub(/,/, "\n", $2); print $2 }' \
	doc/design/runtime.md | sort -u >"$tmp/said"

[ "$(wc -l <"$tmp/made")" -gt 40 ] || { echo "only $(wc -l <"$tmp/made") calls found"; exit 1; }
if ! cmp -s "$tmp/made" "$tmp/said"; then
	comm -23 "$tmp/made" "$tmp/said" | sed 's/^/not in the table of doc\/design\/runtime.md: /'
	comm -13 "$tmp/made" "$tmp/said" | sed 's/^/in the table, but not made: /'
	exit 1
fi
echo "$(wc -l <"$tmp/made") system calls"
