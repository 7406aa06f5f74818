#!/bin/sh
# SPDX-License-Identifier: MIT
# guess_undone.sh PROGRAM... - a start takes back a wrong expectation without its hooks: after the detach the program has its own code again
programs=$(realpath "$@")
. "$(dirname "$0")/../../lib/common.sh"

for program in $programs; do
	checks_done=$((checks_done + 1))
	rm -f in out
	mkfifo in
	"$uft" record -q -p function -o anew.uft "$program" <in >out 2>err &
	recorder=$!
	exec 3>in
	eventually [ -s out ]
	pid=$(head -n 1 out)
	"$uft" detach "$pid" || fail "$program: detach"
	echo >&3
	exec 3>&-
	eventually [ ! -d "/proc/$pid" ]
	[ "$(tail -n 1 out)" = child ] || fail "$program: ended when it started a child after the detach"
	wait "$recorder" || { cat err; fail "$program: record"; }
done
