#!/bin/sh
# SPDX-License-Identifier: MIT
# cgroup.sh PROGRAM - attach to all processes of a name or a control group; the error if there is none
top_dir=$(dirname "$0")
program=$(realpath "$1")
. "$top_dir/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"

# A name that nobody else has.
name=uft-cg$$
cp "$program" $name
pids=

start() {
	./$name &
	pids="$pids $!"
	until [ "$(cat /proc/$!/comm)" = $name ] || ends $!; do sleep 0.02; done
}
# with_calls N: so many processes have calls in the recording, as far as that is written.
with_calls() {
	[ "$("$uft" report x.uft 2>/dev/null | sed -n "s/^ *$name-\([0-9]*\) .*work.*/\1/p" | sort -u | wc -l)" -eq "$1" ]
}
# recorded WHAT N ARGS...: as many processes as that are attached to, and each has calls in the recording.
recorded() {
	what=$1 n=$2
	shift 2
	rm -f x.uft
	ran="$*" status=0
	"$uft" "$@" -p function -l work -o x.uft >out 2>err &
	attacher=$!
	wait_until "with_calls $n" $attacher
	kill -TERM $attacher 2>/dev/null
	wait $attacher || status=$?
	check
	grep -q "attached to $n process" err || { fail "$what: not $n processes"; show; }
	check
	with_calls "$n" || { fail "$what: processes with calls"; show; }
}

start
start
recorded "by name" 2 attach $name
recorded "by --name" 2 attach --name $name
recorded "uft record --name" 2 record --name $name
run "$uft" attach --name $name-x
expect_status 1
expect_err "no process is called '$name-x'"
# A server and its worker, which are called the same: who names the first alone is told of the other.
cp "$(readlink -f /bin/sh)" $name-m
mkfifo stay
./$name-m -c '(read x <stay; :) & wait' &
server=$!
until [ -n "$(cat /proc/$server/task/$server/children 2>/dev/null)" ] || [ ! -e /proc/$server/task/$server/children ]; do sleep 0.02; done
if [ -e /proc/$server/task/$server/children ]; then
	worker=$(tr -d ' ' </proc/$server/task/$server/children)
	"$uft" attach -p function -o m.uft $server,$worker >out 2>err7 &
	both=$!
	wait_until "'$uft' report m.uft >/dev/null 2>&1" $both
	kill -TERM $both && wait $both
	"$uft" attach -p function -o n.uft $server >out 2>err &
	alone=$!
	wait_until "grep -q 'takes all' err" $alone
	echo >stay
	wait $alone
	ran="attach to a server alone" status=0
	expect_err "process $server has 1 child of its own name already, not recorded: uft attach $name-m takes all of them"
	expect_equal "with its worker" "$(grep -c 'takes all' err7)" 0
else
	echo "SKIPPED: a server's worker: the kernel does not tell of children"
	echo >stay
fi
wait $server

# A recorder is found by its name, and refused; its guard, of the same file, is not.
guarded() {
	for p in $(grep -slx uft-guard /proc/[0-9]*/comm); do
		[ "$(readlink "${p%comm}exe")" = "$tmp/$name-y" ] && return 0
	done
	return 1
}
cp "$uft" $name-y
mkfifo end
./$name-y record -o y.uft cat <end >/dev/null 2>&1 &
recorder=$!
exec 7>end
until guarded || ! kill -0 $recorder; do sleep 0.1; done
run "$uft" attach --name $name-y
expect_status 1
expect_equal "how often it is said that it cannot be attached to" "$(grep -c "$recorder ($name-y) is traced by another session" err)" 1
expect_err "uft attach: could not attach to any process"
[ "$(grep -c uft-guard err)" -eq 0 ] || { fail "a guard is found by name"; show; }
exec 7>&-
wait $recorder
run "$uft" attach --cgroup $name-x
expect_status 1
expect_err "there is no cgroup '$name-x'"
run "$uft" attach --cgroup /
expect_status 1
expect_err "there is no cgroup '/'"
run "$uft" record --cgroup $name-x ./$name
expect_status 1
expect_err "there is no cgroup '$name-x'"

root=
for dir in /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ -z "$root" ] && [ -e $dir/cgroup.controllers ] && mkdir $dir/$name 2>/dev/null && root=$dir
done
finish() {
	# shellcheck disable=SC2086
	kill $pids 2>/dev/null
	# shellcheck disable=SC2086
	wait $pids 2>/dev/null
	tries=0
	while [ -n "$root" ] && [ -e "$root/$name" ] && [ $tries -lt 50 ]; do
		rmdir "$root/$name/below" "$root/$name" 2>/dev/null || sleep 0.1
		tries=$((tries + 1))
	done
}
if [ -z "$root" ]; then
	finish
	[ $checks_failed -eq 0 ] || exit 1
	skip "there is no control group of version 2 that this user may write"
fi

run "$uft" attach --cgroup $name
expect_status 1
expect_err "the cgroup '$name' has no process"
mkdir "$root/$name/below"
i=0
for pid in $pids; do
	i=$((i + 1))
	[ $i -eq 1 ] && echo "$pid" >"$root/$name/cgroup.procs" || echo "$pid" >"$root/$name/below/cgroup.procs"
done
start		# is in none
path=$(sed -n 's/^0:://p' "/proc/${pids##* }/cgroup")
recorded "a cgroup and the one below it" 2 attach --cgroup $name
recorded "by its folder" 2 record --cgroup "$root/$name"
recorded "by its path in /proc" 1 attach --cgroup "0::/$name/below"
recorded "as an argument" 1 attach $name/below
# uft is in it as well, and so are its guard and the tasks it makes.
rm -f x.uft
sh -c "echo \$\$ >$root/$name/cgroup.procs; exec \"\$@\"" sh "$uft" attach --cgroup $name -p function -o x.uft 2>err &
attacher=$!
wait_until "with_calls 2" $attacher
kill $attacher
wait $attacher
ran="uft in the cgroup that it attaches to" status=$?
expect_status 0
expect_err "attached to 2 processes"
expect_equal "warnings with uft in it" "$(grep -c warning err)" 0
echo threaded >"$root/$name/below/cgroup.type" 2>/dev/null && {
	run "$uft" attach --cgroup $name/below
	expect_status 1
	expect_err "is threaded"
}
finish
