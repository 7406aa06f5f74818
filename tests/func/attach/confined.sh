#!/bin/sh
# SPDX-License-Identifier: MIT
# confined.sh CONFINED PLAIN - threads that may not make the runtime's system calls: the program behaves as without uft, and uft reports the reason
#
# Each thread has filters of its own. They are looked at before an attach, when its hooks are in place, and when a program has been executed.
# PLAIN is the same program without prepared entries.
prepared=$(realpath "$1")
unprepared=$(realpath "$2")
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "not root, which alone may read filters"

# end_well WHAT: the program that is held ends as it would without uft.
end_well() {
	let_go
	expect_equal "$1: status" "$status" 0
	expect_equal "$1: its last word" "$(tail -n 1 held)" done
}

# refused MODE REASON
refused() {
	hold_up "$program" "$1"
	grep -q ready held || { let_go; echo "SKIPPED: $1: it cannot be done here"; return; }
	run timeout 60 "$uft" attach -o x.uft "$held"
	expect_status 1
	expect_err "$2"
	sleep 0.1
	end_well "$1"
}

for program in "$prepared" "$unprepared"; do
	refused filter "its seccomp filter would kill it for system calls of the tracing: rt_sigprocmask, "
	refused strict " is under strict seccomp"
	refused dispatch "dispatches system calls to the program's own code"
	# They confine themselves in the middle of the attach: it fails, or their hooks ask before.
	hold_up "$program" filters
	attach_until has_armed -o x.uft "$held" 2>/dev/null
	end_well filters
	run "$uft" record -q -l deep -o x.uft "$program" jumps
	expect_status 0
	expect_out done
	expect_equal "calls of what is executed" "$("$uft" report --profile x.uft | awk '$NF == "deep" { print $1 }')" 550
	for what in 'exec:not followed: .* its seccomp filter would kill it .*: pidfd_open, ' 'dispatch:it dispatches its system calls'; do
		mode=${what%%:*}
		echo x | "$program" $mode >own || { echo "SKIPPED: $mode: it cannot be done here"; continue; }
		run sh -c 'echo | "$@"' - "$uft" record -o x.uft "$program" $mode
		expect_status 0
		expect_out done
		check
		grep -q "${what#*:}" err || { fail "$mode: the reason is not said"; show; }
	done
done
