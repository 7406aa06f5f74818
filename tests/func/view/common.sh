# SPDX-License-Identifier: MIT
# common.sh - for the tests of uft view: a server, and questions to it
. "$(dirname "$0")/../../lib/common.sh"
need curl
: "${SYNTH:?the program synth_make}"

# serve ARGS...: its address is in $url, its PID in $server.
serve() {
	: >address
	"$uft" view --no-browser "$@" >address 2>serve.err &
	server=$!
	for _ in $(seq 600); do
		url=$(cat address)
		case $url in http://127.0.0.1:*/) return ;; esac
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	grep -q 'libmicrohttpd' serve.err && skip "$(cat serve.err)"
	fail "uft view does not start: $(cat serve.err)"
	exit 1
}
end_server() {
	kill "$server" 2>/dev/null
	status=0
	wait "$server" || status=$?
}

# has_browser: one that can look at a page, by $chromium and $modules; else $missing says what is missing.
has_browser() {
	chromium=$(command -v chromium || command -v chromium-browser) || { missing="chromium is not installed"; return 1; }
	modules=$top/view/web/node_modules
	[ -d "$modules/playwright-core" ] || { missing="playwright-core is not installed (make setup, with npm)"; return 1; }
	node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)' 2>/dev/null || { missing="playwright-core needs node 18"; return 1; }
}
# in_page SCRIPT: looks at the page of the server, or says that this part is skipped.
in_page() {
	has_browser || { echo "SKIPPED: the page: $missing"; return; }
	[ "$(curl -s -o /dev/null -w '%{http_code}' "$url")" = 200 ] || { echo "SKIPPED: the page: this uft was built without it"; return; }
	run node "$top/tests/func/view/$1" "$modules/playwright-core/index.mjs" "$chromium" "$url"
	expect_status 0
	cat out
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
