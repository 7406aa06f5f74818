#!/bin/sh
# SPDX-License-Identifier: MIT
#
# disas.sh MACHINE CC EMULATOR - `uft disas` shows the bytes of each state, as the program itself reads them
#
# A dot in what it shows is a digit that nobody knows before the runtime is placed.
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 emulator=$3
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
src=$top/tests/func/emulated
# shellcheck disable=SC2086
must_build $cc "$src/self.c" -o self
# shellcheck disable=SC2086
$emulator ./self 0 >out 2>&1 || skip "the emulator does not run a program: $(cat out)"
objdump=${cc%gcc}objdump nm=${cc%gcc}nm

# words STATE: the digits of that column, a line.
words() {
	awk -v state="$1" '/^address/ { n = 0; for (rest = $0; match(rest, /[a-z_]+/); rest = substr(rest, RSTART + RLENGTH)) {
			n += RSTART; if (substr(rest, RSTART, RLENGTH) == state) { at = n; break }
			n += RLENGTH - 1 } next }
		/^$/ { exit }
		at && length($0) >= at && /^[0-9a-f]+ / { split(substr($0, at), f, " "); if (f[1] != "") printf "%s%s", m++ ? " " : "", f[1] }' table
}

# joined: words of two bytes in pairs, as the program prints them
joined() {
	awk '{ for (i = 1; i <= NF; i++) { if (length($i) == 4) { if (half != "") { s = s " " $i half; half = "" } else half = $i }
		else s = s " " $i } sub(/^ /, "", s); print s }'
}

# stands STATE TEXT: what the program read is what the column says.
stands() {
	check
	shown=$(words "$1" | joined)
	[ -n "$shown" ] && cut -c "1-${#shown}" "$2" | grep -qx "$shown" ||
		fail "$name: $1: shown '$shown', there stands '$(cat "$2")': $(cat table)"
}

traced() {
	timeout 60 "$uft" record -q "--emulator=$emulator" -p "$1" -o rec.uft ./self "$offset" >there 2>err ||
		fail "$name: $1: $(cat err)"
}

# await COMMAND: until it is true, 30 s at most.
await() {
	for i in $(seq 600); do
		eval "$1" && return 0
		sleep 0.05
	done
	return 1
}

# stages NAME FLAGS TRACER...
stages() {
	name=$1 flags=$2
	shift 2
	# shellcheck disable=SC2086
	$cc $flags -c "$src/self.c" -o self.o && $cc $flags self.o -o self || fail "$name: build"
	"$uft" disas --site twice self.o >table 2>err || fail "$name: object: $(cat err)"
	check
	[ -n "$(words original)" ] || fail "$name: no object: $(cat table)"
	"$uft" disas --site twice self >table 2>err || fail "$name: $(cat err)"
	at=$(awk '/^[0-9a-f]+ / { print $1; exit }' table)
	offset=$((0x$at - 0x$($nm self | awk '$3 == "twice" { print $1 }')))
	# shellcheck disable=SC2086
	$emulator ./self "$offset" >there
	stands original there
	for tracer; do
		traced "$tracer"
		stands "$tracer" there
	done
	"$uft" disas twice self >whole 2>err || fail "$name: whole: $(cat err)"
	# Every word of the function, as the cross objdump has it.
	check
	$objdump -d --disassemble=twice self | awk '/<twice>:/ { on = 1; next } /^$/ { on = 0 } on { print $2 }' >want
	awk '/^$/ { exit } /^[0-9a-f]+ / && NF > 1 { print $2 }' whole >seen
	cmp -s want seen || fail "$name: words: $(diff want seen | head -n 5)"
}

case $machine in
aarch64) pads="=2 =3,1"; guard=-mbranch-protection=standard ;;
*) pads="=8 =9,1"; guard=-march=rv64g ;;
esac
for pad in $pads; do
	for more in -O0 "-O2 $guard"; do
		stages "$pad $more" "-fpatchable-function-entry=${pad#=} $more" function function_graph
	done
done
stages "-pg" "-pg -O1" function function_graph
grep -q 'uft mcount thunk of self' table && grep -q 'uft mcount stub of twice (.*function_graph' table || fail "-pg: $(cat table)"
grep -q '# _mcount' whole && fail "-pg: a linked program has no relocation: $(cat whole)"
"$uft" disas twice self.o >table && grep -q '# _mcount' table || fail "-pg: the call in the object has no name: $(cat table)"
grep -q '<_mcount@plt>' whole || fail "-pg: the linked call has no name: $(cat whole)"
[ "$machine" = aarch64 ] || stages "-pg, not relaxed" "-pg -O1 -Wl,--no-relax" function function_graph

# Idle: the recorder is gone, the program runs on.
stages idle "-fpatchable-function-entry${pads%% *} -O2" function
: >there	# before it is waited for: the shell in the background may be late
"$uft" record -q "--emulator=$emulator" -p function -o rec.uft ./self "$offset" wait >there 2>err &
recorder=$!
await "[ -s there ]" || fail "idle: nothing printed: $(cat err)"
"$uft" disas --site twice self >table
stands function there
kill -9 $recorder
await "[ \$(wc -l <there) -eq 2 ]" || fail "idle: nothing changed"
tail -n 1 there >last
stands idle last
wait $recorder || true
