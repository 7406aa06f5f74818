#!/bin/sh
# SPDX-License-Identifier: MIT
# uml.sh - the Linux kernel as a process: Debian's user-mode-linux, traced while it boots and while it runs
#
# It switches stacks for its tasks, lives in signal handlers and ptraces its children. The work inside must come to the
# same result whoever looks on; the file system is the host's, read-only, but for a directory of the test.
. "$(dirname "$0")/../../lib/common.sh"
need linux.uml md5sum tar
noxstate=$NOXSTATE

cat >work <<'END'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t hostfs none /mnt -o SCRATCH || halt -f
exec >/mnt/result 2>&1
[ -s /mnt/kallsyms ] || cat /proc/kallsyms >/mnt/kallsyms
echo begin
if [ -e /mnt/wait ]; then
	: >/mnt/ready
	while [ -e /mnt/wait ]; do cat /etc/passwd >/dev/null; done
fi
i=0; while [ $i -lt 200 ]; do i=$((i + 1)); done; echo "loop $i"
tar -C /usr/share/common-licenses -cf - . | md5sum
dd if=/dev/zero bs=64k count=16 2>/dev/null | md5sum
for i in 1 2 3; do /bin/echo "child $i"; done
find /etc/init.d -type f | sort | md5sum
echo end
exec >/dev/null 2>&1
halt -f
END
sed -i "s|SCRATCH|$tmp|" work
chmod +x work

# boot PREFIX...: boots with the work as init, started by PREFIX; ends it after a quarter of an hour: a hang. The work's output is in result.
boot() {
	rm -f result ready
	mkdir -p umldir
	"$noxstate" "$@" linux.uml mem=256M rootfstype=hostfs rootflags=/ ro "init=$tmp/work" con=null con0=fd:0,fd:1 \
		"uml_dir=$tmp/umldir" umid=t </dev/null >console 2>&1 &
	booted=$!
}
finish() {
	tries=0
	while kill -0 $booted 2>/dev/null && [ $tries -lt 9000 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	end_all
	status=0
	wait $booted || status=$?
}
# The kernel's own process, from its pid file; its children die with it.
end_all() {
	kill -0 $booted 2>/dev/null || return
	[ -s umldir/t/pid ] && kill -9 "$(cat umldir/t/pid)" 2>/dev/null
	kill $booted
}
# went_well WHAT: the result is that of the untraced run, and nothing went astray.
went_well() {
	check
	if [ "$status" -ne 0 ] || ! cmp -s result plain; then
		fail "$1: status $status, the work's output is not that of the untraced run"
		tail -n 15 console | tr -d '\0' | sed 's/^/  console: /'
	fi
	[ -s x.uft ] || return
	expect_equal "$1: returns without a call" "$(stat_value x.uft counter_lost_return)" 0
}

boot
finish
[ "$(tail -n 1 result 2>/dev/null)" = end ] || skip "linux.uml does not boot here untraced: $(grep -a -m1 panic console)"
cp result plain

# Its scheduler.
boot "$uft" record -q -p function -l 'sched*' -l '*schedule*' --symbols kallsyms -o x.uft
finish
went_well "its scheduler"
expect_equal "scheduler: lost" "$(stat_value x.uft lost)" 0
run "$uft" report x.uft
check
[ "$(grep -c ': schedule <-' out)" -gt 20 ] || { fail "schedule() was not seen"; head -n 20 out; }

# What a read is, from the system call down.
boot "$uft" record -q -p function_graph -g vfs_read --symbols kallsyms -o x.uft
finish
went_well "vfs_read"
expect_equal "vfs_read: lost" "$(stat_value x.uft lost)" 0
run "$uft" report x.uft
check
[ "$(grep -c '|  vfs_read() {' out)" -gt 20 ] || { fail "vfs_read() was not seen"; head -n 20 out; }
check
grep -q '|      .*filemap_read() {' out || fail "no page was read below vfs_read()"

# Traced from its start, left while it runs: it goes on as if nothing had been.
: >wait
boot "$uft" record -q -p function_graph -l 'vfs_*' --symbols kallsyms -o x.uft
tries=0
until [ -e ready ] || [ $tries -ge 9000 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
kernel=$(cat umldir/t/pid)
run "$uft" detach "$kernel"
expect_status 0
expect_left "after the detach" "$kernel"
rm wait
tries=0
until [ "$(tail -n 1 result)" = end ] || [ $tries -ge 9000 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
finish
expect_equal "the work after a detach" "$(cmp result plain && echo same)" same
check
[ "$(stat_value x.uft calls)" -gt 20 ] || fail "nothing was recorded before the detach"

# All of it.
boot "$uft" record -q -p function_graph --symbols kallsyms -o x.uft
finish
went_well "every function"
check
[ "$(stat_value x.uft calls)" -gt 1000000 ] || fail "only $(stat_value x.uft calls) calls of the whole kernel"
rm -f x.uft
