#!/bin/sh
# SPDX-License-Identifier: MIT
# slow.sh - slow clients of a session's socket are dropped after a bounded time, and the session's end does not wait for them
. "$(dirname "$0")/../../lib/common.sh"
need python3
here=$(cd "$(dirname "$0")" && pwd)
export XDG_RUNTIME_DIR="$tmp"

# clients NAME N MODE: they are there; their number is in $clients
clients() {
	: >"$1"
	python3 "$here/slow.py" "$socket" "$2" "$3" >"$1" 2>&1 &
	clients=$!
	ends_with_test $clients
	check
	eventually grep -q ready "$1" || fail "$3: no clients: $(cat "$1")"
}

"$uft" shell --no-mount sh -c 'echo $$ >program; exec sleep 1000' &
session=$!
ends_with_test $session
socket=$tmp/uft/$session.sock
check
eventually test -s program || fail "no session"

# A request has 10 s, also if a byte comes now and then; others are served beside it.
clients requests 100 request
expect_equal "beside slow requests" "$("$uft" read tracing_on)" 1
wait $clients
expect_equal "what slow requests are answered" "$(tail -n 1 requests)" "answers -11"

# So has each part of a text.
clients texts 100 text
expect_equal "beside slow texts" "$("$uft" read tracing_on)" 1
wait $clients
expect_equal "what slow texts are answered" "$(tail -n 1 texts)" "answers -11"

# The session ends beside them.
clients last 100 text
kill "$(cat program)"
is_over() { ! [ -e /proc/$session/exe ]; }
check
eventually is_over || fail "it waits for its clients"
status=0
wait $session || status=$?
expect_equal "the session's status" $status 143
expect_no_file "$socket"
