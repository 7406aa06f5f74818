#!/bin/sh
# SPDX-License-Identifier: MIT
# each_awk.sh COMMAND ARGS... - the command succeeds with each awk that is installed as `awk`
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" || exit 1
ran=0
for name in gawk mawk original-awk busybox; do
	path=$(command -v "$name") || continue
	ln -sf "$path" "$dir/bin/awk" || exit 1
	"$dir/bin/awk" 'BEGIN { exit 0 }' </dev/null 2>/dev/null || continue	# a busybox without awk
	echo "== $name"
	status=0
	PATH=$dir/bin:$PATH "$@" || status=$?
	[ $status -eq 0 ] || { echo "each_awk.sh: with $name: exit status $status"; exit "$status"; }
	ran=$((ran + 1))
done
[ $ran -gt 0 ] || { echo "SKIP: none of the known awks is installed"; exit 77; }
