#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh - one hazard case traced: same output, same status, exact counts, nothing lost
#
#	run.sh UFT TRACER PROGRAM CASE [plain]
#
# plain: the program was built without preparation. Then there are more functions than those it counts.
#
# HAZARD_EMULATOR: what runs the program, if this machine does not.
#
# TRACER keep is the graph with every function a root whose calls wait in the scratch buffer, and all are kept;
# keep-loose the same for cases that overflow it, or end threads and fork in the middle: the program must not notice.
# counter and counter_graph are the two tracers with the clock counter. There is no profile of such a recording: calls
# are counted in its text, where the numbers of each task must rise.
# The program counts its own calls (count.h); the recording must agree to the call. What a case may differ in is
# listed in slack(): each entry says why.
set -u
uft=$(realpath "$1") tracer=$2 prog=$(realpath "$3") case=$4 plain=${5:-}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$(dirname "$prog")" || exit 1

fail() {
	echo "FAIL: $*"
	[ -s "$dir/err" ] && sed 's/^/stderr: /' "$dir/err" | head -n 20
	exit 1
}

# Calls that may be recorded without being counted: entries that a signal handler left by siglongjmp between the
# entry and the counter.
slack() {
	case $1 in
	sigjump) echo 300 ;;
	exitgroup) echo 30 ;;		# the same by threads that are killed between the two
	execthread) echo 10 ;;
	*) echo 0 ;;
	esac
}

# A program that makes calls for a time makes more records than the usual buffer holds, if the recorder does not get a CPU.
buffer() {
	case $1 in
	signal | sigjump) echo "-b 128M" ;;
	esac
}

# How many tasks have events in the recording, where the case says so: a thread or child that goes by another's number
# shows here only. The profile has no events.
tasks() {
	case $1 in
	threads) echo 801 ;;
	manythreads) echo 10001 ;;
	pthread_exit | exit_unwind) echo 51 ;;
	cancel | tls | fork | vfork) echo 21 ;;
	spawn) echo 21 ;;	# ten of them plain shells, which are traced all the same
	vforkthreads) echo 25 ;;
	except_threads) echo 5 ;;
	noreturn) echo 6 ;;
	execraw) echo 7 ;;
	forktree) echo 7 ;;
	crash | exec) echo 4 ;;
	clone) echo 11 ;;
	mainexit | sysexit | daemon | sigtrap | pipe_eof) echo 2 ;;
	esac
}

# shellcheck disable=SC2086
want=$(timeout 60 ${HAZARD_EMULATOR:-} "$prog" "$case" 2>/dev/null </dev/null); want_rc=$?
# Only the program itself may say that the machine lacks what a case needs; that it is missing or crashes is a failure.
case $want_rc-$want in
0-*) ;;
1-*BAD) echo "SKIP: $case fails untraced here: $want"; exit 77 ;;
*) fail "untraced: status $want_rc, '$want'" ;;
esac
keep='' counter=
case $tracer in
keep*) tracer=function_graph keep="--keep-slow *=0" ;;
counter) tracer=function counter="-C counter" ;;
counter_graph) tracer=function_graph counter="-C counter" ;;
esac
set -f
# shellcheck disable=SC2086
got=$(HAZARD_COUNTS="$dir/counts" timeout "${HAZARD_TIMEOUT:-120}" "$uft" record -q $(buffer "$case") ${HAZARD_FLAGS:-} ${HAZARD_EMULATOR:+"--emulator=$HAZARD_EMULATOR"} -p "$tracer" $keep $counter -o "$dir/x.uft" ${plain:+-l * -l *:mod:libhazard*} -- "$prog" "$case" 2>"$dir/err" </dev/null)
rc=$?
[ "$got" = "$want" ] || fail "output: '$got' (status $rc), untraced '$want'"
[ $rc -eq $want_rc ] || fail "status $rc, untraced $want_rc"
"$uft" stat "$dir/x.uft" >"$dir/stat" 2>>"$dir/err" || fail "uft stat"
text() {
	"$uft" report --no-pager "$dir/x.uft" >"$dir/text" 2>>"$dir/err" || fail "uft report"
}
columns=8
if [ -n "$counter" ]; then
	# one column, the calls, before the name
	columns=1
	text
	if [ "$tracer" = function_graph ]; then
		# as it is where there are durations
		sed 's/^ *[0-9]*) /&|  /' "$dir/text" >"$dir/columns" && mv "$dir/columns" "$dir/text"
		sed -n 's/^[^#|]*|  *\(.*\)()\( {\|;\).*$/1 \1/p' "$dir/text" >"$dir/profile"
	else
		awk '/^#/ || !(end = index($0, " <-")) { next }
			$1 in last && $4 + 0 <= last[$1] { print $1 " has " $4 " behind " last[$1]; bad = 1; exit }
			{ last[$1] = $4 + 0; at = index($0, ": "); print 1, substr($0, at + 2, end - at - 2) }
			END { exit bad }' "$dir/text" >"$dir/profile" || fail "$(tail -n 1 "$dir/profile")"
	fi
	[ -s "$dir/profile" ] || fail "nothing was recorded"
else
	"$uft" report --profile "$dir/x.uft" >"$dir/profile" 2>>"$dir/err" || fail "uft report --profile"
fi
if [ "$2" = keep-loose ]; then
	grep -q '^damaged_bytes: 0$' "$dir/stat" && grep -q '^counter_lost_return: 0$' "$dir/stat" || fail "$(cat "$dir/stat")"
	grep -q '^events: [1-9]' "$dir/stat" || fail "nothing was recorded"
	exit 0
fi
# (Where a punned jump must lead, the kernel may have put something of the program's: one entry is left alone then.)
bad=$(awk -F': ' '$1 != "counter_site_taken" && ($1 == "lost" || $1 == "damaged_bytes" || ($1 ~ /^counter_/ && $1 !~ /patched$/)) && $2 != 0' "$dir/stat")
[ -z "$bad" ] || fail "dropped: $bad"
tasks=$(tasks "$case")
[ -z "$tasks" ] || [ "$tracer" = profile ] || grep -q "^tasks: $tasks$" "$dir/stat" || fail "$(grep '^tasks:' "$dir/stat"), should be $tasks"

# Where the tree is a simple one it must be that: nothing but these outside of the case's function, tail calls inside
# their callers.
if [ "$tracer" = function_graph ] && [ -z "$plain" ]; then
	case $case in
	tail | longjmp | sigjump | signal | exception | rethrow)
		[ -n "$counter" ] || text
		loose=$(sed -n 's/^[^#|]*|  \([a-zA-Z_].*\)()[ ;].*/\1/p' "$dir/text" | sed 's/^.*:://' | sort | uniq -c |
			grep -v -E " (ctor|dtor|picked|t_$case)(\(\))?$")
		[ -z "$loose" ] || fail "outside of t_$case: $loose" ;;
	esac
	case $case in
	tail) [ "$(grep -c '|        tail3();' "$dir/text")" -eq 1000 ] || fail "a tail call is not inside its caller" ;;
	longjmp) [ "$(grep -c '|    work() {' "$dir/text")" -eq 1 ] || fail "a call is inside one that was left" ;;
	esac
fi

# Names are compared without qualifiers and parameters; the standard library's templates are not counted.
awk -v slack="$(slack "$case")" -v hazard="$case" -v plain="$plain" '
	function bare(n) {
		sub(/\(.*$/, "", n)
		sub(/^.*::/, "", n)
		sub(/\.[0-9]+$/, "", n)	# a nested function
		return n
	}
	FNR == NR { want[$2] = $3; next }
	/^#/ || NF == 0 { next }
	{
		calls = $1
		name = $0
		for (i = 1; i <= ncol; i++)
			sub(/^[ \t]*[^ \t]+/, "", name)
		sub(/^[ \t]+/, "", name)
		# nor are the stripped shells and others that it spawns, which are traced for themselves
		if (name ~ /std::|__gnu_cxx|__cxx11|^[^ ]+\+0x[0-9a-f]+$/)
			next
		got[bare(name)] += calls
	}
	END {
		if (hazard == "dlopen") {
			want["lib_ctor"] = want["lib_helper"] = want["lib_run"] = want["lib_ctor_seen"] = 10
			want["lib_leaf"] = 50
		}
		# the images that the children became count for themselves
		want["ctor"] += hazard == "exec" ? 3 : hazard == "execraw" ? 6 : hazard == "spawn" ? 10 : hazard == "sigtrap"
		# dtor runs after the counts are written; a resolver before they can be kept; __tls_init comes from the compiler
		split("dtor picked pick_resolve __tls_init", uncounted, " ")
		for (i in uncounted)
			want[uncounted[i]] = got[uncounted[i]]
		for (n in want)
			if (got[n] < want[n] || got[n] > want[n] + slack) {
				printf "%s: recorded %d, counted %d\n", n, got[n], want[n]
				bad++
			}
		for (n in got)
			if (!(n in want) && plain == "") {
				printf "%s: recorded %d, never counted\n", n, got[n]
				bad++
			}
		exit bad > 0
	}' ncol=$columns "$dir/counts" "$dir/profile" >"$dir/diff" || fail "$(head -n 20 "$dir/diff")"
echo "ok: $case under $2: $(grep -c ^calls "$dir/counts") functions, $(awk -F': ' '$1 == "events"{print $2}' "$dir/stat") events"
