#!/bin/sh
# SPDX-License-Identifier: MIT
# pads_before_entry.sh - functions of one to twenty bytes, close together, with pads before them: every call of each, with both tracers
#
# A function shorter than the jump must not lose the pad of the next one, which is the next one's.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fail() { echo "FAIL: $*"; exit 1; }
for cc in gcc clang; do command -v $cc >/dev/null || { echo "SKIP: no $cc"; exit 77; }; done

cat >tiny.c <<'C'
#include <stdio.h>
#define X __attribute__((noipa))	/* gcc would make one of all that are equal */
#define F(n) X void empty##n(void) {} X int zero##n(void) { return 0; } X int loop##n(int x) { while (x-- > 3) __asm__ volatile(""); return x; }
F(1) F(2) F(3) F(4)
int main(void)
{
	typedef int (*fn)(int);
	static fn volatile f[] = { (fn)empty1, (fn)zero1, loop1, (fn)empty2, (fn)zero2, loop2, (fn)empty3, (fn)zero3, loop3,
		(fn)empty4, (fn)zero4, loop4 };

	for (int i = 0; i < 1000; i++)
		for (unsigned k = 0; k < sizeof(f) / sizeof(f[0]); k++)
			f[k](i & 7);
	return puts("end") < 0;
}
C

# try COMPILER OPTIONS M: the pad; LEAST usable functions of 13
try() {
	# shellcheck disable=SC2086
	$1 $2 -w -fpatchable-function-entry="$3,$3" -o tiny tiny.c || fail "$* does not build"
	"$UFT" sites -s tiny >sites || fail "uft sites"
	n=$(sed -n 's/^# usable: \([0-9]*\), before \1$/\1/p' sites)
	[ "${n:-0}" -ge "$4" ] || fail "$*: $(cat sites)"
	for tracer in function function_graph; do
		[ "$("$UFT" record -q -p $tracer -o t.uft ./tiny)" = end ] || fail "$*: $tracer: it did not end"
		"$UFT" report --no-pager --profile t.uft >profile
		got=$(awk '$1 == 1000 && $NF ~ /^(empty|zero|loop)[1-4]$/' profile | wc -l)
		[ "$got" -eq $((n - 1)) ] || fail "$*: $tracer: $got of $((n - 1)) functions with all calls: $(cat profile)"
	done
}
for cc in gcc clang; do
	for options in -Os "-O2 -falign-functions=1 -fcf-protection" "-O2"; do
		try $cc "$options" 5 9
		try $cc "$options" 8 13
		try $cc "$options" 16 13
	done
done
echo "ok: 18 programs"
