#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sites.sh - sites are found in what gcc and clang make of one program, in every build mode
#
# usage: sites.sh DUMP: the site_dump program. Each case is built, dumped and compared with the whole line that is
# expected, so a site too many fails like one too few. A case that a compiler or linker refuses must be listed as such.
set -u
dump=$(realpath "$1") && [ -x "$dump" ] || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/uft-sites.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
command -v gcc >/dev/null && command -v clang >/dev/null || { echo "SKIP: gcc and clang are needed"; exit 77; }
cases=0
failed=0

cat >p.c <<'C'
#include <stdio.h>
static __attribute__((noinline)) int helper(int x) { return x * 3 + 1; }
__attribute__((noinline)) int f(int x) { return helper(x) + 2; }
__attribute__((noinline)) int many(int a, int b, int c, int d, int e, int g, char *s) { return sprintf(s, "%d%d%d%d%d%d", a, b, c, d, e, g) + f(a); }
int main(int c, char **v) { char buf[99]; (void)v; return many(c, c, c, c, c, c, buf) == 0; }
C
cat >own.c <<'C'
int calls;
__attribute__((no_instrument_function)) void OWN(void) { calls++; }
__attribute__((noinline)) int f(int x) { return x + 2; }
int main(int c, char **v) { (void)v; return f(c) == 0; }
C
cat >ret.s <<'C'
	.globl mcount, __fentry__
mcount:
__fentry__:
	ret
	.section .note.GNU-stack,"",@progbits
C
cat >c1.cc <<'C'
inline __attribute__((noinline)) int comdat(int x) { return x + 1; }
struct A { int v; A(int x); __attribute__((noinline)) int get() const { return v; } };
__attribute__((noinline)) A::A(int x) : v(x) { }
namespace { __attribute__((noinline)) int same(int x) { return x * 5; } }
int two(int);
int unused(int x) { return comdat(x) + 5; }
int main(int c, char **) { return comdat(c) + two(c) + A(c).get() + same(c) == 0; }
C
cat >c2.cc <<'C'
inline __attribute__((noinline)) int comdat(int x) { return x + 1; }
namespace { __attribute__((noinline)) int same(int x) { return x * 7; } }
int two(int x) { return comdat(x) + same(x); }
C

# expect NAME WANT FILE: the dump of FILE
expect() {
	cases=$((cases + 1))
	got=$("$dump" "$3")
	[ "$got" = "$2" ] && return
	failed=$((failed + 1))
	echo "FAIL: $1"
	echo "  want: $2"
	echo "  got:  $got"
}

# build WANT COMPILER FLAGS: builds p.c with them
build() {
	want=$1
	shift
	rm -f p gmon.out
	# shellcheck disable=SC2068
	if ! $@ p.c -o p >log 2>&1; then
		cases=$((cases + 1))
		failed=$((failed + 1))
		echo "FAIL: does not build: $*"
		head -n 5 log
		return
	fi
	expect "$*" "$want" p
}

all="f,helper,main,many"
none="?,?,?,?"		# stripped
pfe="-fpatchable-function-entry"
for cc in gcc clang; do
	pad=nops
	[ $cc = clang ] && pad=nop
	for more in "-O0" "-O2" "-O3 -fcf-protection" "-Os -fno-pie -no-pie" "-O2 -flto -ffunction-sections -Wl,--gc-sections" \
			"-O2 -static" "-O2 -static-pie" "-O2 -shared -fPIC" "-O2 -fno-asynchronous-unwind-tables" \
			"-O2 -fuse-ld=lld" "-O2 -fno-asynchronous-unwind-tables -Wl,-z,pack-relative-relocs"; do
		build "$pad=4 | $all | tables=4,0" $cc $pfe=5 $more
	done
	for more in "-O2" "-O2 -static" "-O2 -static-pie" "-Os -fno-pie -no-pie"; do
		build "$pad=4 | $none | tables=4,0" $cc $pfe=5 $more -Wl,-s
	done
	build "$pad=4 | ?,f,main,many | tables=4,0" $cc $pfe=5 -O2 -shared -fPIC -Wl,-s
	# N,M: what is left behind the entry decides
	build "$pad=4 | $all | tables=4,0" $cc $pfe=20 -O2
	build "$pad=4 | $all | tables=4,0" $cc $pfe=8,3 -O2
	build "prepad=4 | $all | tables=4,0" $cc $pfe=16,14 -O2
	build "prepad=4 | $all | tables=4,0" $cc $pfe=9,5 -O2
	build "before=4 | $all | tables=4,0" $cc $pfe=16,15 -O2
	build "small=4 |  | tables=4,0" $cc $pfe=6,4 -O2
	build "small=4 |  | tables=4,0" $cc $pfe=4 -O2
	# all of it before: the code behind is rewritten
	for more in "-O0" "-O2 -fcf-protection" "-Os -fno-pie -no-pie" "-O2 -flto" "-O2 -static-pie" "-O2 -fuse-ld=lld"; do
		build "before=4 | $all | tables=4,0" $cc $pfe=8,8 $more
		build "before=4 | $all | tables=4,0" $cc $pfe=16,16 $more
	done
	build "before=4 | $none | tables=4,0" $cc $pfe=16,16 -O2 -Wl,-s
	build "small=4 |  | tables=4,0" $cc $pfe=4,4 -O2

	for more in "-O0" "-O2" "-O2 -fcf-protection" "-Os -fno-pie -no-pie" "-O2 -fno-plt" "-O2 -Wl,-z,now" "-O2 -static" \
			"-O2 -static-pie" "-O2 -fno-asynchronous-unwind-tables" "-O2 -fuse-ld=lld" "-O2 -flto"; do
		build "mcount-call=4 | $all | gmon tables=0,0" $cc -pg $more
		build "fentry-call=4 | $all | gmon tables=0,0" $cc -pg -mfentry $more
	done
	for more in "-O2" "-O2 -static" "-O2 -static-pie"; do
		build "mcount-call=4 | $none | gmon tables=0,0" $cc -pg $more -Wl,-s
		build "fentry-call=4 | $none | gmon tables=0,0" $cc -pg -mfentry $more -Wl,-s
	done
	build "mcount-call=4 | $all | tables=0,0" $cc -pg -O2 -shared -fPIC

	# A program's own functions keep their calls; one that only returns is nobody's
	for own in mcount __fentry__; do
		flag=
		frame="framed framed "
		[ $own = __fentry__ ] && flag="-mfentry -fcf-protection" && frame=
		$cc -O2 -pg $flag -DOWN=$own -c own.c && $cc own.o -o own && expect "$cc own $own" "${frame}own-call=2 | f,main | tables=0,0" own
		name=${own#__}
		$cc -O2 -pg $flag -c p.c && $cc -c ret.s && $cc p.o ret.o -o p &&
			expect "$cc ret-only $own" "${name%__}-call=4 | $all | tables=0,0" p
	done

	# Objects and archives
	$cc -O2 $pfe=5 -c p.c && expect "$cc pad p.o" "$pad=4 | $all | tables=4,0" p.o
	$cc -O2 $pfe=16,14 -c p.c && expect "$cc prepad p.o" "prepad=4 | $all | tables=4,0" p.o
	$cc -O2 $pfe=16,16 -c p.c && expect "$cc before p.o" "before=4 | $all | tables=4,0" p.o
	$cc -O2 -pg -mfentry -c p.c && expect "$cc fentry p.o" "fentry-call=4 | $all | tables=0,0" p.o
	$cc -O2 -pg -fPIC -ffunction-sections -c p.c && expect "$cc mcount p.o" "mcount-call=4 | $all | tables=0,0" p.o
	$cc -O2 -pg -c own.c -DOWN=mcount && expect "$cc own.o" "framed framed own-call=2 | f,main | tables=0,0" own.o
	cp p.o a_member_with_a_rather_long_name.o
	$cc -O2 $pfe=5 -c own.c -DOWN=other && rm -f l.a && ar rc l.a a_member_with_a_rather_long_name.o own.o &&
		expect "$cc l.a" "$pad=3 mcount-call=4 | f,f,helper,main,main,many,other | tables=3,0" l.a

	# Inline functions of two files; gcc 12 lists in one section a file, so entries dangle
	cxx=g++
	[ $cc = clang ] && cxx=clang++
	$cxx -O2 -ffunction-sections $pfe=5 c1.cc c2.cc -Wl,--gc-sections -o c >log 2>&1 && "$dump" c >got
	want="| (anonymous namespace)::same(int)@c1.cc,(anonymous namespace)::same(int)@c2.cc,A::A(int),A::get() const"
	want="$want,comdat(int),main,two(int) |"
	cases=$((cases + 1))
	if grep -q 'defined in discarded section' log; then
		echo "$cxx: refused by the linker: $(grep -m1 -o 'defined in discarded section' log)"
	elif ! grep -qF "$pad=7 " got || ! grep -qF "$want" got; then
		failed=$((failed + 1))
		echo "FAIL: $cxx comdat: $(cat got log)"
	fi
done

# gcc alone
build "nop=4 | $all | gmon tables=0,4" gcc -pg -mfentry -mrecord-mcount -mnop-mcount -fno-pie -no-pie -O2
build "fentry-call=4 | $all | gmon tables=0,4" gcc -pg -mfentry -mrecord-mcount -O2
build "fentry-call=4 | $none | gmon tables=0,4" gcc -pg -mfentry -mrecord-mcount -O2 -static -Wl,-s
build "mcount-call=4 | $all | gmon tables=0,4" gcc -pg -mrecord-mcount -O2
build "nop=4 | $all | gmon tables=0,0" gcc -pg -mfentry -mnop-mcount -fno-pie -no-pie -O2

# Nothing to find, and no section headers at all (sstrip)
build "|  | tables=0,0" gcc -O2
expect "libc" "|  | tables=0,0" "$(gcc -print-file-name=libc.so.6)"
gcc -O2 $pfe=5 p.c -o p && printf '\0\0\0\0\0\0\0\0' | dd of=p bs=1 seek=40 conv=notrunc 2>/dev/null &&
	printf '\0\0\0\0' | dd of=p bs=1 seek=60 conv=notrunc 2>/dev/null && expect "sstrip" "nops=4 | $none | tables=0,0" p

# The search table upside down: it is put in order before anybody walks along it
gcc -O2 -fpatchable-function-entry=4 p.c -o p && cp p q &&
	at=$((0x$(readelf -SW p | sed 's/\[ */[/' | awk '$2 == ".eh_frame_hdr" { print $5 }') + 12)) &&
	n=$(od -An -tu4 -j $((at - 4)) -N 4 p) && i=0 && while [ "$i" -lt "$n" ]; do
		dd if=p of=q bs=1 skip=$((at + 8 * i)) seek=$((at + 8 * (n - 1 - i))) count=8 conv=notrunc 2>/dev/null
		i=$((i + 1))
	done && ! cmp -s p q && expect "search table upside down" "small=4 |  | tables=4,0" q

# Names that are elsewhere: beside the program by .gnu_debuglink, inside it by .gnu_debugdata
gcc -O2 -g $pfe=5 p.c -o p && objcopy --only-keep-debug p p.debug && objcopy --strip-all --add-gnu-debuglink=p.debug p q &&
	expect "debuglink" "nops=4 | $all | tables=4,0" q
mkdir -p .debug && mv p.debug .debug/ && expect "debuglink in .debug" "nops=4 | $all | tables=4,0" q
gcc -O3 -g $pfe=5 -DOTHER p.c -Wl,--build-id=0x1234 -o r && objcopy --only-keep-debug r .debug/p.debug &&
	expect "debug file of another build" "nops=4 | $none | tables=4,0" q
# By its checksum alone: only as far as that is cheap. The part that is stored keeps it from being a mere hole.
gcc -O2 -g $pfe=5 -Wl,--build-id=none p.c -o r && objcopy --only-keep-debug r r.debug && objcopy --strip-all --add-gnu-debuglink=r.debug r q &&
	expect "debuglink without a build-id" "nops=4 | $all | tables=4,0" q
head -c 8388608 /dev/zero >>r.debug && truncate -s 257M r.debug && objcopy --strip-all --add-gnu-debuglink=r.debug r q &&
	expect "a large debug file without a build-id" "nops=4 | $none | tables=4,0" q
rm -f r.debug
if command -v xz >/dev/null; then
	rm -rf .debug
	objcopy --only-keep-debug -S -K f -K main -K helper -K many p mini && strip -R .comment mini -K f -K main -K helper -K many
	xz -f mini && objcopy --strip-all --add-section .gnu_debugdata=mini.xz p q &&
		expect "debugdata" "nops=4 | $all | tables=4,0" q
fi

echo "$cases cases, $failed failed"
[ "$failed" -eq 0 ]
