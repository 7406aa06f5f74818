#!/bin/sh
# SPDX-License-Identifier: MIT
# trace_marker_raw.sh TARGET - trace_marker_raw in all forms of text and for programs, printk_formats
. "$(dirname "$0")/inside.sh"

# ---- The texts of a 6.12 kernel: zeros behind what is shorter than a text could be, and up to a multiple of 4
inside 'for d in "" a abcdefgh abcdefghi abcdefghij abcdefghijklm; do printf "\1\0\0\0$d" >trace_marker_raw; done; printf "\1\0\2\200xyz" >trace_marker_raw; sed -n "s/.*: # /# /p" trace
	for o in raw hex bin; do echo $o >trace_options; n=1; [ $o = hex ] && n=2; grep -av "^#" trace | tail -n $n | tr -d "\200-\377\0-\10\13-\37" | sed "s/.*\(# 8\|type\)/\1/"; echo no$o >trace_options; done; cat printk_formats
	echo function_graph >current_tracer; printf "\17\0\0\0abc" >trace_marker_raw; grep -c "  /\* # f buf: 61 62 63 00 00 00 00 00 00 00 00 00 00 00 00 00 \*/$" trace; ls -l trace_marker_raw printk_formats | cut -c 1-10'
cat >expected <<'KERNEL'
# 1 buf: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
# 1 buf: 61 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
# 1 buf: 61 62 63 64 65 66 67 68 00 00 00 00 00 00 00 00
# 1 buf: 61 62 63 64 65 66 67 68 69 00 00 00 00 00 00 00
# 1 buf: 61 62 63 64 65 66 67 68 69 6a 00 00 00 00 00 00
# 1 buf: 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 00 00 00 00 00 00 00
# 80020001 buf: 78 79 7a 00 00 00 00 00 00 00 00 00 00 00 00 00
# 80020001 buf: 78 79 7a 00 00 00 00 00 00 00 00 00 00 00 00 00
type: 18

type: 18
1
-r--r-----
--w--w----
KERNEL
expect_equal "texts" "$(cat out)" "$(cat expected)"

# ---- What is refused; the longest; an instance has its own
inside 'try() { head -c $1 /dev/zero >trace_marker_raw; echo $?; } 2>/dev/null; try 3; try 3000; try 3980; try 4090; cat trace_marker_raw; echo 0 >options/markers; try 8; echo 1 >options/markers; echo 0 >tracing_on; try 8
	echo 1 >tracing_on; grep -c "# 0 buf:" trace; mkdir instances/foo; printf "\2\0\0\0x" >instances/foo/trace_marker_raw; grep -c "# 2 buf" trace instances/foo/trace; grep -c "An id of 4 bytes\|Too long" error_log' 2>err
expect_equal "refused" "$(tr '\n' ' ' <out)" "1 0 0 1 1 1 2 trace:0 instances/foo/trace:1 2 "

# ---- For programs: the record's layout, and trace-cmd with it
inside 'cat events/ftrace/raw_data/format; printf "\1\2\3\4abcdefgh" >trace_marker_raw; echo 0 >buffer_percent; for f in per_cpu/cpu*/trace_pipe_raw; do dd if=$f iflag=nonblock bs=4096 2>/dev/null; done >$TMP/pages'
expect_equal "format" "$(sed -n '1,2p; /unsigned int id/p; /buf/p' out | tr '\n' ' ')" \
	"name: raw_data ID: 18 	field:unsigned int id;	offset:8;	size:4;	signed:0; 	field:char buf[];	offset:12;	size:0;	signed:0; print fmt: \"id:%04x %08x\", REC->id, (int)REC->buf[0] "
expect_equal "a record in the pages" "$(od -An -v -tx1 pages | tr -d ' \n' | grep -o '12000000........0102030461626364656667680000000000000000' | wc -l)" 1
if has "trace-cmd" trace-cmd; then
	inside 'cd $TMP; printf "\5\0\0\0abcd" >/sys/kernel/tracing/trace_marker_raw; trace-cmd extract -o raw.dat >$TMP/extract 2>&1; trace-cmd report raw.dat'
	expect_out "raw_data"
fi

# ---- Markers that need a page each, more than a reader takes at a time: none is missing, cut or refused
for f in trace_marker trace_marker_raw; do
	inside 'for i in $(seq 60); do head -c 3900 /dev/zero | tr "\0" x | taskset -c $CPU dd of='$f' bs=3900 iflag=fullblock 2>/dev/null; done
		for f in per_cpu/cpu*/trace_pipe_raw; do dd if=$f iflag=nonblock bs=4096 2>/dev/null; done >$TMP/pages'
	expect_equal "pages of $f" "$(wc -c <pages)" $((60 * 4096))
	expect_equal "whole ones" "$(tr -cs x '\n' <pages | awk 'length >= 3900' | wc -l)" 60
done

# With nobody traced a round is made only where something is asked for: each line comes to the reader that waits for it.
inside 'mkfifo $TMP/lines; cat trace_pipe >$TMP/lines & reader=$!; exec 3<$TMP/lines; i=0
	while [ $i -lt 30 ]; do i=$((i + 1)); echo mark $i >trace_marker; read -r -t 30 line <&3 || break; echo "${line##*: }"; done; kill $reader'
expect_equal "lines to a reader that waits" "$(tr '\n' ' ' <out)" "$(seq -f 'mark %.0f' 30 | tr '\n' ' ')"
