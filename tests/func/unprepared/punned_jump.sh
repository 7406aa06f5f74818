#!/bin/bash
# SPDX-License-Identifier: MIT
# punned_jump.sh - functions whose jump ends in bytes of the program: every call once, all bytes restored, occupied ranges untouched
. "$(dirname "$0")/../../lib/common.sh"

need gcc python3

here=$top/tests/func/unprepared
gcc -D_GNU_SOURCE -O2 -pthread -o pun "$here/punned_jump.c" "$here/punned_jump.S" || exit 1
gcc -D_GNU_SOURCE -O2 -DLIBRARY -fPIC -shared -Wl,-Bsymbolic -o libpun.so "$here/punned_jump.c" "$here/punned_jump.S" || exit 1
gcc -D_GNU_SOURCE -O2 -DLOADER -pthread -o loadpun "$here/punned_jump.c" || exit 1
all="one one_more one_taken two three four"

# What changes: so many bytes of the first instruction. Of the first three the place is given, so another mapping may be in the way.
run "$uft" sites -S pun
for f in one=1 one_more=1 one_taken=1 two=2 three=3 four=4; do
	expect_equal "bytes of ${f%=*}" "$(awk -v f="${f%=*}" '$NF == f { print $2, $3 }' out)" "code-pun ${f#*=}"
done
expect_out "one_inside  [something jumps into its first bytes"
run "$uft" disas --site three pun
expect_out "jump that ends in the bytes behind it"

# calls FUNCTION: in the text of the recording
calls() {
	grep -cE "[ :]$1(\(\)| <-)" text
}

# recorded WHAT N FILE: all functions N times, but for those whose place was taken
recorded() {
	local missing=0
	"$uft" report --no-pager "$3" >text
	for f in two three four; do
		expect_equal "$1: calls of $f" "$(calls $f)" "$2"
	done
	for f in one one_more one_taken; do
		[ "$(calls $f)" = 0 ] && missing=$((missing + 1)) || expect_equal "$1: calls of $f" "$(calls $f)" "$2"
	done
	# (each time that its library is loaded it counts)
	check
	[ "$missing" -le "$(stat_value "$3" counter_site_taken)" ] || fail "$1: $missing functions without calls, $(stat_value "$3" counter_site_taken) places that were taken"
	expect_equal "$1: else" "$(stat_value "$3" counter_site_refused) $(stat_value "$3" counter_site_live)" "0 0"
}

# Main thread, three more, a fork child. A fork child does not count the same again.
for tracer in function function_graph; do
	run timeout 120 "$uft" record -q -p $tracer -o x.uft ./pun
	expect_status 0
	expect_out "560 7"
	recorded "$tracer" 100 x.uft
	run timeout 120 "$uft" record -q -p $tracer -l '*:mod:libpun.so' -o x.uft ./loadpun "$PWD/libpun.so"
	expect_status 0
	expect_out "1127"
done
"$uft" report --no-pager x.uft >text
expect_equal "loaded 8 times: calls of four" "$(calls four)" 180

# copies of all lengths, by libc's own memcpy of the kind that is one of these, where the machine has it
cat >copy.py <<'END'
import ctypes, zlib
libc, sums = ctypes.CDLL(None), 0
src = ctypes.create_string_buffer(bytes(range(256)) * 40)
for n in list(range(300)) + [1000, 4096, 9000]:
    dst = ctypes.create_string_buffer(10240)
    libc.memcpy(dst, src, n), libc.memmove(ctypes.byref(dst, 5), dst, n)
    sums = zlib.crc32(dst.raw, sums)
print(sums)
END
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL
python3 copy.py >want
filter='__mem*:mod:libc.so.6'
named=$("$uft" sites -l '__mem*_unaligned*' "$(ldd "$(command -v python3)" | awk '$1 ~ /^libc\.so/ { print $3 }')" | grep -c '^0x')
[ "$named" -gt 0 ] || filter='mem*:mod:libc.so.6'	# its own names are in a package that is not here
for tracer in function function_graph; do
	run timeout 120 "$uft" record -q -p $tracer -l "$filter" -o x.uft python3 copy.py
	expect_status 0
	expect_equal "copies, $tracer" "$(cat out)" "$(cat want)"
	"$uft" report --no-pager x.uft >text
	check
	[ "$named" = 0 ] || [ "$(grep -c '__mem[a-z]*_' text)" -ge 606 ] || fail "copies, $tracer: $(grep -c '__mem[a-z]*_' text) calls"
done
unset GLIBC_TUNABLES

# Threads that are in them all the while, and signals every millisecond.
now() {
	"$uft" sites -S -l "$1" "$2" 2>/dev/null | awk '$1 ~ /^0x/ { print $5 }'
}
is_ready() { grep -q ready hot.out; }
is_armed() { [ "$(now three "$1")" = armed:jmp ] && [ -s hot.uft ]; }
is_left() { ! grep -q '/session\.' "/proc/$1/maps"; }
start() {
	rm -f hot.uft
	./pun "$1" >hot.out &
	program=$!
	eventually is_ready || fail "$1: the program does not start"
}
finish() {
	kill -TERM $program
	wait $program
	expect_equal "$1: the program" "$? $(tail -n 1 hot.out)" "0 well"
}
start hot
for how in TERM detach KILL; do
	tracer=function
	[ $how = KILL ] && tracer=function_graph
	"$uft" attach -q -p $tracer -b 1M -o hot.uft $program 2>attach.err &
	recorder=$!
	eventually is_armed $program || fail "$how: it was not armed"
	if [ $how = detach ]; then
		run "$uft" detach $program
		expect_status 0
	else
		kill -$how $recorder
	fi
	wait $recorder
	eventually is_left $program
	expect_left "$how" $program
	for f in $all; do
		expect_equal "$how: $f" "$(now $f $program)" original
	done
	expect_equal "$how: executable memory of nobody" "$(awk '$2 ~ /x/ && $6 == ""' /proc/$program/maps)" ""
	rm -f hot.uft*
done
finish hot

# Where one_taken() would lead there is something.
start taken
"$uft" attach -p function -l one_taken -l four -b 1M -o hot.uft $program >attach.out 2>attach.err &
recorder=$!
is_armed_four() { [ "$(now four $program)" = armed:jmp ]; }
eventually is_armed_four || fail "taken: nothing was armed"
expect_equal "taken: the entry" "$(now one_taken $program)" original
kill -TERM $recorder
wait $recorder
expect_equal "taken: counted" "$(stat_value hot.uft counter_site_taken)" 1
cp attach.err err
expect_err "1 function was left alone: no jump fits"
finish taken
rm -f hot.uft*

# The code there is ours: a fault in it, too.
run timeout 120 "$uft" record -q --watchdog -p function -o x.uft ./pun spoil
expect_status 0
expect_equal "spoiled" "$(cat out)" 7
expect_file x.uft.fault
check
grep -q "function                     three" x.uft.fault || fail "the report does not name the function"

# It has a name there.
rm -f hot.out
timeout 200 "$uft" record -q --perf-map -p function -l three -o x.uft ./pun hot >hot.out &
recorder=$!
eventually is_ready || fail "names: the program does not start"
program=$(sed -n 's/^ready //p' hot.out)
map=/tmp/perf-$program.map
eventually grep -q ' e three$' "$map" || fail "names: the place has none"
expect_equal "names: stub, code, where the jump leads" "$(grep -c ' three$' "$map")" 3
kill -TERM "$program"
wait $recorder
expect_equal "names: the program" "$? $(tail -n 1 hot.out)" "0 well"
rm -f "$map"
