#!/bin/sh
# SPDX-License-Identifier: MIT
# ring_memory.sh - rings get memory as they are written: a full run directory costs records, with a message, but not the program
. "$(dirname "$0")/../../lib/common.sh"

if [ -z "${UFT_TEST_RING_MEMORY:-}" ]; then
	need unshare
	flags=-m
	[ "$(id -u)" -eq 0 ] || flags=-rm
	unshare $flags mount -t tmpfs tmpfs "$tmp" 2>/dev/null || skip "no file system can be mounted here"
	UFT_TEST_RING_MEMORY=1 unshare $flags "$top/tests/func/cli/ring_memory.sh"
	status=$?
	check
	exit $status
fi

cat >leaf.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int leaf(int i) { __asm__ volatile(""); return i; }
int main(int argc, char **argv)
{
	for (int i = 0; i < 1000; i++)
		leaf(i);
	if (argc > 2)
		fclose(fopen("begun", "w"));
	for (int ms = 0; argc > 2 && access(argv[2], F_OK) && ms < 20000; ms++)
		usleep(1000);
	for (int i = 0; i < atoi(argv[1]); i++)
		leaf(i);
	/* Children begin where there is no memory any more. */
	for (int i = 0; argc > 3 && i < atoi(argv[3]); i++) {
		int status;

		if (fork() == 0)
			_exit(leaf(0));
		if (wait(&status) < 0 || status)
			return 4;
	}
	return 3;
}
EOF
cat >old.c <<'EOF'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
/* Its command runs as on a kernel before 5.14, which has no MADV_POPULATE_WRITE. */
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 77;
	execv(argv[1], argv + 1);
	return 78;
}
EOF
need_libc cc -pg -mfentry -fno-pie -no-pie
must_build cc -O1 -o old old.c
must_build cc -O1 -pg -mfentry -fno-pie -no-pie -o leaf leaf.c

# Two rings of 16 MB, and six that stay empty, with 80 MB.
mkdir -m 700 run
mount -t tmpfs -o size=80m,mode=700 tmpfs run
XDG_RUNTIME_DIR=$PWD/run
export XDG_RUNTIME_DIR
run "$uft" record -q -b 16M -l leaf -o small.uft ./leaf 200000
expect_status 3
expect_equal "recorded with large rings in a small file system" "$(stat_value small.uft calls)" 201000

# Another user takes the memory while the program runs.
mkdir -m 700 full
mount -t tmpfs -o size=40m,mode=700 tmpfs full
XDG_RUNTIME_DIR=$PWD/full
# fill COMMAND...: which runs the recorder
fill() {
	rm -f begun go full/all
	"$@" "$uft" record -b 4M -l leaf -o full.uft ./leaf 3000000 go >out 2>err &
	recorder=$!
	eventually test -e begun || fail "the program did not begin"
	head -c 64m /dev/zero >full/all 2>>log
	: >go
	wait $recorder
	expect_equal "the program's status: no signal ended it" $? 3
	expect_err "no memory for rings"
	# A thread that comes to a CPU whose ring was not begun finds no ring at all.
	lost=$(stat_value full.uft lost) calls=$(stat_value full.uft calls) named=$(stat_value full.uft counter_no_memory) none=$(stat_value full.uft counter_no_ring)
	[ $((named + none)) -gt 0 ] || fail "nothing was lost for want of memory"
	expect_equal "calls, recorded or lost" $((calls + lost + none)) 3001000

	# The same for children, whose memory is made while there is none.
	rm -f begun go full/all
	"$@" "$uft" record -b 4M -l leaf -o forks.uft ./leaf 1000 go 60 >out 2>err &
	recorder=$!
	eventually test -e begun || fail "the program did not begin"
	head -c 64m /dev/zero >full/all 2>>log
	: >go
	wait $recorder
	expect_equal "the program's status: no signal ended a child" $? 3
	expect_equal "a child that is not followed for want of memory is counted" "$(($(stat_value forks.uft counter_no_slice) > 0))" 1
}

fill env
# The same where pages cannot be asked for.
run ./old /bin/sh -c :
if [ "$status" -eq 0 ]; then fill ./old; else echo "SKIPPED: an old kernel: no filter for system calls here"; fi
umount run full
check
