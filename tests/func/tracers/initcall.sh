#!/bin/sh
# SPDX-License-Identifier: MIT
# initcall.sh - the tracer initcall: constructors of unprepared, prepared and static programs, and of a library that dlopen() loads
. "$(dirname "$0")/../../lib/common.sh"

[ "$(uname -m)" = x86_64 ] || skip "unprepared code is rewritten on x86-64 only"

cat >lib.c <<'end'
#include <unistd.h>
int up;
__attribute__((constructor(101))) void lib_first(void) { usleep(20000); up++; }
__attribute__((constructor)) static void lib_second(void) { up += 2; usleep(1); }
void lib_dt_init(void) { up += 4; usleep(1); }
int lib_up(void) { usleep(1); return up; }
end
cat >prog.c <<'end'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int n;
__attribute__((constructor(101))) static void prog_first(void) { usleep(30000); n++; }
__attribute__((constructor)) static void prog_second(int argc, char **argv) { n += argc + (argv != NULL); usleep(1); }
__attribute__((constructor)) static void prog_third(void) { if (getenv("LEAVE")) exit(n); usleep(1); }
__attribute__((destructor)) static void prog_end(void) { usleep(1); }
static void before(int argc, char **argv, char **env) { n += argc * 0 + (argv == NULL) + (env == NULL); usleep(1); }
#ifndef SHARED
__attribute__((section(".preinit_array"), used)) static void (*const first_of_all)(int, char **, char **) = before;
#endif
__attribute__((noinline)) int plain(int x) { usleep(1); return x + n; }
int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*up)(void) = lib ? (int (*)(void))dlsym(lib, "lib_up") : NULL;

	printf("%d %d\n", plain(0), up ? up() : -1);
	return 0;
}
end
cc=${CC:-cc}
$cc -O1 -shared -fPIC -Wl,-init=lib_dt_init -o lib.so lib.c || exit 1
$cc -O1 -o prog prog.c || exit 1
$cc -O1 -fpatchable-function-entry=5 -o prepared prog.c || exit 1
$cc -O1 -no-pie -o fixed prog.c || exit 1
programs="prog prepared fixed"
$cc -O1 -static -fpatchable-function-entry=5 -o static prog.c 2>/dev/null && programs="$programs static"
$cc -O1 -Wl,-z,pack-relative-relocs -o relr prog.c 2>/dev/null && ./relr >/dev/null 2>&1 && programs="$programs relr"

form='^\[ *[0-9]*\.[0-9]\{9\}\] \(calling  [^ ]*+0x0\/0x[0-9a-f]* @ [0-9]*\|initcall [^ ]*+0x0\/0x[0-9a-f]* returned ? after [0-9]* usecs\)$'
# The calls that the report shows of the programs, as `calling NAME;returned NAME;`: @ for all in `out`
seen() {
	sed -n 's/^\[.*\] calling  \(\(prog\|lib\|before\)[_a-z]*\)+.*/calling \1/p; s/^\[.*\] initcall \(\(prog\|lib\|before\)[_a-z]*\)+.* returned .*/returned \1/p' out | tr '\n' ';'
}
both() {
	for f; do printf 'calling %s;returned %s;' "$f" "$f"; done
}
usecs() {
	sed -n "s/.*initcall $1+.* after \([0-9]*\) usecs/\1/p" out
}

for p in $programs; do
	lib=./lib.so libs="lib_dt_init lib_first lib_second"
	[ "$p" != static ] || lib= libs=
	run timeout 60 "$uft" record -q -p initcall -o rec.uft "./$p" $lib
	expect_status 0
	expect_equal "$p says" "$(cat out)" "$([ -n "$lib" ] && echo 4 7 || echo 3 -1)"
	run timeout 60 "$uft" report --no-pager rec.uft
	expect_status 0
	expect_equal "the first line" "$(sed -n 1p out)" "# tracer: initcall"
	expect_equal "$p: calls" "$(seen)" "$(both before prog_first prog_second prog_third $libs)"
	expect_equal "$p: lines of another form" "$(grep -v '^#' out | grep -v "$form")" ""
	check
	[ "$(usecs prog_first)" -ge 30000 ] || { fail "$p: 30 ms of sleep took $(usecs prog_first) us"; show; }
	check
	[ -z "$lib" ] || [ "$(usecs lib_first)" -ge 20000 ] || { fail "$p: 20 ms of sleep took $(usecs lib_first) us"; show; }
done

# A part of them, and one that does not return.
run timeout 60 "$uft" record -q -p initcall -l 'prog_*' -n prog_second -l '*:mod:lib.so' -n lib_first:mod:lib.so -o rec.uft ./prog ./lib.so
expect_status 0
run timeout 60 "$uft" report --no-pager rec.uft
expect_equal "by lists" "$(seen)" "$(both prog_first prog_third lib_dt_init lib_second)"
run env LEAVE=1 timeout 60 "$uft" record -q -p initcall -o rec.uft ./prog
expect_status 3
run timeout 60 "$uft" report --no-pager rec.uft
expect_equal "exit() in the last" "$(seen)" "$(both before prog_first prog_second)calling prog_third;"
run timeout 60 "$uft" record -p initcall -g main ./prog
expect_status 2
expect_err "--graph is for the tracer function_graph, not for initcall"

# By the files of the tracing directory.
. "$(dirname "$0")/../../lib/shell.sh"
in_shell 'cd /sys/kernel/tracing; echo initcall >current_tracer; cd -; ./prog ./lib.so >/dev/null; cat /sys/kernel/tracing/trace'
expect_status 0
expect_equal "in the tree" "$(seen)" "$(both before prog_first prog_second prog_third lib_dt_init lib_first lib_second)"
