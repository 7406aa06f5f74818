#!/bin/sh
# SPDX-License-Identifier: MIT
# servers.sh - Debian's redis-server and nginx, unmodified and under load, are attached to: every request is answered
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"
command -v redis-server >/dev/null || command -v nginx >/dev/null || skip "neither redis-server nor nginx is installed"

# seen WHAT FILE: a recording of something
seen() {
	checks_done=$((checks_done + 1))
	calls=$("$uft" stat "$2" | sed -n 's/^calls: //p')
	[ "${calls:-0}" -gt 1000 ] || { fail "$1: ${calls:-no} calls recorded"; cat said; }
}

if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
	port=$((20000 + $$ % 10000))
	redis-server --port $port --bind 127.0.0.1 --save '' --dir "$tmp" >redis.log 2>&1 &
	redis=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do redis-cli -p $port ping >/dev/null 2>&1 && break; sleep 0.3; done
	for tracer in function function_graph; do
		redis-cli -p $port set counter 0 >/dev/null
		redis-benchmark -h 127.0.0.1 -p $port -c 10 -n 20000 -q incr counter >bench 2>&1 &
		bench=$!
		attach_for 2 -p $tracer -l 'process*' -l '*Command' -o redis.uft $redis
		wait $bench || fail "redis-benchmark under $tracer"
		expect_equal "requests that redis counted under $tracer" "$(redis-cli -p $port get counter)" 20000
		seen "redis, $tracer" redis.uft
	done
	kill $redis
	wait $redis
	expect_equal "redis ends as ever" $? 0
fi

if command -v nginx >/dev/null && command -v ab >/dev/null; then
	port=$((30000 + $$ % 10000))
	mkdir -p www logs
	echo hello >www/index.html
	cat >nginx.conf <<-EOF
		daemon off; pid $tmp/nginx.pid; error_log $tmp/logs/error.log; worker_processes 2;
		events { worker_connections 256; }
		http { access_log off; client_body_temp_path $tmp/b; proxy_temp_path $tmp/p; fastcgi_temp_path $tmp/f;
		uwsgi_temp_path $tmp/u; scgi_temp_path $tmp/s;
		server { listen 127.0.0.1:$port; root $tmp/www; } }
	EOF
	chmod 755 "$tmp"
	nginx -p "$tmp" -c "$tmp/nginx.conf" >nginx.log 2>&1 &
	nginx=$!
	sleep 1
	for tracer in function function_graph; do
		ab -q -n 5000 -c 10 "http://127.0.0.1:$port/index.html" >ab.out 2>&1 &
		bench=$!
		# shellcheck disable=SC2046
		attach_for 2 -p $tracer -o nginx.uft $nginx $(ps -o pid= --ppid $nginx)
		wait $bench || { fail "ab under $tracer"; cat ab.out; }
		expect_equal "requests of nginx under $tracer" "$(sed -n 's/^Complete requests: *//p;s/^Failed requests: *//p' ab.out | tr '\n' ' ')" "5000 0 "
		"$uft" attach -q -p $tracer -o nginx.uft $nginx $(ps -o pid= --ppid $nginx) 2>said &
		attacher=$!
		sleep 1.5
		ab -q -n 500 -c 5 "http://127.0.0.1:$port/index.html" >ab.out 2>&1 || fail "ab after the attach"
		kill -TERM $attacher
		wait $attacher
		seen "nginx, $tracer" nginx.uft
	done
	kill $nginx
	wait $nginx
	expect_equal "nginx ends as ever" $? 0
fi
