# SPDX-License-Identifier: MIT
# tree.sh - part of run.sh: how fast the files of the tracing directory are read and written, through FUSE, inside uft shell

build_tree() {
	[ -x tree-prog ] && return
	sh "$top/bench/genfuncs.sh" 100000 treesrc
	(cd treesrc && ls f*.c main.c | xargs -P2 -n 12 gcc -O1 -w -c $prepared)
	gcc treesrc/*.o -o tree-prog
	gcc -O2 -w "$top/bench/splice.c" -o tree-splice
	gcc -O2 -w $prepared -xc - -o tree-calls <<'C'
#include <stdlib.h>
volatile int sink;
__attribute__((noinline)) void work(int i) { sink += i; for (volatile int k = 0; k < 20; k++); }
int main(int c, char **v) { for (int i = 0; i < atoi(v[1]); i++) work(i); return 0; }
C
}

# Prints NAME SECONDS COUNT a line.
tree_inside() {
	cat >tree-inside.sh <<'S'
cd /sys/kernel/tracing
timed() { name=$1; shift; a=$(date +%s%N); n=$("$@"); b=$(date +%s%N); echo "$name $((b - a)) $n"; }
calls() { echo >trace; "$W/tree-calls" 1000000; sleep 0.5; }
all() { cat "$1" | wc -l; }
pipe() { dd if=trace_pipe iflag=nonblock bs=128K 2>/dev/null | wc -l; }
raw() { for f in per_cpu/cpu*/trace_pipe_raw; do dd if=$f iflag=nonblock bs=64K 2>/dev/null; done | wc -c; }
spliced() { "$W/tree-splice" per_cpu/cpu*/trace_pipe_raw; }
filter() { cat "$W/tree-words" >set_ftrace_filter; echo 100000; }
"$W/tree-prog"
grep '^f[0-9]*$' available_filter_functions >"$W/tree-words"
timed filter filter; [ "$(wc -l <set_ftrace_filter)" = 100000 ] || echo "filter 0 0"
echo >set_ftrace_filter
echo 262144 >buffer_size_kb
echo work >set_ftrace_filter 2>/dev/null || { "$W/tree-calls" 1; echo work >set_ftrace_filter; }
echo function >current_tracer
calls
timed trace all trace
timed pipe pipe
calls
timed raw raw
calls
timed splice spliced
S
	W=$work "$uft" shell -c "sh $work/tree-inside.sh" >tree.round
}

tree_row() {
	awk -v k="$1" '$1 == k { print $2, $3 }' tree.rounds | sort -n | awk '{ t[NR] = $1; c[NR] = $2 } END { m = int((NR + 1) / 2); print t[m], c[m] }' >tree.median
	read -r ns count <tree.median
	value=$(awk -v ns="$ns" -v n="$count" -v how="$3" 'BEGIN { printf "%.2f", (how == "ms" ? ns / 1e6 : how == "s" ? ns / 1e9 * 1e6 / n : how == "raw" ? n / 28 / ns * 1e3 : n / ns * 1e3) }')
	say "| $2 | $count | $value | $4 $5 | $(verdict "$value" "$4" "$5") |"
}

tree_table() {
	build_tree
	: >tree.rounds
	for i in 1 2 3 4 5; do
		tree_inside && cat tree.round >>tree.rounds
	done
	say "## The tracing directory"
	say
	say "Through FUSE, inside uft shell, the program that reads or writes included; medians of 5 rounds, wall time. A splice takes up"
	say "to 16 sub-buffers of 4096 bytes to /dev/null; so does a read of dd; those go on through a pipe to wc. A record takes 28 bytes."
	say
	say "| | lines, bytes | measured | budget | |"
	say "|---|---|---|---|---|"
	tree_row filter "set_ftrace_filter with 100,000 functions, ms" ms "<=" 100
	tree_row trace "cat trace, s for a million events" s "<=" 1
	tree_row pipe "trace_pipe, million lines a second" rate ">=" 2
	tree_row splice "trace_pipe_raw by splice, million events a second" raw ">=" 8
	tree_row raw "trace_pipe_raw by dd and wc, million events a second" raw ">=" 8
	say
}

# Prints NAME LEAF CHAIN FIB a line: function and the graph, alone, with a second instance that has function of the same functions, and with the profile.
shared_inside() {
	cat >shared-inside.sh <<'S'
cd /sys/kernel/tracing
mkdir instances/other
measured() { echo "$1 $("$W/calls-patchable" "$ROUNDS" 1 100 | awk '$1 == "leaf" || $1 == "chain" || $1 == "fib" { printf "%s ", $2 }')"; }
for tracer in function function_graph; do
	echo $tracer >current_tracer
	measured $tracer
	echo function >instances/other/current_tracer
	measured $tracer+function
	echo nop >instances/other/current_tracer
	echo 1 >function_profile_enabled
	measured $tracer+profile
	echo 0 >function_profile_enabled
done
S
	W=$work ROUNDS=$(((rounds + 2) / 3)) "$uft" shell -c "sh $work/shared-inside.sh"
}

shared_row() {
	read -r l c b <<-END
		$(awk -v k="$1" '$1 == k { print $2, $3, $4 }' shared.out)
	END
	f=$(get floor leaf)
	say "| $2 | $l | $c | $b | $(ratio "$l" "$f") |"
}

shared_table() {
	shared_inside >shared.out
	say "## Calls for several instances"
	say
	say "Nanoseconds of thread CPU time a call, in uft shell, as in the first table, but for a rest of 100 ms after each burst: of two"
	say "instances' buffers the session lets go what others alone show, and a ring that it cannot empty costs each call the slow path."
	say "Two instances with function are one record, from the fast path. With function beside the graph or the profile, or the profile"
	say "beside the graph, x86_64's fast paths write both records, or one and the sums; of three at once, with -pg, or where roots, limits"
	say "or stacks are asked for, and on other machines it is C that knows of all. The buffers overwrite by design."
	say
	say "| | leaf | chain | fib | leaf/floor |"
	say "|---|---|---|---|---|"
	shared_row function "function"
	shared_row function+function "function, and function in another instance"
	shared_row function+profile "function, and the profile"
	shared_row function_graph "function_graph"
	shared_row function_graph+function "function_graph, and function in another instance"
	shared_row function_graph+profile "function_graph, and the profile"
	say
}
