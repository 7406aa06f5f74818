#!/bin/bash
# SPDX-License-Identifier: MIT
# gdb.sh - gdb on a program inside nested traced calls shows the same as without uft, with tools/gdb/uft.py
. "$(dirname "$0")/../../lib/common.sh"
need gdb

source=$top/tests/func/debug/nested.c
script=$top/tools/gdb/uft.py

# stacks PID: the functions on the stack of each thread, innermost first, as gdb says.
stacks() {
	timeout 200 gdb -nx -batch -p "$1" -ex "source $script" -ex "thread apply all bt" 2>gdb.err </dev/null >gdb.out
	sed -n -E -e 's/ \(LWP.*//' -e 's/^Thread ([0-9]+).*/thread \1/p' -e 's/^#[0-9]+ +(0x[0-9a-f]+ in )?([^ ]+) \(.*/\2/p' gdb.out |
		awk '/stand_here/ { on = 1 } /^thread/ { on = 0 } on'
	grep -qE "Traceback|Python Exception" gdb.out gdb.err && fail "the script failed: $(cat gdb.out gdb.err)"
}

# at_work CMD...: starts it in the background; when `here` is in out.prog it stands there. $prog is the program.
at_work() {
	: >out.prog
	"$@" >out.prog 2>err.prog &
	started=$!
	eventually grep -q here out.prog
	prog=$started
	[ "$1" = "$uft" ] && prog=$(cat "/proc/$started/task/$started/children")
	prog=${prog% }
}

finish() {
	gdb -nx -batch -p "$prog" -ex "set var *(int *)&go_on = 1" >/dev/null 2>&1 </dev/null
	wait "$started"
	expect_equal "exit status of $1" $? 0
	expect_equal "output of $1" "$(tail -n 1 out.prog)" done
}

# Without -g: from call sites gdb infers frames of tail calls, which are not there.
for mode in -fpatchable-function-entry=5 "-pg -mfentry" -pg "" -fno-omit-frame-pointer; do
	# shellcheck disable=SC2086
	gcc -O2 -pthread -no-pie $mode -o nested "$source" || exit 1
	for thread in "" thread; do
		at_work ./nested $thread
		want=$(stacks "$prog")
		finish "untraced"
		check
		echo "$want" | grep -qx outer || fail "gdb does not show the callers of the untraced program: $want"
		for tracer in function function_graph profile; do
			at_work "$uft" record -q -p "$tracer" -o x.uft ./nested $thread
			expect_equal "stack under $tracer, built with $mode $thread" "$(stacks "$prog")" "$want"
			finish "$tracer"
		done
	done
done

# What would be there without the script: the first hooked caller cannot be found. Else this tests nothing.
at_work "$uft" record -q -p function_graph -o x.uft ./nested
script=/dev/null
check
[ "$(stacks "$prog")" != "$want" ] || fail "gdb needs no script for the callers"
finish "without the script"

# Step by step from a rewritten entry through moved instructions and our own code, and back: the same callers everywhere.
# (A handler's restartable sections are aborted by each step and begin again, so its end comes by a breakpoint.)
cat >steps.py <<'END'
import gdb
want = ["inner", "middle", "main"]

def step(most):
    for i in range(most):
        text = gdb.execute("bt", to_string=True)
        lines = [l for l in text.splitlines() if l.startswith("#")]
        names = [l.split(" in ")[1].split()[0] if " in " in l else l.split()[1] for l in lines]
        if names != want:
            return i if names == want[1:] else "step %d: %s %s" % (i, names, text)
        places.add(gdb.newest_frame().name() or "ours")
        gdb.execute("stepi", to_string=True)
        if i == 0:
            places.pc = int(gdb.newest_frame().pc())
    return most

class Places(set):
    pc = 0

places = Places()
first = step(40)
gdb.execute("tbreak *%d" % (places.pc - 88), to_string=True)    # UFT_CODE_SLOT
gdb.execute("continue", to_string=True)
second = step(40)
print("steps: %s, and from the moved code %s: %s" % (first, second if second != 40 else "for ever", " ".join(sorted(places))))
END
script=$top/tools/gdb/uft.py
for flags in -O2 -O0; do
	gcc $flags -no-pie -o calls "$top/tests/func/debug/calls.c" || exit 1
	for tracer in function function_graph; do
		at_work "$uft" record -q -p "$tracer" -o x.uft ./calls
		timeout 200 gdb -nx -batch -p "$prog" -ex "source $script" -ex "break *&inner" -ex continue -ex delete -ex "source steps.py" \
			-ex "set var *(int *)&go_on = 1" >gdb.out 2>gdb.err </dev/null
		grep -qE "^steps: 40, and from the moved code [0-9]+: inner ours$" gdb.out || fail "$tracer, $flags: $(tail -n 30 gdb.out gdb.err)"
		finish "$tracer, stepped"
	done
done
