#!/bin/sh
# SPDX-License-Identifier: MIT
#
# advice.sh MACHINE CC EMULATOR - uft's advice about a program of another machine: how to start it, how to build it
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 emulator=$3
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
echo 'int main(void) { return 0; }' >main.c
# shellcheck disable=SC2086
must_build $cc main.c -o plain
# shellcheck disable=SC2086
$emulator ./plain || skip "the emulator does not run a program"
options=$("$uft" cflags --quiet "--cc=$cc") || fail "cflags: no options"

# Without an emulator: the command that does it, which then works.
run "$uft" record -o rec.uft ./plain
expect_status 1
expect_err "takes an emulator: uft record --emulator='qemu-$machine -L /usr/$machine-linux-gnu'"
run "$uft" doctor ./plain
expect_out "uft record --emulator='qemu-$machine"
# Nothing prepared: it is rewritten; the options of this machine, which then work.
run "$uft" record "--emulator=$emulator" -o rec.uft ./plain
expect_status 0
run "$uft" sites ./plain
expect_out "entries are rewritten; $options prepares all functions"
check
grep -q 'entries can be rewritten' out || fail "sites: what is rewritten is not counted: $(cat out)"
# shellcheck disable=SC2086
$cc $options main.c -o plain
run "$uft" record "--emulator=$emulator" -o rec.uft ./plain
expect_status 0
run "$uft" report --profile rec.uft
expect_out main
