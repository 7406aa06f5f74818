#!/bin/sh
# SPDX-License-Identifier: MIT
# events.sh [UFT] - what an event of three integers costs, in ns: off, recorded, rejected by a filter, counted by a histogram; beside a function event,
# LTTng-UST and trace_marker; and how two threads scale
#
# LTTng-UST (Debian: lttng-tools, liblttng-ust-dev) is left out where it is not installed, a write to the kernel's trace_marker
# unless MARKER names that file.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
uft=$(realpath "${1:-$top/build/uft}")
W=$(mktemp -d)
export W
trap 'rm -rf "$W"' EXIT
cd "$W"
cc -O2 -pthread -I"$top/include" -I"$top/bench/events" -o program "$top/bench/events/program.c"
echo "off: $(./program ${MARKER:-} | tr '\n' ' ')"
echo "recorded: $("$uft" record -q --flight -p function -l traced -e bench:three -o rec.uft ./program | tr '\n' ' ')"
echo "rejected: $("$uft" shell -c 'cd /sys/kernel/tracing && "$W/program" >/dev/null; echo 1 >events/bench/three/enable && echo "a < 0" >events/bench/three/filter &&
	"$W/program"; grep -c three: trace' | grep -v '^function' | tr '\n' ' ')"
echo "counted by a histogram: $("$uft" shell -c 'cd /sys/kernel/tracing && "$W/program" >/dev/null; echo "hist:keys=b" >events/bench/three/trigger &&
	"$W/program"; sed -n "s/^ *\(Hits\|Lost\): */\1 /p" events/bench/three/hist' | grep -v '^function' | tr '\n' ' ')"
if cc -O2 -pthread -DLTTNG -I"$top/bench/events" -fno-reorder-blocks-and-partition -o lttng-program "$top/bench/events/program.c" -llttng-ust -ldl 2>/dev/null && command -v lttng >/dev/null; then
	LTTNG_HOME=$W
	export LTTNG_HOME
	echo "LTTng-UST off: $(./lttng-program | tr '\n' ' ')"
	{ lttng create uft-bench --snapshot -o "$W/out" && lttng enable-channel -u --overwrite --subbuf-size=1M --num-subbuf=4 c &&
		lttng enable-event -u -c c uft_bench:three && lttng start; } >lttng.log 2>&1
	echo "LTTng-UST: $(./lttng-program | tr '\n' ' ')"
	if command -v valgrind >/dev/null; then
		LTTNG_UST_REGISTER_TIMEOUT=-1 valgrind --tool=callgrind --toggle-collect=fire --callgrind-out-file=out ./lttng-program -n 1000 >vg.log 2>&1 || :
		echo "LTTng-UST: $(($(sed -n 's/.*Collected : *\([0-9]*\).*/\1/p' vg.log) / 1000)) instructions"
	fi
	lttng destroy uft-bench >/dev/null
fi
