# SPDX-License-Identifier: MIT
# nginx.sh - for shell tests, after common.sh: an nginx of the test's own

# nginx_conf WORKERS: writes nginx.conf, which says hello on port $port of loopback, and keeps all files in $tmp
nginx_conf() {
	port=$(free_port)
	mkdir -p www logs
	echo hello >www/index.html
	chmod 755 "$tmp"
	cat >nginx.conf <<-EOF
		daemon off; pid $tmp/nginx.pid; error_log $tmp/logs/error.log; worker_processes $1;
		events { worker_connections 256; }
		http { access_log off; client_body_temp_path $tmp/b; proxy_temp_path $tmp/p; fastcgi_temp_path $tmp/f;
		uwsgi_temp_path $tmp/u; scgi_temp_path $tmp/s;
		server { listen 127.0.0.1:$port; root $tmp/www; } }
	EOF
}
