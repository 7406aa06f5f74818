# SPDX-License-Identifier: MIT
# shell.sh - sourced after common.sh by tests that need uft shell with its mounts: skips where there can be none
[ -c /dev/fuse ] && [ -w /dev/fuse ] || skip "no FUSE on this machine"
need fusermount3 unshare bash timeout
unshare -rm true 2>/dev/null || [ "$(id -u)" -eq 0 ] || skip "no mount namespaces for us here"

# in_shell 'COMMANDS': they have no single quotes
in_shell() {
	run timeout 250 "$uft" shell -c "exec bash -c '$1'"
}
