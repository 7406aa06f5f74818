#!/bin/sh
# SPDX-License-Identifier: MIT
# debian.sh - Debian's programs behave under uft as without it, with every function of them and of their libraries traced
#
# Output, error output and exit status are those of an untraced run. debian.list has the commands; PROGRAMS is which of them: names, or
# all; without it a few that walk their own stacks or start others. TRACERS and ROUNDS may be set as well.
. "$(dirname "$0")/../../lib/common.sh"

here=$top/tests/func/programs
export here
names=${PROGRAMS:-sbcl guile polyml luajit ruby perl-fork python-subprocess valgrind}
done=0 missing=

# fresh COMMAND...: in an empty folder, with output and status in out, err, status.
fresh() {
	rm -rf work && mkdir work
	status=0
	(cd work && exec timeout -k 5 "${LIMIT:-120}" "$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/err") || status=$?
	sed -i "s|$tmp||g; s/==[0-9]*==//g" out err
}

try() {
	name=$1
	: >in
	fresh sh -c "$2"
	if [ "$status" -eq 127 ] || grep -q ': not found$\|No such file or directory: .*/bin/' err; then
		missing="$missing $name"
		return
	fi
	mv out want.out; mv err want.err; want=$status
	for tracer in ${TRACERS:-function function_graph}; do
		for round in $(seq "${ROUNDS:-1}"); do
			fresh "$uft" record -q --flight -b 1M -p "$tracer" -o "$tmp/x.uft" -l '*' -l '*:mod:*' -- sh -c "$2"
			sed -i '/^uft record: /d' err
			done=$((done + 1))
			expect_equal "$name, $tracer, round $round: status" "$status" "$want"
			check
			cmp out want.out || { fail "$name, $tracer, round $round: another output"; diff want.out out | head -n 5; }
			check
			cmp err want.err || { fail "$name, $tracer, round $round: another error output"; diff want.err err | head -n 5; }
		done
	done
}

while IFS='|' read -r name command <&3; do
	case $name in '#'* | '') continue ;; esac
	case " $names " in " all " | *" $name "*) try "$name" "$command" ;; esac
done 3<"$here/debian.list"
[ -z "$missing" ] || echo "not installed:$missing"
[ "$done" -gt 0 ] || skip "none of these programs is installed: $names"
echo "$done runs"
