#!/bin/sh
# SPDX-License-Identifier: MIT
# pack_rest.sh - by default a recording is packed when its program has ended, whether a CPU was idle meanwhile or not
. "$(dirname "$0")/../../lib/common.sh"

cp "$top/tests/func/cli/prog.c" .
build_traced prog
first_cpus
run "$uft" record -q --no-pack -o plain.uft ./prog calls 3000000
expect_status 0
[ "$(stat_value plain.uft lost)" = 0 ] || skip "this machine loses calls of so short a program"

# small NAME: half of the bytes at most, all calls, nothing beside it
small() {
	check
	[ "$(($(wc -c <"$1.uft") * 2))" -lt "$(wc -c <plain.uft)" ] || fail "$1: $(wc -c <"$1.uft") bytes of $(wc -c <plain.uft)"
	[ "$(stat_value "$1.uft" lost)" != 0 ] || expect_equal "calls of $1" "$(stat_value "$1.uft" calls)" "$(stat_value plain.uft calls)"
	expect_equal "complete, $1" "$(stat_value "$1.uft" complete)" yes
	expect_equal "damaged bytes, $1" "$(stat_value "$1.uft" damaged_bytes)" 0
	[ -z "$(ls | grep part-)" ] || fail "left beside $1: $(ls)"
}

run "$uft" record -q -o by_default.uft ./prog calls 3000000
expect_status 0
small by_default

# On one CPU, which others want all the time.
(while :; do :; done) & one=$!
(while :; do :; done) & two=$!
taskset -cp "$CPU" $one >/dev/null
taskset -cp "$CPU" $two >/dev/null
run taskset -c "$CPU" "$uft" record -q -o busy.uft ./prog calls 3000000
kill $one $two
expect_status 0
small busy

# The place is that of a link's target; a file that nobody can be put beside keeps what it has.
mkdir dir
ln -s dir/real.uft link.uft
run "$uft" record -q -o link.uft ./prog calls 3000000
expect_status 0
[ -L link.uft ] || fail "the link was replaced"
small link

run "$uft" record --pack --no-pack ./prog calls 1
expect_status 2
expect_err "--pack and --no-pack exclude each other"
check
