#!/bin/sh
# SPDX-License-Identifier: MIT
#
# impostor.sh IMPOSTOR [ROUNDS] - a target claims another process's number: that process is left alone (UFT_RUNS: as in hostile.sh)
impostor=$(realpath "$1") rounds=${2:-${UFT_RUNS:-1}}
. "$(dirname "$0")/../../lib/common.sh"
need timeout
chmod 711 .		# root's impostor has given up its rights when it looks for files here

# pretend HOW SIGNAL: the recorder, once it has seen the impostor, is ended by SIGNAL.
pretend() {
	rm -rf d
	mkdir -m 777 d
	cd d || exit 1
	"$impostor" "$1" &
	pid=$!
	timeout -s KILL 90 "$uft" attach -o t.uft -l work "$pid" 2>../err &
	recorder=$!
	soon=600
	while [ ! -e ready ] && [ "$soon" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do
		sleep 0.1
		soon=$((soon - 1))
	done
	kill "-$2" "$(cat /proc/"$recorder"/task/"$recorder"/children 2>/dev/null | awk '{ print $1 }')" 2>/dev/null
	wait "$recorder" 2>/dev/null
	soon=600
	while grep -q /session\\. "/proc/$pid/maps" 2>/dev/null && [ "$soon" -gt 0 ]; do	# the guard's turn
		sleep 0.1
		soon=$((soon - 1))
	done
	is_ready=$(ls ready 2>/dev/null)
	: >over
	its=0
	wait "$pid" || its=$?
	cd ..
	check
	case $its in
	0) ;;
	3) skip "$1: the program was not attached to" ;;
	2) [ -z "$is_ready" ] || { fail "$1: the impostor ended early"; cat err; }
	   [ -n "$is_ready" ] || echo "SKIPPED: $1: the impostor had no memory to lie in" ;;
	*) fail "$1: the other target came to harm ($its, ${is_ready:-before it was ready})"; cat err ;;
	esac
	! grep -q 'Sanitizer\|runtime error' err || { fail "$1: a memory error"; cat err; }
}

round=0
while [ "$round" -lt "$rounds" ]; do
	pretend fork INT
	pretend map INT
	pretend exec INT
	pretend guard KILL
	round=$((round + 1))
done
