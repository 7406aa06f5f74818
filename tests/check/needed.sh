#!/bin/sh
# SPDX-License-Identifier: MIT
#
# needed.sh UFT CC... - uft needs no shared library that could have been linked in: each is loaded at every start
set -eu
uft=$1
shift
libs=$(readelf -dW "$uft" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
[ -n "$libs" ] || { echo "$uft needs nothing at all?"; exit 1; }
bad=0
for lib in $libs; do
	case $lib in libc.so.* | ld-linux*) continue ;; esac
	archive=${lib%%.so*}.a
	[ "$("$@" -print-file-name="$archive")" = "$archive" ] || { echo "$lib is needed, and $archive is there"; bad=1; }
done
exit $bad
