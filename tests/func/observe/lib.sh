# SPDX-License-Identifier: MIT
# lib.sh - sourced by the tests of this directory: $T is the program; skips where the kernel tells us nothing of threads
. "$(dirname "$0")/../../lib/common.sh"
T=$1
export T TMP="$tmp"
"$uft" record -q -p sched_switch -o may.uft true 2>may || skip "$(cat may)"

lines() { grep -v '^#' "$@"; }
