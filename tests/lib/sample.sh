# SPDX-License-Identifier: MIT
#
# sample.sh - after common.sh: the program of the uft_sample events
#
# build_sample SOURCE CC...: compiles it as prog, here; a failure ends the test.

build_sample() {
	[ "$(uname -m)" = x86_64 ] || skip "the tracing directory knows programs of x86_64 only"
	sample=$1
	shift
	"$@" -O2 -I"$sample/include" -I"$sample/include/uft/kernel" -I"$sample/tests/func/observe/tracepoints" -o prog \
		"$sample/tests/func/observe/tracepoints/program.c" 2>compiled || { cat compiled; fail "cannot build prog"; exit 1; }
}
