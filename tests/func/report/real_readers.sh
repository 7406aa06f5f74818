#!/bin/sh
# SPDX-License-Identifier: MIT
# real_readers.sh - exports of recordings of git, make, nginx and postgres, read by other readers: calls and times of each function equal those of uft
# report, to the nanosecond
. "$(dirname "$0")/../../lib/common.sh"
need python3
. "$top/tests/func/report/readers/look.sh"
. "$readers/look_speedscope.sh"
. "$top/tests/lib/nginx.sh"
HOME=$tmp
export HOME
PATH=$PATH:/usr/sbin:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')

# Of a few thousand calls each: the readers print text, some of it slowly.
if has "git" git; then
	(
		git init -q repo && cd repo || exit
		seq 200 >file
		git add .
		git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q -m one
	) >git.log 2>&1 && "$uft" record -q -D 12 -o git.uft git -C repo --no-pager log -p >git.out 2>&1
	expect_equal "git log" "$(grep -c '^+[0-9]*$' git.out)" 200
fi
if has "make" make cc; then
	mkdir project
	echo 'int f(void) { return 0; }' >project/f.c
	echo 'int f(void); int main(void) { return f(); }' >project/main.c
	printf 'prog: main.o f.o\n\tcc -o $@ $^\n%%.o: %%.c\n\tcc -c -o $@ $<\n' >project/Makefile
	run "$uft" record -q -D 2 -o make.uft make -C project -j2
	expect_status 0
fi
if has "nginx" nginx ab; then
	nginx_conf 1
	"$uft" record -q -D 6 -o nginx.uft nginx -p "$tmp" -c "$tmp/nginx.conf" >nginx.log 2>&1 &
	server=$!
	eventually ab -q -n 1 "http://127.0.0.1:$port/" >/dev/null
	kill -QUIT "$(cat nginx.pid)"
	wait $server
	expect_equal "nginx ends as ever" $? 0
fi
if has "postgres" postgres initdb setpriv; then
	as=
	mkdir pg
	if [ "$(id -u)" -eq 0 ]; then
		as='setpriv --reuid=postgres --regid=postgres --clear-groups'
		chmod 755 "$tmp"
		chown postgres pg
	fi
	if ! $as test -x "$uft"; then
		echo "SKIPPED: postgres: its user cannot run $uft"
	elif (cd pg && $as initdb -N -D data -A trust -U test --no-locale -E UTF8) >initdb.log 2>&1; then
		(cd pg && echo 'select 6 * 7 as answer' | $as "$uft" record -q -D 4 -o pg.uft postgres --single -D data postgres) >pg.out 2>&1
		expect_equal "postgres answers" "$(sed -n 's/.* 1: answer = \("[0-9]*"\).*/\1/p' pg.out)" '"42"'
		mv pg/pg.uft postgres.uft
	else
		echo "SKIPPED: postgres: initdb fails: $(tail -n 1 initdb.log)"
	fi
fi

for file in *.uft; do
	rec=${file%.uft}
	[ -e "$file" ] || skip "nothing to record"
	"$uft" report --tree --csv $file >$rec.csv 2>notes
	"$uft" report --flat --csv $file >$rec.flat.csv 2>notes
	check
	[ "$("$uft" stat $file | awk -F': ' '$1 == "calls" { print $2 }')" -gt 500 ] || fail "$rec: hardly a call"
	for format in perfetto otlp firefox pprof ctf sqlite parquet trace.dat speedscope; do
		run "$uft" export -f $format -o $rec.$format $file
		expect_status 0
	done
	look_all $rec real
	has "trace.dat" trace-cmd && look trace.dat $rec real trace-cmd report -R $rec.trace.dat
	if [ -d "$readers/node_modules/speedscope" ] && has "speedscope" node; then
		look_speedscope $rec
	fi
	rm -rf $rec.[a-tv-z]*
done
