#!/bin/sh
# SPDX-License-Identifier: MIT
# wrong_input.sh - files that are no recordings and programs that cannot be recorded: one sentence, exit status 1
. "$(dirname "$0")/../../lib/common.sh"

# failed TEXT ARGS...: exit status 1, one line on stderr, nothing on stdout.
failed() {
	text=$1
	shift
	run "$uft" "$@"
	expect_status 1
	expect_no_out
	expect_err "$text"
	expect_err_lines 1
}

# ---- a fifo without a writer keeps nobody waiting ----
mkfifo fifo
for command in report stat "export -o out.dat" sites "disas main" recordmcount; do
	# shellcheck disable=SC2086
	run timeout 10 "$uft" $command fifo
	expect_status 1
	expect_err fifo
done

# ---- what report, stat and export read ----
failed "there is no trace.uft here: make one with uft record" pack
for command in report stat "export -o out.dat"; do
	# shellcheck disable=SC2086
	{
		failed "there is no trace.uft here: make one with uft record" $command
		failed "cannot open missing.uft: No such file" $command missing.uft
		failed "is a directory, not a recording" $command "$tmp"
		printf '\027\010\104tracing6\0' >trace.dat
		failed "trace.dat is damaged, or was cut before its end" $command trace.dat
		failed "is a program, not a recording" $command "$uft"
		: >empty.uft
		failed "empty.uft is empty: nothing was recorded into it" $command empty.uft
		echo "this is some text, not a recording at all, but long enough for a header of any kind" >text.uft
		failed "text.uft" $command text.uft
		head -c 4096 /dev/zero >zero.uft
		failed "zero.uft" $command zero.uft
		head -c 65536 /dev/urandom >random.uft
		failed "random.uft" $command random.uft
	}
done
expect_no_file out.dat
if [ "$(id -u)" -ne 0 ]; then
	echo x >secret.uft
	chmod 0 secret.uft
	failed "cannot open secret.uft: Permission denied" report secret.uft
fi

# ---- what record starts ----
# not_started STATUS TEXT PROGRAM: nothing ran, the earlier recording is as it was.
not_started() {
	want=$1 text=$2
	shift 2
	echo earlier >trace.uft
	run "$uft" record "$@"
	expect_status "$want"
	expect_no_out
	expect_err "$text"
	expect_equal "bytes of the earlier recording" "$(wc -c <trace.uft)" 8
	expect_no_file trace.uft.old
	rm -f trace.uft.old
}

not_started 127 "cannot find the program './nothing'" ./nothing
not_started 127 "cannot find the program 'no-such-program-anywhere'" no-such-program-anywhere
for command in shell stream; do
	run "$uft" $command no-such-program-anywhere
	expect_status 127
	expect_err "uft $command: cannot find the program 'no-such-program-anywhere'"
	run "$uft" $command "$tmp"
	expect_status 126
	expect_err "uft $command: '$tmp' cannot be executed"
done
run "$uft" stream 99999999
expect_status 127
expect_err "of a running process: uft attach 99999999"
echo data >data
not_started 126 "'./data' cannot be executed" ./data
not_started 126 "cannot be executed" "$tmp"
chmod +x data
not_started 1 "ELF" ./data
# An ELF file of another machine: ours with e_machine changed to AArch64.
cp /bin/true foreign
printf '\267\000' | dd of=foreign bs=1 seek=18 conv=notrunc 2>/dev/null
not_started 1 "foreign" ./foreign
# Cut off behind the header.
head -c 100 /bin/true >cut
chmod +x cut
not_started 1 "cut" ./cut
# What cannot be executed has ended by itself: its number, another's by now perhaps, gets no signal.
printf '#!/no/such/interpreter\n' >script
chmod +x script
not_started 1 "its interpreter (#! line or loader) does not exist" ./script
cat >nobody.c <<'END'
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
int kill(int pid, int sig)
{
	int ret = (int)syscall(SYS_kill, pid, sig);

	if (ret < 0 && errno == ESRCH && write(2, "a signal for nobody\n", 20) != 20)
		return -1;
	return ret;
}
END
${CC:-cc} -shared -fPIC -o nobody.so nobody.c
run env LD_PRELOAD=./nobody.so "$uft" record ./script
expect_status 1
expect_err "does not exist"
expect_err_lines 1

printf 'int work(int x) { return x + 1; }\nint main(void) { return work(41) != 42; }\n' >prog.c
build_traced prog
not_started 1 "wrk" -l wrk ./prog
expect_err "work"
not_started 1 "nothing_like_that_at_all" -l nothing_like_that_at_all ./prog
# An object may come later; that none did is told at the end, whether or not there is something else.
run "$uft" record -q -p function -l work -l 'malloc:mod:libno*' -l 'malloc:mod:libc.*' ./prog
expect_status 0
expect_err "warning: 'malloc:mod:libno*' selected nothing: no program or library 'libno*' was loaded (loaded: prog, "
expect_err_lines 1
run "$uft" record -q -g 'malloc:mod:libno*' ./prog
expect_err "'malloc:mod:libno*' selected nothing"
# A pattern that leaves functions out may match none.
run "$uft" record -q -l '*' -l '!malloc:mod:libno*' ./prog
expect_status 0
expect_no_err
# One of several names of a function, which goes by another.
cat >alias.c <<'END'
int work(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
extern int work_again(int) __attribute__((alias("work")));
int main(void) { return work_again(1) != 2; }
END
${CC:-cc} -O1 -fpatchable-function-entry=5 -rdynamic -o alias alias.c
name=$("$uft" sites alias | sed -n 's/.* \(work[a-z_]*\)$/\1/p')
other=work
[ "$name" != work ] || other=work_again
not_started 1 "'$other' matches no function; it goes by the name '$name'" -l "$other" ./alias
# Of several names of a function of libc that by which people call it, though it is a weak one.
cat >forks.c <<'END'
#include <unistd.h>
int main(void) { return fork() < 0; }
END
${CC:-cc} -O1 -o forks forks.c
if nm -D "$(ldd ./forks | awk '/libc\.so/ { print $3 }')" 2>/dev/null | grep -q ' W fork@'; then
	run "$uft" record -q -p function -l 'fork:mod:libc.*' -o forks.uft ./forks
	expect_status 0
	run "$uft" report --no-pager forks.uft
	expect_out ": fork <-main"
fi
# So it is said of what is not to be recorded. Who cannot be is not recorded either, and who may still come has to be asked for by object.
not_started 1 "'wrk' matches no function; near: work" -n wrk ./prog
not_started 1 "'mallc:mod:libc.*' matches no function; near: " -n 'mallc:mod:libc.*' ./prog
run "$uft" record -q -n work -n malloc -n 'any*:mod:libnone*' -o notrace.uft ./prog
expect_status 0
expect_no_err
# Nothing is left of what was asked for.
run "$uft" record -q -l work -n 'w*' -o notrace.uft ./prog
expect_err "nothing was recorded: --notrace leaves no function that could be traced"
run "$uft" record -q -l 'any*:mod:libnone*' -o notrace.uft ./prog
expect_status 0
expect_err "no program or library 'libnone*' was loaded"
expect_err "nothing was recorded: no function that -l selects could be traced"
# Near is what is in the object that was named; and in a program that nobody prepared.
not_started 1 "'mallc:mod:libc.*' matches no function; near: " -l 'mallc:mod:libc.*' ./prog
expect_err malloc
expect_equal "names of another object" "$(grep -c -w work err)" 0
${CC:-cc} -O2 -o plain prog.c
not_started 1 "'wrk' matches no function; near: work" -l wrk ./plain
strip plain
not_started 1 "; for a library, or for a program that this one starts, write NAME:mod:FILE" -l 'nothing_*' ./plain
not_started 1 "./no/such/dir/x.uft" -o ./no/such/dir/x.uft ./prog

if [ "$(id -u)" -ne 0 ]; then
	cp prog setuid
	chmod 4755 setuid
	su=$(command -v su)
	[ -u "$su" ] && not_started 1 "su" "$su" --version
	cp prog unreadable
	chmod 0111 unreadable
	not_started 1 "unreadable" ./unreadable
fi
