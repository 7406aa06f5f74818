#!/bin/sh
# SPDX-License-Identifier: MIT
# objects.sh - uft sites and uft disas on objects and archives; programs whose symbols cannot be read; programs linked for gprof
. "$(dirname "$0")/../../lib/common.sh"
need gcc ar python3 objdump

[ "$(uname -m)" = x86_64 ] || skip "the modes here are those of x86-64"
cp "$top/tests/func/cli/prog.c" .
functions="copy work outer calls wait_for children main"

# ---- What a compiler left in an object, an archive, a program: the same functions, each once, and how they were found ----
# lists FILE KIND TABLES: the functions of prog.c, all of KIND; what is in the raw tables.
lists() {
	run "$uft" sites "$1"
	expect_status 0
	expect_no_err
	expect_equal "functions of $1" "$(awk '!/^#/ { print $NF }' out | sort | tr '\n' ' ')" \
		"$(echo "$functions" | tr ' ' '\n' | sort | tr '\n' ' ')"
	expect_equal "kinds in $1" "$(awk '!/^#/ { print $2 }' out | sort -u)" "$2"
	expect_out "# usable: 7, $2 7"
	expect_out "# tables: $3;"
	expect_equal "addresses that are not where objdump has a function" "$(awk '!/^#/ { print substr($1, 7), $NF }' out | while read -r at name; do
		# A call may come behind the prologue.
		objdump -d --no-show-raw-insn "$4" | awk -v n="<$name>:" '$2 == n { on = 1; next } /^$/ { on = 0 } on { sub(/:.*/, "", $1); print $1 }' |
			grep -qx "$(echo "$at" | sed 's/^0*\(.\)/\1/')" || echo "$name"; done)" ""
}
for mode in "nops|-fpatchable-function-entry=5|__patchable_function_entries 7, __mcount_loc 0" "fentry-call|-pg -mfentry|__patchable_function_entries 0, __mcount_loc 0" \
	"mcount-call|-pg|__patchable_function_entries 0, __mcount_loc 0" \
	"nop|-pg -mfentry -mrecord-mcount -mnop-mcount -fno-pie|__patchable_function_entries 0, __mcount_loc 7"; do
	kind=${mode%%|*} tables=${mode##*|} flags=${mode#*|}
	# shellcheck disable=SC2086
	gcc -O1 ${flags%|*} -fno-optimize-sibling-calls -c prog.c || exit 1
	rm -f lib.a
	ar rcs lib.a prog.o
	lists prog.o "$kind" "$tables" prog.o
	expect_out "# prog.o: object"
	lists lib.a "$kind" "$tables" prog.o
	expect_out "# lib.a(prog.o): object"

	# A function's bytes, as they are and as they become; nobody has placed anything yet.
	for file in prog.o lib.a; do
		run "$uft" disas work $file
		expect_status 0
		expect_no_err
		expect_out "work  ($(sed -n 's/^# \(.*\): object$/\1/p' out | head -n 1)"
		expect_out ": $kind, "
		expect_out " <uft stub of work>"
		expect_equal "its size in $file" "$(awk '$1 ~ /^[0-9a-f]+$/ && / ret/ { print $1; exit }' out)" \
			"$(objdump -d --no-show-raw-insn prog.o | awk '/<work>:/ { on = 1 } on && /ret/ { sub(/:.*/, "", $1); print $1; exit }')"
	done
done
# Two members, one of them not prepared: each has its part and its sum.
printf 'int plain(int x) { return x * 3 + 1; }\n' >plain.c
gcc -O1 -fpatchable-function-entry=5 -c prog.c && gcc -O1 -c plain.c && ar rcs two.a prog.o plain.o
run "$uft" sites two.a
expect_status 0
expect_out "# two.a(plain.o): object"
expect_equal "sums" "$(grep -c '^# usable: ' out)" 2
expect_out "# usable: 0"
run "$uft" disas wrok two.a
expect_status 1
expect_err "two.a has no function 'wrok'"
expect_err "work"
# The function was forgotten.
for file in ./prog.o two.a; do
	run "$uft" disas $file
	expect_status 2
	expect_err "no function of $file given"
done

# ---- Symbols that cannot be read: recorded all the same, by address ----
build_traced prog
# damage SECTION: `bad` is the program with ff in all of it; of `headers` the table of sections is nowhere.
damage() {
	cp prog bad
	python3 - "$1" <<'END'
import struct, sys
b = bytearray(open('bad', 'rb').read())
at, = struct.unpack_from('<Q', b, 40)
n, names = struct.unpack_from('<HH', b, 60)
sections = [struct.unpack_from('<IIQQQQIIQQ', b, at + 64 * i) for i in range(n)]
if sys.argv[1] == 'headers':
    struct.pack_into('<Q', b, 40, 0x7fffffffffff)
for s in sections:
    name = bytes(b[sections[names][4] + s[0]:]).split(b'\0')[0].decode()
    if name == sys.argv[1]:
        b[s[4]:s[4] + s[5]] = b'\xff' * s[5]
        break
open('bad', 'wb').write(b)
END
}
main=$(nm prog | sed -n 's/^0*\([0-9a-f]*\) T main$/\1/p')
for part in .symtab .strtab headers; do
	damage $part
	for tracer in function function_graph; do
		run "$uft" record -q -p $tracer -o bad.uft ./bad calls 100
		expect_status 0
		expect_equal "calls, $part damaged, $tracer" "$(stat_value bad.uft calls) $(stat_value bad.uft lost)" "202 0"
		run "$uft" report bad.uft
		expect_status 0
		check
		grep -q "bad+0x$main" out || { fail "main has no address, $part damaged"; show; }
		expect_equal "names, $part damaged" "$(grep -cE 'work|outer' out)" 0
	done
	run "$uft" record -q -l work -o bad.uft ./bad calls 1
	expect_status 1
	expect_err "'work' matches no function"
	# Names from elsewhere do.
	nm prog >names
	run "$uft" record -q --symbols names -p function -l work -o bad.uft ./bad calls 100
	expect_status 0
	expect_equal "calls by other names, $part damaged" "$(stat_value bad.uft calls)" 100
done

# ---- Linked for gprof: told before, unless nothing is taken from it ----
gcc -O1 -pg -o counted prog.c || exit 1
warning="is linked for gprof: its gmon.out will lack the calls that are traced"
for tracer in function function_graph; do
	run "$uft" record -q -p $tracer ./counted calls 10
	expect_status 0
	expect_err "$warning"
	expect_err_lines 1
	expect_equal "calls" "$(stat_value trace.uft calls)" 22
done
run "$uft" sites counted
expect_out "# linked for gprof: while functions are traced their calls are missing in gmon.out"
if command -v gprof >/dev/null; then
	rm -f gmon.out
	run "$uft" record -q -p nop ./counted calls 10
	expect_status 0
	expect_no_err
	run gprof -b -p counted gmon.out
	expect_equal "gprof's count, nothing traced" "$(awk '$NF == "work" { print $4 }' out)" 10
	rm -f gmon.out
	./counted calls 10
	run gprof -b -p counted gmon.out
	expect_equal "gprof's count without us" "$(awk '$NF == "work" { print $4 }' out)" 10
fi
