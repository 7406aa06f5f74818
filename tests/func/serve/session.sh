# SPDX-License-Identifier: MIT
# session.sh - sourced by the tests of this directory: $T is the program, $M its name; shell 'COMMANDS' runs in a session without mounts
. "$(dirname "$0")/../../lib/common.sh"
need bash timeout

export T="$1" U="$uft" XDG_RUNTIME_DIR="$tmp"
M=$(basename "$T")
export M
unset UFT_SESSION

shell() {
	run timeout 60 "$uft" shell --no-mount -c "exec bash -c '$1'"
}
