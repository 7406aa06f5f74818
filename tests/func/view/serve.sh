# SPDX-License-Identifier: MIT
# serve.sh - a server of uft view and questions to it, for tests that have sourced lib/common.sh; needs curl

# serve ARGS...: its address is in $url, its PID in $server. Skips the test where there is no libmicrohttpd.
serve() {
	start_server "$@" || { grep -q 'libmicrohttpd' serve.err && skip "$(cat serve.err)"; fail "uft view does not start: $(cat serve.err)"; exit 1; }
}
# start_server ARGS...: the same; 1: it does not start, and serve.err says why
start_server() {
	: >address
	"$uft" view --no-browser "$@" >address 2>serve.err &
	server=$!
	ends_with_test "$server"
	for _ in $(seq 600); do
		url=$(cat address)
		case $url in http://127.0.0.1:*/) return ;; esac
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	return 1
}
end_server() {
	kill "$server" 2>/dev/null
	status=0
	wait "$server" || status=$?
}

# ask QUESTION [KEY=VALUE...]: the answer that is done is in the file answer.
ask() {
	question=$1
	shift
	set -- "$@" file="${file:-0}"
	args=
	for _ in $(seq 600); do
		args=$(printf -- '--data-urlencode\n%s\n' "$@")
		printf '%s\n' "$args" | { set --; while IFS= read -r word; do set -- "$@" "$word"; done; curl -s -G "${url}api/$question" "$@" >answer; }
		grep -q '"state":"working"' answer || return 0
		sleep 0.05
	done
	fail "no answer to $question: $(head -c 300 answer)"
}
# field NAME: the first number of that name in the answer.
field() {
	grep -o "\"$1\":[0-9]*" answer | head -n 1 | cut -d: -f2
}
