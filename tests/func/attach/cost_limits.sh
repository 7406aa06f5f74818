#!/bin/sh
# SPDX-License-Identifier: MIT
# cost_limits.sh - --budget, --max-rate, --min-size and --keep-slow on a running, unprepared program
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"

cat >prog.c <<'END'
#include <poll.h>
#include <stdio.h>
#include <time.h>
#define FN __attribute__((noinline, noclone))
FN unsigned tiny(unsigned x) { __asm__ volatile("" : "+r"(x)); return x * 2654435761u + 1; }
FN unsigned work(unsigned x)
{
	for (int i = 0; i < 50000; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
	}
	return x;
}
FN unsigned big(unsigned x)
{
	for (int i = 0; i < 2000; i++)
		x = tiny(x);
	return work(x);
}
FN void nap(void) { nanosleep(&(struct timespec){ .tv_nsec = 15000000 }, NULL); }
FN unsigned handle(unsigned x, int slow)
{
	x = work(x);
	if (slow)
		nap();
	return work(x);
}
int main(void)
{
	struct pollfd in = { .events = POLLIN };
	unsigned x = 1, n = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	for (; !poll(&in, 1, 0); n++) {
		x = handle(big(x), n % 16 == 15);
		if (n % 16 == 15)
			puts("slow");
	}
	return puts(x == 7 ? "seven" : "end") < 0;
}
END
${CC:-cc} -O1 -falign-functions=16 -fcf-protection=none -o prog prog.c || exit 1
hold_up ./prog

# until_so WHAT CMD...: until it succeeds, the recorder ends or a minute is over.
until_so() {
	what=$1 tries=0
	shift
	until "$@"; do
		kill -0 $attacher 2>/dev/null && [ $tries -lt 600 ] || { fail "$what"; cat said; return; }
		tries=$((tries + 1))
		sleep 0.1
	done
}
# attached ARGS...: a recorder is in place
attached() {
	rm -f x.uft
	"$uft" attach -b 8M -o x.uft "$@" $held 2>said &
	attacher=$!
	until_so "attach $*" grep -q "/session[.]" /proc/$held/maps
}
left() {
	kill -TERM $attacher
	wait $attacher
	expect_equal "status of the recorder" $? 0
	"$uft" report --profile x.uft >report
}
calls_of() { awk -v f="$1" '$NF == f { n = $1 } END { print n + 0 }' report; }
slow_seen() { [ "$(grep -c slow held)" -ge "$1" ]; }

for limit in "--budget 1%" "--max-rate 20000"; do
	for tracer in function_graph function; do
		# shellcheck disable=SC2086
		attached -p $tracer $limit
		until_so "$limit, $tracer: tiny is dropped" grep -q 'dropped tiny' said
		until_so "$limit, $tracer: it goes on" slow_seen $(($(grep -c slow held) + 2))
		left
		check
		grep -q "^# dropped: tiny after .*by ${limit% *} of process $held: .* calls recorded, about [1-9][0-9]* missing" report ||
			{ fail "$limit, $tracer: what the report says of tiny"; grep dropped report; }
		check
		! grep -q '^# dropped: \(big\|work\|handle\) ' report || { fail "$limit: a large one"; grep dropped report; }
		if [ $tracer = function_graph ]; then
			missing=$(($(calls_of big) + 2 * $(calls_of handle) - $(calls_of work)))	# those under way at either end
			expect_equal "$limit: large ones are complete, $missing missing" "$((missing >= -3 && missing <= 3))" 1
		fi
	done
done

attached -p function_graph --min-size 24
until_so "--min-size: it goes on" has_calls 10 x.uft big
left
expect_equal "--min-size: calls of tiny" "$(calls_of tiny)" 0
check
[ "$(calls_of big)" -gt 10 ] || { fail "--min-size: no calls of big"; cat report; }

attached --keep-slow handle=10ms
until_so "--keep-slow: it goes on" has_calls 3 x.uft nap
left
check
[ "$(calls_of nap)" -ge 4 ] && [ "$(calls_of handle)" -ge "$(calls_of nap)" ] || { fail "--keep-slow: too few"; cat report; }
missing=$((2 * $(calls_of handle) - $(calls_of work)))	# in the first, of what was entered before work() was rewritten
expect_equal "--keep-slow: work in each, $missing missing" "$((missing >= 0 && missing <= 2))" 1
expect_equal "--keep-slow: calls of big, outside" "$(calls_of big)" 0
check
[ "$(stat_value x.uft counter_not_kept)" -gt 10 ] || fail "--keep-slow: $(stat_value x.uft counter_not_kept) were not kept"
let_go
expect_equal "the program's end" "$status $(tail -n 1 held)" "0 end"
