#!/bin/sh
# SPDX-License-Identifier: MIT
# debugdata.sh PROGRAM OUT - a stripped copy of PROGRAM whose symbols are in .gnu_debugdata
set -e
objcopy -S "$1" "$2"
xz -c "$1" >"$2.xz"
objcopy --add-section .gnu_debugdata="$2.xz" "$2"
rm "$2.xz"
