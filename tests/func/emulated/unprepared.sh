#!/bin/sh
# SPDX-License-Identifier: MIT
#
# unprepared.sh MACHINE CC EMULATOR - unprepared programs and their C library: exact counts, unchanged output and registers
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 emulator=$3
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
src=$top/tests/func/emulated
# shellcheck disable=SC2086
must_build $cc -O2 -pthread "$src/work.c" -o work
# shellcheck disable=SC2086
$emulator ./work values >bare 2>&1 || skip "the emulator does not run a program: $(cat bare)"
# Whether memory within 1 MiB of a fixed address is free, as riscv64 needs, is luck.
case $machine in
aarch64) guard=-mbranch-protection=standard fixed=-no-pie odd="takes resolves pads asks nobody spins" ;;
riscv64) guard=-march=rv64g fixed= odd="tiny loops between asks nobody spins saves" ;;
esac

# record NAME TRACER PROGRAM MODE [FILTER...]: it writes and returns what it does untraced.
record() {
	name="$1 $2 $4" tracer=$2 program=$3 mode=$4
	shift 4
	[ "$mode" = spawned ] && set -- --no-children "$@"
	# shellcheck disable=SC2086
	$emulator "./$program" "$mode" >bare 2>&1
	run timeout 120 "$uft" record -q "--emulator=$emulator" -p "$tracer" "$@" -o rec.uft "./$program" "$mode"
	expect_status 0
	check
	cmp -s out bare || fail "$name: it says $(head -n 3 out), untraced $(head -n 3 bare); $(cat err)"
	check
	"$uft" stat rec.uft | grep -q '^lost: 0$' || fail "$name: $("$uft" stat rec.uft | head -n 20)"
}

# counted: each function that the program counts itself, so often, but for those that are too short.
counted() {
	"$uft" report --profile rec.uft | awk '!/^#/ { print $NF, $1 }' >seen
	"$uft" sites --skipped "$program" | sed -n 's/.* \([a-z_]*\)  \[shorter than.*/\1/p' >short
	grep -vwFf short bare >out
	check
	[ -s out ] && awk 'NR == FNR { seen[$1] += $2; next } seen[$1] != $2 { print $1, "was called", $2, "times, not", seen[$1] + 0; bad = 1 }
		END { exit bad }' seen out || fail "$name: $(awk 'NR == FNR { seen[$1] += $2; next } seen[$1] != $2 { print $1, $2, seen[$1] }' seen out)"
}

for flags in -O0 -O2 "-O2 $guard" "-O1 -fno-omit-frame-pointer $fixed"; do
	# shellcheck disable=SC2086
	$cc $flags -pthread "$src/work.c" -o work || fail "build with $flags"
	for tracer in function function_graph; do
		record "$flags" $tracer work values
		counted
	done
done
for mode in threads children spawned jumps signals exits; do
	for tracer in function function_graph; do
		record -O2 $tracer work $mode
		counted
	done
done

# The heap grows by all that a program with an allocator of its own asks for, wherever the program is.
cat >grows.c <<'END'
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int grow(int bytes)
{
	char *p = sbrk(bytes);

	if (p == (void *)-1)
		return 0;
	memset(p, 1, (size_t)bytes);
	return p[bytes - 1];
}
int main(void)
{
	int n = 0;

	for (int i = 0; i < 6; i++)
		n += grow(1 << 20);
	printf("grow %d\n", n);
	return n != 6;
}
END
for flags in -O1 "-O1 $fixed"; do
	# shellcheck disable=SC2086
	$cc $flags grows.c -o grows || fail "build of grows.c"
	check
	[ "$($emulator ./grows)" = "grow 6" ] || fail "untraced it does not grow"
	record "$flags" function grows -
	counted
done

# The C library under it as well, all of it. A name that both have counts for both. Not where it is luck what is within reach of it.
if [ "$machine" = aarch64 ]; then
for mode in values threads; do
	record "with libc" function_graph work $mode -l '*:mod:libc*' -l '*:mod:work'
	counted
	check
	[ "$("$uft" report --profile rec.uft | grep -cv '^#')" -gt 40 ] || fail "with libc: few functions of it: $("$uft" report --profile rec.uft)"
done
cat >heap.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	static char *volatile p[64];

	for (int i = 0; i < 64; i++)
		p[i] = malloc(16 + (size_t)i);
	for (int i = 0; i < 64; i++)
		free(p[i]);
	for (int i = 0; i < 10; i++)
		p[i] = getenv("PATH");
	puts("malloc 64\nfree 64\ngetenv 10");
	return 0;
}
END
$cc -O1 heap.c -o heap || fail "build of heap.c"
record "of libc" function heap - -l 'malloc:mod:libc*' -l 'free:mod:libc*' -l 'getenv:mod:libc*'
"$uft" report rec.uft | sed -n 's/.*: \(.*\) <-main$/\1/p' | sort | uniq -c | awk '{ print $2, $1 }' >seen
check
sort out | cmp -s - seen || fail "of libc: called by main: $(cat seen)"
record "of libc" function_graph heap - -l 'malloc:mod:libc*' -l 'getenv:mod:libc*' -l 'main'
check
[ "$("$uft" report rec.uft | grep -c '|    getenv')" -eq 10 ] || fail "of libc: getenv below main: $("$uft" report rec.uft | head -n 20)"
fi

# Registers. What calls a plain function may keep anything in a register that this function does not change, but for x16 and x17.
cp "$src/odd_$machine.S" odd.S
cat >odd.c <<'END'
#include <stdio.h>
long kept(void), spins(long), whence(void), whence_too(void), below(long), misc(void);
int main(void)
{
	int wrong = 0;

	for (int i = 0; i < 3; i++)
		wrong += kept() != 0;
	(void)spins(3), (void)misc();
	wrong += (unsigned long)(whence() - (long)main) > 4096 || (unsigned long)(whence_too() - (long)main) > 4096;
	wrong += below(3) != 10;
	puts(wrong ? "wrong" : "callee 3\nkept 3\nbelow 1");
	return wrong;
}
END
$cc -O1 odd.c odd.S -o odd || fail "build of odd.c"
for tracer in function function_graph; do
	record odd $tracer odd -
	counted
done
record whence function odd - -l 'whence*'
run "$uft" sites --skipped odd
for left in "spins  \[something jumps" "takes  \[reads the flags" "resolves  \[reads the flags" "pads  \[reads the flags" "asks  \[begins with an instruction that" \
	"nobody  \[its first bytes are not" "whence  \[function tracer only" "whence_too  \[function tracer only" "tiny  \[shorter than" \
	"loops  \[something jumps" "between  \[something jumps" "saves  \[reads the flags"; do
	case " $odd whence whence_too " in *" ${left%%  *} "*) ;; *) continue ;; esac
	check
	grep -q "$left" out || fail "sites: not $left: $(cat out)"
done
for left in $odd; do
	check
	[ "$(grep -c " $left$" out)" -eq 0 ] || fail "sites: $left is rewritten: $(cat out)"
done
# What it becomes, in words: the instruction that stood there moves to the slot, as the cross objdump has it.
run "$uft" disas below odd
check
moved=$("${cc%gcc}objdump" -d --disassemble=below odd | awk '/<below>:/ { getline; if (/paciasp|hint/) getline; print $2; exit }')
sed -n '/^uft code of below/,/^$/p' out | grep -q " $moved" && grep -q 'uft slot of below: function$' out && grep -q '^uft stub of below' out ||
	fail "disas: $moved is not in the slot: $(cat out)"
# The reasons sum to the rest, in libc as well.
for object in odd "$(printf '%s\n' /usr/"$machine"-linux-gnu/lib/libc.so.6)"; do
	[ -r "$object" ] || { echo "SKIPPED: reasons of libc: it is not there"; continue; }
	run "$uft" sites --summary "$object"
	check
	awk '/^# unprepared code:/ { all = $6; sum += $4 } /^# left alone:/ { sum += $4 } END { exit !all || all != sum }' out ||
		fail "$object: the reasons do not sum to the rest: $(cat out)"
	[ "$object" = odd ] && continue
	check
	awk '/^# unprepared code:/ { all = $6 - 0; ok = $4 } /left alone/ && /no function|no unwind/ { all -= $4 } END { exit ok < 0.95 * all }' out ||
		fail "$object: few functions can be rewritten: $(cat out)"
done
