#!/bin/sh
# SPDX-License-Identifier: MIT
# rundir.sh - a stranger who owns the name of a user's run directory blocks no command
. "$(dirname "$0")/../../lib/common.sh"

# ---- the names in /dev/shm and /tmp are another user's ----
[ "$(id -u)" -eq 0 ] || skip "the names of a stranger: only root can be another user"
need setpriv
uid=$((2000000 + $$))
setpriv --reuid $uid --regid $uid --clear-groups true 2>/dev/null || skip "the names of a stranger: no other users here"
mkdir /dev/shm/uft-$uid /tmp/uft-$uid
chmod 777 "$tmp"
as() { env -u XDG_RUNTIME_DIR -u UFT_SESSION HOME="$tmp" setpriv --reuid $uid --regid $uid --clear-groups "$@"; }
cp "$uft" uft
run as ./uft record -q -o "$tmp/x.uft" /bin/true
expect_status 0
expect_file x.uft
run as ./uft shell --no-mount -c './uft read current_tracer && ./uft list'
expect_status 0
expect_out nop
for dir in /dev/shm /tmp; do
	found=$(find $dir -maxdepth 1 -name "uft-$uid.*" -printf '%m %U\n')
	expect_equal "the folder in $dir" "$found" "700 $uid"
	rm -rf $dir/uft-$uid $dir/uft-$uid.??????
done
