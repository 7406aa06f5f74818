#!/bin/sh
# encode.sh PROGRAM CASES CC... - assembles the cases and lets the program compare
set -eu
program=$1 cases=$2
shift 2
command -v objcopy >/dev/null || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$@" -c "$cases" -o "$dir/cases.o"
objcopy -O binary -j .text "$dir/cases.o" "$dir/cases.bin"
"$program" "$dir/cases.bin"
