# SPDX-License-Identifier: MIT
# shell.sh - sourced after common.sh by tests that need uft shell with its mounts: skips where there can be none
[ -c /dev/fuse ] && [ -w /dev/fuse ] || skip "no FUSE on this machine"
need fusermount3 unshare bash timeout
unshare -rm true 2>/dev/null || [ "$(id -u)" -eq 0 ] || skip "no mount namespaces for us here"

# in_shell 'COMMANDS': they have no single quotes
in_shell() {
	run timeout 250 "$uft" shell -c "exec bash -c '$1'"
}

# For trace-cmd record -F sh recorded PROGRAM ARGS...: trace-cmd starts its recorders as processes, and ends them by a signal that is deadly
# to one that has not come as far as its file; a program that is over at once is over before that.
cat >recorded <<'end'
for i in $(seq 600); do
	[ "$(ls trace.dat*cpu* 2>/dev/null | grep -c .)" -ge "$(getconf _NPROCESSORS_CONF)" ] && break
	sleep 0.1
done
exec "$@"
end
