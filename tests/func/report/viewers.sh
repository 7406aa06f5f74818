#!/bin/sh
# SPDX-License-Identifier: MIT
# viewers.sh - exports in the viewers' own importers: speedscope's import code, and the profiler-cli of Firefox's profiler
. "$(dirname "$0")/../../lib/common.sh"
need python3 node
readers=$top/tests/func/report/readers
. "$readers/look_speedscope.sh"
modules=$readers/node_modules
[ -d "$modules" ] || skip "the readers from npm are not installed (make setup, with npm)"

cp "$top/tests/func/report/exported.c" prog.c
build_traced prog -pthread
objcopy --redefine-sym 'odd=odd;<&"name\,' --redefine-sym "worse=$(printf 'w\nx\001y\377z')" prog || skip "no objcopy"
# Outermost calls with time between them, and one that is open at the end.
cat >gaps.c <<'END'
#include <time.h>
#define FN __attribute__((noinline, noclone))
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void work(void) { leaf(); leaf(); }
__attribute__((no_instrument_function, patchable_function_entry(0))) int main(void)
{
	for (int i = 0; i < 50; i++) {
		work();
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, 0);
	}
	return 0;
}
END
build_traced gaps
run "$uft" record -q -o whole.uft ./prog
run "$uft" record -q -o killed.uft ./prog killed
run "$uft" record -q -o gaps.uft ./gaps
for rec in whole killed gaps; do
	"$uft" report --flat --csv $rec.uft >$rec.flat.csv
	for format in speedscope firefox; do
		run "$uft" export -f $format -o $rec.$format $rec.uft
		expect_status 0
	done
done

for rec in whole killed gaps; do
	look_speedscope $rec
done

# The command line of Firefox's profiler loads a profile in a process of its own, and answers through a socket.
pq=$modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js
PROFILER_CLI_SESSION_DIR=$tmp/sessions
export PROFILER_CLI_SESSION_DIR
mkdir sessions
if ! node "$pq" --version >pq.version 2>&1; then
	echo "SKIPPED: Firefox profiles: profiler-cli does not run here: $(head -n 1 pq.version)"
	exit
fi
cat >functions.py <<'END'
import json, subprocess, sys
node, pq, session = 'node', sys.argv[1], sys.argv[2]

def ask(*what):
    return json.loads(subprocess.run([node, pq, *what, '--json', '--session', session], check=True, capture_output=True).stdout)

def ns(ms):
    return ms * 1e6

listed = ask('thread', 'list', '--limit', '0')
for t in listed['threads']:
    answer = ask('thread', 'functions', '--thread', t['threadHandle'], '--limit', '0', '--include-idle')
    assert answer['weightType'] == 'tracing-ms'
    print(json.dumps({'frames': [{'name': f['name'], 'self': ns(f['selfSamples']), 'total': ns(f['totalSamples'])} for f in answer['functions']],
                      'end': ns(listed['context']['rootRange']['end'])}))
END
for rec in killed gaps; do
	node "$pq" --daemon $rec.firefox --session $rec >$rec.daemon 2>&1 &
	daemon=$!
	# A question that comes too early takes the session for a dead one, and removes it.
	eventually grep -q 'Profile loaded' sessions/$rec.log || fail "$rec: $(cat $rec.daemon sessions/$rec.log)"
	run python3 functions.py "$pq" $rec
	expect_status 0
	mv out $rec.lines
	run sh -c 'python3 "$1/frames.py" $2 times <$2.lines' sh "$readers" $rec
	expect_status 0
	expect_no_err
	kill $daemon
	wait $daemon
done
# It draws up to the end of the last call, not up to the begin of its last stretch.
check
end=$(python3 -c 'import json; print(round(json.loads(open("killed.lines").readline())["end"]))')
last=$("$uft" report --tree --csv killed.uft | awk -F, '$NF == "main" { print $1; exit }')
[ "$end" -ge "$last" ] || fail "the profile ends at $end ns, main took $last ns"
# Between outermost calls no stack is there: a sample without one.
run python3 -c 'import json
t = json.load(open("gaps.firefox"))["threads"][0]["samples"]
assert sum(s is None for s in t["stack"]) == 50, t["stack"].count(None)'
expect_status 0
expect_no_err
