#!/bin/sh
# SPDX-License-Identifier: MIT
# live.sh TARGET - uft hist -p: of a running process the tables that a recording of the same events has, as it ends, as we are ended, and on a terminal
. "$(dirname "$0")/../../lib/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
target=$1
reqs='r1,100,alpha r2,200,beta r3,300,gamma r1,5000,alpha r2,6000,beta'
both='r1,100,alpha r2,200,beta d1,150,alpha r3,300,gamma d3,1300,gamma r1,5000,alpha d2,1024,beta d1,5007,alpha'
mkfifo go
exec 5<>go

# start WORD...: a program that fires them with the first byte of `go`, and ends with the next one
start() {
	: >said
	"$target" told "$@" <&5 >said &
	pid=$!
	ends_with_test $pid
	eventually grep -q ready said || fail "the program does not start"
}
fired() {
	eventually grep -q "counts events of 1 process" live.err || fail "it does not begin: $(cat live.err)"
	echo >&5
	eventually grep -q done said || fail "it does not fire"
}
go_on() { echo >&5; wait "$pid"; status=$?; expect_status 0; }
# live OPTION...: of the program, in the background
live() { : >live.err; timeout 60 "$uft" hist -p "$pid" "$@" >live 2>live.err & hist=$!; }

"$uft" record -q -e 'app:*' -o reqs.uft "$target" fire $reqs
"$uft" record -q -e 'app:*' -o both.uft "$target" fire $both
set -- -e app:req -k name -v us -s us.descending -n 512 -f 'id < 3'
"$uft" hist "$@" reqs.uft >want
expect_equal "there is a table" "$(sed -n 's/ *Hits: //p' want)" 4

start $reqs
live "$@"
fired
go_on
wait $hist
expect_equal "the last process ends: status" $? 0
expect_equal "the table then" "$(cat live)" "$(cat want)"

for form in --json --csv; do
	"$uft" hist "$@" $form reqs.uft >want.form
	start $reqs
	live "$@" $form
	fired
	go_on
	wait $hist
	expect_equal "$form: status" $? 0
	expect_equal "$form" "$(cat live)" "$(cat want.form)"
done

start $reqs
live "$@"
fired
kill -TERM $hist
wait $hist
expect_equal "it is ended: status" $? 0
expect_equal "the table then" "$(cat live)" "$(cat want)"
expect_left "it is ended" "$pid"
go_on

# Two events, of which one takes a variable of the other
set -- -e app:req -R hist:keys=id:t=us -e app:done -R 'hist:keys=id:d=us-$t:onmax($d).save(name)'
"$uft" hist "$@" both.uft >want
start $both
live "$@"
fired
go_on
wait $hist
expect_equal "two events" "$(cat live)" "$(cat want)"
expect_equal "largest differences" "$(grep -c '^	max: ' live)" 3

# Stacks need no option
start $reqs
live -e app:req -k common_stacktrace
fired
go_on
wait $hist
expect_equal "stacks" "$(grep -c '^         req+0x' live) $(sed -n 's/ *Hits: //p' live)" "1 5"

# On a terminal: drawn anew, and printed at the end, which is Ctrl-C or q.
if has "a terminal" python3; then
	cat >terminal.py <<'END'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], ["uft", "hist"] + sys.argv[3:])
seen, is_told, is_ended = b"", False, False
end = time.time() + 60
while time.time() < end:
    if not select.select([fd], [], [], 0.1)[0]:
        continue
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    seen += data
    if b"Hits: 0" in seen and not is_told:
        os.write(5, b"\n")
        is_told = True
    if b"Hits: 5" in seen and not is_ended:
        os.write(fd, sys.argv[1].encode())
        is_ended = True
os.close(fd)
sys.stdout.write(seen.decode().replace("\r\n", "\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
	for key in q "$(printf '\003')"; do
		start $reqs
		"$uft" hist -e app:req -k id reqs.uft >want
		run timeout 100 python3 terminal.py "$key" "$uft" -p "$pid" -e app:req -k id -d 0.05
		expect_status 0
		expect_out "uft hist: every 0.05 s (q quits)"
		go_on
		# Behind the last time that the screen was cleared
		expect_equal "what stays" "$(tr '\033' '~' <out | sed 's/.*~\[J~\[?7h//' | tail -n "$(wc -l <want)")" "$(cat want)"
	done
fi

# Refused, with the process as it was
start $reqs
run "$uft" hist -p "$pid" -e app:req -k nothing
expect_status 1
expect_equal "field" "$(cat err)" "uft hist: app:req: Couldn't find field
    hist:keys=nothing
              ^"
run "$uft" hist -p "$pid" -e app:nothing
expect_status 1
expect_err "app:nothing"
run "$uft" hist -p "$pid" -e app:req all.uft
expect_status 2
run "$uft" hist -p "$pid" -e app:req -- true
expect_status 2
run "$uft" hist -p "$pid" --once -e app:req
expect_status 2
run "$uft" hist -p "$pid"
expect_status 2
run "$uft" hist -d 1 -e app:req all.uft
expect_status 2
expect_left "refused" "$pid"
run "$uft" hist -p 999999999 -e app:req
expect_status 1
expect_err "process 999999999: No such process"
run "$uft" hist -p no-such-program -e app:req
expect_status 1
