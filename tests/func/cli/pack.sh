#!/bin/sh
# SPDX-License-Identifier: MIT
# pack.sh - uft pack: every view of a packed recording equals that of the original; a recording that cannot be packed stays
. "$(dirname "$0")/../../lib/common.sh"

cp "$top/tests/func/cli/prog.c" .
build_traced prog
run "$uft" record -q --no-pack -b 16M ./prog calls 50000
expect_status 0
[ "$(stat_value trace.uft lost)" = 0 ] || skip "this machine loses calls of so short a program"

run "$uft" pack -o small.uft
expect_status 0
expect_err "uft pack: "
check
[ "$(($(wc -c <small.uft) * 2))" -lt "$(wc -c <trace.uft)" ] || fail "$(wc -c <small.uft) bytes of $(wc -c <trace.uft)"
for view in "report" "report --profile" "report --tree" "export -f folded" "export -f trace.dat"; do
	for f in trace small; do
		case $view in
		export*) run "$uft" $view -o $f.view $f.uft ;;
		*) run "$uft" $view $f.uft && cp out $f.view ;;
		esac
		expect_status 0
	done
	cmp -s trace.view small.view || fail "$view of a packed recording is another"
done

# Events of the function tracer.
run "$uft" record -q --no-pack -p function -b 16M -o func.uft ./prog calls 50000
run "$uft" pack -o funcp.uft func.uft
expect_status 0
check
[ "$(($(wc -c <funcp.uft) * 2))" -lt "$(wc -c <func.uft)" ] || fail "$(wc -c <funcp.uft) bytes of $(wc -c <func.uft) of the function tracer"
run "$uft" report func.uft && cp out func.view
run "$uft" report funcp.uft
expect_status 0
cmp -s func.view out || fail "report of packed events of the function tracer is another"

# In its place, with its mode; again, which changes nothing.
cp trace.uft place.uft
chmod 640 place.uft
run "$uft" pack place.uft
expect_status 0
cmp -s place.uft small.uft || fail "in its place it is packed in another way"
expect_equal "mode" "$(stat -c %a place.uft)" 640
run "$uft" pack -i place.uft -o place.uft
expect_status 0
cmp -s place.uft small.uft || fail "packed twice it is another"

# Packed while recording: the same calls, and nothing is left to pack.
for how in "" --flight "-z 3"; do
	# shellcheck disable=SC2086
	run "$uft" record -q --pack $how -b 16M -o now.uft ./prog calls 50000
	expect_status 0
	check
	if [ "$(stat_value now.uft lost)" = 0 ]; then
		expect_equal "calls of it, $how" "$(stat_value now.uft calls)" "$(stat_value trace.uft calls)"
		[ "$(($(wc -c <now.uft) * 2))" -lt "$(wc -c <trace.uft)" ] || fail "$(wc -c <now.uft) bytes recorded with --pack $how"
		expect_equal "damaged bytes, $how" "$(stat_value now.uft damaged_bytes)" 0
	fi
	run "$uft" pack -o again.uft now.uft
	cmp -s now.uft again.uft || fail "--pack $how left something to pack"
done

# Compressed before, and without an end, and not ours.
run "$uft" record -q -z 3 -b 16M -o z.uft ./prog calls 50000
run "$uft" pack -o zp.uft z.uft
expect_status 0
check
[ "$(wc -c <zp.uft)" -le "$(wc -c <z.uft)" ] || fail "a compressed recording has grown"
head -c $(($(wc -c <trace.uft) / 2)) trace.uft >cut.uft
cp cut.uft cut.before
run "$uft" pack cut.uft
expect_status 1
expect_err "uft pack: cut.uft has no end: its recorder is still running or was killed (-o FILE packs what is there)"
cmp -s cut.uft cut.before || fail "a refused recording has changed"
run "$uft" pack -o cutp.uft cut.uft
expect_status 0
"$uft" report cut.uft | grep -v '^#' >a	# which say how much of the end is cut off
"$uft" report cutp.uft | grep -v '^#' >b
cmp -s a b || fail "what is there of a cut recording is another"
run "$uft" pack trace.view
expect_status 1
expect_err "trace.view is a trace.dat file: only .uft recordings can be packed"
run "$uft" pack -o /dev/full trace.uft
expect_status 1
expect_err "cannot write /dev/full: No space left on device"
run sh -c 'ulimit -f 1; exec "$1" pack -o limited.uft trace.uft' sh "$uft"
expect_status 1
expect_err "File too large"
run "$uft" pack none.uft
expect_status 1
run "$uft" pack trace.uft small.uft
expect_status 2
check
[ -z "$(ls | grep -e part- -e limited)" ] || fail "left: $(ls)"
