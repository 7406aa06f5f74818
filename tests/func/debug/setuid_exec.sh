#!/bin/bash
# SPDX-License-Identifier: MIT
# setuid_exec.sh - a program under the watchdog executes a set-user-ID program: it has its rights for any recorder, and if exec fails the program goes
# on
. "$(dirname "$0")/../../lib/common.sh"

need gcc setpriv
[ "$(id -u)" -eq 0 ] || skip "only root can make a set-user-ID program of another user"

here=$top/tests/func/debug
# As somebody who has no rights over it. A directory of its own, for it and for what uft keeps.
common="setpriv --reuid 65534 --regid 65534 --clear-groups"
chmod 755 "$tmp"
mkdir -m 700 theirs
chown 65534:65534 theirs
export XDG_RUNTIME_DIR=$tmp/theirs HOME=$tmp/theirs

cat >who.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void) { return printf("is %u\n", geteuid()) < 0; }
END
gcc -O2 -o who who.c && cp who busy && chmod 4755 who busy || exit 1
gcc -D_GNU_SOURCE -O2 -pthread -o rights "$here/setuid_exec.c" "$here/tight.S" || exit 1
run $common ./who
[ "$(cat out)" = "is 0" ] || skip "set-user-ID programs gain no rights in $tmp (nosuid?)"
run $common "$uft" --version
[ "$status" -eq 0 ] || skip "another user cannot execute $uft"

$common ./rights ./who >want
exec 7>>busy		# while somebody may write to it, it is not executed: ETXTBSY
$common ./rights ./busy >want.busy
expect_equal "who" "$(grep -c 'is 0' want) $(tail -n 1 want.busy)" "4 not executed: 10100"

for options in --watchdog --int3 "--int3 --no-children"; do
	# shellcheck disable=SC2086
	run timeout 60 $common "$uft" record -q $options -p function -o theirs/x.uft ./rights ./who
	expect_status 0
	expect_equal "$options: output" "$(cat out)" "$(cat want)"
	expect_err "not followed: ./who gains rights when it is started (setuid)"
	# shellcheck disable=SC2086
	run timeout 60 $common "$uft" record -q $options -p function -o theirs/y.uft ./rights ./busy
	expect_status 0
	expect_equal "$options, busy: output" "$(cat out)" "$(cat want.busy)"
done

# Its name is the program's to choose, and no terminal's to obey.
esc=$(printf '\033')
cp who "who$esc[31m" && chmod 4755 "who$esc[31m" || exit 1
run timeout 60 $common "$uft" record -q -p function -o theirs/z.uft ./rights "./who$esc[31m"
expect_err "not followed: ./who?[31m gains rights"

# A process that has become another user reports it: it may not open root's rings.
run timeout 60 "$uft" record -q -p function -o given.uft $common ./who
expect_status 0
expect_equal "given up: output" "$(cat out)" "is 0"
run timeout 60 "$uft" record -q -p function -o given.uft $common ./rights ./busy
expect_status 0
expect_err "it runs as user 65534 now, which cannot open the shared memory of user 0: run uft record as user 65534 to trace it"
expect_err "warning: 1 process could not be followed"

"$uft" report --no-pager theirs/y.uft >text
check
[ "$(grep -c ' next <-' text)" -gt 0 ] || fail "no call of next was recorded"
