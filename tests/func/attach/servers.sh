#!/bin/sh
# SPDX-License-Identifier: MIT
# servers.sh - attach to Debian's redis-server and nginx, unmodified and under load: they answer every request
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"
. "$top/tests/lib/nginx.sh"
need python3
command -v redis-server >/dev/null || command -v nginx >/dev/null || skip "neither redis-server nor nginx is installed"

# seen WHAT FILE: a recording of something
seen() {
	checks_done=$((checks_done + 1))
	calls=$("$uft" stat "$2" | sed -n 's/^calls: //p')
	[ "${calls:-0}" -gt 1000 ] || { fail "$1: ${calls:-no} calls recorded"; cat said; }
}

# attach_under FILE LOAD ARGS...: attaches while LOAD is done again and again, until records are in FILE and twice more; $runs
attach_under() {
	file=$1 load=$2 runs=0 more=2
	shift 2
	rm -f "$file"
	"$uft" attach -o "$file" "$@" 2>said &
	attacher=$!
	while [ $more -gt 0 ] && [ $runs -lt 500 ] && kill -0 $attacher 2>/dev/null; do
		$load >bench 2>&1 || { fail "$load"; cat bench; break; }
		runs=$((runs + 1))
		if [ "$(stat -c %s "$file" 2>/dev/null || echo 0)" -gt 100000 ]; then more=$((more - 1)); fi
	done
	kill -TERM $attacher 2>/dev/null
	wait $attacher || { fail "attach $*: $?"; cat said; }
}

if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
	port=$(free_port)
	redis-server --port $port --bind 127.0.0.1 --save '' --dir "$tmp" >redis.log 2>&1 &
	redis=$!
	eventually redis-cli -p $port ping >/dev/null
	for tracer in function function_graph; do
		redis-cli -p $port set counter 0 >/dev/null
		attach_under redis.uft "redis-benchmark -h 127.0.0.1 -p $port -c 10 -n 2000 -q incr counter" -p $tracer -l 'process*' \
			-l '*Command' $redis
		expect_equal "requests that redis counted under $tracer" "$(redis-cli -p $port get counter)" $((2000 * runs))
		seen "redis, $tracer" redis.uft
	done
	kill $redis
	wait $redis
	expect_equal "redis ends as ever" $? 0
fi

if command -v nginx >/dev/null && command -v ab >/dev/null; then
	nginx_conf 2
	# 500 requests, every one of them complete
	ab_exactly() {
		ab -q -n 500 -c 10 "http://127.0.0.1:$port/index.html" >ab.out 2>&1 || return 1
		[ "$(sed -n 's/^Complete requests: *//p;s/^Failed requests: *//p' ab.out | tr '\n' ' ')" = "500 0 " ]
	}
	nginx -p "$tmp" -c "$tmp/nginx.conf" >nginx.log 2>&1 &
	nginx=$!
	eventually ab -q -n 1 "http://127.0.0.1:$port/" >/dev/null
	for tracer in function function_graph; do
		# shellcheck disable=SC2046
		attach_under nginx.uft ab_exactly -p $tracer $nginx $(ps -o pid= --ppid $nginx)
		seen "nginx, $tracer" nginx.uft
	done
	kill $nginx
	wait $nginx
	expect_equal "nginx ends as ever" $? 0
fi
