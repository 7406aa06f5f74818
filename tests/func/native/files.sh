#!/bin/sh
# SPDX-License-Identifier: MIT
#
# files.sh DIR PROGRAM - uft built for arm64 reads the same recordings as uft of this machine, with the same results
#
# It runs under an emulator of programs, which is enough where no program is started. Recordings of three machines, PROGRAM for arm64
# and the same for this one. DIR is where it is built.
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/native/build.sh"
need qemu-aarch64 gcc
program=$2
native_build "$1"
mkdir lib
for lib in $(native_libs "$native/uft"); do cp -L "$lib" lib; done
other() {
	qemu-aarch64 -L "${machine_libs%/lib}" -E LD_LIBRARY_PATH="$tmp/lib" "$native/uft" "$@"
}
qemu-aarch64 -L "${machine_libs%/lib}" "$machine_libs/libc.so.6" >/dev/null 2>&1 || skip "the emulator does not run a program"

# same ARGUMENT...: both print that, and end so
same() {
	run "$uft" "$@"
	mv out here
	here=$status
	run other "$@"
	check
	[ "$status" -eq "$here" ] && cmp -s here out || { fail "it says something else on arm64"; diff here out | head -n 10; show; }
}

run other --version
expect_status 0
expect_out 'uft '
gcc -O1 -pthread -fpatchable-function-entry=5 "$top/tests/func/guest/prog.c" -o here.prog || fail "cannot build a program for this machine"
run "$uft" record -q -p function -o x86.uft ./here.prog
expect_status 0
for recording in "$top/tests/golden/machines/arm64.uft" "$top/tests/golden/machines/riscv64.uft" x86.uft; do
	same report "$recording"
	same report --profile "$recording"
	same stat "$recording"
	"$uft" export -o here.dat "$recording" && other export -o there.dat "$recording" || fail "$recording is not exported"
	check
	cmp here.dat there.dat || fail "the exported $recording differs"
done
check
[ "$(other stat x86.uft | sed -n 's/^calls: //p')" = 9003 ] || fail "the recording of this machine has other calls: $(other stat x86.uft)"
same sites "$program"
same sites ./here.prog
same disas --site leaf ./here.prog
same cflags --quiet --cc=aarch64-linux-gnu-gcc
# Files of x86-64 alone are refused, and the message says what works.
run other attach 1
expect_status 1
expect_err "uft traces running programs on x86-64 only, not on arm64: start the program here with \`uft record PROGRAM\`"
run other record --watchdog "$program"
expect_status 1
expect_err "--watchdog works on x86-64 only"
run other record --int3 "$program"
expect_status 1
expect_err "--int3 works on x86-64 only"
run other record --stacktrace -p kmemtrace "$program"
expect_status 1
expect_err "uft records stacks on x86-64 only"
run other record ./here.prog
expect_status 1
expect_err "it is for another architecture (only arm64 programs"
