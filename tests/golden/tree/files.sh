#!/bin/sh
# SPDX-License-Identifier: MIT
# files.sh - each file that the kernel has too: its type and mode are the kernel's, and a case of cases/ is about it
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

here=$top/tests/golden/tree
in_shell 'cd /sys/kernel/tracing; find . -path "./per_cpu/cpu[1-9]*" -prune -o -print | xargs stat -c "%A %n"'
expect_status 0
sort -k 2 out | grep -v '/cpu1$' >ours
awk 'NR == FNR { kernel[$2] = $1; next } $2 in kernel { print kernel[$2], $2 }' "$here/kernel/files" ours >theirs
awk 'NR == FNR { kernel[$2] = $1; next } $2 in kernel' "$here/kernel/files" ours >common
check
diff theirs common || fail "types and modes (< kernel, > ours)"
check
[ "$(grep -c . common)" -ge 90 ] || fail "only $(grep -c . common) files in common"

# Apart: what a kernel can do, and we; what has no meaning for programs; what only tests of its own in tests/func are about.
apart="README available_tracers available_events hash-ptr block blk_classic printk_formats"
apart=$(echo $apart)
for name in $(awk '/^-/ { print $2 }' common | sed 's/.*\///' | sort -u); do
	case " $apart " in *" $name "*) continue;; esac
	check
	grep -qwF -e "$name" "$here"/cases/* || fail "no case is about $name"
done
