# SPDX-License-Identifier: MIT
# inside.sh - sourced by the tests of this directory: $T is the program, inside 'COMMANDS' runs in uft shell, in $tmp
. "$(dirname "$0")/../../lib/common.sh"

[ -c /dev/fuse ] && [ -w /dev/fuse ] || skip "no FUSE on this machine"
need fusermount3 unshare bash timeout
unshare -rm true 2>/dev/null || [ "$(id -u)" -eq 0 ] || skip "no mount namespaces for us here"

inside() {
	run timeout 100 env D=/sys/kernel/tracing "$uft" shell -c "exec bash -c '$1'"
}

# names FILE: the functions of a report or a trace, in order
names() {
	sed -n 's/.*function: *\([a-z_0-9]*\).*/\1/p;s/.*: \([a-z_0-9]*\) <-.*/\1/p' "$1" | tr '\n' ' '
}
