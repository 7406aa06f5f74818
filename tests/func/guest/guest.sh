#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guest.sh DIR PROGRAMS LIBRARY - the runtime on Debian's arm64 kernel, in a virtual machine of several CPUs
#
# What an emulator of programs does not show: signals and preemption that break exclusive accesses, membarrier, memory that is wiped on
# fork, text that changes under CPUs which are inside it. DIR is where the kernel is kept; without it, or QEMU, the test is skipped.
# PROGRAMS has guest-*; init.c runs them and tells how each ended. LIBRARY is the preloaded runtime.
. "$(dirname "$0")/../../lib/common.sh"
need qemu-system-aarch64 cpio gzip timeout aarch64-linux-gnu-nm
dir=$1 programs=$2 library=$3 libs=/usr/aarch64-linux-gnu/lib
status=0
# Fetching asks the network twice, and QEMU has 900 s: together less than the test has, so that a network which swallows all is a skip.
APT_LIMIT=${APT_LIMIT:-200} "$top/tests/lib/fetch-kernel.sh" -d "$dir" arm64 >kernel 2>err || status=$?
[ "$status" -ne 77 ] || skip "no kernel for arm64: $(tail -n 1 err)"
[ "$status" -eq 0 ] || { cat err; exit 1; }

mkdir -p root/proc root/sys root/dev root/tmp root/lib
for p in kernel ring storm words session prog; do cp "$programs/guest-$p" "root/$p"; done
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
/words 2
/session ${sites% }
PLAN
(cd root && find . | cpio -o -H newc --quiet | gzip -1) >initrd
# The CPUs take turns in one thread of the emulator. With a thread for each the stores of one CPU into code that another one is just
# translating are lost now and then (QEMU 7.2 lets the store through behind its look at what is translated, and has no ic ivau).
# The kernel speaks of its own death only: other messages would stand amid lines of programs. A busy machine is no stall.
boot="console=ttyAMA0 loglevel=1 nowatchdog rcupdate.rcu_cpu_stall_suppress=1 panic=-1 rdinit=/init"
timeout -k 5 "${LIMIT:-900}" qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on -accel tcg,thread=single -smp 3 -m 1024 -nodefaults \
	-display none -no-reboot -kernel "$(cat kernel)" -initrd initrd -append "$boot" \
	-serial file:console </dev/null >qemu 2>&1
status=$?
tr -d '\r' <console >said

if ! grep -q '^guest: ' said; then	# before the first program: that is not about us
	cat qemu
	tail -n 20 said
	[ "$status" -ne 124 ] || fail "the kernel did not start within its time"
	# What it says of its first process, or of where that is to come from, is about us: that is all which it says at this level.
	grep -qE 'Run /init|init failed|No working init|Attempted to kill init|mount root fs' said &&
		fail "the kernel came to its first process, and that did not come to its first line"
	[ "$checks_failed" -eq 0 ] || exit 1
	skip "QEMU does not boot the kernel"
fi
check
grep -qx 'guest: end' said || fail "the guest did not come to its end (status $status of QEMU)"
while read -r line; do
	check
	grep -qxF "guest: status 0 of $line" said || fail "$line: $(grep -F " of $line" said || echo 'did not end')"
done <root/plan
grep -E 'rounds|session' said | grep -v '^guest'
echo "SKIPPED: a guest for riscv64: Debian 12 has no kernel for it"
[ "$checks_failed" -eq 0 ] || sed 's/^/  guest: /' said
