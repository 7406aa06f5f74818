#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hazards.sh MACHINE CC PAD EMULATOR - the hazard programs (tests/func/hazards) where the emulator runs them
#
# Left out: what an emulator cannot do (clone with shared memory, exec of programs for another machine, sigtrap, mlockall of
# address space for the worst case), and mainexit: qemu 7.2 fails an assertion when a thread is made after others have gone.
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 pad=$3 emulator=$4 plain=
hazards=$top/tests/func/hazards
# shellcheck disable=SC2086
need $cc ${emulator%% *}
flags="-O2 -g -w -pthread -fpatchable-function-entry=$pad"
# shellcheck disable=SC2086
$cc $flags "$hazards/hazards.c" -o hazards 2>err || skip "$cc does not build the hazards: $(cat err)"
# shellcheck disable=SC2086
$emulator ./hazards tail >out 2>&1 || skip "the emulator does not run a program: $(cat out)"

# hazard PROGRAM TRACER CASE...
hazard() {
	program=$1 tracer=$2
	shift 2
	for case; do
		check
		HAZARD_EMULATOR=$emulator run sh "$hazards/run.sh" "$uft" "$tracer" "./$program" "$case" ${plain:+"$plain"}
		[ "$status" -eq 0 ] || fail "$machine $tracer $case: $(cat out)"
	done
}

hazard hazards function_graph longjmp deep tail noreturn abi nested vector signal sigjump coroutine migrate pthread_exit \
	cancel fork forktree vfork vforkthreads execfail waitany daemon closerange fds pipe_eof limits dumpable crash
hazard hazards function tail abi vector signal sigjump migrate cancel fork crash
# Plain code: its handlers keep what the fast paths use.
# shellcheck disable=SC2086
$cc ${flags%-fpatch*} "$hazards/hazards.c" -o hazards-plain || fail "without pads"
plain=plain
hazard hazards-plain function_graph longjmp tail nested signal sigjump coroutine migrate
plain=
# Calls behind the prologue: where it put the return address is read from its code.
# shellcheck disable=SC2086
if $cc ${flags%-fpatch*} -pg "$hazards/hazards.c" -o hazards-pg 2>err; then
	hazard hazards-pg function_graph longjmp deep tail noreturn abi nested vector signal sigjump coroutine migrate cancel fork vfork
else
	fail "-pg: $(cat err)"
fi
# The same without an argument of mcount. clang compiles only: it is not told where libraries are.
if command -v clang >/dev/null; then
	# shellcheck disable=SC2086
	clang "--target=$machine-linux-gnu" -isystem "/usr/$machine-linux-gnu/include" ${flags%-fpatch*} -pg -c "$hazards/hazards.c" -o hazards.o &&
		$cc -pthread hazards.o -o hazards-clang || fail "clang -pg"
	hazard hazards-clang function_graph longjmp deep noreturn abi nested vector signal sigjump cancel fork
	hazard hazards-clang function abi vector signal
fi
# Exceptions: the graph refuses programs with an unwinder.
# shellcheck disable=SC2086
if ${cc%gcc}g++ $flags "$hazards/hazards_cc.cc" -o hazards-cc 2>err; then
	hazard hazards-cc function exception rethrow except_threads exit_unwind ifunc tls
	run timeout 60 "$uft" record -q "--emulator=$emulator" -p function_graph -o rec.uft ./hazards-cc exception
	expect_status 1
	expect_err 'exceptions do not pass through traced frames'
else
	echo "SKIP: exceptions: ${cc%gcc}g++: $(head -n 1 err)"
fi
