#!/bin/sh
# SPDX-License-Identifier: MIT
# whole_programs.sh WORK - rewriting every function of an unprepared program and of all its libraries does not change its behaviour
#
# The program, libc, the loader and what else there is: whatever has an unwind entry. The output must be the same
# to the byte, no entry may be found to be something else than planned, and each return must find its call.
. "$(dirname "$0")/../../lib/common.sh"

here=$top/tests/func/unprepared
walks=
case $1 in
bash)	need bash; set -- bash "$here/work.bash"; least=3500 ;;
python)	set -- /usr/bin/python3 "$here/work.py"; [ -x "$1" ] || skip "there is no /usr/bin/python3"; least=9000 ;;
sqlite)	need sqlite3; set -- sh -c "sqlite3 :memory: <'$here/work.sql'"; least=5000 ;;
openssl) need openssl; set -- sh "$here/work.openssl"; least=10000 ;;
gzip)	need gzip; set -- sh -c 'for level in 1 6 9; do gzip -${level}c /bin/bash | gzip -d | cksum; done; gzip -tv /dev/null 2>&1 || gzip -V'; least=3500 ;;
rust)	need rg; set -- sh -c "rg -n session '$top/doc' '$top/control' | sort"; least=8000 ;;
go)	need fzf; set -- sh -c "cat '$top'/doc/design/*.md '$top'/control/*.c | fzf --filter='session'"; least=3500 ;;
clang)	need clang++; clang++ -std=c++17 -O2 -w -pthread -o stream "$here/stream.cc" || exit 1
	set -- ./stream; least=7000 ;;
stream)	${CXX:-g++} -std=c++17 -O2 -w -pthread -o stream "$here/stream.cc" || exit 1
	set -- ./stream; least=7000 ;;
runtime) ${CC:-cc} -O2 -Wall -o runtime "$here/jit_caller.c" || exit 1
	set -- ./runtime; least=2500 ;;
library) ${CC:-cc} -O2 -Wall -fPIC -shared -DLIBRARY -o libcaller.so "$here/jit_caller.c" || exit 1
	echo 'int run(void); int main(void) { return run(); }' >library.c
	${CC:-cc} -o library library.c ./libcaller.so || exit 1
	set -- ./library; least=2500 ;;
cleanups) ${CXX:-g++} -O1 -w -static -o cleanups "$here/cleanups.cc" || skip "this compiler cannot link C++ statically"
	set -- ./cleanups; least=800 ;;
ocaml)	need ocamlopt; cp "$here/collect.ml" . && ocamlopt -o collect collect.ml || exit 1
	set -- ./collect; least=2500 walks='table of frames' ;;
mono)	need mcs mono; mcs -out:collect.exe "$here/Collect.cs" || exit 1
	set -- mono collect.exe; least=8000 walks='makes code' ;;
node)	need node; set -- node "$here/work.js"; least=10000 walks='makes code' ;;
java)	need java javac; javac -d . "$here/Work.java" || exit 1
	set -- java -Xmx64m -XX:+UseSerialGC -cp . Work; least=25000 ;;
*)	echo "what is $1?"; exit 1 ;;
esac

# A runtime that looks for its frames on the stack is known as one before anything is traced.
if [ "$walks" ]; then
	run "$uft" doctor "$(command -v "$1")"
	expect_out "warn  graph: "
	expect_out "$walks"
	run "$uft" sites -s "$(command -v "$1")"
	expect_out "# function tracer only, where its runtime may look: it"
	expect_out "$walks"
fi

run "$@"
expect_status 0
mv out want
for tracer in function function_graph; do
	run "$uft" record -q --flight -b 4M -p $tracer -o x.uft -l '*' -l '*:mod:*' -- "$@"
	expect_status 0
	check
	cmp out want || { fail "$tracer: another output"; show; }
	expect_equal "$tracer: refused" "$(stat_value x.uft counter_site_refused) $(stat_value x.uft counter_site_reach)" "0 0"
	expect_equal "$tracer: lost returns" "$(stat_value x.uft counter_lost_return)" 0
	check
	patched=$(stat_value x.uft counter_patched)
	[ "$patched" -ge "$least" ] || fail "$tracer: only $patched entries were rewritten"
done
