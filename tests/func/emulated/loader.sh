#!/bin/sh
# SPDX-License-Identifier: MIT
#
# loader.sh MACHINE CC PAD EMULATOR - libraries that come by dlopen() are traced from their constructors on, and dropped at dlclose()
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 pad=$3 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
src=$top/tests/func/emulated/loader.c
flags="-O1 -fpatchable-function-entry=$pad"
# shellcheck disable=SC2086
must_build $cc $flags "$src" -o loader
# shellcheck disable=SC2086
$cc $flags -DLIBRARY -fPIC -shared "$src" -o library.so || fail "the library"
$cc -O1 -DLIBRARY -fPIC -shared "$src" -o plain.so || fail "the plain library"
# shellcheck disable=SC2086
$emulator ./loader ./library.so 2 >/dev/null || skip "the emulator does not run a program"

# loaded WANT OPTIONS... -- ARGUMENTS...: calls by name.
loaded() {
	want=$1
	shift
	run timeout 120 "$uft" record -q "--emulator=$emulator" -o rec.uft "$@"
	expect_status 0
	expect_no_err
	"$uft" report --profile rec.uft | grep -v '^#' | awk '{ print $NF $1 }' | sort | tr '\n' ' ' >seen
	expect_equal "$*" "$(cat seen)" "$want "
}

all='closed10 entry10 inner40 load1 main1 opened10 step10'
loaded "$all" -p function -- ./loader ./library.so 10
loaded "$all" -p function_graph -- ./loader ./library.so 10
loaded 'closed10 entry10 inner40 opened10' -p function_graph -l ':mod:library.so' -- ./loader ./library.so 10
# On riscv64 it is luck whether there is memory within a jump of it (doc/design/porting.md).
[ "$machine" = riscv64 ] ||
	loaded 'entry5 inner20' -p function -l 'entry:mod:plain.so' -l 'inner:mod:plain.so' -- ./loader ./plain.so 5
# A fork child has no agent there: the thread that loads does what the session says.
loaded "$all" -p function_graph -- ./loader ./library.so 10 child
loaded 'closed5 entry5 inner20 load1 main1 opened5 step5' -p function -- ./loader ./library.so 5 child
loaded 'main1' -p function --no-children -- ./loader ./library.so 5 child
# Libraries that were loaded before the fork are traced in the child as in the parent.
# shellcheck disable=SC2086
$cc $flags "$src" -Wl,--no-as-needed ./library.so -o linked || fail "the linked program"
loaded 'closed1 entry2 inner6 load1 main1 opened1 step2' -p function -- ./linked ./library.so 2 child

# Two libraries by turns, at the place that both are linked for: what was called from there then, then was there.
for ends in 'first opened closed' 'second began ended'; do
	# shellcheck disable=SC2086
	set -- $ends
	# shellcheck disable=SC2086
	$cc $flags -DLIBRARY "-Dopened=$2" "-Dclosed=$3" -fPIC -shared "$src" -Wl,-Ttext-segment=0x60000000 -o "$1.so" || fail "the library $1"
done
run timeout 120 "$uft" record -q "--emulator=$emulator" -p function -o rec.uft ./loader ./first.so,./second.so 3
expect_status 0
expect_no_err
"$uft" report rec.uft | sed -n 's/.*: inner[^ ]* <-\([a-z]*ed\|began\)$/\1/p' | tr '\n' ' ' >seen
if grep -q elsewhere out; then
	echo "SKIPPED: two libraries at one place: the loader puts them elsewhere"
else
	expect_equal "callers" "$(cat seen)" 'opened closed began ended opened closed '
fi

# The session has left: the loader's calls ask nobody, and libraries load as ever.
timeout 120 "$uft" record -q "--emulator=$emulator" -p function -o rec.uft ./loader ./library.so 3 wait go >there 2>err.record &
timer=$!
recorder=
for i in $(seq 1200); do
	recorder=$(cat "/proc/$timer/task/$timer/children" 2>/dev/null)
	[ ! -s there ] || break
	kill -0 $timer 2>/dev/null || break
	sleep 0.05
done
pid=$(cat "/proc/${recorder% }/task/${recorder% }/children")
run timeout 60 "$uft" detach "${pid% }"
expect_status 0
touch go
for i in $(seq 1200); do
	! grep -q done there && kill -0 "${pid% }" 2>/dev/null || break
	sleep 0.05
done
wait $timer
expect_equal "loaded after detach" "$(tr '\n' ' ' <there)" "ready done "

# What throws, in a C program that brings the unwinder, and is caught behind frames of its own.
cat >throws.cc <<'END'
struct done { int *p; ~done() { ++*p; } };
static int ends;
extern "C" __attribute__((noinline)) int inner(int x) { done d{ &ends }; if (x >= 0) throw x; return 0; }
extern "C" __attribute__((noinline)) int catches(int x) { try { inner(x); } catch (int y) { return y; } return -1; }
extern "C" __attribute__((noinline)) int entry(int x) { int n = ends; return catches(x) + catches(x) + ends - n; }
END
# shellcheck disable=SC2086
if ${cc%gcc}g++ $flags -fPIC -shared throws.cc -o throws.so 2>err; then
	# shellcheck disable=SC2086
	$emulator ./loader ./throws.so 2 >/dev/null || fail "untraced it throws in vain"
	loaded 'catches40 entry20 inner40 load1 main1 step20' -p function -- ./loader ./throws.so 20
	loaded 'catches40 entry20 inner40 load1 main1 step20' -p function_graph -- ./loader ./throws.so 20
else
	echo "SKIP: exceptions: ${cc%gcc}g++: $(head -n 1 err)"
fi
