#!/bin/sh
# SPDX-License-Identifier: MIT
#
# handlers.sh BUILD - how many instructions the handlers of a function event, a graph call and a profile call have, by machine
#
# Counted in their code, from the first to where they leave if nothing is unusual: fast paths do not branch. No noise
# touches these figures. Another machine whose runtime was not built, or whose objdump is not here, has no line. Exit status 1,
# with a message: this machine's runtime or objdump is not here, or a handler is not found.
set -u
build=${1:?"usage: handlers.sh BUILD"}

fail() {
	echo "handlers.sh: $*" >&2
	exit 1
}

# hot_path OBJDUMP FILE SYMBOL[:LEAVES]... - up to a return, or an instruction of that name
hot_path() {
	dump=$1 file=$2 sum=0
	shift 2
	for symbol; do
		leaves=ret\|jr
		[ "$symbol" = "${symbol%:*}" ] || leaves="${symbol#*:}\$"
		n=$("$dump" -d --no-show-raw-insn "$file" |
			awk -v s="<${symbol%:*}>:" -v leaves="^($leaves)" '$2 == s { on = 1; next } on && NF > 1 && $1 ~ /:$/ { n++ } on && $2 ~ leaves { print n; exit }')
		[ "$n" ] || fail "$file: no handler $symbol that returns"
		sum=$((sum + n))
	done
	echo $sum
}

# line NAME OBJDUMP FILE SYMBOL...
line() {
	name=$1
	shift
	n=$(hot_path "$@") || exit 1
	echo "$name $n"
}

for machine in x86_64 aarch64 riscv64; do
	objdump=$machine-linux-gnu-objdump file=$build/runtime/libuft-$machine.so
	[ "$machine" = x86_64 ] && file=$build/runtime/uft-runtime.elf
	[ "$machine" = "$(uname -m)" ] && objdump=objdump
	if ! command -v "$objdump" >/dev/null || ! [ -f "$file" ]; then
		[ "$machine" != "$(uname -m)" ] || fail "needs $objdump and $file"
		continue
	fi
	line "function.$machine" "$objdump" "$file" uft_asm_func
	[ "$machine" != x86_64 ] || {
		line "function.counter.$machine" "$objdump" "$file" uft_asm_func_counts
		line "graph.counter.$machine" "$objdump" "$file" uft_asm_graph_enter_counts uft_asm_graph_exit_counts
		line "profile.$machine" "$objdump" "$file" uft_asm_graph_enter_profile uft_asm_graph_exit_profile
		line "graph+function.$machine" "$objdump" "$file" uft_asm_graph_enter_func uft_asm_graph_exit_func
		line "graph+profile.$machine" "$objdump" "$file" uft_asm_graph_enter_sums uft_asm_graph_exit_sums:jb uft_asm_profile_pop_end
		line "profile+function.$machine" "$objdump" "$file" uft_asm_profile_enter_func uft_asm_graph_exit_profile
	}
	line "graph.$machine" "$objdump" "$file" uft_asm_graph_enter uft_asm_graph_exit
done
