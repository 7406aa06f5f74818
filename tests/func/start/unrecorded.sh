#!/bin/sh
# SPDX-License-Identifier: MIT
# unrecorded.sh - if nothing can be recorded, the program runs with its own output and status, and uft tells why
. "$(dirname "$0")/../../lib/common.sh"

cat >bare.c <<'END'
static __attribute__((noinline)) void leave(long status) { __asm__ volatile("syscall" :: "a"(231L), "D"(status)); }
void _start(void) { leave(5); }
END
cc="${CC:-cc} -O1 -w -fno-stack-protector -fno-pie -no-pie -static -nostdlib"
$cc -fno-asynchronous-unwind-tables -o bare bare.c || exit 1
# As a valgrind tool is linked: the room below it is its guest's.
$cc -Wl,-Ttext-segment=0x58000000 -o guests bare.c || exit 1

# No unwind tables.
for tracer in function function_graph profile; do
	for what in "-l *" "-l *:mod:*" "-l *:mod:bare" "-l * -l *:mod:*" "--no-children -l *" --no-children; do
		set -f
		# shellcheck disable=SC2086
		run "$uft" record -p $tracer $what -- ./bare
		set +f
		expect_status 5
		expect_err "nothing was recorded"
		expect_err "no unwind data"
	done
done
# A name is another matter: it is wrong, and is said to be before anything runs.
run "$uft" record -l nonesuch ./bare
expect_status 1
expect_err "'nonesuch' matches no function"

# A runtime that walks stacks by tables of its own, as OCaml's: the graph traces none of its functions, which the warning says.
printf 'int caml_frametable[2] = { 1, 2 };\nint main(void) { return caml_frametable[0] + 5; }\n' >walker.c
${CC:-cc} -O1 -o walker walker.c || exit 1
for tracer in function_graph profile; do
	run "$uft" record -p $tracer ./walker
	expect_status 6
	expect_err "nothing was recorded: no function of the program could be traced by this tracer (-p function can trace "
done
run "$uft" record -p function ./walker
expect_status 6
expect_equal "the function tracer records it" "$(grep -c 'nothing was recorded' err)" 0

# Functions were traced, and none was called; a small recording: one event is one, its size is not 0.
cat >uncalled.c <<'END'
#include <unistd.h>
__attribute__((noinline)) int uncalled(int n) { return n * 3; }
int main(int argc, char **argv) { (void)argv; for (char c; argc > 1 && read(0, &c, 1) == 1;) {} return argc > 2 ? uncalled(argc) : 4; }
END
${CC:-cc} -O1 -fpatchable-function-entry=5 -o uncalled uncalled.c || exit 1
for tracer in function function_graph profile; do
	run "$uft" record -p $tracer -l uncalled ./uncalled
	expect_status 4
	expect_equal "what is said" "$(grep -c 'warning: nothing was recorded: no traced function was called$' err)" 1
done
run "$uft" record -q -l uncalled ./uncalled
expect_status 4
expect_equal "-q" "$(cat err)" ""
run "$uft" record -l main ./uncalled
expect_equal "two events" "$(grep -c '^uft: 2 events in trace.uft ([1-9][0-9]* kB), 0 lost$' err)" 1
run "$uft" record -p function -l main ./uncalled
expect_equal "one event" "$(grep -c '^uft: 1 event in trace.uft ([1-9][0-9]* kB), 0 lost$' err)" 1
if [ "$(uname -m)" = x86_64 ]; then
	mkfifo gate
	./uncalled wait <gate &
	waiting=$!
	exec 9>gate
	run "$uft" attach --duration 0.5 $waiting
	expect_status 0
	expect_err "nothing was recorded: no traced function was called; -l '*:mod:*' traces the functions of libraries, too"
	exec 9>&-
	wait $waiting
	expect_equal "status of a program that was attached to" $? 4

	# A program that goes on: why its functions were left alone is said after the detach, too.
	${CC:-cc} -O1 -fno-asynchronous-unwind-tables -o tableless uncalled.c || exit 1
	./tableless wait <gate &
	waiting=$!
	exec 9>gate
	run "$uft" attach -l '*' --duration 0.5 $waiting
	expect_err "functions were left alone: no unwind data"
	exec 9>&-
	wait $waiting
fi

# Programs that run others in their own memory: as the first, as a child.
run "$uft" doctor ./guests
expect_out "guests runs another program in its own address space: uft traces neither of them"
for tracer in function function_graph; do
	run "$uft" record -p $tracer ./guests
	expect_status 5
	expect_err "guests runs another program in its own address space: uft traces neither of them"
	run "$uft" record -p $tracer -l '*' -l '*:mod:*' -- sh -c './guests; echo $?'
	expect_status 0
	expect_out 5
	expect_err "guests runs another program in its own address space: uft traces neither of them"
	expect_err "1 process could not be followed"
	[ -z "$(command -v valgrind)" ] || {
		run "$uft" record -q -p $tracer -l '*' -l '*:mod:*' -- valgrind -q --tool=none sh -c 'echo x; exit 3'
		expect_status 3
		expect_out x
	}
done

# A program that another tracer has is followed if its loader can bring the runtime. Else both go on, and one line names both.
if has "a program of another tracer" strace; then
	if printf 'int main(void) { return 3; }' | cc -static -x c - -o static 2>/dev/null; then
		run "$uft" record -o x.uft -- strace -o calls ./static
		expect_status 3
		expect_err "static: strace (process"
		expect_err "traces it, and its loader cannot bring the runtime: it is linked statically"
		expect_err "1 process could not be followed"
	else
		echo "SKIPPED: a static program of another tracer: cannot be linked here"
	fi
fi
