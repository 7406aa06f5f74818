#!/bin/sh
# SPDX-License-Identifier: MIT
# start.sh - libuft-start.a: calls are nops in an untraced run of every kind of program, and stay calls where they must
. "$(dirname "$0")/../../lib/common.sh"
need gcc clang ld.lld nm strip

here=$top/tests/func/build
cp "$here"/start.c "$here"/nowx.c .

# all_nops: the last run printed at least five functions, each with a nop.
all_nops() {
	expect_status 0
	check
	[ "$(grep -c ' nop$' out)" -ge "${1:-5}" ] && ! grep -q -v ' nop$' out || { fail "not all are nops"; show; }
	expect_no_file gmon.out
}

all_calls() {
	expect_status 0
	check
	[ "$(grep -c ' call$' out)" -ge 5 ] && ! grep -q ' nop$' out || { fail "not all are calls"; show; }
}

build() {
	ran="$*"
	"$@" >out 2>err || { status=$?; fail "does not build"; show; }
}

for mode in "-pg" "-pg -mfentry"; do
	m=mcount
	[ "$mode" = -pg ] || m=fentry
	for cc in gcc clang; do
		link=$("$uft" cflags --quiet --link --mode=$m --cc=$cc)
		for ld in bfd lld; do
			for kind in "-fPIE -pie" "-fno-pie -no-pie" "-fno-pie -static" "-fPIE -static-pie" "-fPIE -pie -Wl,-z,now" \
				    "-fPIE -pie -Wl,--no-relax" "-fcf-protection=full -fPIE -pie"; do
				# shellcheck disable=SC2086
				build $cc -O1 $mode ${kind%% -[pns]*} -c start.c
				# shellcheck disable=SC2086
				build $cc -fuse-ld=$ld $kind -o start start.o $link
				run ./start
				all_nops
				strip start
				run ./start
				all_nops
			done
			# A shared library looks after its own.
			# shellcheck disable=SC2086
			build $cc -O1 $mode -fPIC -DPART -shared -fuse-ld=$ld -o libpart.so start.c $link
			# shellcheck disable=SC2086
			build $cc -O1 $mode -DWITH_PART -fuse-ld=$ld -o start start.c $link ./libpart.so
			run ./start
			all_nops 7
		done
		# Linked with -pg: gcrt1.o starts no gprof.
		# shellcheck disable=SC2086
		build $cc -O1 $mode -o start start.c $link
		run ./start
		all_nops
		# Compiled by the linker.
		# shellcheck disable=SC2086
		build $cc -O1 -flto $mode -o start start.c $link
		run ./start
		all_nops
	done
done

# Without the archive these are calls: the test above can fail.
gcc -O1 -pg -mfentry -c start.c
gcc -o plain start.o
run ./plain
all_calls

# W^X refused: the program runs with its calls.
link=$("$uft" cflags --quiet --link --mode=fentry --cc=gcc)
# shellcheck disable=SC2086
gcc -o start start.o $link
gcc -o nowx nowx.c
run ./nowx ./start
[ "$status" -eq 77 ] || all_calls

# Another thread is there before the constructors: nothing is written under it.
cat >thread.c <<'E2'
#include <pthread.h>
#include <unistd.h>
static void *sleeper(void *arg) { pause(); return arg; }
static __attribute__((constructor)) void go(void) { pthread_t t; pthread_create(&t, 0, sleeper, 0); }
E2
gcc -shared -fPIC -o libthread.so thread.c -pthread
# shellcheck disable=SC2086
gcc -o threaded start.o $link -Wl,--no-as-needed ./libthread.so
run ./threaded
all_calls

# No unwind tables: found through __mcount_loc if asked for.
gcc -O1 -pg -mfentry -fno-asynchronous-unwind-tables -fno-unwind-tables -c start.c
"$uft" recordmcount -q start.o
# shellcheck disable=SC2086
gcc -o start start.o -Wl,-u,uft_start_table $link
run ./start
all_nops

# It adds little, exports nothing and keeps --gc-sections working.
gcc -O1 -pg -mfentry -ffunction-sections -c start.c
# shellcheck disable=SC2086
gcc -Wl,--gc-sections -o start start.o $link
run ./start
all_nops
expect_equal "exported names" "$(nm -D --defined-only start | grep -c -E 'uft|mcount|fentry')" 0
archive=$(echo "$link" | tr ' ' '\n' | grep '\.a$')
check
[ "$(size "$archive" | awk 'NR > 1 { n += $1 + $2 + $3 } END { print n }')" -lt 4096 ] || fail "the archive has grown"
expect_equal "what it needs of others" "$(nm "$archive" | grep ' U ' | grep -v -E 'uft_start|_GLOBAL_OFFSET_TABLE_')" ""
