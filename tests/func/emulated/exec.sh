#!/bin/sh
# SPDX-License-Identifier: MIT
#
# exec.sh MACHINE CC PAD EMULATOR - a program that an emulated program executes by the emulator stays traced; other programs notice nothing
#
# Here by the emulator's name; where the kernel knows it (binfmt_misc) it is the same without.
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 pad=$3 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
cat >main.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int before(int x) { __asm__ volatile("" : "+r"(x)); return x; }
__attribute__((noinline)) int after(int x) { __asm__ volatile("" : "+r"(x)); return x; }
/* main [-f] [PROGRAM ARGUMENTS...]: executes it, with -f in a child. */
int main(int argc, char **argv)
{
	int status = 0, forks = argc > 1 && !strcmp(argv[1], "-f");
	char **next = argv + 1 + forks;

	if (!*next)
		return after(3) - 3;
	if (before(1) != 1)
		return 9;
	if (!forks || !fork()) {
		execvp(next[0], next);
		_exit(127);
	}
	wait(&status);
	return WEXITSTATUS(status);
}
END
# shellcheck disable=SC2086
must_build $cc -O1 "-fpatchable-function-entry=$pad" main.c -o main
# shellcheck disable=SC2086
$emulator ./main || skip "the emulator does not run a program"

# executed WANT OPTION WORDS...: calls by name.
executed() {
	want=$1 option=$2
	shift 2
	run timeout 120 "$uft" record "$option" -q "--emulator=$emulator" -o rec.uft ./main "$@"
	expect_status 0
	expect_no_err
	"$uft" report --profile rec.uft | grep -v '^#' | awk '{ print $NF $1 }' | sort | tr '\n' ' ' >seen
	expect_equal "$option $*" "$(cat seen)" "$want "
}

for tracer in function function_graph; do
	# shellcheck disable=SC2086
	executed 'after1 before1 main2' --tracer=$tracer $emulator ./main
	# shellcheck disable=SC2086
	executed 'after1 before2 main3' --tracer=$tracer -f $emulator ./main $emulator ./main
done
# By way of a program of this machine, to which none of it means anything.
executed 'after1 before1 main2' --tracer=function -f sh -c "$emulator ./main"
# shellcheck disable=SC2086
executed 'before1 main1' --no-children -f $emulator ./main

# Variables for the emulator stay, and LD_PRELOAD of the emulated program reaches no loader of this machine.
QEMU_SET_ENV=GIVEN=1
export QEMU_SET_ENV
executed 'before1 main1' --tracer=function sh -c 'echo "$GIVEN [$LD_PRELOAD$UFT_ARENA] $QEMU_SET_ENV"'
expect_out '1 [] GIVEN=1,LD_PRELOAD='
run timeout 120 "$uft" record --no-children -q "--emulator=$emulator" -o rec.uft ./main sh -c 'echo "[$LD_PRELOAD$UFT_ARENA] $QEMU_SET_ENV"'
expect_out '[] GIVEN=1'
check
! grep -q 'GIVEN=1,' out || fail "--no-children: $(cat out)"
unset QEMU_SET_ENV

# qemu takes what is behind a comma for another variable, the loader what is behind a blank for another library.
for place in a,b 'a b'; do
	mkdir "$place" && cp "$uft" "$place/uft" && ln -s "$(dirname "$uft")/runtime" "$place/runtime" || fail "a copy of uft"
	run timeout 120 "$place/uft" record -q "--emulator=$emulator" -o rec.uft ./main
	expect_status 1
	expect_err "$place/runtime/libuft-$machine.so: LD_PRELOAD takes no path with"
done
# Where files of sessions go if that folder is in memory.
where=$(mktemp -d /dev/shm/uft-test,XXXXXX) || skip "a folder in /dev/shm"
run env "XDG_RUNTIME_DIR=$where" timeout 120 "$uft" record -q "--emulator=$emulator" -o rec.uft ./main
rm -r "$where"
expect_status 1
expect_err "an emulator takes no path with a comma (-E): set XDG_RUNTIME_DIR"
