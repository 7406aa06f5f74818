#!/bin/sh
# SPDX-License-Identifier: MIT
# many_processes.sh - a thousand processes that live at the same time are all followed, in less than 2 GB of memory
. "$(dirname "$0")/../../lib/common.sh"

cat >many.c <<'EOF'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int leaf(int i) { __asm__ volatile(""); return i; }
int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]), end[2], news[2];
	char b;

	if (pipe(end) || pipe(news))
		return 1;
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 2;
		if (!pid) {
			close(end[1]);
			for (int j = 0; j < 100; j++)
				leaf(j);
			if (write(news[1], "x", 1) != 1 || read(end[0], &b, 1))
				_exit(1);
			_exit(0);
		}
	}
	for (int i = 0; i < n; i++)
		if (read(news[0], &b, 1) != 1)
			return 1;
	if (write(1, "all\n", 4) != 4 || read(0, &b, 1))
		return 1;
	close(end[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}
EOF
[ "$(uname -m)" = x86_64 ] || skip "fork children share their parent's family here"
need_libc cc -pg -mfentry -fno-pie -no-pie
must_build cc -O1 -pg -mfentry -fno-pie -no-pie -o many many.c
N=1000
most=$(prlimit --nproc -o SOFT --noheadings) || skip "no prlimit"
[ "$most" = unlimited ] || [ "$most" -gt 3000 ] || skip "only $most processes are permitted"
mkfifo end
"$uft" record -q -l leaf -o many.uft ./many $N <end >out 2>err &
uft_pid=$!
exec 3>end
eventually grep -q all out || { cat err; fail "not all processes were made"; }
# What they and the recorder take, shared pages counted once.
pids=$(pgrep -g 0 -x many)
kb=$(awk '/^Pss:/ { kb += $2 } END { print kb + 0 }' $(printf '/proc/%s/smaps_rollup ' $uft_pid $pids))
expect_equal "processes at once" "$(echo "$pids" | wc -l)" $((N + 1))
exec 3>&-
wait $uft_pid
expect_equal "its status" $? 0
expect_equal "calls of $N processes at once" "$(stat_value many.uft calls)" $((N * 100))
expect_equal "lost" "$(stat_value many.uft lost)" 0
[ "$kb" -gt 10000 ] || fail "what they took is not known: $kb kB"
[ "$kb" -lt 2000000 ] || fail "$N processes took $kb kB"
check
