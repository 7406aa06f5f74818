#!/bin/sh
# SPDX-License-Identifier: MIT
# many_processes.sh - hundreds of processes that live at the same time are all followed, and take little memory
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
	for (int i = 0; i < n; i++)
		if (!fork()) {
			close(end[1]);
			for (int j = 0; j < 100; j++)
				leaf(j);
			if (write(news[1], "x", 1) != 1 || read(end[0], &b, 1))
				_exit(1);
			_exit(0);
		}
	for (int i = 0; i < n; i++)
		if (read(news[0], &b, 1) != 1)
			return 1;
	close(end[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}
EOF
[ "$(uname -m)" = x86_64 ] || skip "fork children share their parent's family here"
cc -O1 -pg -mfentry -fno-pie -no-pie -o many many.c 2>>err || skip "no compiler for -mfentry"
run "$uft" record -q -l leaf -o many.uft ./many 300
expect_status 0
expect_equal "calls of 300 processes at once" "$(stat_value many.uft calls)" 30000
expect_equal "lost" "$(stat_value many.uft lost)" 0
check
