#!/bin/sh
# SPDX-License-Identifier: MIT
# orphan_child.sh PROGRAM SOURCE - a fork child is followed, though its parent ended before the child's first traced call
program=$(realpath "$1") source=$(realpath "$2")
. "$(dirname "$0")/../../lib/common.sh"

# followed OPTION... PROGRAM...: its call, and the child's ten
followed() {
	run timeout 60 "$uft" record -q -p function -l work -o o.uft "$@"
	expect_status 0
	expect_equal "$*" "$("$uft" stat o.uft | sed -n 's/^calls: //p')" 11
}

followed "$program"
mkdir root
if [ "$(id -u)" -eq 0 ]; then
	followed "$program" "$tmp/root"
else
	echo "SKIPPED: in a chroot: not root"
fi
if command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null; then
	aarch64-linux-gnu-gcc -O2 -fpatchable-function-entry=2 -o orphan64 "$source" || exit 1
	followed --emulator "qemu-aarch64 -L /usr/aarch64-linux-gnu" ./orphan64
else
	echo "SKIPPED: under an emulator: no qemu-aarch64, or no compiler for it"
fi
