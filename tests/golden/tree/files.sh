#!/bin/sh
# SPDX-License-Identifier: MIT
# files.sh - each file that the kernel has too: its type and mode are the kernel's, and a case of cases/ is about it; the others are in a
# table of reasons: doc/design/absent.md
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

# Apart: what a kernel can do, and we; what has no meaning for programs; what only tests of its own in tests/func are about.
apart="README available_tracers available_events hash-ptr block blk_classic printk_formats"
apart=$(echo $apart)
for name in $(awk '/^-/ { print $2 }' common | sed 's/.*\///' | sort -u); do
	case " $apart " in *" $name "*) continue;; esac
	check
	grep -qwF -e "$name" "$here"/cases/* || fail "no case is about $name"
done
