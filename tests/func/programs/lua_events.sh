#!/bin/sh
# SPDX-License-Identifier: MIT
# lua_events.sh DIR - Lua from Debian's source with the tracepoints of lua_events.patch: its script runs as before; events recorded, filtered,
# counted, joined, read by trace-cmd
#
# DIR is where source packages are kept
. "$(dirname "$0")/../../lib/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "events of programs are recorded on x86_64 only"
here=$top/tests/func/programs
status=0
need patch
"$top/tests/lib/fetch-sources.sh" -d "$1" lua5.4 >out 2>err || status=$?
[ "$status" -ne 77 ] || skip "$(cat err)"
[ "$status" -eq 0 ] || { cat err; exit 1; }

build() { ${CC:-cc} -O2 -w -DLUA_COMPAT_5_3 -DLUA_USE_LINUX -o "$1" $2 $(printf '%s\n' "$3"/*.c | grep -v /luac.c) -lm -ldl || exit 1; }
cp -r "$1/lua5.4/src" src
build plain "" "$1/lua5.4/src"
patch -s -p1 -d src <"$here/lua_events.patch" >patched 2>&1 || skip "the patch is for another Lua than Debian's: $(head -n 1 patched)"
cp "$here/lua_events.h" src
build lua "-I$top/include -Isrc" src
sed 's/^print(pcall(string.rep.*/-- &/' "$here/programs.lua" >script.lua
texts() { sed -n 's/^.*: *\(lua_[a-z_]*: .*\)$/\1/p' "$1" | sed 's/: */: /'; }
counts() { texts "$1" | sed 's/co=[^ ]* //; s/^lua_gc_step.*/gc/' | sort | uniq -c | sed 's/^ *//' | grep -v " gc$"; }

./plain script.lua >wanted
expect_equal "as before" "$(./lua script.lua | diff wanted -)" ""
expect_equal "declared" "$("$uft" list -e ./lua | grep -c '^lua:lua_')" 5

# ---- All of them: its script counts 100 errors, 1000 resumes and yields, of which pcall() catches some
run "$uft" record -q -e 'lua:*' ./lua script.lua
expect_status 0
expect_no_err
expect_equal "recorded: results" "$(diff wanted out)" ""
"$uft" report --no-pager >all
expect_equal "recorded" "$(counts all)" "1 lua_load: chunk=@script.lua
1000 lua_resume: args=0
100 lua_throw: status=run
1000 lua_throw: status=yield
1000 lua_yield: status=1 results=1"
check
[ "$(texts all | grep -c '^lua_gc_step: state=[a-z ]* bytes=[1-9]')" -gt 0 ] || fail "no step of the collector"

# ---- Stock trace-cmd prints the same: but 0x and no zeros before a pointer, as it does of a kernel's events
run "$uft" export -o lua.dat
expect_status 0
if command -v trace-cmd >/dev/null; then
	trace-cmd report -q lua.dat 2>/dev/null >read
	texts all | sed 's/co=0*x*/co=/' >here.texts
	texts read | sed 's/co=0*x*/co=/' | diff here.texts - >differ || fail "trace-cmd: $(head -n 4 differ)"
	check
fi

# ---- Filtered in the program
run "$uft" record -q -e lua:lua_throw -f 'status == 2' -e lua:lua_load -f 'chunk ~ "*script*"' -e lua:lua_yield -f 'status > 1' ./lua script.lua
expect_status 0
"$uft" report --no-pager >some
expect_equal "filtered" "$(counts some)" "1 lua_load: chunk=@script.lua
100 lua_throw: status=run"

# ---- Counted: by status, with a table of the kernel's form
run "$uft" record -q -e lua:lua_throw -R 'hist:keys=status:sort=status' ./lua script.lua
expect_status 0
expect_equal "histogram" "$(grep -A20 '^{' err | sed 's/  */ /g')" "{ status: 1 } hitcount: 1000
{ status: 2 } hitcount: 100

Totals:
 Hits: 1100
 Entries: 2
 Dropped: 0"

# ---- The time of each resume, by coroutine: as many as there are yields
Q='SELECT start.co AS co, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS us FROM lua_resume AS start JOIN lua_yield AS end ON start.co = end.co'
run "$uft" sqlhist -e -n turn -k 'us.buckets=100000000' "$Q" -- ./lua script.lua
expect_equal "joined" "$(grep -o '^{ us: ~ 0-99999999 } hitcount: *[0-9]*' out | sed 's/  */ /g')" "{ us: ~ 0-99999999 } hitcount: 1000"
