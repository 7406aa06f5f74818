#!/bin/sh
# cross.sh PROGRAM CASES CC - assembles the cases for another architecture and lets the program compare
set -eu
command -v "$3" >/dev/null || { echo "SKIP: $3 is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$3" -c "$2" -o "$dir/cases.o"
"${3%gcc}objcopy" -O binary -j .text "$dir/cases.o" "$dir/cases.bin"
"$1" "$dir/cases.bin"
