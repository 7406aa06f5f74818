#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pages.sh MACHINE CC EMULATOR - a kernel whose memory pages are not of 4 KiB is refused by name, at once
. "$(dirname "$0")/../../lib/common.sh"
cc=$2 emulator=$3
# shellcheck disable=SC2086
need $cc ${emulator%% *}
cat >pages.c <<'END_C'
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("%ld\n", sysconf(_SC_PAGESIZE)); fflush(stdout); sleep(100); return 0; }
END_C
# Segments must lie as far apart, or the emulator says 4096.
$cc -Wl,-z,max-page-size=65536 -O2 -fpatchable-function-entry=4 pages.c -o pages || exit 1
large="${emulator%% *} -p 65536 ${emulator#* }"
# shellcheck disable=SC2086
timeout 5 $large ./pages >out 2>&1
[ "$(cat out)" = 65536 ] || skip "this emulator has no larger pages: $(cat out)"
run timeout 60 "$uft" record "--emulator=$large" -o rec.uft ./pages
expect_status 1
expect_err "pages are of 65536 bytes"
expect_err "needs pages of 4096"
expect_err_lines 1
expect_no_file rec.uft
