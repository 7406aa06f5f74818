#!/bin/sh
# SPDX-License-Identifier: MIT
# cflags.sh - uft cflags: asks each compiler, prints only flags, and its flags build programs that work
. "$(dirname "$0")/../../lib/common.sh"
need gcc g++ clang clang++ ld.lld objdump
mkdir temporary
export TMPDIR="$tmp/temporary"		# that of our own, where nobody else's are

cp "$top"/tests/func/matrix/*.[ch] .

# pads FILE: functions of the program that begin with the nops of a pad, or hold a nop where the call was.
pads() {
	objdump -d --no-show-raw-insn "$1" | grep "${3:--A14}" -E '^[0-9a-f]+ <(leaf|_Z4leafi|work|_Z4worki|lib_work|_Z8lib_worki)>:' |
		grep -c -E "$2"
}

# Every mode of every compiler: the object has what the mode says, and the program links and runs.
try_mode() {
	cc=$1 mode=$2 pattern=$3 where=${4:-}
	lang=c
	case $cc in *++) lang=c++ ;; esac
	run "$uft" cflags --cc="$cc" --mode="$mode"
	expect_status 0
	expect_err "uft cflags: $cc: $mode: "
	expect_err_lines 1
	expect_equal "lines of flags" "$(wc -l <out)" 1
	flags=$(cat out)
	run "$uft" cflags --quiet --link --cc="$cc" --mode="$mode"
	expect_status 0
	expect_no_err
	expect_out "libuft-start.a"
	link=$(cat out)
	# shellcheck disable=SC2086
	run $cc -x "$lang" -O2 $flags -c main.c work.c lib.c
	expect_status 0
	$cc -x "$lang" -O2 -fno-pie -c report.c
	[ "$mode" = nop-mcount ] || $cc -x "$lang" -O2 -fPIE -c report.c
	check
	[ "$(pads work.o "$pattern" $where)" -ge 1 ] || fail "$cc $mode: work.o has nothing of '$pattern'"
	for ld in bfd lld; do
		rm -f gmon.out
		# shellcheck disable=SC2086
		run $cc -fuse-ld=$ld -o prog main.o work.o lib.o report.o $link
		expect_status 0
		expect_no_err
		run ./prog
		expect_status 0
		# In one step, so that -pg links gcrt1.o.
		# shellcheck disable=SC2086
		run $cc -fuse-ld=$ld -x "$lang" -O2 $flags main.c work.c lib.c report.c -x none -o prog $link
		expect_status 0
		run ./prog
		expect_status 0
		expect_no_file gmon.out
	done
}
for cc in gcc g++ clang clang++; do
	try_mode $cc patchable 'nop'
	try_mode $cc fentry 'call'
	try_mode $cc mcount 'call'
	try_mode $cc before 'nop' -B9
	# Not one byte more than without: what runs is the same.
	[ "$(pads work.o nop -A1)" -eq 0 ] || fail "$cc before: a nop at the entry"
done
for cc in gcc g++; do
	try_mode $cc nop-mcount 'nopl'
	try_mode $cc record-mcount 'call'
done

# gcc's pads become one nop while it assembles, in each way that it does so; its own options reach the assembler.
flags=$("$uft" cflags --quiet --cc=gcc)
# one_nop FILE: the pad of work() is a single nop.
one_nop() {
	objdump -d --no-show-raw-insn "$1" | grep -A2 '<work>:' | grep -v endbr64 | sed -n 2p | grep -q nopl
}
for how in "-c" "-c -pipe" "-c -g -ffunction-sections" "-c -fcf-protection" "-c -no-integrated-cpp" "-shared -fPIC" "-shared -fPIC -flto"; do
	# shellcheck disable=SC2086
	run gcc -O2 $flags $how work.c -o out.o
	expect_status 0
	expect_no_err
	check
	one_nop out.o || fail "gcc $how: the pad is not one nop"
done
run gcc -O2 $flags -S work.c -o work.s
run gcc $flags -Wa,--no-such-option -c work.s -o out.o
check
[ "$status" -ne 0 ] && grep -q "no-such-option" err || { fail "an assembler's error is not passed on"; show; }
run gcc $flags -c work.c -o /dev/null
expect_status 0
expect_no_err

# The order of preference, and what is missing.
for cc in gcc clang; do
	run "$uft" cflags --cc=$cc
	expect_out "-fpatchable-function-entry=5"
	expect_err "$cc: patchable: nops at every entry"
done
run "$uft" cflags --cc=clang --mode=nop-mcount
expect_status 1
expect_no_out
expect_err "clang cannot do nop-mcount: unsupported option '-mnop-mcount'"
run "$uft" cflags --cc=clang --explain
expect_err "record-mcount  no  unsupported option '-mrecord-mcount'"
expect_err "fentry         yes -pg -mfentry"
expect_equal "flags with --explain" "$(cat out)" "-fpatchable-function-entry=5"
run "$uft" cflags --cc="clang --target=aarch64-linux-gnu"
expect_equal "flags for aarch64" "$(cat out)" "-fpatchable-function-entry=2"
run "$uft" cflags --cc="clang --target=aarch64-linux-gnu" --mode=before
expect_status 1
expect_err "cannot do before: not a mode of this machine"

# A compiler that takes the flag and ignores it, and one that knows only -pg: found out by looking at the object.
printf '#!/bin/sh\nfor a; do case $a in -fpatchable*) ;; -mfentry|-mrecord*) echo "error: unknown $a" >&2; exit 1;; *) set -- "$@" "$a";; esac; shift; done\nexec gcc "$@"\n' >oldcc
chmod +x oldcc
run "$uft" cflags --cc=./oldcc --explain
expect_status 0
expect_equal "flags for an old compiler" "$(cat out)" "-pg"
expect_err "patchable      no  the flag is accepted, but no nops are at the entry"
expect_err "fentry         no  unknown -mfentry"

# CC, wrong use.
CC=clang run "$uft" cflags
expect_err "uft cflags: clang: patchable"
run "$uft" cflags --cc=no-such-compiler
expect_status 1
expect_no_out
expect_err "cannot run the compiler 'no-such-compiler': No such file or directory"
run "$uft" cflags --cc=false
expect_status 1
expect_err "'false' does not compile"
run "$uft" cflags --cc="gcc -m32"
expect_status 1
expect_err "compiles for ELF machine 3"
run "$uft" cflags --mode=fast
expect_status 2
run "$uft" cflags extra
expect_status 2
check
ls -d "$TMPDIR"/uft-cflags-* >/dev/null 2>&1 && fail "a temporary directory is left"

# Installed: the archive is found from where the program is.
mkdir -p root/bin root/lib/uft
cp "$uft" root/bin/uft
cp "$("$uft" cflags -q -l | tr ' ' '\n' | grep 'libuft-start.a$')" root/lib/uft/
run root/bin/uft cflags -q --link --cc=clang
expect_out "root/lib/uft/libuft-start.a"
rm root/lib/uft/libuft-start.a
run root/bin/uft cflags -q --link --cc=clang
expect_status 1
expect_err "libuft-start.a is neither beside this program nor installed"

# pkg-config: compile flags, the archive, and what C++ made by gcc 12 needs.
pc=$(dirname "$uft")/meson-private/uft.pc
if [ -f "$pc" ] && command -v pkg-config >/dev/null 2>&1; then
	export PKG_CONFIG_PATH="${pc%/*}"
	run pkg-config --cflags --libs uft
	expect_status 0
	expect_out "-fpatchable-function-entry=5"
	expect_out "/lib/uft/libuft-start.a"
	run pkg-config --variable=cxx_libs uft
	expect_out "/lib/uft/uft-no-pfe.ld"
fi
