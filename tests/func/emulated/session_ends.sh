#!/bin/sh
# SPDX-License-Identifier: MIT
#
# session_ends.sh MACHINE CC EMULATOR - unprepared programs run on when the session dies, and when it detaches while they run
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 emulator=$3
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
guard=
[ "$machine" != aarch64 ] || guard=-mbranch-protection=standard
# shellcheck disable=SC2086
must_build $cc -O2 $guard "$top/tests/func/emulated/session_ends.c" -o left
# shellcheck disable=SC2086
touch go && $emulator ./left outer >bare || skip "the emulator does not run a program"

# await COMMAND: until it is true, or the recorder has ended; a minute at most.
await() {
	for i in $(seq 1200); do
		eval "$1" && return 0
		kill -0 $recorder 2>/dev/null || break
		sleep 0.05
	done
	eval "$1"
}

# start TRACER FUNCTION
start() {
	rm -f go there
	timeout 120 "$uft" record -q "--emulator=$emulator" -p "$1" -o rec.uft ./left "$2" >there 2>err.record &
	timer=$!
	recorder=$timer
	await '[ -s there ]' || fail "$1: nothing printed: $(cat err.record)"
	recorder=$(cat "/proc/$timer/task/$timer/children")
	recorder=${recorder% }
}

# ends NAME TEXT: the program said this, to its end.
ends() {
	for i in $(seq 1200); do
		[ "$(wc -l <there)" -lt 3 ] && kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	wait $timer
	expect_equal "$1" "$(tr '\n' ' ' <there)" "$2 "
}

child() {
	pid=$(cat "/proc/$recorder/task/$recorder/children")
	pid=${pid% }
}

for tracer in function function_graph; do
	# The session dies: what was a call becomes idle beside the program, which makes such calls meanwhile.
	start $tracer outer
	child
	kill -9 "$recorder"
	ends "$tracer: the session dies" "ready changed done"

	start $tracer outer
	child
	run timeout 60 "$uft" detach "$pid"
	expect_status 0
	ends "$tracer: detached" "ready changed done"
done

# What lies between two words cannot change beside running threads: it stays as it is, and that is said.
if [ "$machine" = riscv64 ]; then
	for tracer in function function_graph; do
		start $tracer odd
		child
		run timeout 60 "$uft" detach "$pid"
		expect_status 0
		touch go
		ends "$tracer: between words" "ready same done"
		check
		cat out err err.record | grep -q ': 1 place of its code could not be changed back' ||
			fail "$tracer: left armed, and not a word: $(cat out err err.record)"
	done
fi
