#!/bin/sh
# SPDX-License-Identifier: MIT
# no_guard.sh NOFORK - a recorder whose guard cannot be forked reports it once, and attaches and detaches all the same
nofork=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"

sleep 60 &
one=$!
sleep 60 &
two=$!
checks_done=2
is_attached() { grep -q "/session[.]" /proc/$one/maps && grep -q "/session[.]" /proc/$two/maps; }
LD_PRELOAD=$nofork attach_until is_attached -o guardless.uft $one $two
[ "$(grep -c 'the guard process did not start' said)" -eq 1 ] && grep -q 'attached to 2 processes' said || { fail "without a guard"; cat said; }
grep -q "/session[.]" /proc/$one/maps && fail "left as it was"
kill $one $two
