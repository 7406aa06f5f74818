#!/bin/sh
# SPDX-License-Identifier: MIT
# full_memory.sh - a full run directory while functions are traced and counted: neither commands for many sites nor sums of the profile end a program
. "$(dirname "$0")/../../lib/common.sh"

if [ -z "${UFT_TEST_FULL_MEMORY:-}" ]; then
	need unshare awk
	flags=-m
	[ "$(id -u)" -eq 0 ] || flags=-rm
	unshare $flags mount -t tmpfs tmpfs "$tmp" 2>/dev/null || skip "no file system can be mounted here"
	UFT_TEST_FULL_MEMORY=1 unshare $flags "$top/tests/func/cli/full_memory.sh"
	status=$?
	check
	exit $status
fi
[ "$(uname -m)" = x86_64 ] || skip "the tracing directory knows programs of x86_64 only"
{
	for i in $(seq 2000); do echo "__attribute__((noinline)) void f_$i(void) { __asm__ volatile(\"\"); }"; done
	cat <<'EOF'
#include <stdio.h>
#include <unistd.h>
static void await(const char *before, const char *name)
{
	fclose(fopen(before, "w"));
	for (int ms = 0; access(name, F_OK) && ms < 100000; ms++)
		usleep(1000);
}
static void all(void)
{
EOF
	for i in $(seq 2000); do echo "	f_$i();"; done
	cat <<'EOF'
}
int main(void)
{
	await("begun", "1");
	all();
	await("traced", "2");
	all();
	await("scarce", "3");
	all();
	await("counted", "4");
	return 3;
}
EOF
} >many.c
need_libc cc -pg -mfentry -fno-pie -no-pie
must_build cc -O1 -pg -mfentry -fno-pie -no-pie -o many many.c

mkdir -m 700 run
mount -t tmpfs -o size=60m,mode=700 tmpfs run
XDG_RUNTIME_DIR=$PWD/run
export XDG_RUNTIME_DIR
fill() { head -c 128m /dev/zero >run/all 2>>log; }
write() { "$uft" write "$1" "$2" 2>>log || fail "$1: $2: $(tail -n 1 log)"; }
# The commands are no targets: their own ends would give memory back.
"$uft" shell --no-mount sh -c 'echo "$UFT_SESSION" >name; ./many; status=$?; : >over; until [ -e 5 ]; do sleep 0.1; done; exit $status' >out 2>err &
session=$!
ends_with_test $session
eventually test -e begun || { fail "the program did not begin"; exit 1; }
UFT_SESSION=$(cat name)
export UFT_SESSION

fill
write set_ftrace_filter 'f_*'
write current_tracer function
rm run/all
: >1
eventually test -e traced || fail "the program ended, or waits"
"$uft" read trace >trace 2>>log
expect_equal "functions of the trace" "$(grep -o ' f_[0-9]*' trace | sort -u | wc -l)" 2000

# Sums: what is called while there is no memory is lost, and the program goes on.
fill
write current_tracer nop
write function_profile_enabled 1
: >2
eventually test -e scarce || fail "the program ended, or waits"
"$uft" read trace_stat/function0 >scarce.sums 2>>log
rm run/all
: >3
eventually test -e counted || fail "the program ended, or waits"
for file in $("$uft" ls trace_stat 2>>log); do "$uft" read "trace_stat/$file" >>every 2>>log; done
expect_equal "functions that were counted when there was memory" "$(awk '$1 ~ /^f_[0-9]*$/ { print $1 }' every | sort -u | wc -l)" 2000
expect_equal "and none twice as often as it was called" "$(awk '$1 ~ /^f_[0-9]*$/ { n[$1] += $2 } END { for (f in n) if (n[f] > 2) print f }' every)" ""
: >4
# A program that is executed then is not followed, and the user hears why.
eventually test -e over
tells() { fill; grep -q 'cannot make memory for its records: ' err; }
eventually tells || fail "nothing is said of programs that are not followed: $(cat err)"
rm run/all
: >5
wait $session
expect_equal "the program's status: no signal ended it" $? 3
umount run
check
