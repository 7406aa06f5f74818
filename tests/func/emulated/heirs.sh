#!/bin/sh
# SPDX-License-Identifier: MIT
#
# heirs.sh MACHINE CC PAD EMULATOR - a fork child has no memory of its parent's, whatever rights it gives up (doc/design/trust.md)
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 pad=$3 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
# shellcheck disable=SC2086
must_build $cc -O2 -D_GNU_SOURCE "-fpatchable-function-entry=$pad" "-I$top/include" -pthread "$top/tests/func/trust/hostile.c" -o hostile
# shellcheck disable=SC2086
$emulator ./hostile 2>/dev/null
[ $? -eq 2 ] || skip "the emulator does not run a program"

# heir HOW [EMULATOR]: a child and its child are followed, and neither has its parent's file mapped when it shall not
heir() {
	run timeout -s KILL 60 "$uft" record -q -o rec.uft "--emulator=${2:-$emulator}" -p function_graph -l work ./hostile heir "$1" fork
	expect_status 0
	"$uft" stat rec.uft >stat
	check
	grep -qx 'tasks: 2' stat && grep -qx 'calls: 4' stat && grep -qx 'counter_no_slice: 0' stat ||
		{ fail "heir $1 on $machine: not all children were followed"; cat stat; }
}

heir once
heir unseen
[ "$(id -u)" -ne 0 ] || heir chroot
[ "$(id -u)" -ne 0 ] || heir user

# The recorder drops memory that no process has mapped: not what an agent has taken and maps late.
if has "memory that is mapped late" strace; then
	heir once "strace -DD -f -qq -o calls -e trace=munmap -e inject=munmap:delay_exit=50000 $emulator"
fi

# Memory for one child after another lies at the same places: the emulator keeps notes of each page that it ever gave, and copies them
# in each fork.
cat >forks.c <<'END'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int own_kib(void)
{
	long size, resident = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld %ld", &size, &resident, &shared) != 3)
		return -1;
	fclose(f);
	return (int)((resident - shared) * sysconf(_SC_PAGESIZE) / 1024);
}
__attribute__((noinline)) void work(void) { __asm__ volatile("" ::: "memory"); }
int main(void)
{
	int before = 0, n = 0;

	for (int i = 0; i < 80; i++) {
		pid_t child = fork();

		work();
		if (!child)
			_exit(0);
		n += waitpid(child, 0, 0) == child;
		if (i == 20)
			before = own_kib();
	}
	printf("%d %d\n", n, own_kib() - before);
	return 0;
}
END
# shellcheck disable=SC2086
$cc -O1 "-fpatchable-function-entry=$pad" forks.c -o forks || fail "build of forks.c"
run timeout -s KILL 100 "$uft" record -q -o rec.uft "--emulator=$emulator" -p function_graph -l work ./forks
expect_status 0
check
read -r born kib <out
[ "$born" = 80 ] && [ "$kib" -lt 8000 ] || fail "80 forks: $born were born, and the emulator has grown by $kib KiB in the last 59"
