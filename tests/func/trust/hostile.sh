#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hostile.sh HOSTILE [ROUNDS] - a target that overwrites the memory that it shares with its recorder: the recorder neither crashes nor hangs, nor
# complains of memory errors (if it was built with sanitizers)
#
# In several rounds UFT_CHAIN targets (53) of a mode have one recorder: they are children of one target, or are attached to by one command.
# The three modes that are about the recorder's end (leave_deaf) run once in as many rounds. UFT_RUNS is another way to give ROUNDS
# (make soak: 1,000), UFT_JOBS says how many recorders there are at a time (most of a round is sleep), and no part begins after
# UFT_SECONDS. UFT_MODES is a pattern of the modes to run then ("heir late fork", "spares taken attach"). A target ends itself after 10 s;
# the recorder has to end within 5 s after its last process. A run in which one of them takes longer is printed, and in the end how many
# runs there were of each mode and how many were late; a late recorder is a failure in several rounds, which are run on a machine that has
# time for them.
hostile=$(realpath "$1") rounds=${2:-${UFT_RUNS:-1}} round=1 jobs=${UFT_JOBS:-1} seconds=${UFT_SECONDS:-0} pattern=${UFT_MODES:-.} longest=0 longest_mode=none
. "$(dirname "$0")/../../lib/common.sh"
need timeout mkfifo
unset UFT_HOSTILE_AGAIN
bound_ms=5000
began=$(date +%s)
: >late
: >modes

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# Each process of the target holds the other end of a pipe.
watch_target() {
	rm -f alive
	mkfifo alive
	{ cat alive >/dev/null; now_ms >ended; } &
	watcher=$!
	begin=$(now_ms)
}

# look_at_time MODE [N]: of N targets in turn
look_at_time() {
	end=$(now_ms)
	: 8<>alive			# perhaps no process came so far as to hold it
	wait "$watcher"
	ended=$(cat ended)
	took=$((end > ended ? end - ended : 0))
	for _ in $(seq "${2:-1}"); do echo "$1"; done >>modes
	[ "$took" -lt "$longest" ] || { longest=$took longest_mode=$1; }
	if [ $# -eq 1 ] && [ $((ended - begin)) -gt "$bound_ms" ]; then
		echo "round $round: $1: the target went on for $((ended - begin)) ms"
		echo "target of $1" >>late
	fi
	if [ "$took" -gt "$bound_ms" ]; then
		echo "round $round: $1: the recorder ended $took ms after its target"
		echo "recorder of $1" >>late
		[ "$rounds" -eq 1 ] || fail "$1: $took ms until the recorder had ended"
	fi
}

# bounded MODE: what it says that it lost is not more than there was time for, in the summary and in the file
bounded() {
	"$uft" stat t.uft >stat 2>/dev/null || return 0
	! tr -d , <err | grep -E '[0-9]{15}' && ! grep -E '^(lost|lost_parts|missing|counter_[a-z_]+): [0-9]{15}' stat || fail "$1: more is lost than can be"
}

# survive REGION HOW PHASE OPTION...
survive() {
	region=$1 how=$2 phase=$3
	shift 3
	rm -f t.uft
	watch_target
	UFT_HOSTILE_SEED=$round run timeout -s KILL 60 "$uft" record -o t.uft "$@" "$hostile" "$region" "$how" "$phase"
	check
	look_at_time "$region $how $phase"
	# 128 + a signal is the program's if it died of one; the recording is whole then.
	case $status in
	126|127) fail "$region $how $phase: the target was not run"; show ;;
	137) fail "$region $how $phase: the recorder hung"; show ;;
	134|135|139) "$uft" stat t.uft | grep -qx 'complete: yes' ||
		{ fail "$region $how $phase: the recorder crashed"; show; } ;;
	esac
	! grep -q 'Sanitizer\|runtime error' err || { fail "$region $how $phase: a memory error"; show; }
	[ "$status" -ne 4 ] || { fail "$region $how $phase: the target can write to the board"; show; }
	bounded "$region $how $phase"
	[ "$status" -eq 3 ] && skip "nothing of the recorder's was found in the target"
	return 0
}

is_wanted() {
	[ "$rounds" -eq 1 ] || echo "$*" | grep -qE "$pattern"
}

# chain N REGION HOW PHASE OPTION...: N targets in turn, beside their parent, all calls of which must be in the file. Only work() has
# events, because those of the spoiling thread cost the recorder more than all the rest.
chain() {
	n=$1 region=$2 how=$3 phase=$4
	shift 4
	rm -f t.uft stat
	: >stat
	is_wanted "$region $how $phase" || return 1
	watch_target
	UFT_HOSTILE_SEED=$round run timeout -s KILL $((60 + n * 10)) "$uft" record -o t.uft -l work -l witness "$@" "$hostile" repeat "$n" "$region" "$how" "$phase"
	expect_status 0
	look_at_time "$region $how $phase" "$n"
	! grep -q 'Sanitizer\|runtime error' err || { fail "chain $region $how $phase: a memory error"; show; }
	grep -q "^found [1-9][0-9]* late [0-9]* changed 0$" out || { fail "chain $region $how $phase: $(cat out)"; show; }
	"$uft" stat t.uft >stat
	if grep -qx 'tracer: profile' stat; then
		calls=$("$uft" report --flat --csv t.uft | awk -F, '/witness/ { print $1 }')
	else
		calls=$("$uft" report t.uft 2>/dev/null | grep -c ' witness\( <-\|()\)')
	fi
	expect_equal "chain $region $how $phase: calls of the parent" "$calls" "$n"
	sed "s/^/chain of $n: $region $how $phase: /" out
	late=$(sed -n 's/^found .* late \([0-9]*\) .*/\1/p' out)
	for _ in $(seq "${late:-0}"); do echo "target of $region $how $phase" >>late; done
	[ "$region" != orphan ] || expect_equal "orphan: agents, or runs, that took over 5 s" "${late:-none}" 0
	bounded "$region $how $phase"
}

# has_calls CALLS: so many has the file of the chain, and those of the parent
has_calls() {
	grep -qx "calls: $(($1 + n))" stat
}

# survive_attached REGION HOW [N]: the same of one that runs already, or of N, all of which one recorder has
survive_attached() {
	region=$1 how=$2 n=${3:-1} pids=
	is_wanted "$region $how attach" || return 0
	watch_target
	for i in $(seq "$n"); do
		UFT_HOSTILE_SEED=$((round * 1000 + i)) "$hostile" "$region" "$how" attach &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086
	run timeout -s KILL $((60 + n * 10)) "$uft" attach -o t.uft $pids
	check
	look_at_time "attach $region $how" ${3:+"$n"}
	case $status in
	137) fail "attach $region $how: the recorder hung"; show ;;
	134|135|139) fail "attach $region $how: the recorder crashed"; show ;;
	esac
	! grep -q 'Sanitizer\|runtime error' err || { fail "attach $region $how: a memory error"; show; }
	for pid in $pids; do
		its=0
		wait "$pid" || its=$?
		[ "$its" -ne 4 ] || { fail "attach $region $how: the target can write to the board"; show; }
		[ "$its" -ne 6 ] || { fail "attach $region $how: one target has taken most of the memory for others' children"; show; }
		[ "$its" -ne 142 ] || echo "target of attach $region $how" >>late
	done
}

# leave_deaf REGION SECONDS: six processes whose agents are stopped: what the recorder waits for them when it ends is bounded for
# all together.
leave_deaf() {
	is_wanted "$1 once attach" || return 0
	rm -f deaf left alive
	echo "leave deaf $1" >>modes
	"$hostile" "$1" once attach &
	pid=$!
	timeout -s KILL 90 "$uft" attach -o t.uft "$pid" 2>err &
	recorder=$!
	soon=600
	while [ ! -e deaf ] && [ "$soon" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do
		sleep 0.1
		soon=$((soon - 1))
	done
	begin=$(date +%s)
	kill -INT "$(cat /proc/"$recorder"/task/"$recorder"/children 2>/dev/null | awk '{ print $1 }')" 2>/dev/null
	wait "$recorder"
	took=$(($(date +%s) - begin))
	check
	if [ ! -e deaf ]; then
		echo "SKIPPED: $1: no agent was found in the target"
		wait "$pid"
		return
	fi
	[ "$took" -le "$2" ] || { fail "$1: $took s until the recorder had ended"; cat err; }
	[ "$1" != restore ] || grep -q 'could not be put back' err || { fail "restore: it is not said"; cat err; }
	: >left
	wait "$pid"
}

# How the recorder ends, so that each has one of its own.
leave_each_deaf() {
	# Commands in vain, 5 s the first; then 5 s for all answers; twice that for each on a machine where agents get no CPU.
	leave_deaf agent 25
	# All agents answer, but code is never put back: 5 s for the first, 10 s for all.
	leave_deaf restore 20
	# Each command has its answer, just in time.
	leave_deaf tardy 25
}

CHAIN=${UFT_CHAIN:-53}
# chains N: N targets of each mode, below one recorder
chains() {
	for how in once always turns; do
		chain "$1" mail $how run
		chain "$1" command $how run
		chain "$1" rings $how run -p function_graph
		chain "$1" slice $how run
	done
	chain "$1" file once run
	for how in early late double; do
		chain "$1" answers $how fork
	done
	chain "$1" requests always fork
	chain "$1" bell always run
	chain "$1" slice turns fork
	chain "$1" mail always exec
	chain "$1" board once fork -p profile
	chain "$1" orphan once run
	chain "$1" file once run -p function_graph -z 1
	for how in once unseen chroot filter user; do
		chain "$1" heir $how fork -p function_graph || continue
		has_calls $((4 * $1)) && grep -qx 'counter_no_slice: 0' stat || { fail "heir $how: not all children were followed"; cat stat err; }
	done
	! chain "$1" heir late fork -p function_graph || has_calls $((20004 * $1)) || ! grep -qx 'lost: 0' stat ||
		{ fail "heir late: what the last child did is lost, and not counted"; cat stat err; }
	for when in run fork exec thread; do
		chain "$1" drop $when run -p function_graph || continue
		if [ "$when" = exec ] && [ "$(id -u)" = 0 ]; then
			grep -q "[^0-9]$1 process\(es\)\? could not be followed" err || { fail "drop exec: it is not said"; cat err; }
		else
			has_calls $((100 * $1)) || { fail "drop $when: not all calls are there"; cat stat err; }
		fi
	done
	survive_attached board once "$1"
	survive_attached command turns "$1"
	for how in taken dropped closed; do
		survive_attached spares $how "$1"
	done
	leave_each_deaf
}

each_alone() {
	for how in once always turns; do
		survive mail $how run
		survive command $how run
		survive rings $how run -p function_graph
		survive slice $how run
	done
	survive file once run
	for how in early late double; do
		survive answers $how fork
	done
	survive requests always fork
	survive bell always run
	survive slice turns fork
}

others() {
	# An agent that is stopped would keep the memory of its process, which has ended.
	survive orphan once run
	[ "$status" -ne 0 ] || ! grep -q '^State:.[^ZX]' /proc/"$(cat agent)"/status 2>/dev/null ||
		{ fail "orphan: an agent outlives its process and its recorder"; show; kill -KILL "$(cat agent)"; }
	survive file once run -p function_graph -z 1
	# Only work() has events, so that a child looks around before its first one. Its child gets memory as well.
	for how in once unseen chroot filter user; do
		survive heir "$how" fork -p function_graph -l work
		expect_status 0
		"$uft" stat t.uft >stat
		grep -qx 'tasks: 2' stat && grep -qx 'calls: 4' stat && grep -qx 'counter_no_slice: 0' stat ||
			{ fail "heir $how: not all children were followed"; cat stat err; }
	done
	# A family that was sent for a child, which ends before it is known: three times, as the recorder may find it in another way.
	for how in late late late; do
		survive heir "$how" fork -p function_graph -l work
		expect_status 0
		"$uft" stat t.uft >stat
		grep -qx 'tasks: 2' stat && { grep -qx 'calls: 20004' stat || ! grep -qx 'lost: 0' stat; } ||
			{ fail "heir $how: what the last child did is lost, and not counted"; cat stat err; }
	done
	for when in run fork exec thread; do
		survive drop "$when" run -p function_graph -l work
		expect_status 0
		"$uft" stat t.uft >stat
		# A program that another user executes may not open the files of root's recorder: it is said, and counted.
		if [ "$when" = exec ] && [ "$(id -u)" = 0 ]; then
			grep -q 'runs as user 65534 now' err && grep -q '1 process could not be followed' err || { fail "drop exec: it is not said"; cat err; }
		else
			grep -qx 'calls: 100' stat || { fail "drop $when: not all calls are there"; cat stat err; }
		fi
	done
	survive_attached board once
	survive_attached command turns
	for how in taken dropped closed; do
		survive_attached spares $how
	done
	survive mail always exec
	survive board once fork -p profile
}

has_time() {
	[ "$seconds" -eq 0 ] || [ $(($(date +%s) - began)) -lt "$seconds" ]
}

# one_job N: each `jobs`-th part of CHAIN rounds, in a directory of its own; what it found goes to files there
one_job() {
	mkdir "job$1"
	cd "job$1" || exit 1
	round=$((($1 - 1) * CHAIN + 1)) checks_done=0 checks_failed=0
	: >late
	: >modes
	if [ "$rounds" -eq 1 ]; then
		leave_each_deaf
		each_alone
		others
	fi
	while [ "$rounds" -gt 1 ] && [ "$round" -le "$rounds" ] && has_time; do
		chains $((rounds - round + 1 < CHAIN ? rounds - round + 1 : CHAIN))
		round=$((round + jobs * CHAIN))
	done
	echo "$checks_done $checks_failed $longest $longest_mode" >result
}

[ $((jobs * CHAIN)) -le "$rounds" ] || jobs=$(((rounds + CHAIN - 1) / CHAIN))
job=1 pids=
while [ "$job" -le "$jobs" ]; do
	(one_job "$job") &
	pids="$pids $!"
	job=$((job + 1))
done
job=1
for pid in $pids; do
	wait "$pid" || { its=$?; [ "$its" -ne 77 ] || exit 77; fail "a job ended with $its"; }
done
while [ "$job" -le "$jobs" ]; do
	[ -s "job$job/result" ] || { fail "a job has no result"; break; }
	read -r its_checks its_failed its_longest its_mode <"job$job/result"
	checks_done=$((checks_done + its_checks)) checks_failed=$((checks_failed + its_failed))
	[ "$its_longest" -lt "$longest" ] || { longest=$its_longest longest_mode=$its_mode; }
	job=$((job + 1))
done
echo "late:"
sort late job*/late | uniq -c
echo "runs of each mode:"
sort modes job*/modes | uniq -c
echo "the longest that a recorder took after its target: $longest ms: $longest_mode"
