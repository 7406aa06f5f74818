# SPDX-License-Identifier: MIT
# attach.sh - part of run.sh: for how long a process with 100 threads and 50,000 plain functions stands while it is attached to

build_attach() {
	[ -x attach ] && [ attach -nt "$top/bench/attach.c" ] && return
	[ -d attachsrc ] || sh "$top/bench/genfuncs.sh" 50000 attachsrc
	{
		for i in $(seq 0 49); do echo "int all$i(int);"; done
		echo 'typedef int all_fn(int);'
		echo "all_fn *const bench_all[] = { $(seq -f all%g -s ', ' 0 49) };"
		echo 'const int bench_nall = 50;'
	} >attachsrc/table.inc
	(cd attachsrc && cp table.inc table.c && ls f*.c table.c | xargs -P2 -n 10 gcc -O2 -w -c)
	gcc -O2 -w "$top/bench/attach.c" attachsrc/f*.o attachsrc/table.o -pthread -o attach
}

# rows NAME: what attach.c printed, as `p50 / p99 / max`
rows() { awk -v k="$2" '$1 == k { print $2 " / " $3 " / " $4 }' "attach.$1"; }

attach_row() {
	say "| $2 | $(rows "$1" attach) | $(rows "$1" attach-sum) | $(rows "$1" detach) | $(rows "$1" noise) | $3 |"
}

attach_table() {
	build_attach
	./attach 40 -f attach.uft -s "$uft" -- "$uft" attach -p function -o attach.uft PID >attach.uft-rows
	command -v gdb >/dev/null && ./attach 10 -- gdb -q -batch -ex detach -p PID >attach.gdb
	if command -v bpftrace >/dev/null && [ "$(id -u)" = 0 ]; then
		./attach 10 -- bpftrace -p PID -e 'uprobe:./attach:f123* { @ = count(); }' >attach.bpf
	fi
	say "## Attaching to a process with 100 threads"
	say
	say "Milliseconds, p50 / p99 / max of the rounds, as a thread of the process that runs all the while has it: the longest stop by an"
	say "attach, all of them together, the longest by the detach (the wait for a CPU to go on included); noise: the longest gap of an untraced"
	say "fifth of a second beside each. 50,000 plain functions at -O2; one thread runs, 20 tick, the others wait in system calls."
	say
	say "| | attach | in all | detach | noise | |"
	say "|---|---|---|---|---|---|"
	attach_row uft-rows "**uft**, all functions" "first record after $(rows uft-rows first)"
	[ -s attach.gdb ] && attach_row gdb "gdb, attach and detach" "no tracing"
	[ -s attach.bpf ] && attach_row bpf "bpftrace, uprobes on 111 functions" "no stop; each hit is a trap"
	say
	say "- by uft's own count: longest $(rows uft-rows said), in all $(rows uft-rows said-sum)"
	for e in attach:5 attach-sum:5 first:1000; do
		p=$(awk -v k="${e%:*}" '$1 == k { print $3 }' attach.uft-rows)
		say "- p99 of ${e%:*} with all functions: $p (budget ${e#*:}: $(verdict "$p" "<=" "${e#*:}"))"
	done
	say
}
