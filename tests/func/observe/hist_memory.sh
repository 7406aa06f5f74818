#!/bin/sh
# SPDX-License-Identifier: MIT
# hist_memory.sh SOURCE CC... - histograms that targets count, with a full run directory: reading one takes no memory, and later counts are read
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/lib/sample.sh"

if [ -z "${UFT_TEST_HIST_MEMORY:-}" ]; then
	need unshare
	flags=-m
	[ "$(id -u)" -eq 0 ] || flags=-rm
	unshare $flags mount -t tmpfs tmpfs "$tmp" 2>/dev/null || skip "no file system can be mounted here"
	UFT_TEST_HIST_MEMORY=1 unshare $flags "$top/tests/func/observe/hist_memory.sh" "$@"
	status=$?
	check
	exit $status
fi
[ "$(uname -m)" = x86_64 ] || skip "the tracing directory knows programs of x86_64 only"
source=$1
shift
cat >waits.c <<'EOF'
#include <stdio.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "sample.h"

static void await(const char *before, const char *name)
{
	fclose(fopen(before, "w"));
	for (int ms = 0; access(name, F_OK) && ms < 60000; ms++)
		usleep(1000);
}

static void count(void)
{
	for (int i = 0; i < 1000; i++)
		trace_sample_one(i % 4);
}

int main(void)
{
	await("begun", "first");
	count();
	await("counted", "second");
	count();
	await("counted-again", "end");
	return 0;
}
EOF
"$@" -O2 -I"$source/include" -I"$source/include/uft/kernel" -I"$source/tests/func/observe/tracepoints" -o waits waits.c 2>compiled ||
	{ cat compiled; fail "cannot build the program"; exit 1; }

# The commands are no targets: their own ends would give memory back.
mkdir -m 700 run
mount -t tmpfs -o size=60m,mode=700 tmpfs run
XDG_RUNTIME_DIR=$PWD/run
export XDG_RUNTIME_DIR
trigger=events/uft_sample/sample_one/trigger
hits() { "$uft" read ${trigger%trigger}hist >read 2>>log; sed -n 's/.*Hits: *\([0-9]*\).*/\1/p' read; }
fill() { head -c 128m /dev/zero >run/all 2>>log; }
"$uft" shell --no-mount sh -c 'echo "$UFT_SESSION" >name; exec ./waits' >out 2>err &
session=$!
ends_with_test $session
eventually test -e begun || { fail "the program did not begin"; exit 1; }
UFT_SESSION=$(cat name)
export UFT_SESSION
"$uft" write $trigger 'hist:keys=a:size=128' 2>>err || fail "no trigger"
fill
expect_equal "hits before the first event, without memory" "$(hits)" 0
rm run/all
: >first
eventually test -e counted
expect_equal "hits with memory" "$(hits)" 1000
fill
: >second
eventually test -e counted-again
expect_equal "hits of a map that has its memory" "$(hits)" 2000
: >end
wait $session
expect_equal "the program's status" $? 0
expect_no_err
umount run
check
