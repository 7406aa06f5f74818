#!/bin/sh
# SPDX-License-Identifier: MIT
# recordmcount.sh - uft recordmcount: its changes, repeated runs, the linked program, refusals
. "$(dirname "$0")/../../lib/common.sh"
need gcc g++ clang clang++ ld.lld objdump objcopy readelf nm ar

cp "$top"/tests/func/matrix/*.[ch] "$top"/tests/func/matrix/own.S .

# table PROGRAM: the sorted addresses of its __mcount_loc (non-PIE: they are in the file).
table() {
	objcopy -O binary -j __mcount_loc "$1" loc.bin && od -An -v -tx8 -w8 loc.bin | sort
}

calls() {
	objdump -dr "$1" | grep -c -E 'R_X86_64_(PLT32|PC32|GOTPCRELX?)[[:space:]]+(mcount|__fentry__)'
}

# Each compiler, way of calling and language: add, again, nop, again; then link with both linkers and run.
add_and_link() {
	cc=$1 lang=$2 flags=$3
	for source in main work lib; do
		$cc -x "$lang" -O1 $flags -fPIE -c $source.c -o $source.o || fail "$cc $flags does not compile"
	done
	$cc -x "$lang" -O1 -fPIE -c report.c -o report.o
	n=$(calls main.o)
	chmod 640 main.o

	cp -p main.o before.o
	run "$uft" recordmcount --dry-run main.o
	expect_out "main.o: $n calls of"
	expect_out "$n would be added to __mcount_loc"
	expect_equal "dry run left the file" "$(cmp main.o before.o && echo same)" same
	run "$uft" recordmcount main.o work.o lib.o
	expect_status 0
	expect_no_err
	expect_out "$n added to __mcount_loc"
	expect_equal "mode is kept" "$(stat -c %a main.o)" 640
	expect_equal "calls are kept" "$(calls main.o)" "$n"

	touch -d '2001-01-01' main.o
	cp -p main.o before.o
	run "$uft" recordmcount main.o
	expect_out "main.o: $n calls, all listed: nothing to do"
	expect_equal "second run changed nothing" "$(cmp main.o before.o && stat -c %Y main.o)" "$(stat -c %Y before.o)"
	link_and_run

	run "$uft" recordmcount --nop main.o work.o lib.o
	expect_status 0
	expect_out "all listed, $n made nops"
	expect_equal "no call is left" "$(calls main.o)" 0
	cp -p main.o before.o
	run "$uft" recordmcount --nop main.o
	expect_out "main.o: $n places listed, no calls: nothing to do"
	expect_equal "second --nop changed nothing" "$(cmp main.o before.o && echo same)" same
	link_and_run
	check
	nm prog | grep -qE ' (U|W|T) (_?mcount|__fentry__)' && fail "$cc $flags: the nopped program still wants mcount"
}

# The objects link, run, and the linked list has an entry for each function that was kept.
link_and_run() {
	for ld in bfd lld; do
		for gc in -Wl,--gc-sections -Wl,--no-gc-sections; do
			run $cc -fuse-ld=$ld -pie $gc -o prog main.o work.o lib.o report.o
			expect_status 0
			expect_no_err
			run ./prog
			expect_status 0
			functions=$(nm prog | grep -cE ' [tTW] (_Z)?([A-Za-z_0-9]*(before_main|leaf|local_step|fib|even|odd|sum|big_struct|many_args|compare|never_called|over|thrower|twice|area|shapeC2|shapeD2|work|lib_[a-z]*)|main)')
			entries=$(($(readelf -SW prog | sed -n 's/.*__mcount_loc *PROGBITS *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/0x\1/p') / 8))
			check
			# C++ adds functions of its own (static initialisation): at most two.
			[ "$entries" -ge 15 ] && [ "$entries" -le $((functions + 2)) ] ||
				fail "$cc $flags $ld $gc: $entries entries for $functions functions"
		done
	done
}

for flags in "-pg" "-pg -mfentry" "-pg -mfentry -ffunction-sections" "-pg -ffunction-sections -fno-asynchronous-unwind-tables"; do
	add_and_link gcc c "$flags"
	add_and_link clang c "$flags"
done
add_and_link g++ c++ "-pg -mfentry -ffunction-sections"
add_and_link clang++ c++ "-pg -ffunction-sections"

# With --gc-sections an entry goes exactly when its function goes; without the tool's link order it would not.
for ld in bfd lld; do
	gcc -O1 -pg -mfentry -ffunction-sections -fno-pie -c main.c && gcc -O1 -pg -mfentry -fno-pie -c work.c lib.c &&
		gcc -O1 -fno-pie -c report.c && "$uft" recordmcount -q main.o work.o lib.o
	gcc -no-pie -fuse-ld=$ld -o keep main.o work.o lib.o report.o
	gcc -no-pie -fuse-ld=$ld -Wl,--gc-sections -o drop main.o work.o lib.o report.o
	expect_equal "$ld: entries dropped with never_called" "$(($(table keep | wc -l) - $(table drop | wc -l)))" 1
done

# The same list as the compiler's own.
gcc -O1 -pg -mfentry -mrecord-mcount -fno-pie -c main.c work.c lib.c
gcc -no-pie -o own_list main.o work.o lib.o report.o
own=$(table own_list)
n=$(calls main.o)
run "$uft" recordmcount main.o
expect_out "main.o: $n calls, all listed: nothing to do"
gcc -O1 -pg -mfentry -fno-pie -c main.c work.c lib.c
"$uft" recordmcount -q main.o work.o lib.o
gcc -no-pie -o our_list main.o work.o lib.o report.o
expect_equal "the compiler's list" "$own" "$(table our_list)"

# ld -r of a listed and an unlisted object: only what is missing is added.
gcc -O1 -pg -fno-pie -c main.c work.c
"$uft" recordmcount -q main.o
ld -r -o both.o main.o work.o
run "$uft" recordmcount both.o
expect_out "both.o: $(calls both.o) calls of mcount, $(calls work.o) added to __mcount_loc"
gcc -O1 -pg -fno-pie -c lib.c
gcc -no-pie -o prog both.o lib.o report.o && run ./prog
expect_status 0

# An object's own mcount is called as before; a program's is not, if its objects were asked to be nops.
printf 'unsigned long n; __attribute__((no_instrument_function)) void mcount(void) { n++; }\nint main(void) { return n != 1; }\n' >self.c
gcc -pg -O1 -fno-pie -c self.c
run "$uft" recordmcount --nop self.o
expect_out "1 added to __mcount_loc"
gcc -no-pie -o self self.o && run ./self
expect_status 0
run "$uft" recordmcount --nop self.o
expect_out "of the object's own function: nothing to do"

# ---- gcc's pads of -fpatchable-function-entry ----

# nops FILE FUNC: the instructions that begin FUNC, up to the first that is no nop.
nops() {
	objdump -d --no-show-raw-insn "$1" | sed -n "/<$2>:/,/^\$/p" | sed 1d | awk -F'\t' '$2 !~ /^(nop|endbr64)/ { exit } { split($2, w, " "); printf "%s ", w[1] }'
}
printf 'static __attribute__((noinline)) int twice(int x) { return 2 * x; }\nint main(int c, char **v) { (void)v; return twice(c) - 2; }\n' >pad.c
for flags in "" -fcf-protection "-O2 -ffunction-sections -g" -fPIC; do
	# shellcheck disable=SC2086
	gcc -O1 -fpatchable-function-entry=5 $flags -c pad.c
	run "$uft" recordmcount pad.o
	expect_out "pad.o: 2 pads, of several nops (--nop makes them one): nothing to do"
	run "$uft" recordmcount --pads --dry-run pad.o
	expect_out "pad.o: 2 pads, 2 of several nops would become one nop each"
	expect_equal "$flags: as they come" "$(nops pad.o twice)" "nop nop nop nop nop "
	run "$uft" recordmcount --pads pad.o
	expect_out "pad.o: 2 pads, 2 of several nops became one nop each"
	expect_equal "$flags: joined" "$(nops pad.o twice)" "nopl "
	touch -d '2001-01-01' pad.o
	run "$uft" recordmcount --nop pad.o
	expect_out "pad.o: 2 pads, none of several nops: nothing to do"
	expect_equal "$flags: not written again" "$(stat -c %Y pad.o)" "$(date -d '2001-01-01' +%s)"
	gcc -o pad pad.o && run ./pad
	expect_status 0
	expect_equal "$flags: sites" "$("$uft" sites pad | awk '$0 !~ /^#/ && / nop /' | wc -l)" 2
done
# What lies before the function, what is too short, what a name points into: as they were.
for n in 10,5 7,5 4 5,1; do
	gcc -O1 -fpatchable-function-entry=$n -c pad.c && cp pad.o before.o
	run "$uft" recordmcount --nop pad.o
	expect_out "pad.o: 2 pads, none of several nops: nothing to do"
	expect_equal "=$n is as it was" "$(cmp pad.o before.o && echo same)" same
done
gcc -O1 -fpatchable-function-entry=5 -S pad.c && sed -i '/^twice:/,$ { 0,/^\tnop$/ s/^\tnop$/\tnop\ninside:/ }' pad.s && gcc -c pad.s
run "$uft" recordmcount --pads pad.o
expect_out "pad.o: 2 pads, 1 of several nops became one nop each"
expect_equal "a pad with a name in it" "$(objdump -d pad.o | grep -c 'inside')" 1
# Calls are none of its business with --pads, so that a gprof build keeps them.
gcc -O1 -pg -fpatchable-function-entry=5 -c pad.c
run "$uft" recordmcount --pads pad.o
expect_equal "calls of mcount are kept" "$(calls pad.o)" 2
expect_equal "and not listed" "$(readelf -SW pad.o | grep -c __mcount_loc)" 0
gcc -c pad.c
run "$uft" recordmcount --pads pad.o
expect_out "pad.o: no pads: nothing to do"

# More sections than a section number has bits for.
awk 'BEGIN { for (i = 0; i < 33000; i++) printf ".section .text.f%d,\"ax\",@progbits\n.globl f%d\nf%d: call __fentry__\nret\n", i, i, i
	print ".section .text.main,\"ax\",@progbits\n.globl main\nmain: call __fentry__\nxor %eax,%eax\nret" }' >many.s
gcc -c many.s
run "$uft" recordmcount many.o
expect_out "many.o: 33001 calls of __fentry__, 33001 added to __mcount_loc"
gcc -no-pie -z noexecstack -o many many.o && run ./many
expect_status 0
expect_equal "many: entries" "$(table many | wc -l)" 33001

# A symbolic link stays one.
gcc -pg -c work.c && ln -s work.o link.o
run "$uft" recordmcount link.o
expect_status 0
expect_equal "a symbolic link" "$(readlink link.o)" work.o
run "$uft" recordmcount work.o
expect_out "nothing to do"

# Not an error, but worth a word.
gcc -pg -flto -c work.c
run "$uft" recordmcount work.o
expect_status 0
expect_err "holds link-time code (-flto)"
gcc -pg -mcmodel=large -fno-pie -c work.c
run "$uft" recordmcount work.o
expect_status 0
expect_err "not made by a near call"
gcc -c work.c
run "$uft" recordmcount work.o
expect_status 0
expect_out "work.o: no calls of mcount or __fentry__: nothing to do"

# Refused: one clear line, exit 1, the file as it was, nothing left beside it, and the next operand still done.
refuse() {
	file=$1 text=$2
	cp -p "$file" saved
	gcc -pg -c work.c -o good.o
	ls >listing
	run "$uft" recordmcount --nop "$file" good.o
	expect_status 1
	expect_err "uft recordmcount: $file: $text"
	expect_err_lines 1
	expect_out "good.o: 2 calls of mcount"
	expect_equal "$file is as it was" "$(cmp "$file" saved && echo same)" same
	ls >listing2
	expect_equal "files beside $file" "$(grep -v -x -e out -e err listing2)" "$(grep -v -x -e out -e err listing)"
}
touch listing listing2
gcc -pg -c main.c -o main.o
: >empty.o
refuse empty.o "not an ELF file"
echo "int main;" >text.o
refuse text.o "not an ELF file"
gcc -no-pie -o linked work.c lib.c report.c -xc - <<'E2'
int main(void) { return 0; }
E2
refuse linked "is not a relocatable object"
ar rcs archive.a main.o
refuse archive.a "is an archive"
clang -flto -pg -c main.c -o bitcode.o
refuse bitcode.o "is LLVM bitcode"
gcc -m32 -c -xc /dev/null -o 32bit.o
refuse 32bit.o "is for a 32-bit"
clang --target=powerpc64le-linux-gnu -c -xc /dev/null -o power.o
refuse power.o "is for ELF machine 21: recordmcount knows x86_64, aarch64, riscv64"
head -c 40 main.o >short.o
refuse short.o "damaged ELF file"
head -c -1 main.o >cut.o
refuse cut.o "damaged ELF file"
run "$uft" recordmcount nothing.o
expect_status 1
expect_err "nothing.o: cannot open: No such file or directory"
run "$uft" recordmcount .
expect_status 1
expect_err "not a regular file"
run "$uft" recordmcount
expect_status 2
