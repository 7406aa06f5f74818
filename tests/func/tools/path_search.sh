#!/bin/sh
# SPDX-License-Identifier: MIT
# path_search.sh PROGRAM - a program that is searched in one directory after the other is followed, each time
. "$(dirname "$0")/../../lib/common.sh"

dir=$(dirname "$1") name=$(basename "$1") found=0
for i in $(seq 20); do
	# The shell that is launched becomes the program: dash tries execve() in each directory.
	run timeout 60 env PATH="/none1:/none2:/none3:/none4:/none5:/none6:/none7:/none8:/none9:$dir:$PATH" \
		"$uft" record -q -o r -l work:mod:"$name" /bin/sh -c "exec $name 3"
	[ "$("$uft" report r 2>/dev/null | grep -c ' work')" -eq 3 ] && found=$((found + 1))
done
expect_equal "programs followed" "$found" 20
