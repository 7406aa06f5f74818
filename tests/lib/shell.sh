# SPDX-License-Identifier: MIT
# shell.sh - sourced after common.sh by tests that need uft shell with its mounts: skips where there can be none
[ -c /dev/fuse ] && [ -w /dev/fuse ] || skip "no FUSE on this machine"
need fusermount3 unshare bash timeout
unshare -rm true 2>/dev/null || [ "$(id -u)" -eq 0 ] || skip "no mount namespaces for us here"

# in_shell 'COMMANDS': they have no single quotes. They have UFT_SHELL_S seconds: more with sanitizers (tests/sanitize.sh).
in_shell() {
	run timeout "${UFT_SHELL_S:-250}" "$uft" shell -c "exec bash -c '$1'"
}

# For trace-cmd record -F sh recorded PROGRAM ARGS...: trace-cmd starts its recorders as processes, and ends them by a
# signal when the program is over. It kills one that has not made its file yet, and one that has not begun to read then
# reads nothing. So the program waits for all of them: one that has opened its trace_pipe_raw sleeps only when it reads.
cat >recorded <<'end'
reading() {
	n=0
	for pid in $(cat /proc/$PPID/task/$PPID/children); do
		ls -l /proc/$pid/fd 2>/dev/null | grep -q trace_pipe_raw && grep -q '^State:.[SD]' /proc/$pid/status && n=$((n + 1))
	done
	[ $n -ge "$(getconf _NPROCESSORS_CONF)" ]
}
for i in $(seq 600); do
	reading && break
	sleep 0.1
done
exec "$@"
end
