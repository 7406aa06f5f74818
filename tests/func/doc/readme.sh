#!/bin/sh
# SPDX-License-Identifier: MIT
# readme.sh - `make demo`, then the README's tour, which goes on from what the demo built
. "$(dirname "$0")/../../lib/common.sh"

run "$top/tools/demo.sh" "$(dirname "$uft")"
[ "$status" -ne 77 ] || skip "$(tail -n 1 err)"
expect_status 0
expect_out "# tracer: function_graph"
expect_out "main() {"
expect_out "luaV_execute"
expect_out "Try next"
run "$top/tests/func/doc/run_page.py" "$top/README.md"
[ "$status" -ne 77 ] || skip "$(tail -n 1 out)"
expect_status 0
cat out
