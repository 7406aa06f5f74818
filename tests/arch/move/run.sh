#!/bin/sh
# run.sh TOP ARCH CC EMULATOR... - what was moved, executed
set -eu
top=$1 arch=$2 cc=$3
shift 3
for tool in "$cc" "$1"; do
	command -v "$tool" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
echo 'int main(void) { return 0; }' >"$dir/probe.c"
"$cc" "$dir/probe.c" -o "$dir/probe" 2>/dev/null || { echo "SKIP: $cc has no C library"; exit 77; }
"$@" "$dir/probe" || { echo "SKIP: the emulator does not run a program"; exit 77; }
"$cc" -O1 -Wall -Wextra -Werror -I"$top" -o "$dir/run" "$top/tests/arch/move/run_$arch.c" "$top/tests/arch/move/run_$arch.S" \
	"$top/control/relocate/${arch}_move.c"
"$@" "$dir/run"
