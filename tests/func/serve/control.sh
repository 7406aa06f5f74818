#!/bin/sh
# SPDX-License-Identifier: MIT
# control.sh PROGRAM - uft start, stop, restart, set, show, clear, snapshot, reset and list on a running session
. "$(dirname "$0")/session.sh"
one="main work helper leaf helper leaf "

names() {
	sed -n 's/.*: \([a-z_0-9]*\) <-.*/\1/p' "$1" | tr '\n' ' '
}

shell '$U start -p function -l :mod:$M; $T 1; $U stop; $T 1; $U show >$XDG_RUNTIME_DIR/first; $U restart; $T 1; $U show >$XDG_RUNTIME_DIR/more
	$U clear; $U show >$XDG_RUNTIME_DIR/cleared; $T 1; $U snapshot -s; $U snapshot >$XDG_RUNTIME_DIR/kept; $U show -s >$XDG_RUNTIME_DIR/again
	$U show >$XDG_RUNTIME_DIR/after; $U snapshot -r; $U snapshot | grep Snapshot.is; $U snapshot -f; $U snapshot | grep Snapshot.is'
expect_status 0
expect_equal "started, stopped" "$(names first)" "$one"
expect_equal "restarted" "$(names more)" "$one$one"
expect_equal "cleared" "$(names cleared)" ""
expect_equal "kept" "$(names kept)" "$one"
expect_equal "kept, by show" "$(names again)" "$one"
expect_equal "buffer after it" "$(names after)" ""
expect_equal "cleared, freed" "$(tr '\n' ' ' <out)" "# * Snapshot is allocated * # * Snapshot is freed * "

# set changes what is given and no more; start clears the rest; a refusal is said, and leaves it off
shell '$U start -p function -l work:mod:$M -l leaf:mod:$M -n helper:mod:$M -O noirq-info -D 3 -b 64; $U set -l leaf:mod:$M; $T 1; $U show
	for f in tracing_on max_graph_depth buffer_size_kb options/irq-info set_ftrace_filter set_ftrace_notrace; do $U read $f; done >$XDG_RUNTIME_DIR/values
	$U start -p function_graph -g work; for f in set_ftrace_filter set_ftrace_notrace set_graph_function max_graph_depth current_tracer; do $U read $f; done
	$U start -l nosuchfunction; echo $?; $U read tracing_on; $U start -p timerlat; echo $?; $U reset; for f in tracing_on current_tracer set_graph_function; do $U read $f; done' 
expect_equal "one function left" "$(names out)" "leaf leaf "
expect_equal "values" "$(tr '\n' ' ' <values)" "1 3 64 0 leaf helper "
expect_equal "a second start, refusals, reset" "$(grep -v '^# \|^#$\|<-' out | tr '\n' ' ')" \
	"#### all functions enabled #### #### no functions disabled #### work 0 function_graph 1 0 1 1 nop #### all functions enabled #### "
expect_err "uft start: set_ftrace_filter: Invalid argument: Function not found: 'nosuchfunction' matches no function of "
expect_err "uft start: current_tracer: Invalid argument: No such tracer: available_tracers lists them"

# A refused word is named, with the programs in which it was looked for; error_log and the sentence say the same
shell '$T 1; $U write set_ftrace_filter 99999999; $U write -a set_graph_function "!work"; $U mkdir foo; $U write instances/foo/set_ftrace_filter "no*thing"
	$U write set_graph_function "work nosuchfunction"; $U write set_graph_function nosuchfunction; $U read error_log | grep -A 1 nosuchfunction; $U read set_graph_function'
expect_err "set_ftrace_filter: Invalid argument: Function not found: available_filter_functions has no line 99999999"
expect_err "set_graph_function: Invalid argument: '!work' removes nothing: it matches no function of the list"
expect_err "instances/foo/set_ftrace_filter: Invalid argument: Function not found: 'no*thing' matches no function of "
expect_equal "the word in error_log" "$(grep -c "error: Function not found: 'nosuchfunction' matches no function of .*$M" out)" 2

shell '$U list -t; $U list -C; $U list -o | grep overwrite; $T 1; $U list -f | grep -x work; $U list | grep -c nop; $U show -p -s; $U start now'
expect_equal "list" "$(sed 1,2d out | tr '\n' ' ')" "overwrite work 1 "
expect_err "a snapshot is never consumed"
expect_err "unexpected operand 'now'"

# ---- extract takes it out, for trace-cmd; an older file stays if there is nothing to take
echo kept >kept.dat
run "$uft" extract -S 1 -o kept.dat
expect_status 1
expect_equal "the file that was there" "$(cat kept.dat)" kept
if has "extract" trace-cmd; then
	shell '$U start -p function -l :mod:$M; $T 2; $U stop; $U extract -o x.dat; $U show; $U extract -o /nowhere/x.dat; echo $?'
	expect_equal "nothing is left" "$(names out)$(tail -n 1 out)" 1
	run trace-cmd report -i x.dat
	expect_status 0
	expect_equal "extract" "$(sed -n 's/.*function: *\([a-z_0-9]*\).*/\1/p' out | tr '\n' ' ')" "${one}work helper leaf helper leaf "
fi
expect_equal "files left beside the sockets" "$(ls "$tmp/uft")" ""

# ---- stat
shell '$U start -p function -l work:mod:$M -l leaf:mod:$M -b 256; $T 2; $U stop; $U stat -S -; $U stat -S - x.uft'
expect_equal "stat" "$(grep -v '^bytes: [1-9]' out | tr '\n' '/')" \
	"tracer: function/recording: 0/clock: local/filter functions: 2/pids: 0/armed functions: 0/buffer kb: 256/entries: 6/overrun: 0/dropped events: 0/"
expect_err "a recording or a session, not both"
shell '$U start -p function -l work:mod:$M -b 256; $T 2; $U stop; $U stat -S - --csv; $U stat -S - --json; $U stat -S - --json -B none'
expect_equal "stat as CSV" "$(sed -n '1,/^bytes,/p' out | grep -v '^bytes,[1-9]' | tr '\n' '/')" \
	"key,value/tracer,function/recording,0/clock,local/filter functions,1/pids,0/armed functions,0/buffer kb,256/entries,2/overrun,0/dropped events,0/"
if has "stat as JSON" python3; then
	sed '1,/^bytes,/d' out >stat.json
	run python3 -c 'import json
d = json.load(open("stat.json"))
assert d.pop("bytes") > 0
assert d == {"report": "stat", "version": 1, "tracer": "function", "recording": 0, "clock": "local", "filter functions": 1, "pids": 0, "armed functions": 0,
             "buffer kb": 256, "entries": 2, "overrun": 0, "dropped events": 0}, d'
	expect_status 0
	expect_no_err
fi

# ---- Instances: -B is one's buffer and settings, the top's stay; start makes one that is not there
shell '$U mkdir foo; echo $?; $U mkdir foo; echo $?; $U start -B foo -p function -l work:mod:$M -l leaf:mod:$M -b 64; $T 1; $U stop -B foo; $T 1; $U show -B foo >$XDG_RUNTIME_DIR/foo; $U show | grep -c "<-"
	$U read current_tracer; $U list -B foo -t | tr " " "\n" | grep -cx "blk\|function"; $U stat -S - -B foo >$XDG_RUNTIME_DIR/stat; $U stat -S - | sed -n "s/^buffer kb: //p"
	$U snapshot -B foo -s; $U snapshot -B foo >$XDG_RUNTIME_DIR/kept; $U snapshot | grep -c "Snapshot is freed"; $U restart -B foo; $T 1; $U clear -B foo; $U show -B foo | grep -c "<-"; $U reset -B foo; $U read instances/foo/current_tracer
	$U start -B new -p nop; $U ls instances | tr -d "\n"; echo; $U start -B foo -p function_graph -D 3; echo $?; $U start -B foo -g work; echo $?; $U rmdir foo; $U rmdir new/; echo $?; $U rmdir instances/new; $U ls instances; $U rmdir foo; echo $?; $U stop -B foo; echo $?
	$U mkdir options/foo; echo $?; $U mkdir ""; echo $?'
expect_equal "its calls" "$(names foo)" "work leaf leaf "
expect_equal "its snapshot" "$(names kept)" "work leaf leaf "
expect_equal "its stat" "$(grep -v '^bytes: [1-9]' stat | tr '\n' '/')" \
	"tracer: function/recording: 0/clock: local/filter functions: 2/pids: 0/buffer kb: 64/entries: 3/overrun: 0/dropped events: 0/"
expect_equal "instances" "$(tr '\n' ' ' <out)" "0 1 0 nop 1 1408 1 0 nop foo/new/ 2 2 1 1 1 1 1 "
expect_err "uft mkdir: instances/foo/: File exists"
expect_err "-D is for all instances: not with -B"
expect_err "-g is for all instances: not with -B"
expect_err "uft stop: instances/foo/tracing_on: No such file or directory"
expect_err "uft mkdir: options/foo: Operation not permitted"
if has "extract of an instance" trace-cmd; then
	shell '$U start -B foo -p function -l work:mod:$M; $T 1; $U extract -B foo -o foo.dat; $U show -B foo'
	expect_equal "extracted" "$(names out)" ""
	run trace-cmd report -i foo.dat
	expect_equal "the instance's trace.dat" "$(sed -n 's/.*function: *\([a-z_0-9]*\).*/\1/p' out | tr '\n' ' ')" "work "
fi

# ---- UFT_TRACE: set before the first instruction
boot() {
	run env UFT_TRACE="$1" timeout 60 "$uft" shell --no-mount sh -c "$2"
}
boot "trace_options=noirq-info,funcgraph-tail ftrace=function_graph trace_buf_size=1M ftrace_filter=:mod:$M ftrace_graph_max_depth=2" \
	'$T 1; $U show; $U read buffer_size_kb; $U read options/irq-info; echo "$UFT_TRACE."'
expect_status 0
expect_equal "calls" "$(sed -n '/^#/d;s/.*|  //p' out | tr '\n' '/')" "main() {/  work();/} /* main *//"
expect_equal "values" "$(tail -n 3 out | tr '\n' ' ')" "1024 0 . "
boot "ftrace=timerlat" true
expect_status 1
expect_err "UFT_TRACE: ftrace=timerlat: Invalid argument: No such tracer: available_tracers lists them"
boot "ftrace=function quiet" true
expect_status 1
expect_err "UFT_TRACE: 'quiet' is not KEY=VALUE with one of the keys trace_buf_size, trace_clock, ftrace_filter"
for size in x 1Q -1 99999999999999999999G; do
	boot "trace_buf_size=$size" true
	expect_status 1
done

# Attached to, and left.
"$T" 100000 1000 &
outside=$!
export outside
sleep 0.3
shell '$U start -p function -l :mod:$M -P $outside; for i in $(seq 300); do [ $($U show | grep -c "$outside.*leaf <-helper") -gt 10 ] && break; sleep 0.1; done; $U stop; $U show | grep -c "$outside.*leaf <-helper" ; $U reset; grep -c "/session[.]" /proc/$outside/maps'
check
[ "$(sed -n 1p out)" -gt 10 ] || { fail "start -P shows nothing of the process"; show; }
expect_equal "what is left in it" "$(sed -n 2p out)" 0
check
kill "$outside" || fail "the process does not go on"

# Lists for programs: what the text has.
if command -v python3 >/dev/null 2>&1; then
	cat >compare.py <<'END'
import csv, json, sys
said = {}
for kind in "session", "tracer", "option", "function", "clock", "event":
    text = open(f"text.{kind}").read()
    rows = json.load(open(f"json.{kind}"))
    assert rows["report"] == "list" and rows["version"] == 1, rows
    rows = rows["rows"]
    lines = list(csv.DictReader(open(f"csv.{kind}", newline="")))
    assert [{k: v or "" for k, v in row.items()} for row in rows] == lines, (rows, lines)
    assert all(list(row) == ["kind", "name", "value"] and row["kind"] == kind for row in rows), rows
    words = text.split() if kind in ("tracer", "clock") else text.splitlines()
    as_text = {
        "session": lambda r: f'{r["name"]} {r["value"]}', "tracer": lambda r: r["name"], "event": lambda r: r["name"],
        "option": lambda r: ("" if r["value"] == "1" else "no") + r["name"], "function": lambda r: r["name"],
        "clock": lambda r: f'[{r["name"]}]' if r["value"] == "1" else r["name"]}[kind]
    assert words == [as_text(row) for row in rows], (kind, words, rows)
    said[kind] = len(rows)
assert said["session"] == 1 and min(said.values()) >= 1, said
all_rows = json.load(open("json.all"))["rows"]
assert len(all_rows) == said["tracer"] + said["clock"], all_rows
import re
fields, full = list(csv.DictReader(open("csv.fields"))), json.load(open("json.full"))
assert full["report"] == "formats" and [{k: "" if k == "print" else str(v) for k, v in r.items()} for r in full["rows"]] == fields
want, have = [], [tuple(r.values()) for r in full["rows"]]
for part in re.split("^system: ", open("text.full").read(), flags=re.M)[1:]:
    event = part.split("\n")[0] + ":" + re.search("^name: (.*)", part, re.M)[1]
    for kind, name, length, offset, size, signed in re.findall(r"^\tfield:(.*) (\w+)(\[.*\])?;\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);", part, re.M):
        if not name.startswith("common_"):
            want.append((event, int(re.search("^ID: (.*)", part, re.M)[1]), name, kind + length, int(offset), int(size), int(signed),
                         re.search("^print fmt: (.*)", part, re.M)[1]))
assert want == have and want, (want, have)
print("the same")
END
	# shellcheck disable=SC2016
	shell 'cd $XDG_RUNTIME_DIR; $U start -p function -l :mod:$M; $T 1
		for kind in session tracer option function clock event; do
			case $kind in session) o= ;; clock) o=-C ;; *) o=-$(echo $kind | cut -c1) ;; esac
			$U list $o >text.$kind; $U list --json $o >json.$kind; $U list --csv $o >csv.$kind
		done; $U list --json -t -C >json.all; $U list -e -F --full >text.full; $U list -e --full --json >json.full; $U list -e -F --csv >csv.fields'
	expect_status 0
	expect_equal "lists" "$(python3 compare.py 2>&1 | tail -n 1)" "the same"
fi
run "$uft" list --json --csv
expect_status 2
run "$uft" list --json -e -F -t
expect_status 2

run "$uft" list
expect_status 0
expect_no_out
run "$uft" list --json
expect_status 0
expect_equal "no session" "$(cat out)" "$(printf '{"report":"list","version":1,"rows":[\n]}')"
run "$uft" list --csv -e
expect_status 0
expect_equal "events of all programs" "$(head -n 2 out | tr '\n' ' ')" "kind,name,value event,sched:sched_process_exec, "
run "$uft" stop
expect_status 1
expect_err "no session runs"
