#!/bin/sh
# SPDX-License-Identifier: MIT
# options.sh TARGET - every option changes the result between 0 and 1, and the text is that of a 6.12 kernel
. "$(dirname "$0")/inside.sh"

# Digits are N; what follows a number or an address may be of another width.
mask() { sed "s/[0-9a-f]\{12,\}/N/g; s/0x[0-9a-f]*/N/g; s/[0-9]\{1,\}/N/g; s/^ *[^ |]*-N */TASK-N /; s/ on [^ ]*$/ on RELEASE/; s/M:[a-z_]*/M:MODEL/; s/\( us\) *|/\1|/; s/[!+#*] \(N\.N us\)/  \1/; s/Nus./Nus /; s/ \{1,\}N/ N/g"; }
same() {
	cat >kernel
	expect_equal "$1" "$(mask <out)" "$(mask <kernel)"
	expect_equal "$1: lines unmasked" "$(grep -vc '[0-9]' kernel)" "$2"
}

# ---- What only changes the text: function, and a marker that a reader sees
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; $T 1; echo hello >trace_marker
	for o in print-parent sym-offset sym-addr verbose raw hex bin printk-msg-only context-info latency-format record-tgid irq-info fields; do
		v=$(cat options/$o); cat trace >$TMP/a; echo $((1 - v)) >options/$o; cat trace >$TMP/b; echo $v >options/$o; cat trace >$TMP/c
		cmp -s $TMP/a $TMP/b && echo $o makes no difference; cmp -s $TMP/a $TMP/c || echo $o is not put back; echo $o >>$TMP/seen
	done; echo done'
expect_equal "options of the function tracer" "$(cat out)" "done"
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function_graph >current_tracer; sleep 0.1 | $T 1 wait
	for o in funcgraph-cpu funcgraph-overhead funcgraph-proc funcgraph-duration funcgraph-abstime funcgraph-tail latency-format context-info; do
		v=$(cat options/$o); cat trace >$TMP/a; echo $((1 - v)) >options/$o; cat trace >$TMP/b; echo $v >options/$o
		cmp -s $TMP/a $TMP/b && echo $o makes no difference; echo $o >>$TMP/seen
	done; echo done'
expect_equal "options of the graph" "$(cat out)" "done"

# ---- What changes what is recorded
inside 'echo nomarkers >trace_options; echo a >trace_marker; echo $?; echo markers >trace_options; echo a >trace_marker; echo $?
	echo 1 >options/pause-on-trace; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; exec 5<trace; $T 1; exec 5<&-; sleep 0.3; grep -c inner trace
	echo 0 >options/pause-on-trace; exec 5<trace; $T 1; exec 5<&-; grep -c inner trace
	echo 0 >options/record-cmd; $T 1; grep -c "<\.\.\.>.*lonely" trace; echo 1 >options/record-cmd
	echo 8 >buffer_size_kb; for v in 0 1; do echo $v >options/overwrite; echo >trace; $T 5000; sleep 0.3; grep -c "lonely" trace; done
	printf "markers\npause-on-trace\nrecord-cmd\noverwrite\n" >>$TMP/seen
	for o in args irqs overrun retaddr retval retval-hex; do echo funcgraph-$o; done >>$TMP/seen; printf "graph-time\nsleep-time\n" >>$TMP/seen # graph_options.sh
	for v in 0 1; do echo $v >options/disable_on_free; exec 5>free_buffer; cat tracing_on; exec 5>&-; cat tracing_on; done | tr -d "\n"; echo; echo disable_on_free >>$TMP/seen
	printf "display-graph\nfunction-fork\nfunction-trace\nfunc-no-repeats\nstacktrace\nfunc_stack_trace\nuserstacktrace\nsym-userobj\nevent-fork\n" >>$TMP/seen	# func/stacks, func/tracers, event_fork.sh
	ls options | grep -vxF -f $TMP/seen'
expect_equal "recording; options without a test" "$(tr '\n' ' ' <out)" "1 0 0 2 1 1 0 1110 annotate blk_classic block branch hash-ptr "

# ---- func-no-repeats: the kernel's text of what came again on its CPU. A 6.12 kernel: vfs_open <-path_openat (repeats: 2, last_ts:     8.185373)
inside '$T 1; echo outer lonely >set_ftrace_filter; echo function >current_tracer; for i in 1 2; do taskset -c $CPU $T 3; done; grep -c "<-" trace; echo 1 >options/func-no-repeats; grep "<-" trace >$TMP/few
	timeout 60 head -n 5 trace_pipe >$TMP/pipe; echo inner >set_ftrace_filter; taskset -c $CPU $T 3; grep -c "<-" trace; echo 0 >options/func-no-repeats; grep -c "<-" trace'
expect_equal "calls; two call sites are two" "$(tr '\n' ' ' <out)" "8 6 6 "
expect_equal "what came again" "$(sed 's/.*: \([a-z]*\) <-main/\1/; s/last_ts: *[0-9]*\.[0-9]*/T/' few | tr '\n' '/')" "lonely/outer/outer (repeats: 2, T)/lonely/outer/outer (repeats: 2, T)/"
expect_equal "its form" "$(grep -c '^ *tree-target-[0-9]* *\['$(printf %03d $CPU)'\] ..... *[0-9.]*: outer <-main (repeats: 2, last_ts: *[0-9]*\.[0-9]\{6\})$' few)" 2
expect_equal "consumed: until another comes" "$(cut -d: -f2- pipe | sed 's/last_ts: *[0-9.]*/T/' | tr '\n' '/')" " lonely <-main/ outer <-main/ outer <-main (repeats: 2, T)/ lonely <-main/ outer <-main/"

# ---- fields: what a format file names; the kernel's %pS. Neither the graph nor numbers
inside '$T 1; echo "inner outer" >set_ftrace_filter; echo function >current_tracer; $T 1; echo hello >trace_marker; echo 1 >options/fields; sed -n "/^#/d; s/^[^:]*: //p" trace; grep -oh "[a-z_]*;.offset:[0-9]*" events/ftrace/function/format | grep -v common | cut -d";" -f1
	echo 1 >options/raw; grep -c "ip=\|buf=" trace; echo 0 >options/raw; echo function_graph >current_tracer; $T 1; echo hello >trace_marker; grep -c "ip=\|buf=" trace'
expect_equal "fields" "$(sed 's/0x[0-9a-f]*/0xN/g' out | tr '\n' '/')" "function: ip=outer+0xN/0xN parent_ip=main+0xN/0xN/function: ip=inner+0xN/0xN parent_ip=outer+0xN/0xN/function: ip=inner+0xN/0xN parent_ip=outer+0xN/0xN/print: buf=hello/ip/parent_ip/0/0/"

# ---- function-fork: what a listed process makes is listed with it, from its first call on; also what that executes; of both lists
inside '$T 1; echo "inner outer" >set_ftrace_filter; echo $$ >set_ftrace_pid; echo function >current_tracer; count() { $T 2 fork; sh -c "$T 3; true"; grep -c "inner <-outer" trace; echo >trace; }
	count; echo 1 >options/function-fork; count; sleep 1000 & for i in $(seq 200); do grep -qx $! set_ftrace_pid && break; sleep 0.1; done; cat set_ftrace_pid | sed -n "s/^$$\$/shell/p; s/^$!\$/child/p"; kill $!; echo 0 >options/function-fork; count; cat set_ftrace_pid | wc -l
	echo 1 >options/function-fork; echo 1 >set_ftrace_pid; echo $$ >>set_ftrace_pid; count; echo >set_ftrace_pid; echo $$ >set_ftrace_notrace_pid; count; echo 0 >options/function-fork; count
	grep -x nofunction-fork trace_options'
expect_equal "function-fork" "$(grep -v Terminated out | tr '\n' ' ')" "0 10 shell child 0 1 10 0 10 nofunction-fork "

# The closed list: its files say why, take nothing, and trace_options has none of them
inside 'for o in hash-ptr block blk_classic branch; do cat options/$o | cut -d: -f1; echo 1 >options/$o; echo $?; echo $o >trace_options; echo $?; done; grep -cE "hash|bl[ok]|branch" trace_options'
expect_equal "options without meaning" "$(sort -u out | tr '\n' ' ')" "0 1 no meaning for processes "

# ---- A marker for which a buffer that does not overwrite has no room is refused, and counted: as a 6.12 kernel does
inside 'echo 8 >buffer_size_kb; echo 0 >options/overwrite; exec 7>trace_marker; n=0; for i in $(seq 400); do echo 0123456789012345678901234567890123456789 >&7 || n=$((n + 1)); done 2>$TMP/why
	awk -v n=$n "/^entries/ { held += \$2 } /^dropped/ { dropped += \$3 } END { print (n > 0), (dropped == n), held + n }" per_cpu/cpu*/stats; echo 1 >options/overwrite; echo x >&7; echo $?'
expect_equal "markers without room" "$(tr '\n' ' ' <out)" "1 1 400 0 "
expect_equal "how that is said" "$(sed 's/.*: //' why | sort -u)" "Bad file descriptor"

# annotate: where a cpu's buffer starts that has lost older ones, once something stands above it
inside 'echo 8 >buffer_size_kb; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer
	for c in $CPU $CPU2; do taskset -c $c $T 5000; done; sleep 0.3; grep -c "^##### CPU" trace; echo 0 >options/annotate; grep -c "^##### CPU" trace; cut -d"[" -f2 trace | cut -c1-3 | grep "^0" | sort -u | wc -l'
[ -z "$CPU2" ] || expect_equal "annotate" "$(sed -n 1,2p out | tr '\n' ' ')" "1 0 "

# ---- An address is the process's that made the call, also of the second
inside '$T 1; echo inner >set_ftrace_filter; echo function >current_tracer; for i in 1 2 3; do $T 1; done; echo 1 >options/sym-addr; sed -n "s/.*inner <\([0-9a-f]*\)> <-outer <\([0-9a-f]*\)>/\1 \2/p" trace >$TMP/addr
	echo 0 >options/sym-addr; for o in raw hex; do echo 1 >options/$o; grep -v "^#" trace >$TMP/$o; echo 0 >options/$o; done'
near() { while read -r ip parent; do echo $(((0x$ip - 0x$parent) / 4096)); done | sort -u | tr '\n' ' '; }	# of one program
expect_equal "different bases" "$(cut -d' ' -f1 addr | sort -u | wc -l | sed 's/[23]/some/')" some
expect_equal "sym-addr" "$(near <addr)" "0 "
expect_equal "raw" "$(sed 's/.* \([0-9a-f]*\) \([0-9a-f]*\)$/\1 \2/' raw | near)" "0 "
expect_equal "hex" "$(sed 's/.* \([0-9a-f]*\) \([0-9a-f]*\) $/\1 \2/' hex | near)" "0 "

# ---- The kernel's text
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; taskset -c $CPU $T 1; echo 1 >options/latency-format; head -n 21 trace'
expect_equal "events of the latency format" "$(grep -c '^# latency: 0 us, #[1-9][0-9]*/[1-9]' out)" 1
sed -i 's/[^ ]* <-.*/vfs_open <-path_openat/' out
same "latency-format" 15 <<'KERNEL'
# tracer: function
#
# function latency trace v1.1.5 on 6.12.117
# --------------------------------------------------------------------
# latency: 0 us, #20/20, CPU#1 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)
#    -----------------
#    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)
#    -----------------
#
#                    _------=> CPU#            
#                   / _-----=> irqs-off/BH-disabled
#                  | / _----=> need-resched    
#                  || / _---=> hardirq/softirq 
#                  ||| / _--=> preempt-depth   
#                  |||| / _-=> migrate-disable 
#                  ||||| /     delay           
#  cmd     pid     |||||| time  |   caller     
#     \   /        ||||||  \    |    /       
     cat-90        0..... 19509us!: vfs_open <-path_openat
     cat-90        0..... 19636us!: vfs_open <-path_openat
     cat-90        0..... 19840us!: vfs_open <-path_openat
KERNEL
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function_graph >current_tracer; $T 1; echo 1 >options/latency-format; head -n 20 trace'
expect_equal "events of the latency format of the graph" "$(grep -c '^# latency: 0 us, #[1-9][0-9]*/[1-9]' out)" 1
same "latency-format of the graph" 13 <<'KERNEL'
# tracer: function_graph
#
# function_graph latency trace v1.1.5 on 6.12.117
# --------------------------------------------------------------------
# latency: 0 us, #386/386, CPU#1 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)
#    -----------------
#    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)
#    -----------------
#
#      _-----=> irqs-off        
#     / _----=> need-resched    
#    | / _---=> hardirq/softirq 
#    || / _--=> preempt-depth   
#    ||| /                      
# CPU||||     DURATION                  FUNCTION CALLS
# |  ||||      |   |                     |   |   |   |
 0)  ..... |               |  main() {
 1)  ..... | + 32.419 us   |    lonely();
 1)  ..... |               |    outer() {
 1)  ..... | + 32.419 us   |      inner();
KERNEL
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; $T 1; echo 1 >options/sym-offset; sed -n "s/\(.*inner+\)/\1/p" trace | head -n 1
	echo 0 >options/sym-offset; echo 1 >options/sym-addr; grep -m1 " inner " trace; echo 0 >options/sym-addr; echo 1 >options/raw; tail -n 1 trace
	echo 0 >options/raw; echo 1 >options/hex; tail -n 1 trace; echo 1 >options/bin; tail -n +12 trace | wc -c; echo 0 >options/hex; echo 0 >options/bin; grep -c " <-" trace'
check
sed -n 1p out | grep -qE ' inner\+0x0/0x[0-9a-f]+ <-outer\+0x[0-9a-f]+/0x[0-9a-f]+$' || fail "sym-offset: $(sed -n 1p out)"
sed -n 2p out | grep -qE ' inner <[0-9a-f]{16}> <-outer <[0-9a-f]{16}>$' || fail "sym-addr: $(sed -n 2p out)"
sed -n 3p out | grep -qE '^[0-9]+ [0-9]+ [0-9]+ [0-9a-f]+ [0-9a-f]+$' || fail "raw: $(sed -n 3p out)"
sed -n 4p out | grep -qE '^[0-9a-f]{8} [0-9a-f]{8} [0-9a-f]{16} [0-9a-f]{16} [0-9a-f]{16} $' || fail "hex: $(sed -n 4p out)"
expect_equal "bin: bytes of the header's last line and of the records" "$(sed -n 5p out)" $(($(printf '#              | |         |   |||||     |         |\n' | wc -c) + 32 * $(sed -n 6p out)))
