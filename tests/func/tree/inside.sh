# SPDX-License-Identifier: MIT
# inside.sh - sourced by the tests of this directory: inside 'COMMANDS' runs in uft shell, in the tracing directory, with $T the program
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

target=$1
export T="$target" TMP="$tmp"
first_cpus

# In it, `soon COMMAND` tries a command until it succeeds; a minute at most.
inside() {
	in_shell 'soon() { for soon in $(seq 600); do eval "$1" && break; sleep 0.1; done; }; cd /sys/kernel/tracing; '"$1"
}
