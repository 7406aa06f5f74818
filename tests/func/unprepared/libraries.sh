#!/bin/sh
# SPDX-License-Identifier: MIT
# libraries.sh - unprepared libraries: calls from inside and outside, binding, lookup, replacement
. "$(dirname "$0")/../../lib/common.sh"

src=$top/tests/func/unprepared/libraries.c
cc="${CC:-cc} -O2 -w"
lib() {		# lib FILE NAME OPTIONS...
	file=$1 name=$2
	shift 2
	$cc -shared -fPIC -DNAME="$name" "$src" -o "$file" "$@" || exit 1
}
mkdir -p sub sub/inner
lib sub/inner/libinner.so inner
lib sub/libouter.so outer -Wl,-rpath,'$ORIGIN/inner'
lib sub/libturna.so turna
lib sub/libturnb.so turnb
lib libfirst.so first
lib libsecond.so second
lib libaudit.so audit
# As prelink(8) leaves them: with addresses of their own, at which the loader puts them.
mkdir -p preset/inner
lib preset/inner/libinner.so inner -Wl,-Ttext-segment=0x44000000
lib preset/libouter.so outer -Wl,-rpath,'$ORIGIN/inner' -Wl,-Ttext-segment=0x45000000
lib preset/libturna.so turna -s -Wl,-Ttext-segment=0x46000000
lib preset/libturnb.so turnb -Wl,-Ttext-segment=0x47000000
lib libpreset.so preset -Wl,-Ttext-segment=0x48000000
$cc -DPROGRAM "$src" -o prog-preset -pie -Wl,-Ttext-segment=0x49000000 -Wl,-rpath,'$ORIGIN/preset' || exit 1
$cc -DPROGRAM "$src" -o prog -Wl,-rpath,'$ORIGIN/sub' || exit 1
$cc -DPROGRAM "$src" -o prog-now -Wl,-z,now,-rpath,'$ORIGIN/sub' || exit 1
$cc -DPROGRAM "$src" -o prog-fixed -no-pie -fno-pie -Wl,-rpath,'$ORIGIN/sub' || exit 1
$cc -DPROGRAM -DSTATIC "$src" -o prog-static -static || exit 1
$cc -DPROGRAM -DSTATIC "$src" -o prog-static-pie -static-pie || exit 1
cp sub/libturna.so full.so
strip -s -o sub/libturna.so full.so
every="-l * -l *:mod:lib*.so* -l *:mod:ld-linux*"

# traced TRACER OPTIONS -- CMD...: its output, with a list of calls in x.calls.
traced() {
	tracer=$1 opts=$2
	shift 2
	set -f
	run "$uft" record -q -p "$tracer" -o x.uft $opts "$@"
	set +f
	expect_status 0
	cp out got
	"$uft" report --no-pager --profile x.uft >x.calls
}
calls() { awk -v f="$1" '$NF == f { n = $1 } END { print n + 0 }' x.calls; }

for tracer in function function_graph; do
	# Calls inside libc count, however the program is bound: each round is one strdup, which calls malloc, and one malloc.
	for prog in prog prog-now prog-fixed prog-preset; do
		for now in '' 1; do
			export LD_BIND_NOW=$now
			traced $tracer '-l malloc:mod:libc.so* -l qsort*:mod:libc.so* -l pick*' ./$prog alloc 10
			before=$(calls malloc)
			expect_equal "$prog $now: the resolver, which has the name of what it resolves" "$(calls picked)" 1
			expect_equal "$prog $now: what it chose" "$(calls picked_impl)" 5
			traced $tracer '-l malloc:mod:libc.so* -l qsort*:mod:libc.so*' ./$prog alloc 110
			expect_equal "$prog $now: malloc" "$(($(calls malloc) - before))" 200
			expect_equal "$prog $now: qsort" "$(calls qsort)" 110
			expect_equal "$prog $now: qsort_r, which only qsort calls" "$(calls qsort_r)" 110
			unset LD_BIND_NOW
		done
	done
	for prog in prog-static prog-static-pie; do	# its resolvers run before it has a thread pointer
		traced $tracer '-l pick*' ./$prog alloc 10
		expect_equal "$prog: output" "$(cat got)" done
		expect_equal "$prog: the resolver" "$(calls picked)" 1
		expect_equal "$prog: what it chose" "$(calls picked_impl)" 5
		traced $tracer '-l *' ./$prog alloc 10
		expect_equal "$prog, everything: output" "$(cat got)" done
		expect_equal "$prog, everything: what the resolver chose" "$(calls picked_impl)" 5
	done
	for prog in prog prog-preset; do
		for work in callers stays turns; do
			./$prog $work >want
			traced $tracer "$every" ./$prog $work
			expect_equal "$prog $work: output" "$(cat got)" "$(cat want)"
			[ $work != stays ] || expect_equal "$prog stays: the one that does" "$(calls turnb_hidden)" 11
		done
		expect_equal "$prog turns: the one with symbols" "$(calls turnb_hidden)" 50	# 10 * (a constructor and 4)
		expect_equal "$prog turns: the one without" "$(calls turna_hidden)" 0
		expect_equal "$prog turns: by address" "$(awk '$1 == 40 && $NF ~ /^libturna.so\+0x/' x.calls | wc -l)" 1
	done
	LD_PRELOAD="./libfirst.so ./libsecond.so" ./prog next >want
	LD_PRELOAD="./libfirst.so ./libsecond.so" traced $tracer "$every" ./prog next
	expect_equal "preload: output" "$(cat got)" "$(cat want)"
	expect_equal "preload: from its constructor on" "$(calls first_hidden) $(calls second_hidden)" "10 1"
	LD_PRELOAD="./libpreset.so ./libsecond.so" ./prog-preset next >want
	LD_PRELOAD="./libpreset.so ./libsecond.so" traced $tracer "$every" ./prog-preset next
	expect_equal "prelinked: output" "$(cat got)" "$(cat want)"
	expect_equal "prelinked: from its constructor on" "$(calls preset_hidden) $(calls second_hidden)" "10 1"
	LD_AUDIT=./libaudit.so ./prog callers >want
	LD_AUDIT=./libaudit.so traced $tracer "$every" ./prog callers
	expect_equal "audit: output" "$(cat got)" "$(cat want)"
	expect_equal "audit: from its constructor on" "$(calls audit_hidden)" 2
done

# The one that stays is left as it was.
mkfifo gate
set -f
# shellcheck disable=SC2086
WAIT=1 "$uft" record -q -p function -o x.uft $every ./prog-preset stays <gate >got &
recorder=$!
set +f
exec 8>gate
until [ "$(wc -l <got)" = 2 ] || ! kill -0 $recorder; do sleep 0.1; done
pid=$(cat /proc/$recorder/task/$recorder/children)
run "$uft" detach ${pid% }
expect_status 0
run "$uft" sites ${pid% }
expect_equal "entries that are not as they were" "$(awk '$1 ~ /^0x/ && $5 != "original"' out | wc -l)" 0
check
grep -q 'libturnb.so' out || fail "no libturnb.so"
exec 8>&-
wait $recorder

# A pattern that names a function that only chooses (memcpy, strlen) is explained: the function that is called has a name of its own.
cat >chosen.c <<'END'
__attribute__((noinline)) static int __pick_fast(int x) { return x + 1; }
static int (*resolve(void))(int) { return __pick_fast; }
int pick(int) __attribute__((ifunc("resolve")));
END
cat >choosing.c <<'END'
#include <stdio.h>
int pick(int);
int main(int argc, char **argv)
{
	int n = 0;
	(void)argv;
	for (int i = 0; i < 5; i++)
		n = pick(n);
	while (argc > 1 && getchar() != EOF)
		;
	return n - 5;
}
END
$cc -fPIC -shared -o libchosen.so chosen.c && $cc -o choosing choosing.c ./libchosen.so || exit 1
chooses="pick of libchosen.so is an ifunc: it only chooses, at the start, which function is called; that one has a name of its own: -l '__pic*:mod:libchosen.so'"
for name in pick 'p*'; do
	run "$uft" record -p function -o x.uft -l "$name:mod:libchosen*" ./choosing
	expect_status 0
	expect_err "$chooses"
done
for name in '__pic*' '*pick*' '*'; do
	run "$uft" record -p function -o x.uft -l "$name:mod:libchosen*" ./choosing
	expect_equal "$name: choosers named" "$(grep -c 'only chooses' err)" 0
	"$uft" report --no-pager --profile x.uft >x.calls
	expect_equal "$name: calls of what was chosen" "$(calls __pick_fast)" 5
done
# As well when the recording ends before the program.
mkfifo waits
./choosing waits <waits &
chooser=$!
exec 8>waits
"$uft" attach -p function -o x.uft -l 'pick:mod:libchosen*' $chooser 2>err &
recorder=$!
# The recorder waits for what is next (epoll_wait): nothing is left to be rewritten.
is_armed() { read -r call _ <"/proc/$recorder/syscall" && [ "$call" = 232 ]; }
eventually is_armed || fail "pick of a running program is not armed"
kill -TERM $recorder
wait $recorder
expect_err "$chooses"
exec 8>&-
wait $chooser
strip libchosen.so
run "$uft" record -p function -o x.uft -l 'pick:mod:libchosen*' ./choosing
expect_err "${chooses%%: -l*}"
expect_equal "names of local functions that are not known" "$(grep -c "'__pic" err)" 0
check
