#!/bin/sh
# SPDX-License-Identifier: MIT
# files.sh - each file that the kernel has too: its type and mode are the kernel's, a case of cases/ reads it, and kernel/ has it
# written well and badly; each option of the kernel's changes a text. The kernel's other files are in a table of reasons: doc/design/absent.md
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

here=$top/tests/golden/tree
sed -n 's/^| `\([^`]*\)` |.*/\1/p' "$top/doc/design/absent.md" >rows
check
[ "$(grep -c . rows)" -ge 20 ] || fail "doc/design/absent.md has no table"

# compare LIST DIRECTORY LEAST: with the kernel's LIST, of which at least so many are here. What is not has a row.
compare() {
	in_shell 'cd /sys/kernel/tracing; mkdir -p '"$2"'; cd '"$2"'; find . -path "./instances/*" -prune -o -path "./per_cpu/cpu[1-9]*" -prune -o -print | xargs stat -c "%A %n"'
	expect_status 0
	sort -k 2 out >ours
	awk 'NR == FNR { kernel[$2] = $1; next } $2 in kernel { print kernel[$2], $2 }' "$here/kernel/$1" ours >theirs
	awk 'NR == FNR { kernel[$2] = $1; next } $2 in kernel' "$here/kernel/$1" ours >common
	check
	diff theirs common || fail "$1: types and modes (< kernel, > ours)"
	check
	[ "$(grep -c . common)" -ge "$3" ] || fail "$1: only $(grep -c . common) files in common"
	awk 'NR == FNR { ours[$2] = 1; next } !($2 in ours) { print substr($2, 3) }' ours "$here/kernel/$1" >missing
	while read -r path; do
		found=
		while read -r row; do
			# shellcheck disable=SC2254
			case $path in $row) found=1 && echo "$row" >>used;; esac
		done <rows
		check
		[ -n "$found" ] || fail "$1: $path is in a kernel, not here, and not in doc/design/absent.md"
	done <missing
}
compare instance instances/foo 65
compare files . 90
sort rows >sorted
check
sort -u used | comm -3 - sorted >stale
[ ! -s stale ] || { fail "doc/design/absent.md has rows that are about nothing:"; cat stale; }

# Read: a case names the file by its path. What `golden try` and `golden add` write is read by them as well. The case `events` is about
# those of events, in loops.
none=" options/hash-ptr options/block options/blk_classic "	# they have no meaning for programs and take nothing: func/tree/options.sh
grep -v '/events/[^f]' common | sed 's/\.\///' >paths
cat "$here"/cases/* >cases
cat "$here"/kernel/* >kernel
for name in $(awk '$1 ~ /^-r/ { print $2 }' paths); do
	case "$none" in *" $name "*) continue;; esac
	check
	grep -q "^$name " kernel || grep -qE "(^|[ <(])$name([ ;|)\"]|\$)" cases || grep -qw "if=$name" cases || fail "no case reads $name"
done

# Written: what is taken, and what is refused. Some refuse nothing.
any=" trace error_log free_buffer per_cpu/cpu0/trace "
for name in $(awk '$1 ~ /^-.*w/ { print $2 }' paths); do
	case "$none" in *" $name "*) continue;; esac
	check
	grep -q "^$name \".*\" ok" kernel || fail "no case writes $name what it takes"
	case "$any" in *" $name "*) continue;; esac
	grep -q "^$name \".*\" E[A-Z0-9]*" kernel || fail "no case writes $name what it refuses"
done

# Options: the text at 0 and at 1. Of others a test beside: they need a time that passes, events, a latency tracer, signals.
apart=" funcgraph-overhead stacktrace userstacktrace sym-userobj function-trace display-graph funcgraph-irqs sleep-time event-fork "	# func/tree/options.sh names them
option_text() { awk -v want="option $1 $2" '/^option / { on = $0 == want && !done; done += on; next } on' "$here"/kernel/switches "$here"/kernel/columns; }
for name in $(sed -n 's/^-.* options\///p' paths); do
	case "$apart" in *" $name "*) continue;; esac
	case "$none" in *" options/$name "*) continue;; esac
	check
	option_text "$name" 0 | awk -f "$here/mask.awk" >at0
	option_text "$name" 1 | awk -f "$here/mask.awk" >at1
	[ -s at0 ] || [ -s at1 ] || fail "no case shows option $name at 0 and at 1"
	! cmp -s at0 at1 || [ "$name" = record-cmd ] || fail "option $name changes nothing that a case shows"	# differs/switches says why
done
