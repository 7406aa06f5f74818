#!/bin/sh
# SPDX-License-Identifier: MIT
# dlopen.sh - libraries that are loaded while threads run, prepared and unprepared: every call of every one of 20 loads
. "$(dirname "$0")/../../lib/common.sh"

here=$top/tests/func
nops="-fpatchable-function-entry=5"
${CC:-cc} -O2 -w -pthread -o dlopen "$here/unprepared/dlopen.c" -ldl || exit 1
${CC:-cc} -O2 -w -shared -fPIC -o libhazard.so "$here/hazards/libhazard.c" || exit 1
${CC:-cc} -O2 -w -shared -fPIC $nops -o libnops.so "$here/hazards/libhazard.c" || exit 1

for lib in libhazard libnops; do
	for tracer in function function_graph; do
		run "$uft" record -q -p $tracer -o x.uft -l "*:mod:$lib.so" ./dlopen "$PWD/$lib.so"
		expect_status 0
		expect_out 940
		run "$uft" report --profile x.uft
		for want in lib_ctor=20 lib_helper=20 lib_run=20 lib_leaf=100; do
			expect_equal "$lib, $tracer: ${want%=*}" "$(awk -v f="${want%=*}" '$NF == f { print $1 }' out)" "${want#*=}"
		done
		expect_equal "$lib, $tracer: left as they were" "$(stat_value x.uft counter_site_live)" 0
	done
done
# A name that is only in a library without preparation: an error that says how to say it.
run "$uft" record -q -l malloc ./dlopen
expect_status 1
expect_err "'malloc:mod:libc.so.6'"
