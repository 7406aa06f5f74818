#!/bin/sh
# SPDX-License-Identifier: MIT
# serve.sh PROGRAM - uft read, uft write and uft ls on running sessions, without a file system
. "$(dirname "$0")/session.sh"

# ---- Everything of a recording
shell '$U write set_ftrace_filter :mod:$M && $U write current_tracer function && $T 1 && $U read trace; $U read current_tracer; stat -c %a $XDG_RUNTIME_DIR/uft'
expect_status 0
expect_equal "calls" "$(sed -n 's/.*: \([a-z]*\) <-.*/\1/p' out | tr '\n' ' ')" "main work helper leaf helper leaf "
expect_equal "the tracer" "$(tail -n 2 out | tr '\n' ' ')" "function 700 "

# ---- >, >>, standard input, errors, and what they leave
shell '$T 1; $U write set_ftrace_filter work; $U write --append set_ftrace_filter leaf; $U read set_ftrace_filter | sort | tr "\n" " "
	printf "helper\nle" | $U write set_ftrace_filter; echo $?; $U read set_ftrace_filter | tr "\n" " "
	printf "helper\nleaf" | $U write set_ftrace_filter; echo $?; $U read set_ftrace_filter | sort | tr "\n" " "
	$U write current_tracer timerlat; echo $?; $U read current_tracer; $U read none; echo $?; $U write trace_pipe x; echo $?; $U read trace_marker; echo $?'
expect_equal "lists and errors" "$(tr '\n' ' ' <out)" "leaf work 0 helper 0 helper leaf 1 nop 1 1 1 "
expect_equal "sentences" "$(cat err)" "uft write: current_tracer: Invalid argument: No such tracer: available_tracers lists them
uft read: none: No such file or directory (uft ls lists what is there)
uft write: trace_pipe: Invalid argument: A file that is read only
uft read: trace_marker: Invalid argument: a file that is written only"

# ---- trace_pipe: waits, consumes, ends with -n, with its reader and with the session
shell '$U write trace_marker one; $U read -n trace_pipe | sed "s/.*: //"; $U read -n trace_pipe
	(sleep 0.5; $U write trace_marker late) & $U read trace_pipe >$XDG_RUNTIME_DIR/late & R=$!
	for i in $(seq 400); do [ -s $XDG_RUNTIME_DIR/late ] && break; sleep 0.1; done; kill $R; wait; sed "s/.*: //" $XDG_RUNTIME_DIR/late
	timeout 0.5 $U read trace_pipe; echo $?; $U write current_tracer function; echo $?; $U read trace_pipe >$XDG_RUNTIME_DIR/rest & sleep 0.3'
expect_status 0
expect_equal "trace_pipe" "$(tr '\n' ' ' <out)" "one late 124 0 "

# ---- The end of a session: a reader gets the last of a program, and a program that goes on keeps none
shell '$U write set_ftrace_filter :mod:$M; $U write current_tracer function; $U read trace_pipe >$XDG_RUNTIME_DIR/last & $T 1; for i in $(seq 400); do [ -s $XDG_RUNTIME_DIR/last ] && break; sleep 0.1; done; $T 300'
all_read() { [ "$(grep -c "leaf <-helper" last)" -ge 602 ]; }
eventually all_read
expect_equal "the last calls" "$(grep -c "leaf <-helper" last)" 602
shell '$U write set_ftrace_filter :mod:$M; $U write current_tracer function; $T 2000000000 & echo $! >$XDG_RUNTIME_DIR/busy; $U read trace_pipe >/dev/null & sleep 1'
expect_status 0
kill "$(cat busy)"

# ---- ls: a directory, a file, and what is none
shell '$U ls | grep -cx "trace\|per_cpu/\|options/"; $U ls options | grep -cx overwrite; $U ls -l trace_marker; $U ls per_cpu/cpu9999; echo $?'
expect_equal "ls" "$(sed 's/  */ /g' out | tr '\n' '/')" "3/1/--w--w---- trace_marker write text to record it as an event/1/"
if has "ls for programs" python3; then
	cat >ls.py <<'END'
import csv, json
text = [l.rstrip('\n') for l in open('ls.text')]
long = {l.split(None, 2)[1]: l.split(None, 2) for l in open('ls.long')}
data = json.load(open('ls.json'))
rows = list(csv.DictReader(open('ls.csv', newline=''), strict=True))
assert (data['report'], data['version']) == ('ls', 1), data
cell = lambda v: "'" + v if v and v[0] in '=+-@' else v or ''  # no formula
assert rows == [{k: cell(v) for k, v in r.items()} for r in data['rows']]
rows = [{k: v or '' for k, v in r.items()} for r in data['rows']]
assert text == [r['name'] + '/' * (r['type'] == 'directory') for r in rows]
for r in rows:
    mode, _, *doc = long[r['name']]
    assert (r['mode'], r['description']) == (mode, doc[0].strip() if doc else ''), (r, mode, doc)
    assert (r['mode'][0] == 'd') == (r['type'] == 'directory'), r
assert {'trace', 'per_cpu', 'options'} <= {r['name'] for r in rows}
END
	shell 'cd $XDG_RUNTIME_DIR; $U ls >ls.text; $U ls -l >ls.long; $U ls --json >ls.json; $U ls --csv >ls.csv; $U ls --csv none >ls.none; echo $?'
	expect_equal "no directory" "$(cat out) $(cat ls.none)" "1 name,type,mode,description"
	run python3 ls.py
	expect_status 0
	expect_no_err
fi
run "$uft" ls --json --csv
expect_status 2

# ---- From outside, by its number, among several, and after a kill
for i in 1 2; do
	"$uft" shell --no-mount -c "echo \$\$ >pid$i; exec sleep 600" >/dev/null 2>&1 &
	eval "server$i=$!"
done
one=$server1 two=$server2
both_run() { [ "$(ls "$tmp/uft" | grep -c sock)" -ge 2 ]; }
eventually both_run
run "$uft" read current_tracer
expect_status 1
expect_err "2 sessions run: choose one with -S PID"
run "$uft" write -S "$one" current_tracer function
expect_status 0
expect_equal "one, two" "$("$uft" read -S "$one" current_tracer) $("$uft" read -S "$two" current_tracer)" "function nop"

# Another user is refused, even where he may connect.
if [ "$(id -u)" -ne 0 ]; then
	echo "SKIPPED: another user: only root can be one"
elif has "another user" setpriv; then
	chmod 755 "$tmp" "$tmp/uft"
	chmod 777 "$tmp/uft/$two.sock"
	for _ in 1 2 3 4 5; do
		run setpriv --reuid 65534 --regid 65534 --clear-groups "$uft" read -S "$tmp/uft/$two.sock" current_tracer
		expect_status 1
		expect_err "current_tracer: Operation not permitted"
	done
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$uft" write -S "$tmp/uft/$two.sock" current_tracer function
	expect_err "current_tracer: Operation not permitted"
	chmod 700 "$tmp/uft"
fi

# Bytes that are no request get an error or no answer, and other clients are served.
if has "garbage" python3; then
	cat >garbage.py <<'END'
import os, random, socket, struct, sys

def say(data):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(50)
    s.connect(sys.argv[1])
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        answer = s.recv(4)
    except OSError:
        answer = b""
    return struct.unpack("i", answer)[0] if len(answer) == 4 else None

def request(op, path, n=None):
    return struct.pack("4I", 0x31746675, op, 0, len(path) if n is None else n) + path

print(say(b"x" * 16), say(request(1, b"")), say(request(9, b"/\0")), say(request(1, b"/", 1)), say(request(1, b"/\0", 1 << 31)),
      say(request(2, b"..\0")), say(request(2, b"x" * 300 + b"\0")))
random.seed(1)
for i in range(300):
    path = random.choice([b"trace_pi\0", b"snapshot\0", b"per_cpu/\0", os.urandom(9)])
    say(request(random.randrange(6), path) + os.urandom(random.randrange(40)))
END
	run timeout 60 python3 garbage.py "$tmp/uft/$two.sock"
	expect_equal "answers to what is no request" "$(cat out)" "-71 -71 -71 -71 -71 -21 -36"
	expect_equal "after them" "$("$uft" read -S "$two" tracing_on)" 1
fi

# Many at once, readers and writers
run env U="$uft" S="$two" bash -c 'for i in $(seq 50); do $U read -S $S trace >/dev/null & $U write -S $S trace_marker m$i & done; wait
	$U read -S $S trace | grep -c "tracing_mark_write: m"'
expect_equal "a hundred at once" "$(cat out)" 50
expect_no_err

kill -9 "$one"
wait "$one" 2>/dev/null
run "$uft" read current_tracer
expect_status 0
expect_out nop
expect_no_file "$tmp/uft/$one.sock"
kill "$two"
wait "$two" 2>/dev/null
kill "$(cat pid1)" "$(cat pid2)"
run "$uft" read -S 1 current_tracer
expect_status 1
expect_err "no session at $tmp/uft/1.sock"

# ---- A directory that others may write is not trusted
chmod 777 "$tmp/uft"
run "$uft" read current_tracer
expect_status 1
expect_err "is not a directory that only user"
