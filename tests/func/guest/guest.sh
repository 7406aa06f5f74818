#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guest.sh DIR PROGRAMS LIBRARY - the runtime on Debian's arm64 kernel, in a virtual machine of several CPUs
#
# What an emulator of programs does not show: signals and preemption that break exclusive accesses, membarrier, memory that is wiped on
# fork, text that changes under CPUs which are inside it. DIR is where the kernel is kept; without it, or QEMU, the test is skipped.
# PROGRAMS has guest-*; init.c runs them and tells how each ended. LIBRARY is the preloaded runtime.
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/guest/boot.sh"
need aarch64-linux-gnu-nm
dir=$1 programs=$2 library=$3 libs=/usr/aarch64-linux-gnu/lib
boot_kernel "$dir"

mkdir -p root/lib
for p in kernel ring storm abort words session prog; do cp "$programs/guest-$p" "root/$p"; done
cp "$programs/guest-init" root/init
cp "$library" root/libuft.so || exit 1
cp "$libs/ld-linux-aarch64.so.1" "$libs/libc.so.6" root/lib || exit 1
sites=$(aarch64-linux-gnu-nm root/prog | sed -n 's/^\([0-9a-f]*\) T \(leaf\|mid\)$/\1/p' | sort | tr '\n' ' ')
cat >root/plan <<PLAN
/kernel
/ring
/storm function 1 300
/storm graph 2 300
/storm exchange 1 300
/storm sections 2 300
/storm mixed 2 300
/abort
/words 2
/session ${sites% }
PLAN
boot_guest
grep -E 'rounds' said | grep -v '^guest'
echo "SKIPPED: a guest for riscv64: Debian 12 has no kernel for it"
[ "$checks_failed" -eq 0 ] || sed 's/^/  guest: /' said
