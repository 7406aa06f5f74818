#!/bin/sh
# SPDX-License-Identifier: MIT
# source.sh - --lines and --inlines: the DWARF data of functions, in each place it may be; a damaged file costs only its own answer
. "$(dirname "$0")/../../lib/common.sh"
need objcopy strip readelf python3
ldconfig -p 2>/dev/null | grep -q 'libdw\.so\.1' || skip "libdw is not installed"

cat >prog.c <<'END'
#define FN __attribute__((noinline, noclone))
#define IN static inline __attribute__((always_inline))
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void both(void) { leaf(); __asm__ volatile("" ::: "memory"); }
IN void inner(void) { leaf(); __asm__ volatile("" ::: "memory"); }
IN void outer(void) { inner(); both(); __asm__ volatile("" ::: "memory"); }
FN void work(void) { outer(); both(); __asm__ volatile("" ::: "memory"); }
FN void called(void) { leaf(); __asm__ volatile("" ::: "memory"); }
IN void indirect(void (*f)(void)) { f(); __asm__ volatile("" ::: "memory"); }
void (*volatile pointer)(void) = called;
FN void points(void) { indirect(pointer); called(); __asm__ volatile("" ::: "memory"); }
int main(void)
{
	for (int i = 0; i < 10; i++)
		work();
	points();
	return 0;
}
END
build_traced prog -O2 -g -Wl,--build-id
run "$uft" record -q -o prog.uft ./prog
expect_status 0
# Of a CSV: each path, and its place.
paths() {
	python3 -c 'import csv, os, sys
for r in csv.DictReader(sys.stdin): print(r["path"].replace(" (inlined)", "*"), os.path.basename(r["file"]) + ":" + r["line"])'
}
"$uft" report --tree --lines --inlines --csv prog.uft | paths | sort >got
cat >want <<'END'
main prog.c:12
main;points prog.c:11
main;points;called prog.c:8
main;points;called;leaf prog.c:3
main;work prog.c:7
main;work;both prog.c:4
main;work;both;leaf prog.c:3
main;work;outer* prog.c:6
main;work;outer*;inner* prog.c:5
main;work;outer*;inner*;leaf prog.c:3
END
expect_equal "paths and places" "$(cat got)" "$(cat want)"
run "$uft" report --tree --min 0 --lines --inlines prog.uft
expect_status 0
expect_no_err
expect_out "inner (inlined)  prog.c:5"
# Own time stays with the caller.
sum() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { n += $at["self_ns"] } END { print n }'; }
expect_equal "the sum of self" "$("$uft" report --tree --inlines --csv prog.uft | sum)" "$("$uft" report --tree --csv prog.uft | sum)"
run "$uft" report --callers 'inne*' --inlines --csv prog.uft
expect_out "inner (inlined);outer (inlined);work;main"
run "$uft" report --flat --lines prog.uft
expect_out "leaf  prog.c:3"

# Exports: a place where the format has one, an inlined function where it has paths.
"$uft" export -f folded --inlines -o inlined.folded prog.uft
expect_equal "folded" "$(grep -c '^main;work;outer (inlined);inner (inlined);leaf [0-9]*$' inlined.folded)" 1
"$uft" export -f folded -o plain.folded prog.uft
expect_equal "folded: the same sum" "$(awk '{ n += $NF } END { print n }' inlined.folded)" "$(awk '{ n += $NF } END { print n }' plain.folded)"
"$uft" export -f svg --lines --inlines -o x.svg prog.uft
expect_equal "svg" "$(grep -c '<title>inner (inlined): .*prog\.c:5</title>' x.svg)" 1
"$uft" export -f speedscope --lines -o x.speedscope prog.uft
"$uft" export -f firefox --lines -o x.firefox prog.uft
run python3 -c 'import json
s = json.load(open("x.speedscope"))
assert {(f["name"], f["line"]) for f in s["shared"]["frames"] if f["name"] != "?"} >= {("leaf", 3), ("work", 7)}, s["shared"]
t = json.load(open("x.firefox"))["threads"][0]
n, f = t["stringArray"], t["funcTable"]
assert all(len(f[k]) == f["length"] for k in ("name", "fileName", "lineNumber"))
at = {n[f["name"][i]]: (n[f["fileName"][i]].split("/")[-1], f["lineNumber"][i]) for i in range(f["length"])}
assert at["leaf"] == ("prog.c", 3) and at["main"] == ("prog.c", 12), at'
expect_status 0
expect_no_err
"$uft" export -f pprof --lines --inlines -o x.pb.gz prog.uft
if has "pprof" go; then
	run go tool pprof -raw x.pb.gz
	expect_out "inner (inlined)"
	expect_out "prog.c:5"
fi
"$uft" export -f sqlite --lines -o x.sqlite prog.uft
if has "SQLite" sqlite3; then
	expect_equal "sqlite" "$(sqlite3 x.sqlite "select line from function where name = 'leaf' and file like '%/prog.c'")" 3
fi
run "$uft" export -f chrome --lines -o x.json prog.uft
expect_status 2
expect_err "the format chrome has no place for source lines"
run "$uft" export -f sqlite --inlines -o x.sqlite prog.uft
expect_status 2
expect_err "the format sqlite has a row for each call"
run "$uft" report --timeline --lines prog.uft
expect_status 2
expect_err "add --tree or --flat"

# In a separate file: by debuglink beside it and below .debug; another build's is not taken.
cp prog prog.whole
objcopy --only-keep-debug prog prog.debug
strip -g prog && objcopy --add-gnu-debuglink=prog.debug prog
run "$uft" report --flat --lines prog.uft
expect_out "leaf  prog.c:3"
mkdir .debug && mv prog.debug .debug/
run "$uft" report --flat --lines prog.uft
expect_out "leaf  prog.c:3"
mv .debug/prog.debug other.debug
run "$uft" report --flat --lines prog.uft
expect_status 0
expect_out "# no source lines of prog: it has no debug information: compile it with -g, or install its debug symbols"
run "$uft" export -f svg --lines -o x.svg prog.uft
expect_status 0
expect_err "no source lines of prog: it has no debug information"
mv prog prog.stripped
run "$uft" report --flat --lines prog.uft
expect_status 0
expect_out "# no source lines of prog: its file is not here"
echo 'int other;' >>prog.c
build_traced prog -O2 -g -Wl,--build-id
run "$uft" report --flat --lines prog.uft
expect_out "# no source lines of prog: its file is not the one that was recorded"

# Damaged in many ways, with the right build-id: an answer or none, and never the end of uft.
cat >spoil.py <<'END'
import random, re, subprocess, sys
whole = open('prog.whole', 'rb').read()
random.seed(7)
sections = subprocess.run(['readelf', '-SW', 'prog.whole'], capture_output=True, text=True).stdout
places = [(int(m[1], 16), int(m[2], 16)) for m in re.finditer(r'\.debug_\S+ +PROGBITS +\S+ (\S+) (\S+)', sections)]
assert len(places) > 3, sections
for i in range(20):
    bad = bytearray(whole)
    for _ in range(1 + i * 4):
        at, n = random.choice(places)
        bad[at + random.randrange(n)] = random.choice((0, 0x7f, 0xff, random.randrange(256)))
    open('prog', 'wb').write(bad)
    r = subprocess.run([sys.argv[1], 'report', '--tree', '--lines', '--inlines', '--csv', 'prog.uft'], capture_output=True, timeout=300)
    assert r.returncode == 0 and r.stdout.count(b'main;work;both') >= 1, (i, r.returncode, r.stderr)
END
run python3 spoil.py "$uft"
expect_status 0
expect_no_err

# Debug information in a file of its own, which the program's names: read of our own program; of one that others can
# change not even opened: a pipe there would keep its reader waiting.
sed -i '/^int other;/d' prog.c
build_traced prog -O2 -g -gsplit-dwarf -Wl,--build-id
chmod go-w prog
run "$uft" record -q -o split.uft ./prog
expect_status 0
run "$uft" report --tree --min 0 --lines --inlines split.uft
expect_out "inner (inlined)  prog.c:5"
for dwo in *.dwo; do
	rm "$dwo"
	mkfifo "$dwo"
done
expect_equal "pipes for debug information" "$(find . -name '*.dwo' -type p | wc -l)" 1
chmod go+w prog
chmod 755 .		# the child of root is another user then, and finds the pipe
run "$uft" report --flat --lines split.uft
expect_status 0
expect_out "leaf  prog.c:3"
