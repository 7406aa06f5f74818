#!/bin/sh
# SPDX-License-Identifier: MIT
# writers.sh WRITERS - 10,000 times blk, function_graph, blk, from threads and from a shell: function_graph stays
. "$(dirname "$0")/inside.sh"

export W="$1"
inside '$W 10000 4; cat $D/current_tracer'
expect_status 0
expect_equal "from threads" "$(tr '\n' ' ' <out)" "taken 10000 refused 20000 other 0 function_graph "

inside 'cd /sys/kernel/debug/tracing; r=0; for i in $(seq 300); do for t in blk function_graph blk; do echo $t >current_tracer || r=$((r+1)); done; done 2>/dev/null
	echo refused $r; cat current_tracer'
expect_equal "by echo" "$(tr '\n' ' ' <out)" "refused 600 function_graph "
