# SPDX-License-Identifier: MIT
# inside.sh - sourced by the tests of this directory: $T is the program, inside 'COMMANDS' runs in uft shell, in $tmp
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

export D=/sys/kernel/tracing

inside() {
	in_shell "$1"
}

# names FILE: the functions of a report or a trace, in order
names() {
	sed -n 's/.*function: *\([a-z_0-9]*\).*/\1/p;s/.*: \([a-z_0-9]*\) <-.*/\1/p' "$1" | tr '\n' ' '
}
