#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hazards.sh MACHINE CC PAD EMULATOR - the hazard programs (tests/func/hazards) under the emulator
#
# Left out: what an emulator cannot do (clone with shared memory, exec of programs for another machine, sigtrap, mlockall of
# address space for the worst case), and mainexit: qemu 7.2 fails an assertion when a thread is made after others have gone.
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 pad=$3 emulator=$4 plain=
hazards=$top/tests/func/hazards
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
flags="-O2 -g -w -pthread -fpatchable-function-entry=$pad"
# shellcheck disable=SC2086
must_build $cc $flags "$hazards/hazards.c" -o hazards
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
# Exceptions: the unwinder finds true return addresses, wherever functions have put them.
throws='exception rethrow except_threads exit_unwind except_coroutine backtrace'
# shellcheck disable=SC2086
if ${cc%gcc}g++ $flags "$hazards/hazards_cc.cc" -o hazards-cc 2>err; then
	hazard hazards-cc function exception rethrow except_threads exit_unwind ifunc tls
	hazard hazards-cc function_graph $throws ifunc tls
	${cc%gcc}g++ ${flags%-fpatch*} "$hazards/hazards_cc.cc" -o hazards-cc-plain || fail "C++ without pads"
	plain=plain
	hazard hazards-cc-plain function_graph exception except_coroutine
	# All that throws is traced itself. (Of riscv64 it is luck what is within reach.)
	[ "$machine" != aarch64 ] ||
		HAZARD_FLAGS="-l *:mod:libstdc++* -l *:mod:libgcc*" hazard hazards-cc-plain function_graph exception
	plain=
	# The unwinder is the program's own. Return addresses are signed, by either key, and nothing leads from frame to frame.
	${cc%gcc}g++ $flags -static-libgcc -static-libstdc++ "$hazards/hazards_cc.cc" -o hazards-cc-own || fail "C++ with its libraries"
	hazard hazards-cc-own function_graph exception
	for how in -fomit-frame-pointer "-mbranch-protection=standard -fomit-frame-pointer" -mbranch-protection=pac-ret+b-key; do
		[ "$machine" = aarch64 ] || break
		${cc%gcc}g++ $flags $how "$hazards/hazards_cc.cc" -o hazards-cc-how || fail "C++ $how"
		hazard hazards-cc-how function_graph exception backtrace
	done
else
	echo "SKIP: exceptions: ${cc%gcc}g++: $(head -n 1 err)"
fi
# An unwinder that cannot be hooked: its first instruction says where it stands, and there is another one behind it.
case $machine in
aarch64) first='adr x1, .' ;;
riscv64) first='auipc a1, 0' ;;
esac
cat >unhooked.c <<END
__asm__(".globl _Unwind_RaiseException\n.type _Unwind_RaiseException, %function\n"
	"_Unwind_RaiseException: $first\n\tret\n\tnop\n\t.size _Unwind_RaiseException, . - _Unwind_RaiseException");
int _Unwind_RaiseException(void *);
__attribute__((noinline)) int thrown(int x) { return x + 1; }
int main(int argc, char **argv) { (void)argv; return argc > 5 ? _Unwind_RaiseException(0) : thrown(-1); }
END
# shellcheck disable=SC2086
$cc $flags unhooked.c -o unhooked || fail "unhooked"
for tracer in function_graph profile; do
	run timeout 60 "$uft" record -q "--emulator=$emulator" -p $tracer -o rec.uft ./unhooked
	expect_status 1
	expect_err 'unhooked, which begins to unwind by code that cannot be hooked'
	expect_err 'the tracer function can be used (-p function)'
done
run timeout 60 "$uft" record -q "--emulator=$emulator" -p function -o rec.uft ./unhooked
expect_status 0
