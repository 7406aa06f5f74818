#!/bin/sh
# SPDX-License-Identifier: MIT
# writers.sh WRITERS - blk, function_graph, blk, from threads and from a shell: each write, 10,200 in all, switches
. "$(dirname "$0")/inside.sh"

export W="$1"
inside '$W 3400 4; cat $D/current_tracer'
expect_status 0
expect_equal "from threads" "$(tr '\n' ' ' <out)" "taken 10200 refused 0 other 0 blk "

inside 'cd /sys/kernel/debug/tracing; r=0; for i in $(seq 300); do for t in blk function_graph blk; do echo $t >current_tracer || r=$((r+1)); done; done 2>/dev/null
	echo refused $r; cat current_tracer'
expect_equal "by echo" "$(tr '\n' ' ' <out)" "refused 0 blk "
