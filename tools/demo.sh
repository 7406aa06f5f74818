#!/bin/sh
# SPDX-License-Identifier: MIT
#
# demo.sh - a recording of a real program in one command: make demo
#
# Builds Lua 5.4 from Debian's source package with patchable function entries, records a script, and prints the head of
# the call graph and the profile. What was built stays in BUILD/demo.
set -eu
build=${1:-build}
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$build" && pwd)
uft=$build/uft
demo=$build/demo
mkdir -p "$demo"

# The directory as a newcomer would type it.
shown=${build#"$PWD"/}

step() {
	printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi
}

build_lua() {
	[ -x "$demo/lua-O0" ] && [ -x "$demo/lua" ] && [ "$demo/lua" -nt "$uft" ] && return
	step "Lua 5.4 from Debian's source package"
	"$top/tests/lib/fetch-sources.sh" -d "$build/sources" lua5.4
	flags=$("$uft" cflags --quiet)
	echo "cc $flags -O2 -o lua src/*.c -lm"
	(
		cd "$build/sources/lua5.4/src"
		# shellcheck disable=SC2046,SC2086
		${CC:-cc} $flags -O0 -w -DLUA_USE_POSIX -o "$demo/lua-O0" $(ls ./*.c | grep -v '/luac\.c$') -lm &
		${CC:-cc} $flags -O2 -w -DLUA_USE_POSIX -o "$demo/lua" $(ls ./*.c | grep -v '/luac\.c$') -lm
		wait $!
	)
}

build_lua
cd "$demo"

step "uft record ./lua demo.lua"
"$uft" record -o lua.uft ./lua "$top/tools/demo.lua"

step "uft report | head -40"
"$uft" report lua.uft | head -40

step "uft report --profile --sort self --limit 15"
"$uft" report --profile --sort self --limit 15 lua.uft

step "The same without us: the program is as fast as ever"
./lua "$top/tools/demo.lua"

cat <<END

Try next, for the calls of Lua's table functions and who makes them:

    $shown/uft record -p function -l 'luaH_*' -o $shown/demo/tables.uft $shown/demo/lua tools/demo.lua
    $shown/uft report $shown/demo/tables.uft
END
