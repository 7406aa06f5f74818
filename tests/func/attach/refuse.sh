#!/bin/sh
# SPDX-License-Identifier: MIT
# refuse.sh PROGRAM - a process that uft cannot attach to is refused with a reason and runs on unharmed
program=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"

# refused WHAT PATTERN ARGS...
refused() {
	what=$1 pattern=$2
	shift 2
	checks_done=$((checks_done + 1))
	run timeout 30 "$@"
	[ "$status" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$pattern" err || { fail "$what"; show; }
}

sh -c 'exit 0' &
gone=$!
wait $gone
refused "a process that is gone" "there is no process $gone" "$uft" attach $gone
refused "a name that nobody has" "no process is called 'nobody-has-this-name'" "$uft" attach nobody-has-this-name
refused "record -P" "there is no process $gone" "$uft" record -P $gone
checks_done=$((checks_done + 1))
run "$uft" attach
[ "$status" -eq 2 ] || fail "attach to nobody in particular"

sh -c 'sleep 0 & exec sleep 60' &
parent=$!
until zombie=$(ps -o pid=,stat= --ppid $parent | awk '$2 ~ /^Z/ { print $1 }') && [ -n "$zombie" ] || ! kill -0 $parent; do sleep 0.05; done
refused "a zombie" "is a zombie" "$uft" attach $zombie
kill $parent
wait $parent 2>/dev/null

if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	refused "a kernel thread" "is a thread of the kernel" "$uft" attach 2
fi

# A program of 32 bits, made by hand: pause() for ever.
printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0\124\200\4\010\64\0\0\0\0\0\0\0\0\0\0\0\64\0\40\0\1\0\0\0\0\0\0\0' >old
printf '\1\0\0\0\0\0\0\0\0\200\4\010\0\200\4\010\135\0\0\0\135\0\0\0\5\0\0\0\0\20\0\0' >>old
printf '\270\35\0\0\0\315\200\353\367' >>old
chmod +x old
./old 2>/dev/null &
old=$!
until [ "$(readlink /proc/$old/exe)" = "$tmp/old" ] || ! kill -0 $old 2>/dev/null; do sleep 0.05; done
if kill -0 $old 2>/dev/null && [ "$(readlink /proc/$old/exe)" = "$tmp/old" ]; then
	refused "32 bits" "runs a program of 32 bits" "$uft" attach $old
	checks_done=$((checks_done + 1))
	kill -0 $old || fail "the program of 32 bits was harmed"
	kill $old
else
	echo "note: this kernel runs no programs of 32 bits: not checked"
fi

hold_up "$program" 2
# Of several, one that is gone is left out.
run timeout 60 "$uft" attach -q --duration 0.1 -l work -o some.uft $gone $held
expect_status 0
expect_err "warning: there is no process $gone"
refused "several that are gone" "could not attach to any process" sh -c '"$@" 2>&1 | sed -n \$p >&2; exit 1' sh "$uft" attach $gone 999999999
thread=$(ls /proc/$held/task | grep -v "^$held$" | head -n 1)
refused "a thread" "is a thread of process $held" "$uft" attach $thread
"$uft" attach -q -l work -o first.uft $held 2>first_said &
first=$!
until grep -q "/session[.]" /proc/$held/maps || ! kill -0 $first 2>/dev/null; do sleep 0.05; done
refused "a second session" "traced by another session already: uft process $first" "$uft" attach $held
kill -TERM $first
wait $first
# Limits of its own that are too low for us are named, with what lifts them. The program has to be in main(): before, the loader
# itself needs files and memory.
mkfifo limited_gate
limited() {
	rm -f limited_said
	"$program" 1 <limited_gate >limited_said 2>&1 &
	limited=$!
	exec 8>limited_gate
	until grep -q ready limited_said 2>/dev/null || ! kill -0 $limited 2>/dev/null; do sleep 0.05; done
	prlimit --pid $limited "--$1=$2"
	refused "a limit: $1" "$3.*: prlimit --pid=$limited --$1=$4 lifts it" "$uft" attach -o limited.uft $limited
	checks_done=$((checks_done + 1))
	kill $limited || fail "a limit: $1: the process was harmed"
	wait $limited 2>/dev/null
	exec 8>&-
}
limited as 100000000 "the limit is 95 MB (RLIMIT_AS)" unlimited
limited data 1000000 "may not grow beyond 976 KB (RLIMIT_DATA)" unlimited
limited nofile 0 "the limit is 0 (RLIMIT_NOFILE)" 64
limited nofile 5 "the limit is 5 (RLIMIT_NOFILE)" 64
checks_done=$((checks_done + 1))
run sh -c 'ulimit -v 8000000; exec "$@"' sh "$uft" record -q -o limited.uft true
[ $status -eq 1 ] && grep -q "(RLIMIT_AS): prlimit --as=unlimited lifts it" err || { fail "our own limit"; show; }
run sh -c 'ulimit -f 100000; exec "$@"' sh "$uft" record -q -o limited.uft true
[ $status -eq 1 ] && grep -q "(RLIMIT_FSIZE): prlimit --fsize=unlimited lifts it" err || { fail "our own limit of files"; show; }
# Of several processes some end before it is their turn.
sleep 60 & one=$!
sleep 60 & two=$!
"$uft" attach -q -l work -o several.uft $held $one $two 2>several_said &
first=$!
until grep -q "/session[.]" /proc/$held/maps || ! kill -0 $first 2>/dev/null; do :; done
kill -KILL $one $two
wait $one $two
wait_until "has_calls 0 several.uft work" $first
kill -TERM $first 2>/dev/null
several=0
wait $first || several=$?
checks_done=$((checks_done + 1))
[ $several -eq 0 ] && "$uft" report several.uft | grep -q work || { fail "some of several ended: status $several"; cat several_said; }
if command -v gdb >/dev/null; then
	sleep 300 &			# gdb interrupts system calls
	sleeper=$!
	gdb -q -batch -p $sleeper -ex 'shell touch attached; for i in $(seq 600); do [ -e refused ] && break; sleep 0.1; done' >/dev/null 2>&1 &
	debugger=$!
	until [ -e attached ] || ! kill -0 $debugger; do sleep 0.1; done
	refused "a debugger holds it" "is being traced by gdb (process" "$uft" attach $sleeper
	touch refused
	wait $debugger
	kill $sleeper
fi
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	cp "$uft" uft-copy
	chmod 777 uft-copy "$tmp"
	refused "another user's" "belongs to user 0 and we are user 65534" \
		setpriv --reuid=65534 --regid=65534 --clear-groups ./uft-copy attach -o other.uft $held
	refused "without the capability" "CAP_SYS_PTRACE is missing" \
		setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$uft" attach -o other.uft $held
	# The same user's, which nobody may look at; then as if Yama had a say.
	as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all"
	printf '#include <sys/prctl.h>\n#include <unistd.h>\nint main(void) { return prctl(PR_SET_DUMPABLE, 0) || write(1, "on\\n", 3) != 3 || pause(); }\n' >closed.c
	${CC:-cc} -o closed closed.c
	$as_nobody ./closed >closed.out &
	closed=$!
	until [ -s closed.out ] || ! kill -0 $closed; do sleep 0.05; done
	refused "an undumpable one" "or has made itself undumpable" $as_nobody ./uft-copy attach -o other.uft $closed
	scope=/proc/sys/kernel/yama/ptrace_scope
	if [ -e $scope ] && unshare -m true 2>/dev/null; then
		for n in 1 3; do
			echo $n >yama
			refused "ptrace_scope $n" "kernel.yama.ptrace_scope is $n" \
				unshare -m sh -c 'mount --bind yama "$0" && exec "$@"' $scope $as_nobody ./uft-copy attach -o other.uft $closed
		done
	else
		echo "note: this kernel has no Yama: not checked"
	fi
	checks_done=$((checks_done + 1))
	kill $closed || fail "the undumpable one was harmed"
fi
let_go
checks_done=$((checks_done + 1))
[ $status -eq 0 ] && grep -q '^ok' held || { fail "the program was harmed: $status"; cat held; }
