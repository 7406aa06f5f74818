#!/bin/sh
# SPDX-License-Identifier: MIT
# terminal_escapes.sh - names that a program chooses (functions, files, threads, libraries) write no control byte to a terminal, in any command
. "$(dirname "$0")/../../lib/common.sh"

esc=$(printf '\033[31m') csi=$(printf '\302\233') bell=$(printf '\007')
cat >evil.c <<'END'
#include <sys/prctl.h>
#include <unistd.h>
__attribute__((noinline)) void evil_________(void) { __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv)
{
	prctl(PR_SET_NAME, "th\033[1mread\302\2332");
	for (int i = 0; i < 3; i++)
		evil_________();
	if (argc > 1)
		pause();
	return argv == 0;
}
END
build_traced evil
python3 -c 'p = open("evil", "rb").read(); open("evil", "wb").write(p.replace(b"evil_________", b"evil\033]0;x\007\xc2\x9bm"))'
prog="./e${esc}vil${csi}1$bell"
mv evil "$prog"

# clean WHAT CMD...: nothing of it is a control byte, and text is there
clean() {
	what=$1
	shift
	run "$@"
	cat out err >all
	check
	[ -s all ] || fail "$what says nothing"
	check
	if python3 -c 'import sys; t = open("all", encoding="utf-8", errors="surrogateescape").read()
sys.exit(any((ord(c) < 32 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0 or 0xdc80 <= ord(c) < 0xdca0 for c in t))'; then :; else
		fail "$what prints control bytes"
		cat -v all | grep -m 3 -e '\^' -e 'M-'
	fi
}

clean sites "$uft" sites --all --skipped "$prog"
expect_out 'evil?]0;x???m'
clean "sites of no program" "$uft" sites "$prog-"
clean disas "$uft" disas 'evil*' "$prog"
clean "disas of no function" "$uft" disas "x$esc" "$prog"
clean doctor "$uft" doctor "$prog"
clean "doctor of no program" "$uft" doctor "$prog-"
clean record "$uft" record -o "r$esc.uft" "$prog"
clean "record of nothing" "$uft" record -l "no$esc" "$prog"
clean "record of no program" "$uft" record "$prog-"
clean "a wrong option" "$uft" record "--x$esc"
clean "a wrong command" "$uft" "x$esc"
clean report "$uft" report "r$esc.uft"
expect_out 'evil?]0;x???m'
clean "report -O latency-format" "$uft" report -O latency-format "r$esc.uft"
clean "report --profile" "$uft" report --profile "r$esc.uft"
clean "report of no file" "$uft" report "no$esc.uft"
clean "report of no recording" "$uft" report "$prog"
for view in --tree --flat --callers=evil* --histogram=evil* '--flat --by=task'; do
	clean "report $view" "$uft" report $view --min 0 "r$esc.uft"
done
clean diff "$uft" diff --min 0 "r$esc.uft" "r$esc.uft"
clean stat "$uft" stat "r$esc.uft"
clean "export to a place that is not there" "$uft" export -o "no$esc/x.dat" "r$esc.uft"
clean recordmcount "$uft" recordmcount "$prog"
clean "attach to none" "$uft" attach "no$esc"

"$prog" wait & pid=$!
eventually grep -q ^th /proc/$pid/comm
clean "attach with no place for the file" "$uft" attach "$pid" -o "no$esc/x.uft"
clean "sites of a process" "$uft" sites --all "$pid"
clean "disas of a process" "$uft" disas 'evil*' "$pid"
clean "doctor of a process" "$uft" doctor "$pid"
kill "$pid"
wait "$pid" 2>/dev/null || :
