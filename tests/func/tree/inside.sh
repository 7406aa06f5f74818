# SPDX-License-Identifier: MIT
# inside.sh - sourced by the tests of this directory: inside 'COMMANDS' runs in uft shell, in the tracing directory, with $T the program
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

target=$1
export T="$target" TMP="$tmp"

inside() {
	in_shell "cd /sys/kernel/tracing; $1"
}
