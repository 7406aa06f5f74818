#!/bin/sh
# SPDX-License-Identifier: MIT
# builds.sh BUILD [ROUNDS [FILES]] - what it costs to start programs: exec of /bin/true, and `make -j2` of a C project
#
# Bare and traced runs alternate, ROUNDS times each (5), and the best of each is compared: the machine may do other things.
# The project has FILES files (200) and is generated; gcc is the system's. Prints tables in markdown.
set -eu
build=$(cd "$1" && pwd) rounds=${2:-5} files=${3:-200}
top=$(cd "$(dirname "$0")/.." && pwd)
uft=$build/uft
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work"

cc1=$(gcc -print-prog-name=cc1)
"${CC:-gcc}" -O2 -w "$top/bench/forks.c" -o forks

# Twenty functions a file; each file includes what small programs include.
generate() {
	mkdir -p project
	awk -v files="$files" 'BEGIN {
		for (f = 0; f < files; f++) {
			out = "project/f" f ".c"
			print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n" >out
			for (i = 0; i < 20; i++)
				printf "int f%d_%d(const char *s, int n)\n{\n\tint sum = (int)strlen(s);\n\n\tfor (int i = 0; i < n; i++)\n\t\tsum += s[i %% (sum + 1)] * %d;\n\treturn sum %% 7 ? sum : abs(sum - %d);\n}\n\n", f, i, i + 3, f >out
			close(out)
		}
		out = "project/main.c"
		for (f = 0; f < files; f++)
			printf "int f%d_0(const char *s, int n);\n", f >out
		print "int main(int c, char **v)\n{\n\tint sum = 0;\n" >out
		for (f = 0; f < files; f++)
			printf "\tsum += f%d_0(v[0], c);\n", f >out
		print "\treturn sum == 1;\n}" >out
	}'
	# shellcheck disable=SC2016
	printf 'CFLAGS = -O1\nOBJ = $(patsubst %%.c,%%.o,$(wildcard *.c))\nprog: $(OBJ)\n\tgcc -o $@ $(OBJ)\n' >project/Makefile
}

# seconds CMD...: wall time of a build from nothing
seconds() {
	rm -f project/*.o project/prog
	begin=$(date +%s%N)
	"$@" make -s -j2 -C project CC=gcc >build.log 2>&1 || { cat build.log >&2; return 1; }
	end=$(date +%s%N)
	[ -x project/prog ] || { echo "builds.sh: no program was built" >&2; return 1; }
	echo "$begin $end" | awk '{ printf "%.2f\n", ($2 - $1) / 1e9 }'
}

best() { sort -n "$1" | head -1; }
middle() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
over() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", (a - b) / 1000 }'; }

execs() {
	: >exec.bare
	: >exec.nop
	for _ in $(seq "$rounds"); do
		./forks 200 | awk '$1 == "exec" { print $2, $3 }' >>exec.bare
		"$uft" record -q -p nop -o x.uft ./forks 200 | awk '$1 == "exec" { print $2, $3 }' >>exec.nop
	done
	for kind in bare nop; do
		awk '{ print $1 }' exec.$kind >$kind.medians
		awk '{ print $2 }' exec.$kind >$kind.bests
	done
	echo "| fork, exec of /bin/true and wait, us | untraced | nothing armed | more, ms | aim |"
	echo "|---|---|---|---|---|"
	echo "| best of all | $(best bare.bests) | $(best nop.bests) | $(less "$(best nop.bests)" "$(best bare.bests)") | 1.2 |"
	echo "| best median of $rounds runs of 200 | $(best bare.medians) | $(best nop.medians) | $(less "$(best nop.medians)" "$(best bare.medians)") | 1.2 |"
	echo
}

makes() {
	generate
	: >make.bare
	: >make.nop
	: >make.cc1
	for _ in $(seq "$rounds"); do
		seconds env >>make.bare
		seconds "$uft" record -q -p nop -o nop.uft >>make.nop
		seconds "$uft" record -q -p function -l '*:mod:cc1' --flight -o cc1.uft >>make.cc1
	done
	echo "| \`make -j2\` of $files C files and a link, s | best | median | best over untraced | aim |"
	echo "|---|---|---|---|---|"
	echo "| untraced | $(best make.bare) | $(middle make.bare) | | |"
	echo "| nothing armed | $(best make.nop) | $(middle make.nop) | $(over "$(best make.nop)" "$(best make.bare)") | 1.25 |"
	echo "| function, all functions of cc1, the newest kept | $(best make.cc1) | $(middle make.cc1) | $(over "$(best make.cc1)" "$(best make.bare)") | 6 |"
	echo
	"$uft" stat cc1.uft 2>/dev/null | awk -F': ' '$1 == "calls" || $1 == "functions" || $1 == "lost" || $1 == "armed" { print "- " $1 ": " $2 }'
	echo "- \`uft sites\` of cc1: $("$uft" sites "$cc1" 2>/dev/null | sed -n 's/^# unprepared code: //p' | head -1)"
}

execs
makes
echo
echo "$(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'), family $(grep -m1 'cpu family' /proc/cpuinfo | sed 's/.*: //') model $(grep -m1 '^model\s*:' /proc/cpuinfo | sed 's/.*: //'), $(nproc) CPUs; load average when it ended: $(cut -d' ' -f1-3 /proc/loadavg)."
