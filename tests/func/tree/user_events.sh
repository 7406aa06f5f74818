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

# ---- The grammar of the kernel with its edges: what it accepts, which two are the same, and how it shows them
inside '$T "reg=a u32 x;" "reg=a u32 x" "reg=b u32 x;;u32 y" "reg=b u32 x;;u32 y" "reg=b u32 x; u32 y" "reg=c u32  x" "reg=c u32 x ;u32 y" "reg=c unsigned int  x" "reg=c u32 x 4" "reg=c u32" "reg=c char[00000001] x" "reg=c struct s x" "reg=c struct s x 0" "reg=c:flag u32 x" \
		"reg=d struct s x 12;u8 y" "reg=d  struct s  x 12; u8 y" "reg=d struct s x 13; u8 y" "reg=e char[0x10] x; __data_loc u8[] y; __rel_loc unsigned char[] z; s16 w" "reg=f char[4]x x" "reg=g" "reg=g u8 x" "nowhere=h u8 x" later=0 later=1 reopen bit wait=3 >$TMP/said &
	soon "grep -q bits $TMP/said"; cat $TMP/said dynamic_events; for e in d e; do sed -n "s/^.field:\([^c].*\|char .*\);$/\1/p; s/^print/print/p" events/user_events/$e/format | grep -v common_; done; echo 1 >events/user_events/a/enable; wait'
expect_equal "grammar" "$(cat out)" "reg 0
reg 0
reg 1
reg EADDRINUSE
reg 1
reg EINVAL
reg EINVAL
reg EINVAL
reg EINVAL
reg EINVAL
reg EINVAL
reg EINVAL
reg EINVAL
reg EINVAL
reg 2
reg 2
reg EADDRINUSE
reg 3
reg 4
reg 5
reg EADDRINUSE
reg ENOMEM
reg 7
reg E2BIG
bits 0
u:a u32 x
u:b u32 x; u32 y
u:d struct s x 12; u8 y
u:e char[0x10] x; __data_loc u8[] y; __rel_loc unsigned char[] z; s16 w
u:f char[4]x x
u:g
u:later u8 a
struct s x;	offset:8;	size:12;	signed:1
u8 y;	offset:20;	size:1;	signed:0
print fmt: \"x=%llu y=%u\", REC->x, REC->y
char x[16];	offset:8;	size:16;	signed:1
__data_loc u8[] y;	offset:24;	size:4;	signed:1
__rel_loc unsigned char z[];	offset:28;	size:4;	signed:1
s16 w;	offset:32;	size:2;	signed:1
print fmt: \"x=%s y=%llu z=%s w=%d\", REC->x, REC->y, __get_rel_str(z), REC->w"

# ---- Events that stay until they are removed, of dynamic_events and of programs; a removed name is free for other fields
inside 'add() { echo "$1:$( (echo "$1" >>dynamic_events) 2>&1 | sed "s/.*://")"; }; show() { cat dynamic_events; tail -n 2 user_events_status; }
	$T "stay=kept u8 x" "reg=gone u8 x" unreg reopen "del=gone" "del=kept x" "reg=kept u8 x" del=kept; soon "! grep -q gone dynamic_events"
	add "u:mine u32 a;char[4] b"; add "u: mine u32 a; char[4] b"; add "u:mine u64 a"; add "u:bad long a"; add "u mine u32 a"; show; ls -d events/user_events/*/
	add "-:mine"; add "-:synthetic/mine u32 a; char[4] b"; echo 1 >events/user_events/mine/enable; add "-:mine u32 a; char[4] b"; $T del=mine; (echo >dynamic_events) 2>&1 | sed "s/.*: //"; echo 0 >events/user_events/mine/enable
	add "-:user_events/mine u32 a; char[4] b"; add "u:mine u64 a"; $T del=mine del=mine "reg=gone u64 x"; soon "! grep -q gone dynamic_events"; add "s:syn u8 x"; echo >dynamic_events && echo emptied; show; ls -d events/user_events/*/'
expect_no_err
expect_equal "events that stay" "$(cat out)" "reg 0
reg 1
unreg 0
del EBUSY
del ENOENT
reg 0
del EBUSY
u:mine u32 a;char[4] b:
u: mine u32 a; char[4] b:
u:mine u64 a: Address already in use
u:bad long a: Invalid argument
u mine u32 a: Invalid argument
u:kept u8 x
u:mine u32 a; char[4] b
Active: 2
Busy: 0
events/user_events/gone/
events/user_events/kept/
events/user_events/mine/
-:mine: No such file or directory
-:synthetic/mine u32 a; char[4] b: No such file or directory
-:mine u32 a; char[4] b: Device or resource busy
del EBUSY
Device or resource busy
-:user_events/mine u32 a; char[4] b:
u:mine u64 a:
del 0
del ENOENT
reg 0
s:syn u8 x:
emptied
Active: 0
Busy: 0
events/user_events/gone/"

# ---- Enabled and disabled while it runs: its bit, its records, in the instances that have it
inside 'E=events/user_events/ev; mkdir instances/a
	$T "reg=ev u32 n; __rel_loc char[] s" "reg=go u32 a" write=0,1,off wait=3 bit write=0,7,hello write=0,8,other wait=2 bit write=0,9,late >$TMP/said &
	soon "[ -e events/user_events/go/enable ]"; cat user_events_status; sed "s/^ID: .*/ID/" $E/format | tail -n +9
	echo "n == 7" >$E/filter; echo 1 >$E/enable; echo user_events:ev >instances/a/set_event; cat user_events_status; echo 1 >events/user_events/go/enable; soon "grep -q n=0x8 instances/a/trace"
	echo 0 >$E/enable; echo >instances/a/set_event; wait
	cat $TMP/said; sed -n "s/^ *\([^ ]*\)-[0-9]* .*: \(ev: .*\)/\1 \2/p" trace instances/a/trace; ls events/user_events/ev | head -1'
expect_no_err
expect_equal "enabled, written, disabled" "$(cat out)" "ev
go

Active: 2
Busy: 0
	field:u32 n;	offset:8;	size:4;	signed:0;
	field:__rel_loc char s[];	offset:12;	size:4;	signed:1;

print fmt: \"n=%u s=%s\", REC->n, __get_rel_str(s)
ev # Used by ftrace
go

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
$(basename "$target") ev: n=0x7 (7) s=hello
$(basename "$target") ev: n=0x7 (7) s=hello
$(basename "$target") ev: n=0x8 (8) s=other
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
ev # Used by ftrace
go
more
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

ev: n=0x4 (4) s=on
ev: n=0x5 (5) s=off
ev: n=0x7 (7) s=x
ev: n=0x8 (8) s=y
ev: n=0x7 (7) s=z"

# ---- The option fields: numbers by their size as a kernel shows them, dynamic arrays by bytes
inside '$T "reg=raw u32 n; __rel_loc u8[] s" "reg=small u8 a;s8 b;u16 c; __rel_loc char[] s" "reg=none" "reg=odd struct x n 3;u8 y; __rel_loc char[] s" wait=15 write=0,4294967295,ab write=1,4294838081,text short=2 write=3,1,odd >$TMP/said &
	soon "[ -e events/user_events/odd/enable ]"; echo 1 >events/user_events/enable; wait; echo 1 >options/fields; cat $TMP/said; sed -n "s/^[^#].*[0-9]: //p" trace'
expect_no_err
expect_equal "fields" "$(cat out)" "reg 0
reg 1
reg 2
reg 3
write 15
write 17
short 4
write 16
raw: n=0xffffffff (-1) s=61,62,00
small: a='A'(65) b=(7) c=0xfffe (65534) s=text
none:No fields found
odd: n=<INVALID-SIZE> y=(0) s=odd"

# ---- Files of an event whose type was replaced while they were open
inside '$T "reg=gone u32 n" >/dev/null; E=events/user_events/gone; exec 5<$E/format 6<$E/id 7>>$E/filter; $T "reg=gone u64 n" >/dev/null
	cat <&5; cat <&6; echo "n == 1" >&7; echo $?; grep -c "field:u64 n" $E/format' 2>>err
expect_equal "replaced" "$(tr '\n' ' ' <out)" "1 1 "

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
both: a=0x1 (1) s=x
both: a=0x2 (2) s=y"

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
