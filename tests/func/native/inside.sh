# SPDX-License-Identifier: MIT
#
# inside.sh PART - uft on an arm64 machine, one part a call: run in the guest, by the shell of busybox
#
# /patchable, /mcount and /plain are prog.c of tests/func/guest, built in three ways: three threads make 1,000 calls of mid() each, which calls
# leaf() twice, and a fork child one; with an argument one more is made, behind the end of the input. /many is the first with 14 threads;
# the child of /vforks is made so, that of /late by a library which comes by dlopen() after 1,000 calls of main().
PATH=/bin LD_LIBRARY_PATH=/lib XDG_RUNTIME_DIR=/tmp
export PATH LD_LIBRARY_PATH XDG_RUNTIME_DIR
cd /tmp || exit 1
uft=/uft/uft bad=0
# A call that another thread's stands in the middle of, in the same buffer, has its end in a line of its own.
leaf='leaf()\(;\| {\)$'

fail() {
	echo "bad: $*"
	cat out
	bad=1
}

# record ARGUMENT...: into rec.uft; all of it works, and nothing is lost. What it holds is in the files stat and report.
record() {
	$uft record -o rec.uft "$@" >out 2>&1 </dev/null || fail "status $? of record $*"
	ran="record $*"
	$uft stat rec.uft >stat && $uft report rec.uft >report || fail "$ran: it cannot be read"
	is lost 0
}

# is NAME VALUE: so says uft stat
is() {
	found=$(sed -n "s/^$1: //p" stat)
	[ "$found" = "$2" ] || fail "$ran: $1 is '$found', not '$2'"
}

# shown TIMES PATTERN: so many lines of the report have that
shown() {
	found=$(grep -c -e "$2" report)
	[ "$found" = "$1" ] || { fail "$ran: $found lines have '$2', not $1"; head -n 20 report; }
}

# on_cpus N: more records than that stand in rings of CPUs. Each thread's first stand in others, until the kernel is known to know it.
on_cpus() {
	found=$(grep -c '\[00[0-2]\]' report)
	[ "$found" -gt "$1" ] || fail "$ran: $found records in rings of CPUs, not $1"
}

# refused STATUS TEXT ARGUMENT...
refused() {
	status=0 wanted=$1 text=$2
	shift 2
	$uft "$@" >out 2>&1 </dev/null || status=$?
	[ "$status" = "$wanted" ] || fail "status $status of $*, not $wanted"
	grep -qF -e "$text" out || fail "$* does not say: $text"
}

case $1 in
function)
	record -p function /patchable
	is calls 9003
	is tasks 4
	shown 3000 ': mid <-work$'
	shown 1 ': mid <-main$'
	shown 6002 ': leaf <-mid$'
	record -p nop /patchable
	is events 0
	;;
many)	# more threads than have rings of their own: the others write those of their CPUs
	record -p function /many
	is calls 42003
	is tasks 15
	found=$(sed -n 's/.* \[\([0-9]*\)\] .*/\1/p' report | sort -u | grep -c .)
	[ "$found" -ge 8 ] || fail "$ran: they share $found rings, and eight of them can have one alone"
	on_cpus 10000
	record /many
	is calls 42003
	;;
vfork)	# who may make such children has no ring of its own, and every event asks who it is
	record -p function /vforks
	is calls 9003
	is tasks 4
	on_cpus 8000
	record /vforks
	is calls 9003
	record -g mid --max-depth 1 /vforks
	is calls 3001
	;;
late)	# rings of one's own are given up before anybody can be called in a library that makes such children
	record -p function /late
	is calls 12003
	is tasks 5
	shown 1 ': mid <-child$'
	record /late
	is calls 12003
	is tasks 5
	;;
graph)
	record /patchable
	is calls 9003
	shown 3001 '|  mid() {$'
	shown 6002 "|    $leaf"
	;;
args)	# what they are given and return, as anywhere (tests/func/emulated/args.sh)
	for program in /args /args-plain; do
		record -O funcgraph-args -O funcgraph-retval -l four -l ten -l fails -l deep $program
		is calls 7
		for seen in '|  four(0x1, 0x1234567890abcdef, 0xffffffffffffffff, 0x4)' ' = 0x1234567890abcdf3 \*/$' '|  ten(0x1, 0x2, 0x3, 0x4)' \
			' = 0x279c \*/$' '|  fails(0xfffffffffffffffd, 0x3, 0x7fffffff, 0x80000000)' ' = -22 \*/$' '|    deep(0x1, 0xb, 0x14, 0x1e) {$' \
			'|    } /\* deep = 0x66 \*/$'; do
			shown 1 "$seen"
		done
	done
	;;
events)	# by what functions of libc are given and return, and by the signals that are blocked then
	record -p kmemtrace /events heap
	for seen in '^  +      K    123 .* heap$' '^  +      K   4567 .* heap$' '^  +      P   8192 .* heap$'; do
		shown 1 "$seen"
	done
	shown 5 '^  -      [KP] .* heap$'
	record -p irqsoff /events signals
	shown 1 '^#  => started at: pthread_sigmask'
	shown 1 '[0-9]d\.\.\.\. .*: inside <-masked$'
	;;
filter)
	record -p function -l leaf /patchable
	is calls 6002
	record -n 'le*' /patchable
	is calls 3001
	record -g mid --max-depth 1 /patchable
	is calls 3001
	record -p profile /patchable
	$uft report --profile rec.uft | grep -v '^#' | sed 's/^ *\([0-9]*\) .* /\1 /' | sort >out
	printf '3001 mid\n6002 leaf\n' | cmp -s - out || fail "the profile has other calls"
	;;
prepared)	# main() and the three work() have calls of mcount as well
	record -p function /mcount
	is calls 9007
	record /mcount
	is calls 9007
	shown 6002 "$leaf"
	;;
plain)
	record -p function -l leaf -l mid /plain
	is calls 9003
	record -l leaf -l mid /plain
	is calls 9003
	shown 6002 "|    $leaf"
	;;
children)	# what a script's interpreter and a program execute is followed
	printf '#!/patchable\n' >script && chmod +x script
	record -p function ./script
	is calls 9006
	record --no-children -p function ./script
	is calls 9003
	;;
layout)	# the libraries lie so near to the stack that there is no room for hooks above them
	echo 0 >/proc/sys/kernel/randomize_va_space
	record -p function_graph -l work /hostile heir once fork
	is calls 4
	grep 'could not be' out && fail "$ran: hooks are missing"
	echo 2 >/proc/sys/kernel/randomize_va_space
	;;
heirs)	# a fork child has nothing of its parent's memory, and gets its own from that (tests/func/trust/hostile.c)
	for how in once unseen chroot filter user; do
		record -p function_graph -l work /hostile heir $how fork
		is calls 4
		is tasks 2
		is counter_no_slice 0
	done
	;;
refused)
	refused 1 'uft traces running programs on x86-64 only, not on arm64: start the program here with `uft record PROGRAM`' attach 1
	refused 1 '--watchdog works on x86-64 only, not on arm64' record --watchdog /patchable
	refused 1 '--int3 works on x86-64 only, not on arm64' record --int3 /patchable
	refused 1 'mmiotrace is not there on arm64 yet' record -p mmiotrace --watch main /patchable
	refused 1 '/bin/busybox is linked statically: no loader puts the runtime into it' record /bin/busybox true
	printf '#!/bin/busybox sh\n' >script && chmod +x script && printf '#!/tmp/script\n' >second && chmod +x second
	refused 1 '/bin/busybox is linked statically: no loader puts the runtime into it' record ./script
	refused 1 '/bin/busybox is linked statically: no loader puts the runtime into it' record ./second
	refused 0 'aarch64: uft traces programs that uft record starts' doctor
	;;
*)
	fail "no part is called $1"
	;;
esac
exit $bad
