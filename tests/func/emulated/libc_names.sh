#!/bin/sh
# SPDX-License-Identifier: MIT
#
# libc_names.sh MACHINE CC PAD EMULATOR - the tracers that are made of events, by functions of the program that have libc's names
#
# libc itself may be out of reach (riscv64); tests/func/tracers has it where it is not.
. "$(dirname "$0")/../../lib/common.sh"
machine=$1 cc=$2 pad=$3 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
cat >main.c <<'END'
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#define STEP __attribute__((noipa))
static char pool[65536];
static size_t used;
static void *volatile freed;
static volatile int held;
STEP void *malloc(size_t n)
{
	used += (n + 15) / 16 * 16;
	return used <= sizeof(pool) ? pool + used - (n + 15) / 16 * 16 : NULL;
}
STEP void free(void *p) { freed = p; }
STEP void *realloc(void *p, size_t n)
{
	char *to = malloc(n);

	for (size_t i = 0; to && p && i < n; i++)
		to[i] = ((char *)p)[i];
	free(p);
	return to;
}
STEP void *calloc(size_t n, size_t of) { return malloc(n * of); }
STEP int pthread_mutex_lock(pthread_mutex_t *m) { (void)m, held++; return held != 1; }
STEP int pthread_mutex_unlock(pthread_mutex_t *m) { (void)m, held--; return held != 0; }
STEP int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) { return sigprocmask(how, set, old) ? errno : 0; }
STEP int inside(int x) { __asm__ volatile("" : "+r"(x)); return x; }
STEP int heap(void)
{
	char *p = malloc(123), *q;

	p = realloc(p, 4567);
	q = calloc(3, 7);
	free(p);
	free(q);
	return p == NULL || q == NULL;
}
int main(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	sigset_t set;
	int bad = heap();

	pthread_mutex_lock(&m);
	bad |= inside(0);
	pthread_mutex_unlock(&m);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	bad |= inside(0);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return bad | inside(0);
}
END
# trace TRACER: libc's own take locks as well, and hold some for longer
trace() {
	run timeout 120 "$uft" record -q "--emulator=$emulator" -p "$1" -n '*:mod:libc*' -o rec.uft ./main
	expect_status 0
	run timeout 60 "$uft" report --no-pager rec.uft
	expect_status 0
	expect_out "# tracer: $1"
}
for flags in "-O1 -fpatchable-function-entry=$pad" -O2; do
	# shellcheck disable=SC2086
	must_build $cc -fno-builtin -fno-optimize-sibling-calls $flags main.c -o main
	# shellcheck disable=SC2086
	$emulator ./main || skip "the emulator does not run a program"
	trace kmemtrace
	expect_equal "$machine, $flags: calls" "$(awk '$NF == "heap" && /^ *[-+]/ { print $1 $2 ($1 == "+" ? $3 : "") }' out | tr '\n' ' ')" \
		"+K123 -K +K4567 +K21 -K -K "
	expect_equal "$machine, $flags: what is given back was taken" \
		"$(awk '$NF != "heap" { next } $1 == "+" { taken[$6] } $1 == "-" && !($3 in taken) { bad++ } END { print bad + 0 }' out)" 0
	trace preemptoff
	expect_equal "$machine, $flags: a lock is held" "$(sed -n 's/^#  => //p; s/.*us.\{0,1\}: \([a-z_]*\) <-main$/\1/p' out | tr -s ' ' | tr '\n' ';')" \
		"started at: pthread_mutex_lock;ended at: pthread_mutex_unlock;pthread_mutex_lock;inside;pthread_mutex_unlock;"
	trace irqsoff
	expect_equal "$machine, $flags: signals are blocked" "$(sed -n 's/^#  => \(.*\): .*sig.*mask.*/\1/p; s/.*us.\{0,1\}: \(inside\) <-main$/\1/p' out | tr '\n' ';')" \
		"started at;ended at;inside;"
done
