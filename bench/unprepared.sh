# SPDX-License-Identifier: MIT
# unprepared.sh - part of run.sh: unprepared code beside prepared code and the tracers that can trace it, too

# Of the plain program's functions those that the prepared build has sites in, so that the calls are the same.
unprepared_table() {
	exactly plain-function function events ./calls-plain '-l leaf -l fib -l c[0-9]*'
	exactly plain-graph function_graph calls ./calls-plain '-l leaf -l fib -l c[0-9]*'
	rm -rf uftrace.plain
	if command -v uftrace >/dev/null; then
		measure uftrace-plain uftrace record -P . --no-libcall -d uftrace.plain ./calls-plain $calls || :
	fi
	rm -f uprobe.out
	if command -v bpftrace >/dev/null && [ "$(id -u)" = 0 ]; then
		measure uprobe bpftrace -e 'uprobe:./calls-plain:fib { @ = count(); }' -c "./calls-plain 1" || rm -f uprobe.out
	fi
	say "## Unprepared code"
	say
	say "The same program without any option for tracing; columns as above. A peer's row counts only where it hit the function."
	say
	say "| tracer | leaf | chain | fib | leaf/floor | chain/floor | fib/floor | |"
	say "|---|---|---|---|---|---|---|---|"
	row plain "none" ""
	row plain-function "**uft function**" "$(stat_of plain-function.uft bytes_per_event) bytes an event$(recorded plain-function plain-function.uft events)"
	row plain-graph "**uft function_graph**" "$(stat_of plain-graph.uft bytes_per_call) bytes a call$(recorded plain-graph plain-graph.uft)"
	[ -s uftrace-plain.out ] && row uftrace-plain "uftrace record -P ." "$(uftrace report -d uftrace.plain 2>/dev/null | grep -qw leaf && echo || echo 'it left leaf out')"
	[ -s uprobe.out ] && say "| bpftrace, uprobe on fib alone, counting | | | $(get uprobe fib) | | | $(ratio "$(get uprobe fib)" "$(get floor fib)") | entry only |"
	say
	for w in leaf chain fib; do
		r=$(ratio "$(get plain-graph $w)" "$(get graph $w)")
		say "- graph call, plain over prepared, $w: $r (budget 1.3: $(verdict "$r" "<=" 1.3))"
	done
	say
}

# A library of thousands of functions, all of them rewritten before the program's first instruction.
armed_library_table() {
	command -v openssl >/dev/null || return 0
	./startup "$rounds" openssl version -- "$uft" record -q -p nop -o lib.uft openssl version -- \
		"$uft" record -q -p function -l '*:mod:libcrypto*' -b 8M -o lib.uft openssl version >lib.times
	n=$("$uft" sites "$(ldd "$(command -v openssl)" | awk '/libcrypto/ { print $3 }')" 2>/dev/null |
		sed -n 's/^# unprepared code: \([0-9]*\) of.*/\1/p')
	d=$(awk -v a="$(nth lib.times 3 1)" -v b="$(nth lib.times 2 1)" 'BEGIN { printf "%.1f", a - b }')
	say "## libcrypto, $n entries rewritten at the start"
	say
	say "Milliseconds until \`openssl version\` has written: bare $(nth lib.times 1 1), under uft with nothing armed"
	say "$(nth lib.times 2 1), with every function of libcrypto armed $(nth lib.times 3 1): $d for planning, writing and running them"
	say "(budget 100: $(verdict "$d" "<=" 100))."
	say
}
