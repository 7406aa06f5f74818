#!/bin/sh
# SPDX-License-Identifier: MIT
# real.sh - recordings of Debian's programs: each view, each format, and the same times in all of them
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/nginx.sh"
. "$top/tests/func/view/serve.sh"
need git python3

mkdir repo
(
	cd repo || exit
	git init -q .
	for i in 1 2 3; do
		seq $i 800 >file$i
		git add .
		git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q -m "commit $i"
	done
) || skip "git makes no repository"
python=/usr/bin/python3
[ -x $python ] || python=python3
HOME=$tmp
export HOME

record() {
	rec=$1
	shift
	"$@" >$rec.want 2>&1 </dev/null
	run sh -c '"$@" </dev/null' sh "$uft" record -q -o $rec.uft "$@"
	expect_status 0
	check
	cmp -s out $rec.want || fail "$rec prints something else when it is recorded"
	check
	[ "$("$uft" stat $rec.uft | awk -F': ' '$1 == "calls" { print $2 }')" -gt 1000 ] || fail "$rec: hardly a call"
}
all='folded svg speedscope firefox chrome perfetto pprof ctf sqlite parquet parquet-events otlp trace.dat'
sums='folded firefox chrome sqlite'		# of the others: the formats that tell self time
record git git -C repo --no-pager log -p
record python $python -c 'import json; print(json.dumps({str(i): i * i for i in range(30)}))'


# called FUNCTION RECORDING: how often
called() { "$uft" report --flat --csv "$2" | awk -F, -v f="$1" '$NF == f { n += $1 } END { print n + 0 }'; }
# at_least WHAT SEEN LEAST
at_least() {
	check
	[ "$2" -ge "$3" ] || fail "$1: $2, expected $3 at least"
}

PATH=$PATH:/usr/sbin:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')
if has "redis" redis-server redis-benchmark; then
	port=$(free_port)
	"$uft" record -q -D 10 -o redis.uft redis-server --port $port --bind 127.0.0.1 --save '' --dir "$tmp" >redis.log 2>&1 &
	server=$!
	eventually redis-cli -p $port ping >/dev/null
	redis-benchmark -h 127.0.0.1 -p $port -n 300 -c 10 -q -t set >redis.bench 2>&1 || fail "redis-benchmark: $(tail -n 3 redis.bench)"
	redis-cli -p $port shutdown nosave
	wait $server
	expect_equal "redis ends as ever" $? 0
	at_least "commands of redis" "$(called processCommand redis.uft)" 300
fi
if has "nginx" nginx ab; then
	nginx_conf 1
	"$uft" record -q -D 12 -o nginx.uft nginx -p "$tmp" -c "$tmp/nginx.conf" >nginx.log 2>&1 &
	server=$!
	eventually ab -q -n 1 "http://127.0.0.1:$port/" >/dev/null
	ab -q -n 200 -c 10 "http://127.0.0.1:$port/index.html" >ab.out 2>&1
	expect_equal "requests of ab" "$(sed -n 's/^Complete requests: *//p;s/^Failed requests: *//p' ab.out | tr '\n' ' ')" "200 0 "
	kill -QUIT "$(cat nginx.pid)"
	wait $server
	expect_equal "nginx ends as ever" $? 0
	at_least "requests of nginx" "$(called ngx_http_process_request nginx.uft)" 200
fi
if has "postgres" postgres initdb setpriv; then
	as=
	mkdir pg
	if [ "$(id -u)" -eq 0 ]; then
		as='setpriv --reuid=postgres --regid=postgres --clear-groups'
		chmod 755 "$tmp"
		chown postgres pg
	fi
	cat >query.sql <<-'EOF'
		create table t(a int, b text);
		insert into t select i, i::text from generate_series(1, 300) i;
		select count(*), sum(length(b)) from t where a % 3 = 0;
	EOF
	if ! $as test -x "$uft"; then
		echo "SKIPPED: postgres: its user cannot run $uft"
	elif (cd pg && $as initdb -N -D data -A trust -U test --no-locale -E UTF8) >initdb.log 2>&1; then
		(cd pg && $as "$uft" record -q -D 6 -o pg.uft postgres --single -D data postgres) <query.sql >pg.out 2>&1
		expect_equal "postgres answers" "$(sed -n 's/.* 2: sum = \("[0-9]*"\).*/\1/p' pg.out)" '"264"'
		mv pg/pg.uft postgres.uft
		expect_equal "queries of postgres" "$(called PortalRun postgres.uft)" 3
	else
		echo "SKIPPED: postgres: initdb fails: $(tail -n 1 initdb.log)"
	fi
fi
# All processes of a parallel build.
if has "make" make cc; then
	mkdir project
	for i in 1 2 3; do echo "int f$i(int x) { return x * $i; }" >project/f$i.c; done
	echo 'int f1(int), f2(int), f3(int); int main(void) { return f1(1) + f2(1) + f3(1) - 6; }' >project/main.c
	printf 'prog: main.o f1.o f2.o f3.o\n\tcc -o $@ $^\n%%.o: %%.c\n\tcc -O1 -c -o $@ $<\n' >project/Makefile
	run "$uft" record -q -D 5 -o make.uft make -C project -j2
	expect_status 0
	expect_equal "what was built" "$(project/prog; echo $?)" 0
	run "$uft" report --tree --by program --depth 1 --csv make.uft
	at_least "programs of the build" "$(grep -c '"*program ' out)" 4
fi

# in_viewer RECORDING SELF: the viewer tells the same of it, and draws it
in_viewer() {
	start_server "$1.uft" || { grep -q 'libmicrohttpd' serve.err && echo "SKIPPED: $1 in the viewer: $(cat serve.err)" || fail "$1: $(cat serve.err)"; return; }
	ask info
	expect_equal "$1: calls in the viewer" "$(field calls)" "$("$uft" stat $1.uft | awk -F': ' '$1 == "calls" { print $2 }')"
	events=$(field events)
	duration=$(field duration)
	ask list first=$((events - 1)) count=9
	expect_equal "$1: the last row of its list" "$(field n)" $((events - 1))
	ask tiles from=0 to=$((duration + 1)) width=1000 rows=0
	check
	grep -q '"lanes":\[\[0,\[[0-9-]*,[0-9]*,' answer || fail "$1: nothing is drawn: $(head -c 300 answer)"
	ask tree from=0 to=$((duration + 1))
	expect_equal "$1: the time of its tree" "$(field total)" "$2"
	end_server
}

column() { awk -F, -v key="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { n += $at[key] } END { printf "%.0f", n }'; }
for file in *.uft; do
	rec=${file%.uft}
	for view in --tree --flat --timeline '--flat --by object' '--tree --by process --depth 3' '--tree --lines --inlines'; do
		run "$uft" report $view $rec.uft
		expect_status 0
		expect_no_err
		check
		[ "$(wc -l <out)" -gt 2 ] || fail "$rec: report $view: nothing"
	done
	self=$("$uft" report --tree --csv $rec.uft | column self_ns)
	! has "$rec in the viewer" curl || in_viewer $rec "$self"
	case $rec in git|python) formats=$all ;; *) formats=$sums ;; esac
	for format in $formats; do
		[ $format != sqlite ] || has "SQLite" sqlite3 || continue
		run "$uft" export -f $format -o $rec.$format $rec.uft
		expect_status 0
		expect_no_err
	done
	expect_equal "$rec: folded" "$(awk '{ n += $NF } END { printf "%.0f", n }' $rec.folded)" "$self"
	cat >sums.py <<'END'
import json, sys
from collections import defaultdict
rec, want = sys.argv[1], int(sys.argv[2])
stack, self_ns, last = defaultdict(int), 0, {}
chrome = json.load(open(rec + '.chrome'), parse_float=lambda s: int(s.replace('.', '')))
for e in chrome['traceEvents']:
    if e['ph'] in 'BE':
        key = e['pid'], e['tid']
        self_ns += e['ts'] - last[key] if stack[key] else 0
        last[key] = e['ts']
        stack[key] += 1 if e['ph'] == 'B' else -1
        assert stack[key] >= 0, e
assert not any(stack.values())
assert self_ns == want, ('chrome', self_ns, want)
firefox = json.load(open(rec + '.firefox'), parse_float=lambda s: int(s.replace('.', '')))
assert sum(sum(t['samples']['weight']) for t in firefox['threads']) == want, 'firefox'
END
	run python3 sums.py $rec "$self"
	expect_status 0
	expect_no_err
	[ ! -e $rec.sqlite ] || expect_equal "$rec: sqlite" "$(sqlite3 $rec.sqlite 'select sum(self_ns) from call')" "$self"
	run "$uft" diff $rec.uft $rec.uft
	expect_status 0
	rm -rf $rec.[a-tv-z]*
done
