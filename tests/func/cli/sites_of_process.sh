#!/bin/sh
# SPDX-License-Identifier: MIT
# sites_of_process.sh - uft sites of a process: its files in its own mount namespace; mapped files that are no programs
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"
need unshare
flags=-m
[ "$(id -u)" = 0 ] || flags=-rm
unshare $flags true 2>/dev/null || skip "no mount namespaces for us here"

cat >prog.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
__attribute__((noinline)) int NAME(void) { __asm__ volatile(""); return getchar(); }
int main(void)
{
	int fd = open("data", O_RDONLY);

	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 2;
	puts("ready");
	fflush(stdout);
	return NAME() != EOF;
}
END
yes data | head -n 100 >data
for name in here there; do
	${CC:-cc} -O1 -fpatchable-function-entry=5 -DNAME="$name" -o $name prog.c || exit 1
done
cp here prog
# shellcheck disable=SC2016
hold_up unshare $flags sh -c 'mount --bind there prog && exec "$PWD/prog"'
run "$uft" sites $held
expect_status 0
expect_out " there"
expect_equal "functions of the file that stands at its path here" "$(grep -c ' here$' out)" 0
expect_err "not looked at: $PWD/data: not an ELF file"
run "$uft" disas there $held
expect_status 0
expect_out "there"
let_go
expect_equal "its status" $status 0

# In our own namespace files go by their names.
hold_up ./prog
run "$uft" sites $held
expect_status 0
expect_out " here"
expect_out "# $PWD/prog: "
let_go
