#!/bin/sh
# SPDX-License-Identifier: MIT
#
# crowd.sh CROWD - a child without rights cannot use up the room of its parent's image: libraries that the parent loads are traced
crowd=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
need cc timeout
[ "$(id -u)" -eq 0 ] || skip "only root can give up rights"
chmod 755 .
cp "$crowd" crowd
need_libc cc -fpatchable-function-entry=5
for name in filler later; do
	echo "int $name(int n) { __asm__ volatile(\"\" : \"+r\"(n)); return n + 1; }" >$name.c
	must_build cc -O1 -fpatchable-function-entry=5 -shared -fPIC -o $name.so $name.c
done
run timeout -s KILL 100 "$uft" record -o t.uft -l '*er' ./crowd "$PWD/filler.so" "$PWD/later.so"
expect_status 0
check
# The child's libraries were told: that they are refused is said.
grep -q 'filler.so is not traced' err || { fail "the child's list was not read"; show; }
run "$uft" report --profile t.uft
calls=$(awk '$NF == "later" { print $1 }' out)
[ "$calls" = 100 ] || { fail "the parent's library: '$calls' of 100 calls are there"; show; }
