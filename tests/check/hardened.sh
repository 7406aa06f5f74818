#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hardened.sh UFT COMPILE_COMMANDS FLAG... - uft is position independent, its tables are read-only once it runs (full RELRO), its stack
# holds no code, and each source of its own (not of the runtime, which has no libc) is compiled with FLAG...
set -eu
uft=$1 commands=$2
shift 2
bad=0
is() { echo "$3" | grep -qE "$2" || { echo "$uft: $1"; bad=1; }; }
is 'not position independent' 'Type:.*DYN' "$(readelf -hW "$uft")"
segments=$(readelf -lW "$uft")
is 'no GNU_RELRO' GNU_RELRO "$segments"
is 'an executable stack' 'GNU_STACK.* RW +0x' "$segments"
is 'functions are bound when they are called first (no BIND_NOW)' 'BIND_NOW|FLAGS.*NOW' "$(readelf -dW "$uft")"
is 'no stack protector' __stack_chk_fail "$(readelf -sW "$uft")"
own=$(grep '"command":' "$commands" | grep -E ' -c \.\./(cmd|symbol|control|stream|output|tree|tools/(recordmcount|cflags))/' |
	grep -E ' -o ["'\'']?(uft\.p|(symbol|control|stream|output|tree|tools)/)')
[ "$(echo "$own" | grep -c .)" -gt 150 ] || { echo "$commands: only these are found: $own"; bad=1; }
for flag; do
	without=$(echo "$own" | grep -vF -e "$flag" | sed 's/.* -c //')
	[ -z "$without" ] || { echo "compiled without $flag:" $without; bad=1; }
done
exit $bad
