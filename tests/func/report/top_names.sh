#!/bin/sh
# SPDX-License-Identifier: MIT
# top_names.sh - uft top with odd function names: control characters, markup, quotes, no UTF-8, 20,000 characters; in each form, and on a terminal
. "$(dirname "$0")/../../lib/common.sh"
need python3 objcopy

cat >prog.c <<'END2'
#include <stdio.h>
#include <time.h>
#define FN __attribute__((noinline, noclone))
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void f1(void) { leaf(); }
FN void f2(void) { f1(); leaf(); }
FN void f3(void) { f2(); leaf(); }
FN void f4(void) { f3(); leaf(); }
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		f4();
		nanosleep(&(struct timespec){ 0, 200000 }, NULL);
	}
}
END2
build_traced prog
long=$(printf 'long_\303\251%020000d' 0)
objcopy --redefine-sym "f1=$(printf '<b>&amp;"x"\047,y;')" --redefine-sym "f2=$(printf 'n\nl\001\033[31mz\377\303\251\302\233m')" \
	--redefine-sym 'f3=%s%n\n\' --redefine-sym "f4=$long" prog odd || skip "no objcopy"
./odd >odd.out &
pid=$!
ends_with_test $pid
eventually grep -q ready odd.out || fail "the program does not start"

for form in json csv text; do
	option=--$form
	[ $form != text ] || option=
	run "$uft" top -n 1 -d 0.3 $option $pid
	expect_status 0
	expect_no_err
	mv out $form
done
cat >check.py <<'END2'
import csv, json, re
# Whole, but for control characters. main never returns, so it has no call.
whole = {'leaf', '<b>&amp;"x"\',y;', 'n?l??[31mz\ufffdé??m', '%s%n\\n\\', 'long_é' + '0' * 20000}
got = {r['function'] for r in json.load(open('json'))['rows']}
assert got == whole, got ^ whole
rows = list(csv.DictReader(open('csv', newline=''), strict=True))
assert {r['function'] for r in rows} == whole and all(None not in r and None not in r.values() for r in rows), rows
text = open('text', 'rb').read()
lines = text.split(b'\n')
assert len(lines) == 1 + len(whole) + 1 and lines[0].startswith(b'#'), lines
assert {l[l.rindex(b'  ') + 2:] for l in lines[1:-1]} == {f.replace('\ufffd', '\udcff').encode('utf-8', 'surrogateescape') for f in whole}, lines
END2
run python3 check.py
expect_status 0
expect_no_err

cat >terminal.py <<'END2'
import fcntl, os, pty, re, struct, sys, termios
child, fd = pty.fork()
if not child:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.environ['TERM'] = 'xterm'
    os.execv(sys.argv[1], sys.argv[1:])
seen = b''
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:         # the terminal has no writer any more
        break
    if not data:
        break
    seen += data
assert os.waitpid(child, 0)[1] == 0, seen
ours = re.sub(rb'\033\[(H|K|J|\?7[hl])', b'', seen).replace(b'\r\n', b'\n')
text = ours.decode('utf-8', 'surrogateescape')
bad = [c for c in text if (ord(c) < 32 and c != '\n') or 0x7f <= ord(c) < 0xa0]
assert not bad, (bad, text)
lines = text.split('\n')
assert all(len(l) <= 80 for l in lines), [l for l in lines if len(l) > 80]
assert any('n?l??[31mz' in l for l in lines) and any(re.search('  long_é0+\\.\\.\\.$', l) for l in lines), lines
END2
run python3 terminal.py "$uft" top -n 2 -d 0.3 $pid
expect_status 0
expect_no_err
check
kill -0 $pid || fail "the process has gone"
