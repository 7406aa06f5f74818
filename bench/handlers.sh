#!/bin/sh
# SPDX-License-Identifier: MIT
#
# handlers.sh BUILD - how many instructions the handlers of a function event, a graph call and a profile call have, by machine
#
# Counted in their code, from the first to where they leave if nothing is unusual: fast paths do not branch. No noise
# touches these figures. A machine whose runtime was not built, or whose objdump is not here, has no line.
build=$1

# hot_path OBJDUMP FILE SYMBOL...
hot_path() {
	dump=$1 file=$2
	shift 2
	for symbol; do
		"$dump" -d --no-show-raw-insn "$file" |
			awk -v s="<$symbol>:" '$2 == s { on = 1; next } on && NF > 1 && $1 ~ /:$/ { n++ } on && $2 ~ /^(ret|jr)/ { print n; exit }'
	done | awk '{ n += $1 } END { print n }'
}

for machine in x86_64 aarch64 riscv64; do
	objdump=$machine-linux-gnu-objdump file=$build/runtime/libuft-$machine.so
	[ "$machine" = x86_64 ] && file=$build/runtime/uft-runtime.elf
	[ "$machine" = "$(uname -m)" ] && objdump=objdump
	command -v "$objdump" >/dev/null && [ -f "$file" ] || continue
	echo "function.$machine $(hot_path "$objdump" "$file" uft_asm_func)"
	[ "$machine" != x86_64 ] || {
		echo "function.counter.$machine $(hot_path "$objdump" "$file" uft_asm_func_counts)"
		echo "graph.counter.$machine $(hot_path "$objdump" "$file" uft_asm_graph_enter_counts uft_asm_graph_exit_counts)"
		echo "profile.$machine $(hot_path "$objdump" "$file" uft_asm_graph_enter_profile uft_asm_graph_exit_profile)"
	}
	echo "graph.$machine $(hot_path "$objdump" "$file" uft_asm_graph_enter uft_asm_graph_exit)"
done
