#!/bin/sh
# SPDX-License-Identifier: MIT
# cmdline.sh - a recording of running processes has the command line of the first process, not that of uft or of a command beside them
. "$(dirname "$0")/../../lib/common.sh"

cat >server.c <<'END_C'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static __attribute__((noinline)) int work(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
int main(int argc, char **argv)
{
	char *end = argv[argc - 1] + strlen(argv[argc - 1]);

	if (strcmp(argv[1], "title") == 0) {		/* as nginx, postgres and sshd do */
		memset(argv[0], 0, (size_t)(end - argv[0]));
		strcpy(argv[0], "server: worker  ");
	}
	puts("ready");
	fflush(stdout);
	for (int n = 0; getppid() != 1; n = work(n) & 255)
		usleep(1000);
	return 0;
}
END_C
build_traced server
ready() { grep -q ready "$1"; }
./server 'a b' '' "it's" 'x;y' plain >plain.out & plain=$!
./server title 'a long last argument that the title overwrites' >title.out & title=$!
ends_with_test $plain
ends_with_test $title
eventually ready plain.out
eventually ready title.out

# expect_cmdline WHAT TEXT ARGS...: what uft stat says of a recording by these arguments
expect_cmdline() {
	what=$1 text=$2
	shift 2
	run "$uft" "$@"
	expect_status 0
	expect_equal "$what" "$(stat_value trace.uft cmdline)" "$text"
	rm -f trace.uft trace.uft.old
}
line="./server 'a b' '' 'it'\\''s' 'x;y' plain"
expect_cmdline "attach PID" "$line" attach -q -l work --duration 100ms $plain
expect_cmdline "record -P" "$line" record -q -l work --duration 100ms -P $plain
expect_cmdline "record -P beside a command" "$line" record -q -l work -P $plain -- sleep 0.1
expect_cmdline "a title" "server: worker" attach -q -l work --duration 100ms $title
expect_cmdline "two processes" "$line (and 1 more process)" attach -q -l work --duration 100ms $plain,$title
