# SPDX-License-Identifier: MIT
#
# boot.sh - Debian's arm64 kernel in a virtual machine of several CPUs: for tests, after common.sh
#
# boot_kernel DIR: leaves the kernel's path in the file kernel, fetched into DIR if it is not there; skips the test where it is not to be had.
# boot_guest: boots it with what lies in the directory root, whose first process is init.c; each line of root/plan must end with
# status 0. What the guest has said is in the file said.

boot_kernel() {
	need qemu-system-aarch64 cpio gzip timeout
	dir=$1
	status=0
	# Fetching asks the network twice, and QEMU has 900 s: together less than the test has, so that a network which swallows all is a skip.
	APT_LIMIT=${APT_LIMIT:-200} "$top/tests/lib/fetch-kernel.sh" -d "$dir" arm64 >kernel 2>err || status=$?
	[ "$status" -ne 77 ] || skip "no kernel for arm64: $(tail -n 1 err)"
	[ "$status" -eq 0 ] || { cat err; exit 1; }
}

boot_guest() {
	mkdir -p root/proc root/sys root/dev root/tmp root/lib
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
}
