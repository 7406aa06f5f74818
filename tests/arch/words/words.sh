#!/bin/sh
# SPDX-License-Identifier: MIT
#
# words.sh MACHINE LIBRARY - what no emulator shows of a runtime for another machine
#
# No instruction touches floating-point or vector registers, nothing but relative relocations (on riscv64 the offset of our own TLS),
# no library is needed; and every store of code is followed by its flush, in the one function that stores code.
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 lib=$2
need "$machine-linux-gnu-objdump"

"$machine-linux-gnu-objdump" -d --no-show-raw-insn "$lib" >code
check
[ "$(grep -c '^ ' code)" -gt 1000 ] || fail "no code in $lib"
# relocs: of other kinds than relative; paths: of the graph, which change the top
case $machine in
aarch64) relocs=0 paths=4; grep -P '\t[^\t]*\t.*\b[vqdshb](\d|[12]\d|3[01])\b' code >vectors; flush='ic	ivau' ;;
riscv64) relocs=1 paths=6; grep -P '^ +\w+:\t(f(?!ence)|c\.f|v)' code >vectors; flush='fence\.i' ;;
esac
check
[ ! -s vectors ] || fail "$lib touches vector registers: $(head -n 3 vectors)"
check
grep -qP "\t$flush" code || fail "$lib has no flush"
check
"$machine-linux-gnu-readelf" -rW "$lib" | awk '$3 ~ /^R_/ && $3 !~ /_RELATIVE$/' >others
[ "$(wc -l <others)" -eq "$relocs" ] && ! grep -v R_RISCV_TLS_TPREL64 others || fail "$lib has relocations of other kinds"
check
"$machine-linux-gnu-readelf" -dW "$lib" | grep NEEDED && fail "$lib needs a library"

# Outside of word_put() (and of patch/bytes/, which x86_64 alone has) nobody stores code, and it ends by the flush.
grep -l 'arch_text_store4\|plat_text_poke(' "$top"/runtime/*/*.c "$top"/runtime/patch/words/*.c | sed 's|.*/runtime/||' | tr '\n' ' ' >users
sed -n '/^void word_put/,/^}/p' "$top/runtime/patch/words/patch.c" >body
check
[ "$(cat users)" = "patch/words/patch.c " ] || fail "code is stored elsewhere: $(cat users)"
check
[ "$(grep -c 'arch_text_store4\|plat_text_poke' body)" = "$(grep -c 'arch_text_store4\|plat_text_poke' "$top/runtime/patch/words/patch.c")" ] ||
	fail "code is stored beside word_put()"
check
tail -n 2 body | head -n 1 | grep -q 'arch_text_flush(.*at' || fail "word_put() does not end by a flush: $(cat body)"

# Other threads of a fork child go through a table of lines as soon as it is published: what its head points to is there before.
sed -n '/^int own_init/,/^}/p' "$top/runtime/ring/thread_rings.c" | grep -n 'head.word = \|store_release(&uft_ring_fast.own' | cut -d: -f2 >body
check
[ "$(wc -l <body)" -eq 2 ] && head -n 1 body | grep -q 'head.word = &' || fail "own_init() publishes an unfinished table: $(cat body)"

# Entry and exit of the graph, of prepared code, its copies and plain code: behind its record who is inside says what he is about to do
# (RO_INTENT), moves the line (RO_AT, of the line that the intent is beside), and then stores the top.
check
[ "$(grep -B 2 -P '\t(stxr|sc\.d)\t' code | awk '/\t(str|sd)\t/ { store = NR; base = $0; sub(/.*[[(]/, "", base); sub(/[],)].*/, "", base) }
	/\t(str\t.*, #1048\]|sd\t.*,1048\()/ { intent = NR; line = base } /\t(str\t.*, #8\]|sd\t.*,8\()/ { at = NR; is_its = base == line }
	/\t(stxr|sc\.d)\t/ && intent == NR - 2 && at == NR - 1 && is_its { n++ } END { print n + 0 }')" -eq "$paths" ] ||
	fail "a graph path changes the top without its intent, or before the line"
