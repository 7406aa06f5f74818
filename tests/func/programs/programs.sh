#!/bin/sh
# SPDX-License-Identifier: MIT
# programs.sh - Lua and SQLite from Debian's sources: unchanged results, exact counts, exports that trace-cmd reads
#
#   programs.sh DIR: DIR is where source packages are kept
. "$(dirname "$0")/../../lib/common.sh"

here=$top/tests/func/programs
status=0
"$top/tests/lib/fetch-sources.sh" -d "$1" lua5.4 sqlite3 >out 2>err || status=$?
[ "$status" -ne 77 ] || skip "$(cat err)"
[ "$status" -eq 0 ] || { cat err; exit 1; }
lua=$1/lua5.4/src
sqlite=$1/sqlite3/amalgamation
flags=$("$uft" cflags --quiet)

# shellcheck disable=SC2086
${CC:-cc} -O2 -w $flags -DLUA_COMPAT_5_3 -DLUA_USE_LINUX -o lua \
	$(printf '%s\n' "$lua"/*.c | grep -v /luac.c) -lm -ldl || exit 1
# One object for all programs that need SQLite, kept beside its source, for it takes a minute to make.
object=$sqlite/sqlite3-test.o
if [ ! -e "$object" ] || [ "$(cat "$object.flags" 2>/dev/null)" != "${CC:-cc} $flags" ]; then
	# shellcheck disable=SC2086
	${CC:-cc} -O1 -w $flags -c -o "$object.$$" "$sqlite/sqlite3.c" || exit 1
	mv "$object.$$" "$object"
	echo "${CC:-cc} $flags" >"$object.flags"
fi
# shellcheck disable=SC2086
${CC:-cc} -O1 -Wall $flags -I"$sqlite" -o sqlite "$here/sqlite.c" "$object" -lm -ldl -lpthread || exit 1

# calls FILE FUNCTION: in the profile.
calls() {
	"$uft" report --profile "$1" | awk -v f="$2" '$NF == f { print $1 }'
}

# same_results NAME COMMAND...: under each tracer as without.
same_results() {
	name=$1
	shift
	run "$@"
	expect_status 0
	mv out out.alone
	mv err err.alone
	for tracer in function function_graph profile; do
		run "$uft" record -q -p $tracer -b 128M -o "$name-$tracer.uft" "$@"
		expect_status 0
		check
		cmp out out.alone || fail "$name: output differs under $tracer"
		check
		cmp err err.alone || { fail "$name: error output differs under $tracer"; show; }
		expect_equal "$name, $tracer: lost" "$(stat_value "$name-$tracer.uft" lost)" 0
		expect_equal "$name, $tracer: lost returns" "$(stat_value "$name-$tracer.uft" counter_lost_return)" 0
		expect_equal "$name, $tracer: refused sites" "$(stat_value "$name-$tracer.uft" counter_site_refused) $(stat_value "$name-$tracer.uft" counter_site_reach)" "0 0"
	done
}

same_results lua ./lua "$here/programs.lua"
for tracer in function function_graph profile; do
	# 100 errors of dig and one at the end; none of these calls returns. How often Lua calls its string functions is
	# another matter: it hashes with a seed of the time of day.
	expect_equal "lua, $tracer: lua_error" "$(calls "lua-$tracer.uft" lua_error)" 101
	expect_equal "lua, $tracer: lua_resume" "$(calls "lua-$tracer.uft" lua_resume)" 1000
done

same_results sqlite ./sqlite 1000
expect_equal "sqlite: calls, function and graph" "$(stat_value sqlite-function.uft calls)" \
	"$(stat_value sqlite-function_graph.uft calls)"
for tracer in function function_graph profile; do
	expect_equal "sqlite, $tracer: step" "$(calls sqlite-$tracer.uft step)" "$(sed -n 's/^step //p' err.alone)"
	expect_equal "sqlite, $tracer: sqlite3_bind_int" "$(calls sqlite-$tracer.uft sqlite3_bind_int)" 1000
	expect_equal "sqlite, $tracer: sqlite3_bind_double" "$(calls sqlite-$tracer.uft sqlite3_bind_double)" 1000
done
# SQLite steps on its own account while it reads a schema: at least as many as the program made.
check
[ "$(calls sqlite-function.uft sqlite3_step)" -ge "$(sed -n 's/^step //p' err.alone)" ] || fail "steps are missing"

# Stock trace-cmd reads every version: one line an event.
if command -v trace-cmd >/dev/null; then
	events=$(stat_value sqlite-function.uft events)
	for format in trace.dat-v6 trace.dat-v7 trace.dat; do
		run "$uft" export -f $format -o "$format.dat" sqlite-function.uft
		expect_status 0
		run trace-cmd report -i "$format.dat"
		expect_status 0
		expect_equal "$format: lines of events" "$(grep -c '\[[0-9]*\].* function: ' out)" "$events"
		expect_equal "$format: calls of step" "$(grep -cE 'function: +step($| )' out)" \
			"$(calls sqlite-function.uft step)"
	done
fi
