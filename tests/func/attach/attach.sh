#!/bin/sh
# SPDX-License-Identifier: MIT
# attach.sh PROGRAM... - attach twice to each running program: its behaviour does not change, and its calls are recorded
top_dir=$(dirname "$0")
programs=
for p; do programs="$programs $(realpath "$p")"; done
. "$top_dir/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"

threads=20
for p in $programs; do
	name=$(basename "$p")
	case $name in
	*static*) trap_is=blocked ;;
	*plain*) trap_is=handled ;;
	*) trap_is=ignored ;;
	esac
	hold_up "$p" $threads $trap_is
	before=$(ls /proc/$held/fd | wc -l)
	for tracer in function function_graph; do
		rm -f $tracer.uft
		attach_until "has_calls 100 $tracer.uft work" -p $tracer -l work -o $tracer.uft $held
		attached=$?
		checks_done=$((checks_done + 3))
		grep -q 'attached to 1 process; no thread was stopped for more than [0-9]*\.[0-9]* ms, in all [0-9]*\.[0-9]* ms' said ||
			{ fail "$name, $tracer: it is not said for how long threads stood"; cat said; }
		[ $attached -eq 0 ] || { fail "$name, $tracer: attach exits with $attached"; cat said; }
		calls=$("$uft" stat $tracer.uft | sed -n 's/^calls: //p')
		[ "${calls:-0}" -gt 100 ] || { fail "$name, $tracer: ${calls:-no} calls recorded"; cat said; }
		"$uft" report $tracer.uft 2>/dev/null | grep -q 'work' || fail "$name, $tracer: no work() in the report"
	done
	after=$(ls /proc/$held/fd | wc -l)
	let_go
	checks_done=$((checks_done + 2))
	[ "$before" -eq "$after" ] || fail "$name: $before descriptors before, $after after"
	[ $status -eq 0 ] && grep -q '^ok' held || { fail "$name: status $status"; cat held; }
	threads=100		# the others are heavier than the first
	[ "$name" = sleepers ] || threads=20
done
