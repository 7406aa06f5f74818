#!/bin/sh
# SPDX-License-Identifier: MIT
# kernel.sh TARGET - boots the kernel that UFT_KERNEL names (a vmlinuz) and looks whether kernel/ is still what it prints
. "$(dirname "$0")/../../lib/common.sh"

[ -n "${UFT_KERNEL:-}" ] || skip "UFT_KERNEL names no kernel to boot"
here=$top/tests/golden/tree
run sh "$here/capture.sh" "$1" "$UFT_KERNEL" "$tmp/told"
[ "$status" -ne 77 ] || skip "$(tail -n 1 out)"
expect_status 0
for case in "$here"/kernel/*; do
	awk -f "$here/mask.awk" <"$case" >kept
	awk -f "$here/mask.awk" <"told/${case##*/}" >live
	check
	diff kept live || fail "${case##*/}: another text (< kept, > live)"
done
