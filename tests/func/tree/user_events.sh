#!/bin/sh
# SPDX-License-Identifier: MIT
# user_events.sh PROGRAM - a program written for a kernel's user_events registers, writes and unregisters events in uft shell
. "$(dirname "$0")/inside.sh"
[ -c /dev/fuse ] && [ -w /dev/fuse ] || skip "no FUSE on this machine"

# ---- What is registered, and what is refused with which error
inside '$T "reg=test u32 count; __rel_loc char[] s" bit "reg=test u32 count;__rel_loc char[] s" "reg=test u32 other" "again=test" badbit=x "reg=bad long x" "reg=two char[20] msg;u8 a" short=0 short=1 write=5,1,a unreg unreg del=test del=nosuch
	cat user_events_status'
expect_equal "registered" "$(cat out)" "reg 0
bits 0
reg 0
reg EADDRINUSE
reg EADDRINUSE
reg EINVAL
reg EINVAL
reg 1
short EINVAL
short EINVAL
write ENOENT
unreg 0
unreg ENOENT
del EBUSY
del ENOENT

Active: 0
Busy: 0"

# ---- Enabled and disabled while it runs: its bit, its records, in the instances that have it
inside 'E=events/user_events/ev; mkdir instances/a
	$T "reg=ev u32 n; __rel_loc char[] s" "reg=go u32 a" write=0,1,off wait=3 bit write=0,7,hello write=0,8,other wait=2 bit write=0,9,late >$TMP/said &
	soon "[ -e events/user_events/go/enable ]"; cat user_events_status; sed "s/^ID: .*/ID/" $E/format | tail -n +9
	echo "n == 7" >$E/filter; echo 1 >$E/enable; echo user_events:ev >instances/a/set_event; cat user_events_status; echo 1 >events/user_events/go/enable; soon "grep -q n=8 instances/a/trace"
	echo 0 >$E/enable; echo >instances/a/set_event; wait
	cat $TMP/said; sed -n "s/^ *\([^ ]*\)-[0-9]* .*: \(ev: .*\)/\1 \2/p" trace instances/a/trace; ls events/user_events/ev | head -1'
expect_no_err
expect_equal "enabled, written, disabled" "$(cat out)" "go
ev

Active: 2
Busy: 0
	field:u32 n;	offset:8;	size:4;	signed:0;
	field:__rel_loc char[] s;	offset:12;	size:4;	signed:1;

print fmt: \"n=%u s=%s\", REC->n, __get_rel_str(s)
go
ev # Used by ftrace

Active: 2
Busy: 1
reg 0
reg 1
write EBADF
bits 3
write 18
write 18
bits 2
write EBADF
$(basename "$target") ev: n=7 s=hello
$(basename "$target") ev: n=7 s=hello
$(basename "$target") ev: n=8 s=other
enable"

# ---- Triggers: each sets the bit, also where the event is not enabled, and acts on records of the program
inside 'E=events/user_events/ev; mkdir instances/a
	$T "reg=ev u32 n; __rel_loc char[] s" "reg=go u32 a" "reg=more u32 a" wait=3 write=0,7,x write=0,8,y write=0,7,z wait=2 write=0,9,late wait=7 write=0,4,on write=0,5,off write=0,6,lost wait=0 >$TMP/said &
	soon "[ -e events/user_events/more/enable ]"
	echo hist:keys=n:sort=n >$E/trigger; cat $E/enable; head -n 3 user_events_status; echo user_events:ev >instances/a/set_event
	echo 1 >events/user_events/go/enable; soon "grep -q \"Hits: 3\" $E/hist"; grep hitcount: $E/hist | tail -2
	echo "!hist:keys=n:sort=n" >$E/trigger; echo >instances/a/set_event; soon "grep -q EBADF $TMP/said"
	echo "traceoff:1 if n == 5" >$E/trigger; echo 1 >$E/enable; echo 1 >events/user_events/more/enable; soon "grep -q ^0 tracing_on"; cat $E/trigger
	echo "!traceoff" >$E/trigger; echo 0 >events/enable; wait; cat $TMP/said; echo; grep -o "ev: .*" trace; grep -o "ev: .*" instances/a/trace'
expect_no_err
expect_equal "triggers" "$(cat out)" "0*
more
go
ev # Used by ftrace
{ n:          7 } hitcount:          2
{ n:          8 } hitcount:          1
traceoff:count=0 if n == 5
reg 0
reg 1
reg 2
write 14
write 14
write 14
write EBADF
write 15
write 16
write 17

ev: n=4 s=on
ev: n=5 s=off
ev: n=7 s=x
ev: n=8 s=y
ev: n=7 s=z"

# ---- Two programs: one event of the same name and fields, several formats of one name
inside '$T "multi=m u32 a" "multi=m u64 b" "multi=m u32 a" >$TMP/said; cat $TMP/said; ls events/user_events_multi
	$T "reg=both u32 a; __rel_loc char[] s" wait=1 write=0,1,x >/dev/null & $T "reg=both u32 a; __rel_loc char[] s" wait=1 write=0,2,y >/dev/null &
	soon "[ -e events/user_events/both ]"; echo 1 >events/user_events/both/enable; wait; grep -o "both: .*" trace | sort'
expect_no_err
expect_equal "several" "$(cat out)" "reg 0
reg 1
reg 0
enable
filter
m_0x0
m_0x1
both: a=1 s=x
both: a=2 s=y"

# ---- A program that executes itself has not registered; its former self has
inside '$T map "fixed=ev u32 a" exec map "reg=go u32 a" wait=1 place >$TMP/said &
	soon "[ -e events/user_events/go/enable ]"; echo 1 >events/user_events/ev/enable; echo 1 >events/user_events/go/enable; wait; cat $TMP/said'
expect_no_err
expect_equal "executed anew" "$(cat out)" "reg 0
reg 0
place 0"

# ---- Bounds: of a process, that does not take another one's share; of formats of a name. What has ended counts no more
inside '$T "reg=other u32 a" "many=ev u32 a" wait=1 >$TMP/many & soon "grep -q many $TMP/many"
	for i in 1 2 3 4 5; do $T "many=ev u32 a"; done; $T formats=f; tail -n 1 user_events_status
	echo 1 >events/user_events/other/enable; wait; cat $TMP/many'
expect_err "user_events: a program registers more words than it may; user_events_status counts what is refused"
expect_equal "bounds" "$(cat out)" "many 4096 ENOMEM
many 4096 ENOMEM
many 4096 ENOMEM
many 4096 ENOMEM
many 4096 ENOMEM
formats 256 EMFILE
Refused: 7
reg 0
many 4095 ENOMEM"

# ---- A number that is used again: the process that has it now is served, in its own memory
inside '$T "reused=again u32 a"'
expect_no_err
check
if grep -q "^clone3 EPERM" out; then
	echo "no number can be chosen for a process here: numbers used again are not looked at"
else
	expect_equal "a number used again" "$(cat out)" "thread 0
child 0
same 0
parent 0"
fi
inside 'echo 1 >options/record-tgid; $T reusedmark=x; sed -n "s/^ *\([a-z]*\)-\([0-9]*\) *( *\([0-9]*\)).*mark_write: /\1 \2 \3 /p" trace'
expect_no_err
check
# shellcheck disable=SC2046
if ! grep -q "^clone3 EPERM" out; then
	set -- $(head -n 1 out)
	expect_equal "whose markers these are" "$(cat out)" "$1 $2
thread $1 $2 thread
child $1 $1 child"
fi
