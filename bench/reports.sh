# SPDX-License-Identifier: MIT
# reports.sh - part of run.sh: how fast recordings are read, beside uftrace's views of the same program, and exported

# cpu NAME CMD...: CPU seconds of the whole command in $NAME.cpu, its largest resident set in $NAME.kb
cpu() { peak "$@" || { echo "bench: $1 failed" >&2; echo 0 >"$1.cpu"; echo 0 >"$1.kb"; }; }
million() { awk -v t="$(cat "$1.cpu")" -v c="$2" 'BEGIN { if (t > 0) printf "%.1f", c / t / 1e6; else print 0 }'; }

report_table() {
	measure big "$uft" record -q --no-pack -b 512M -o big.uft -- ./calls-patchable 103
	calls=$(stat_of big.uft calls)
	peak profile100 "$uft" report --profile --threads 1 big.uft
	peak tree100 "$uft" report --tree --threads 1 big.uft
	peak text100 "$uft" report big.uft
	c=$(million profile100 "$calls") p=$(million tree100 "$calls") l=$(million text100 "$(stat_of big.uft events)")
	m=$(awk -v a="$(cat profile100.kb)" -v b="$(cat text100.kb)" 'BEGIN { printf "%d", (a > b ? a : b) / 1024 }')
	say "## Reading $calls graph calls"
	say
	say "CPU time of the whole command, output to /dev/null; a file of $(stat_of big.uft bytes) bytes$(recorded big big.uft)."
	say
	say "- \`report --profile\`: $c M calls/s a core (budget 20: $(verdict "$c" ">=" 20))"
	say "- \`report --tree\`: $p M calls/s a core (budget 25: $(verdict "$p" ">=" 25))"
	say "- text report: $l M events/s, a line each but for leaves, which are one for two (budget 5 M lines/s: $(verdict "$(ratio "$l" 2)" ">=" 5))"
	say "- largest resident set of both: $m MB, pages of the file included (budget 300: $(verdict "$m" "<=" 300))"
	say
	w=$(stat_of big.uft duration_ns)
	say "While it was recorded: $(awk -v e="$(stat_of big.uft events)" -v n="$w" 'BEGIN { printf "%.1f", e / n * 1e3 }') M events/s of one thread, beside whatever else ran, lost $(stat_of big.uft lost)."
	say
	report_threads
	report_peers
	report_exports
	rm -f big.uft
}

# most FILE THREADS VIEW: instructions of the thread that executes most of them, in millions, while VIEW is made
most() {
	rm -f callgrind.*
	valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file=callgrind.out "$uft" report "--$3" --threads "$2" "$1" >/dev/null 2>callgrind.err ||
		cat callgrind.err >&2
	awk '/^totals:/ && $2 > n { n = $2 } END { printf "%.0f", n / 1e6 }' callgrind.out-*
}

# By instructions of the critical path, because other work on the machine takes the second processor away.
report_threads() {
	command -v valgrind >/dev/null 2>&1 || return 0
	measure two "$uft" record -q --no-pack -b 512M -o two.uft -- ./calls-patchable 3
	say "By two threads, in M instructions (callgrind) of the thread that executes most, $(stat_of two.uft calls) calls:"
	say
	say "| view | one thread | two | ratio | budget | |"
	say "|---|---|---|---|---|---|"
	for view in profile tree; do
		one=$(most two.uft 1 $view) two=$(most two.uft 2 $view)
		say "| \`report --$view\` | $one | $two | $(ratio "$one" "$two") | 1.8 | $(verdict "$(ratio "$one" "$two")" ">=" 1.8) |"
	done
	say
	rm -f two.uft callgrind.*
}

# One row: our view and uftrace's of recordings of the same program.
peer_row() {
	say "| $1 | $(million ours "$ours") | $(million theirs "$theirs") | $(ratio "$(million ours "$ours")" "$(million theirs "$theirs")") |"
}

report_peers() {
	command -v uftrace >/dev/null 2>&1 || return 0
	rm -rf peer.1 peer.2
	measure peer1 "$uft" record -q --no-pack -b 512M -o peer1.uft -- ./calls-patchable 6
	measure peer2 "$uft" record -q --no-pack -b 512M -o peer2.uft -- ./calls-patchable 6
	measure peer3 uftrace record -d peer.1 ./calls-pg 6
	measure peer4 uftrace record -d peer.2 ./calls-pg 6
	ours=$(stat_of peer1.uft calls)
	theirs=$(uftrace report --no-pager -f call -d peer.1 2>/dev/null | awk 'NR > 2 { n += $1 } END { print n }')
	say "Beside $(uftrace --version | head -n 1 | awk '{ print $1, $2 }'), each on its own recording of the same program ($ours and $theirs calls), in M calls/s a core:"
	say
	say "| view | uft | uftrace | ratio |"
	say "|---|---|---|---|"
	cpu ours "$uft" report --flat --threads 1 peer1.uft
	cpu theirs uftrace report --no-pager -d peer.1
	peer_row "\`report --flat\` / \`report\`"
	cpu ours "$uft" report --tree --threads 1 peer1.uft
	cpu theirs uftrace graph --no-pager -d peer.1
	peer_row "\`report --tree\` / \`graph\`"
	ours=$((2 * ours)) theirs=$((2 * theirs))
	cpu ours "$uft" diff peer1.uft peer2.uft
	cpu theirs uftrace report --no-pager -d peer.1 --diff peer.2
	peer_row "\`diff\` / \`report --diff\`"
	say
	rm -rf peer.1 peer.2 peer?.uft
}

report_exports() {
	measure out "$uft" record -q --no-pack -b 512M -o out.uft -- ./calls-patchable 5
	calls=$(stat_of out.uft calls)
	say "Exports of $calls calls, in M calls/s of CPU time:"
	say
	say "| format | M calls/s | budget | | MB |"
	say "|---|---|---|---|---|"
	for row in perfetto:5 pprof:5 otlp:5 parquet:5 ctf:5 folded:5 chrome:2 speedscope:2 firefox:2 sqlite:2; do
		rm -rf out.export
		cpu export "$uft" export -f "${row%:*}" -o out.export out.uft
		c=$(million export "$calls")
		say "| ${row%:*} | $c | ${row#*:} | $(verdict "$c" ">=" "${row#*:}") | $(($(cat export.kb) / 1024)) |"
	done
	say
	rm -rf out.export out.uft
}
