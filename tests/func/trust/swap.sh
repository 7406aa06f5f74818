#!/bin/sh
# SPDX-License-Identifier: MIT
#
# swap.sh SWAP - a program that gains rights when it is started is left alone, also if it was another file when the recorder looked, or is a script's
# interpreter
program=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
need timeout
[ "$(id -u)" -eq 0 ] || skip "only root's recorder lets a program gain rights"
chmod 755 .
mkdir -m 777 theirs
cp "$program" gaining
cp "$program" plain
chmod 4755 gaining
printf '#!%s/gaining\n' "$tmp" >script
chmod 755 plain script
run "$program" ./gaining
[ "$status" -eq 2 ] || skip "set-user-ID programs gain no rights in $tmp (nosuid?)"

run timeout -s KILL 100 "$uft" record -q -p function -l work -o t.uft "$program" ./script
expect_status 2
expect_err "./script gains rights when it is started (setuid)"

cd theirs || exit 1
run timeout -s KILL 100 "$uft" record -q -p function -l work -o ../t.uft "$program" "$tmp/gaining" "$tmp/plain" name
expect_status 0
cat out
