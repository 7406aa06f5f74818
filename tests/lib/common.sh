# SPDX-License-Identifier: MIT
#
# common.sh - for shell tests: . "$(dirname "$0")/../../lib/common.sh"
#
# Gives $uft (the built program), $top (the source tree), $tmp (a private directory, removed at the end, and the
# current directory of the test), and the checks below. A check that fails says what it saw and the test goes on; the
# exit status is 1 if any failed, 0 otherwise, 77 after skip.

set -u
unset DEBUGINFOD_URLS		# no test asks the network
# Nor is it a user's business here in which words tools complain, how they sort, or who may read what they write.
LC_ALL=C
export LC_ALL
unset CDPATH POSIXLY_CORRECT NO_COLOR UFT_TRACE
umask 022
top=$(cd "$(dirname "$0")/../../.." && pwd)
uft=${UFT:-$top/build/uft}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/uft-test.XXXXXX")
checks_failed=0
checks_done=0
background=
cd "$tmp" || exit 1

finish_test() {
	test_status=$?
	for process in $background; do grep -qs "^PPid:.$$\$" "/proc/$process/status" && kill "$process"; done
	cd /
	[ -n "${KEEP:-}" ] && echo "kept: $tmp" || rm -rf "$tmp"
	[ "$test_status" -ne 0 ] && exit "$test_status"
	[ "$checks_failed" -eq 0 ] || { echo "$checks_failed of $checks_done checks failed"; exit 1; }
	[ "$checks_done" -gt 0 ] || { echo "no check was made"; exit 1; }
	echo "$checks_done checks"
	exit 0
}
trap finish_test EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ends_with_test PID: a child that still runs when the test ends is ended with it
ends_with_test() { background="$background $1"; }

skip() {
	echo "SKIP: $*"
	exit 77
}

need() {
	for tool; do
		command -v "$tool" >/dev/null 2>&1 || skip "$tool is not installed"
	done
}

# need_libc CC [FLAG...]: it builds programs so; where it does not, a C library for it is missing, or it does not know a flag
need_libc() {
	echo 'int main(void) { return 0; }' >need_libc.c
	"$@" need_libc.c -o need_libc 2>need_libc.err || skip "$* builds no program: $(tail -n 1 need_libc.err)"
}

# must_build CC...: what cannot be built fails the test, and ends it
must_build() {
	"$@" 2>err || { fail "build: $*"; cat err; exit 1; }
}

# has WHAT TOOL...: if one is missing, WHAT is skipped, and run.sh lists it
has() {
	what=$1
	shift
	for tool; do
		command -v "$tool" >/dev/null 2>&1 || { echo "SKIPPED: $what: $tool is not installed"; return 1; }
	done
}

fail() {
	echo "FAIL: $*"
	checks_failed=$((checks_failed + 1))
}

# run CMD...: its output is in the files out and err, its status in $status.
run() {
	status=0
	"$@" >out 2>err </dev/null || status=$?
	ran="$*"
}

show() {
	echo "  ran: $ran"
	echo "  status: $status"
	sed 's/^/  out: /' out | head -n 20
	sed 's/^/  err: /' err | head -n 20
}

check() {
	checks_done=$((checks_done + 1))
}

expect_status() {
	check
	[ "$status" -eq "$1" ] || { fail "exit status $status, expected $1"; show; }
}

# expect_out TEXT, expect_err TEXT: a line of it contains TEXT.
expect_out() {
	check
	grep -qF -e "$1" out || { fail "standard output lacks '$1'"; show; }
}

expect_err() {
	check
	grep -qF -e "$1" err || { fail "standard error lacks '$1'"; show; }
}

expect_no_out() {
	check
	[ ! -s out ] || { fail "standard output is not empty"; show; }
}

expect_no_err() {
	check
	[ ! -s err ] || { fail "standard error is not empty"; show; }
}

expect_err_lines() {
	check
	[ "$(wc -l <err)" -eq "$1" ] || { fail "standard error has $(wc -l <err) lines, expected $1"; show; }
}

# expect_equal WHAT SEEN EXPECTED
expect_equal() {
	check
	[ "$2" != "$3" ] || return 0
	fail "$1: saw '$2', expected '$3'"
	[ ! -s err ] || sed 's/^/  err of the last run: /' err | head -n 5
}

# expect_file FILE, expect_no_file FILE
expect_file() {
	check
	[ -e "$1" ] || fail "there is no $1"
}

expect_no_file() {
	check
	[ ! -e "$1" ] || fail "there is a $1"
}

# build_traced NAME FLAGS... : compiles $NAME.c in the current directory to $NAME with patchable entries.
build_traced() {
	name=$1
	shift
	${CC:-cc} -O1 -g -fpatchable-function-entry=5 "$@" -o "$name" "$name.c" || { echo "cannot build $name"; exit 1; }
}

# expect_left WHAT PID: no arena is mapped in it, wherever arenas are made
expect_left() {
	expect_equal "$1: what is still ours" "$(grep -c '/session\.' "/proc/$2/maps")" 0
}

# eventually CMD...: until it succeeds; two minutes at most, however slow the machine is.
eventually() {
	for _ in $(seq 1200); do
		"$@" 2>/dev/null && return 0
		sleep 0.1
	done
	return 1
}

has_stopped() {
	! cat "/proc/$1"/task/*/stat | sed 's/.*) //; s/ .*//' | grep -qv T
}

# stop PID: sends SIGSTOP, and returns when all its threads have stopped; they run on until one of them takes the signal
stop() {
	kill -STOP "$1"
	eventually has_stopped "$1" || fail "$1 does not stop"
}

# first_cpus: $CPU and $CPU2 are those that we may run on, which need not be 0 and 1; $CPU2 is empty where there is one only
first_cpus() {
	# shellcheck disable=SC2046
	set -- $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr , '\n' |
		awk -F- '{ for (c = $1; c <= $NF && n < 2; c++) { print c + 0; n++ } }')
	CPU=$1 CPU2=${2:-}
	export CPU CPU2
}

# possible_cpus: how many there could be: directories in per_cpu, rings
possible_cpus() {
	echo $(($(sed 's/.*[-,]//' /sys/devices/system/cpu/possible) + 1))
}

# free_port: one that nobody listens at
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# stat_value FILE KEY: a number of `uft stat`.
stat_value() {
	"$uft" stat "$1" | sed -n "s/^$2: //p"
}
