#!/bin/sh
# SPDX-License-Identifier: MIT
# tracers.sh TARGET SANDBOX - the tracers that are made of events: their results in a program of known behaviour
#
# Or tracers.sh CC EMULATOR MACHINE: the same program, of another machine.
. "$(dirname "$0")/../../lib/common.sh"

target=$1 emulator='' who=evtarget
if [ "$#" -eq 3 ]; then
	emulator=$2
	# shellcheck disable=SC2086
	need $1 ${emulator%% *}
	# shellcheck disable=SC2086
	need_libc $1
	# shellcheck disable=SC2086
	must_build $1 -O1 -D_GNU_SOURCE -fno-optimize-sibling-calls -pthread "$top/tests/func/tracers/target.c" -o evtarget
	# shellcheck disable=SC2086
	$emulator ./evtarget heap || skip "the emulator does not run a program"
	target=./evtarget who=${emulator%% *}	# whose process it is
fi
short=$(printf %.8s "$who")

# trace TRACER ARGUMENTS: the report in `out`, the latency's us in $latency, its lines as `function caller` in `lines`
trace() {
	tracer=$1
	shift
	for _ in 1 2 3 4 5; do		# 75: the machine stood, and what is found is not what was meant
		run timeout 100 "$uft" record -q ${emulator:+"--emulator=$emulator"} -p "$tracer" -o rec.uft "$target" "$@"
		[ "$status" -eq 75 ] || break
	done
	expect_status 0
	cp out said
	run timeout 60 "$uft" report --no-pager rec.uft
	expect_status 0
	check
	[ "$(sed -n 1p out)" = "# tracer: $tracer" ] || { fail "the first line does not name $tracer"; show; }
	latency=$(sed -n 's/^# latency: \([0-9]*\) us, #\([0-9]*\)\/\2, CPU#[0-9]* | (M:.*/\1/p' out)
	sed -n 's/.*us.\{0,1\}: \([a-z_0-9]*\) <-\([a-z_0-9]*\)$/\1 \2/p' out >lines
}

at_least() {
	check
	[ "${latency:-0}" -ge "$1" ] || { fail "latency ${latency:-missing} us, at least $1 expected"; show; }
}

# ---- A lock is held: the longest, not those that were not taken, given back in a wait, or shared
trace preemptoff locks
at_least 400000
expect_equal "what was called meanwhile" "$(tr '\n' ';' <lines)" \
"pthread_mutex_lock longest;pthread_rwlock_wrlock longest;inside longest;pthread_rwlock_unlock longest;pthread_mutex_unlock longest;"
expect_equal "where" "$(sed -n 's/^#  => //p' out | tr -s ' ' | tr '\n' ';')" \
	"started at: pthread_mutex_lock;ended at: pthread_mutex_unlock;"
expect_equal "locks held at each line" "$(sed -n 's/^ *'"$short"'-[0-9]* *[0-9]*\(.....\) .*/\1/p' out | tr '\n' ' ')" \
	"...1. ...1. ...2. ...2. ..... "

# ---- Signals are blocked
trace irqsoff signals
at_least 400000
expect_equal "what was called meanwhile" "$(tr '\n' ';' <lines)" \
"pthread_sigmask masked;pthread_sigmask masked;inside masked;pthread_sigmask masked;pthread_sigmask masked;"
expect_equal "blocked at each line" "$(sed -n 's/^ *'"$short"'-[0-9]* *[0-9]*\(.....\) .*/\1/p' out | tr '\n' ' ')" \
	"d.... d.... d.... d.... ..... "
trace preemptirqsoff signals
at_least 400000
expect_out "#  => started at: pthread_sigmask"
trace preemptirqsoff locks
at_least 400000
expect_out "#  => started at: pthread_mutex_lock"
trace irqsoff locks
expect_equal "no signal was blocked" "$latency $(grep -c . lines)" " 0"
trace preemptoff signals
expect_equal "masks are no locks" "$(grep -c masked lines)" 0		# the loader has a lock at the end

# ---- From the wake to the return
trace wakeup wakes
at_least 400000
waker=$(sed -n 's/^waker //p' said) woken=$(sed -n 's/^woken //p' said)
expect_equal "who wakes whom" "$(sed -n 's/.*us.\{0,1\}: *\([0-9]*\):[0-9 ]*:R *\([+=>]*\) \[[0-9]*\] *\([0-9]*\):[0-9 ]*:R .*/\1 \2 \3/p' out | tr '\n' ';')" \
	"$waker + $woken;$woken ==> $woken;"
expect_equal "its policy, which a fork resets" "$(sed -n 's/^#    | task: .*-'"$woken"' (uid:? nice:-\{0,1\}[0-9]* \(.*\))/\1/p' out)" \
	"policy:3 rt_prio:0"
trace wakeup_rt wakes
expect_equal "no thread has a real-time class" "$latency $(grep -c '==>' out)" " 0"

# ---- A filter that comes later kills for the calls that ask for a policy, or refuses them; emulators know none
if [ -z "$emulator" ]; then
	trace irqsoff signals killed
	at_least 400000
	trace wakeup wakes refused
	at_least 400000
	expect_out "(uid:? nice:? policy:? rt_prio:?)"
	expect_equal "no priority is told" "$(grep -c ':  ?:R' out)" 2
	target=$2
	trace wakeup wakes killed
	at_least 400000
	expect_out "(uid:? nice:? policy:? rt_prio:?)"
	target=$1
fi

# ---- The heap: each call, its bytes, and what is given back is what was taken
trace kmemtrace heap
grep ' heap$' out >mine
expect_equal "calls" "$(awk '{ print $1 $2 ($1 == "+" ? $3 : "") }' mine | tr '\n' ' ')" \
	"+K123 -K +K4567 -K +K21 -K +K640 -K +P8192 -P "
expect_equal "addresses" "$(awk '$1 == "+" { taken[$6] } $1 == "-" && !($3 in taken) { bad++ } END { print bad + 0 }' mine)" 0
expect_equal "columns" "$(grep -c '^# ALLOC  TYPE  REQ   GIVEN  FLAGS           POINTER         NODE    CALLER$' out)" 1

# CALLER is the function that called, also one in a library of which no function is traced. A stack stands behind its line.
if [ -z "$emulator" ]; then
	cat >lib.c <<-'END'
		#include <stdlib.h>
		char *lib_copy(int n) { char *p = malloc(n); p[0] = 1; return p; }
		void *lib_grow(void *p) { p = realloc(p, 99999); __asm__ volatile("" : "+r"(p)); return p; }
	END
	cat >libuser.c <<-'END'
		#include <stdlib.h>
		char *lib_copy(int n);
		void *lib_grow(void *p);
		__attribute__((noinline)) static void own(void) { char *volatile p = malloc(77); free(p); __asm__ volatile(""); }
		int main(void) { void *p = lib_grow(lib_copy(1234)); own(); free(p); return 0; }
	END
	if ${CC:-cc} -O1 -fno-inline -shared -fPIC -o liblib.so lib.c && ${CC:-cc} -O1 -o libuser libuser.c ./liblib.so; then
		run timeout 60 "$uft" record -q -p kmemtrace -T -o rec.uft ./libuser
		expect_status 0
		run timeout 60 "$uft" report --no-pager rec.uft
		expect_equal "callers" "$(awk '$1 == "+" || $1 == "-" { print $1 ($1 == "+" ? $3 : "") $NF }' out | tr '\n' ' ')" \
			"+1234lib_copy -lib_grow +99999lib_grow +77own -own -main "
		# The first line of a stack is the function of the line above it: of realloc's two lines there is one, behind the second.
		expect_equal "stacks behind their lines" "$(awk '/<stack trace>/ { printf "%s ", line; getline; printf "%s;", $2 }
			$1 == "+" || $1 == "-" { line = $1 ($1 == "+" ? $3 : "") }' out)" \
			"+1234 malloc;+99999 realloc;+77 malloc;- free;- free;"
	fi
fi

# ---- Files: each request and its completion
trace blk files "$tmp/file"
sed -n 's/.*:  fd,\(-\{0,1\}[0-9]*\)  *\([QC]\)  *\([RWF]\) /\1 \2\3 /p' out | sed 's/\['"$who"'\]//; s/ [0-9.]* us$//; s/ *$//' >requests
fd=$(sed -n '1s/ .*//p' requests)
expect_equal "requests" "$(grep "^$fd " requests | sed "s/^$fd //" | tr '\n' ';')" \
"QW + 100;CW + 100 [0];QW 100 + 50;CW 100 + 50 [0];QF;CF [0];QR 10 + 64;CR 10 + 64 [0];QR;CR + 70 [0];QR + 100;CR + 80 [0];"
expect_equal "one that fails" "$(grep '^-1 ' requests | tr '\n' ';')" "-1 QR + 5;-1 CR + 0 [-1];"

# ---- In other formats these are calls as others
run timeout 60 "$uft" export -o rec.dat rec.uft
expect_status 0
if command -v trace-cmd >/dev/null 2>&1; then
	run trace-cmd report rec.dat
	expect_equal "calls that were left" "$(grep -c ': left' out)" 0
	expect_equal "a call" "$(grep -c 'funcgraph_entry:.*files' out)" 1
fi

# ---- A selection of functions, and a name that is none
run timeout 60 "$uft" report --no-pager -F 'inside' rec.uft
expect_status 0
run timeout 60 "$uft" record -q -p nosuch -o rec.uft "$target" locks
expect_status 2
