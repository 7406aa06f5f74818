#!/bin/sh
# SPDX-License-Identifier: MIT
# beside.sh - hazards of each kind with two tracers at once: same output, same status, exact counts of both
#
#	beside.sh UFT HAZARDS HAZARDS_CC HAZARDS_MCOUNT
#
# Inside uft shell: the graph and function in another instance, the graph and the profile, function and the profile. The
# program counts its own calls (count.h). Counted are lines of `trace` and numbers of trace_stat.
set -u
uft=$(realpath "$1") hazards=$(realpath "$2") cc=$(realpath "$3") mcount=$(realpath "$4")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cat >"$dir/inside" <<'S'
cd /sys/kernel/tracing || exit 99
echo 131072 >buffer_size_kb
case $HOW in
graph-function)
	mkdir instances/other
	echo 131072 >instances/other/buffer_size_kb
	echo function_graph >current_tracer
	echo function >instances/other/current_tracer ;;
graph-profile)
	echo function_graph >current_tracer
	echo 1 >function_profile_enabled ;;
function-profile)
	echo function >current_tracer
	echo 1 >function_profile_enabled ;;
esac
(cd "${PROG%/*}" && HAZARD_COUNTS="$DIR/counts" timeout 120 "$PROG" "$CASE" >"$DIR/out" 2>"$DIR/err" </dev/null)
echo $? >"$DIR/status"
# plain programs are traced as well: those that read, too
for k in tracing_on instances/*/tracing_on; do
	[ ! -e $k ] || echo 0 >$k
done
# a long call has a # before its duration
graph() { sed -n '/^#/d; s/^[^|]*|  *\(.*\)()\( {\|;\).*$/1 \1/p' "$1"; }
function() { sed -n '/^#/d; s/^.*: \(.*\) <-.*$/1 \1/p' "$1"; }
case $HOW in
graph-*) graph trace >"$DIR/first" ;;
*) function trace >"$DIR/first" ;;
esac
case $HOW in
*-function) function instances/other/trace >"$DIR/second" ;;
*) cat trace_stat/function* | awk '$2 ~ /^[0-9]+$/ { print $2, $1 }' >"$DIR/second" ;;
esac
cat per_cpu/cpu*/stats instances/*/per_cpu/cpu*/stats 2>/dev/null | awk '/^(overrun|dropped events):/ { n += $NF } END { print n + 0 }' >"$DIR/lost"
S

# differs FILE: where its calls are others than the program counted
differs() {
	awk '
		NR == FNR { want[$2] = $3; next }
		{ n = $0; sub(/^[^ ]+ +/, "", n); sub(/\(.*$/, "", n); sub(/^.*::/, "", n); sub(/\.[0-9]+$/, "", n); got[n] += $1 }
		END {
			# before and behind what the program counts, or made by the compiler
			split("ctor dtor picked pick_resolve __tls_init", uncounted, " ")
			for (i in uncounted)
				delete want[uncounted[i]]
			for (n in want) {
				compared++
				if (got[n] + 0 != want[n])
					printf "%s: %d, counted %d\n", n, got[n], want[n]
			}
			if (!compared)
				print "nothing is compared"
		}' "$dir/counts" "$1"
}

failed=0 passed=0
# one HOW PROGRAM CASE
one() {
	want=$(cd "${2%/*}" && timeout 60 "$2" "$3" 2>/dev/null </dev/null) want_rc=$?
	case $want_rc-$want in
	0-*) ;;
	1-*BAD) echo "skip: $3 fails untraced here: $want"; return ;;
	*) echo "FAIL: $3 untraced: status $want_rc, '$want'"; failed=$((failed + 1)); return ;;
	esac
	rm -f "$dir/out" "$dir/counts" "$dir/status"
	HOW=$1 PROG=$2 CASE=$3 DIR=$dir "$uft" shell -b 65536 -c "sh $dir/inside" >"$dir/said" 2>&1
	why=
	[ "$(cat "$dir/status" 2>/dev/null)" = 0 ] || why="status $(cat "$dir/status" 2>/dev/null), $(head -n 3 "$dir/said")"
	[ "$why" ] || [ "$(cat "$dir/out")" = "$want" ] || why="output '$(cat "$dir/out")', untraced '$want'"
	[ "$why" ] || [ "$(cat "$dir/lost")" = 0 ] || why="$(cat "$dir/lost") events lost"
	for k in first second; do
		[ "$why" ] || why=$(differs "$dir/$k" | head -n 5 | sed "s/^/$k: /")
	done
	if [ "$why" ]; then
		echo "FAIL: $3, $1: $why"
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
}

# each PROGRAM CASE...
each() {
	program=$1
	shift
	for case; do
		for how in graph-function graph-profile function-profile; do
			one $how "$program" "$case"
		done
	done
}

each "$hazards" longjmp tail abi coroutine migrate cancel fork vfork clone
each "$cc" exception except_coroutine
each "$mcount" longjmp
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -ne 0 ]
