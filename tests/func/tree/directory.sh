#!/bin/sh
# SPDX-License-Identifier: MIT
# directory.sh - commands for files as in a 6.12 kernel's directory: errors, modes and owners, a read that waits, equal names
. "$(dirname "$0")/inside.sh"

# each COMMAND: its status and error, as the kernel's
inside 'export LC_ALL=C; for c in "echo >nosuch" "mkdir nosuch" "ln -s a b" "ln trace b" "rm trace" "mv trace b" "mv instances inst"; do e=$(exec 2>&1; eval "$c"); echo "$c: $? ${e##*: }"; done'
expect_equal "what cannot be made, removed, renamed" "$(cat out)" "echo >nosuch: 1 Permission denied
mkdir nosuch: 1 Operation not permitted
ln -s a b: 1 Operation not permitted
ln trace b: 1 Operation not permitted
rm trace: 1 Operation not permitted
mv trace b: 1 Operation not permitted
mv instances inst: 1 Operation not permitted"

inside 'mkdir instances/a; chmod 604 trace instances/a/trace events; [ $(id -u) -ne 0 ] || chown 3:4 instances/a/trace; stat -c "%a %n" trace current_tracer events instances/a/trace; [ $(id -u) -ne 0 ] || stat -c "%u %g" instances/a/trace trace
	rmdir instances/a; mkdir instances/a; stat -c "%a" instances/a/trace; [ -r /dev/null ] && cat trace | head -n 1'
owners=
[ "$(id -u)" -ne 0 ] || owners="3 4
0 0
"
expect_equal "modes and owners" "$(cat out)" "604 trace
640 current_tracer
604 events
604 instances/a/trace
${owners}640
# tracer: nop"

# ---- read(2) of pages waits for one, unless it is told not to
inside 'timeout 2 cat per_cpu/cpu0/trace_pipe_raw >$TMP/none; echo "$? $(wc -c <$TMP/none)"; dd if=per_cpu/cpu0/trace_pipe_raw bs=4096 count=1 iflag=nonblock 2>&1 >/dev/null | grep -c "temporarily unavailable"
	for c in per_cpu/cpu*; do head -c 4096 $c/trace_pipe_raw >$TMP/page.${c##*/} & done; sleep 0.2; for c in per_cpu/cpu*; do kill -0 %% && echo waits; break; done; for i in $(seq 200); do echo mark >trace_marker; cat $TMP/page.* | grep -aq mark && break; sleep 0.1; done; cat $TMP/page.* | grep -aq mark && echo came; kill $(jobs -p)' 2>err
expect_equal "a read of pages" "$(tr '\n' ' ' <out)" "124 0 1 waits came "

# ---- Static functions of one name
cat >same1.c <<'end'
static __attribute__((noinline)) int same(int x) { __asm__ volatile(""); return x + 1; }
int other(int);
int main(void) { return same(1) + other(2) - 10; }
end
cat >same2.c <<'end'
static __attribute__((noinline)) int same(int x) { __asm__ volatile(""); return x + 2; }
int other(int x) { return same(x) * 2; }
end
${CC:-cc} -O1 -fpatchable-function-entry=5 -o same same1.c same2.c || exit 1
inside '$TMP/same; for f in available_filter_functions "available_filter_functions_addrs"; do grep -c " same$\|^same$" $f; done; for w in same same@same2.c; do echo $w >set_ftrace_filter; cat set_ftrace_filter; done
	echo same >set_ftrace_filter; echo function >current_tracer; $TMP/same; grep -c "same.*<-main" trace; grep -c "same.*<-other" trace'
expect_equal "functions of one name" "$(tr '\n' ' ' <out)" "2 2 same same same 1 1 "
