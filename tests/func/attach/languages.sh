#!/bin/sh
# SPDX-License-Identifier: MIT
# languages.sh - attach to a Rust and a Go program of Debian that read from a pipe, with all their libraries, and detach
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"
need rg fzf python3

parts="$top/doc/design/decisions.md $top/control/arm/arm_stopped.c $top/control/start/attach.c"
# await_read: until it has read all of its input and waits for more. fzf may do that in a loop: where its reader's first event comes
# before it only waits for the last one, it looks for that again and again.
await_read() {
	python3 - $held 9>&9 <<'END'
import array, fcntl, sys, termios, time
waiting = array.array('i', [1])
empty = 0
while empty < 150:
    state = open('/proc/%s/stat' % sys.argv[1]).read().rsplit(')', 1)[1].split()[0]
    fcntl.ioctl(9, termios.FIONREAD, waiting)
    empty = 0 if waiting[0] else empty + 1
    if state == 'Z' or state == 'S' and not waiting[0]:
        break
    time.sleep(0.02)
END
}

# read_on LEAST|any PROGRAM...: a part of what it reads comes before, one while it is traced, one after
read_on() {
	least=$1
	shift
	# shellcheck disable=SC2086
	cat $parts | "$@" >want
	for tracer in function function_graph; do
		hold_back=$parts
		rm -f gate
		mkfifo gate
		"$@" <gate >held &
		held=$!
		exec 9>gate
		cat "${hold_back%% *}" >&9
		"$uft" attach -q --flight -b 4M -p $tracer -o x.uft -l '*' -l '*:mod:*' $held 2>said &
		attacher=$!
		tries=0
		until "$uft" sites $held 2>/dev/null | grep -q " armed:" || ! kill -0 $attacher || [ $tries -gt 300 ]; do
			tries=$((tries + 1))
			sleep 0.2
		done
		check
		grep -q '/session\.' /proc/$held/maps || fail "$1, $tracer: nothing of ours is mapped while it is traced"
		hold_back=${hold_back#* }
		cat "${hold_back%% *}" >&9
		await_read
		kill -TERM $attacher
		wait $attacher
		expect_equal "$1, $tracer: status of the recorder" $? 0
		expect_left "$1, $tracer" $held
		cat "${hold_back##* }" >&9
		let_go
		expect_equal "$1, $tracer: its status" $status 0
		check
		cmp -s held want || fail "$1, $tracer: another output"
		expect_equal "$1, $tracer: refused, lost" "$(stat_value x.uft counter_site_refused) $(stat_value x.uft counter_lost_return)" "0 0"
		check
		[ "$(stat_value x.uft counter_patched)" -gt 3500 ] || fail "$1, $tracer: $(stat_value x.uft counter_patched) entries"
		[ "$least" = any ] && continue
		check
		[ "$(stat_value x.uft calls)" -ge "$least" ] || fail "$1, $tracer: $(stat_value x.uft calls) calls"
	done
}
read_on 100 rg session
read_on any fzf --filter=session		# its system calls are its own: C code runs in it when a thread is made
