# SPDX-License-Identifier: MIT
# programs.sh - part of run.sh and quick.sh: the programs that are measured, and what a run of one says
#
# Wants $top, $build, $uft, and the work directory as the current one.

# What we recommend for gcc, and what is measured: nops that became one while assembling.
prepared=$("$uft" cflags --quiet --cc=gcc)
before=$("$uft" cflags --quiet --cc=gcc --mode=before)

stat_of() { "$uft" stat "$1" | awk -F': ' -v k="$2" '$1 == k { print $2 }'; }
# ratio A B: A / B with two decimals
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }'; }

# The kind of processor whose figures can be compared: vendor and family.
processor_kind() {
	awk -F': ' '/^vendor_id/ { v = $2 } /^cpu family/ { f = $2 } /^CPU implementer/ { v = "arm" $2 } /^CPU part/ { f = $2 }
		/^uarch/ { v = $2 } /^$/ { exit } END { print v (f != "" ? "-" f : "") }' /proc/cpuinfo
}

nth() { awk -v l="$2" -v f="$3" 'NR == l { print $f }' "$1"; }

build_calls() {
	src=$top/bench/calls.c
	gcc -O2 -w "$src" -pthread -o calls-plain
	gcc -O2 -w $prepared "$src" -pthread -o calls-patchable
	gcc -O2 -w -pg -mfentry "$src" "$top/bench/floor.S" -pthread -o calls-floor
	gcc -O2 -w -pg -mfentry "$src" "$top/bench/ret.S" -pthread -o calls-ret
	gcc -O2 -w -pg "$src" -pthread -o calls-pg
	clang -O2 -w -DXRAY -fxray-instrument "$src" -pthread -o calls-xray
	gcc -O2 -w "$top/bench/timeit.c" -o timeit
	gcc -O2 -w "$top/bench/startup.c" -o startup
	# shellcheck disable=SC2086
	gcc -O2 -w $prepared "$top/bench/forks.c" -o forks
	gcc -O2 -w "$top/bench/pagecopy.c" -o pagecopy
}

# measure NAME CMD...: runs it, keeps leaf/chain/fib/quiet in $NAME.out
measure() {
	name=$1
	shift
	"$@" >"$name.out" 2>"$name.err" || { echo "bench: $name failed" >&2; cat "$name.err" >&2; return 1; }
}
get() { awk -v k="$2" '$1 == k { print $2 }' "$1.out"; }

# recorded NAME FILE EVENTS-A-CALL: empty if exact, else what is wrong
recorded() {
	made=$(get "$1" calls)
	lost=$(stat_of "$2" lost)
	seen=$(stat_of "$2" "${3:-calls}")
	if [ "$seen" = "$made" ] && [ "$lost" = 0 ]; then
		echo ", all $made calls recorded"
	else
		echo ", **recorded $seen of $made calls, lost $lost**"
	fi
}

# exactly NAME TRACER KEY PROGRAM [OPTIONS]: recorded in rings that the program's warming fills several times, since memory that is
# touched first costs more than the event (10 ns); again, in larger ones, while the recorder did not get its share of the machine.
exactly() {
	for ring in 8M 16M 64M 512M; do
		# shellcheck disable=SC2086
		measure "$1" "$uft" record -q --no-pack -b $ring -p "$2" -o "$1.uft" ${5:-} -- "$4" $calls
		case $(recorded "$1" "$1.uft" "$3") in *lost*) ;; *) break ;; esac
	done
	echo $ring >"$1.ring"
}
