#!/bin/sh
# SPDX-License-Identifier: MIT
# diskfull.sh - a full disk: the recording stops with a message, the program runs on, and the records so far can be read
. "$(dirname "$0")/../../lib/common.sh"

if [ -z "${UFT_TEST_SMALL_DISK:-}" ]; then
	need unshare
	flags=-m
	[ "$(id -u)" -eq 0 ] || flags=-rm
	unshare $flags mount -t tmpfs tmpfs "$tmp" 2>/dev/null || skip "no file system can be mounted here"
	UFT_TEST_SMALL_DISK=1 unshare $flags "$top/tests/func/cli/diskfull.sh"
	status=$?
	check
	exit $status
fi

cp "$top/tests/func/cli/prog.c" .
build_traced prog
mkdir disk
mount -t tmpfs -o size=8m tmpfs disk
run "$uft" record -o disk/full.uft ./prog calls 2000000
expect_status 1
expect_err "writing disk/full.uft failed: No space left on device"
expect_err "what is in the file stays readable"	# and that the program goes on, unless it has ended by then
expect_equal "messages about it" "$(grep -c 'No space left' err)" 1
run "$uft" report disk/full.uft
expect_status 0
expect_out "work();"
check
[ "$(stat_value disk/full.uft calls)" -gt 1000 ] || fail "hardly anything is in the file"

rm -f disk/full.uft disk/full.uft.old
# The program's own status still tells more than ours.
run "$uft" record -q -o disk/full.uft ./prog exit 3
expect_status 3

# A recording that does not begin for want of room leaves no file, but one that was there.
rm -f disk/*
head -c 16m /dev/zero >disk/all 2>>err
: >disk/mine.uft
for f in new mine; do
	run "$uft" record -q -o disk/$f.uft ./prog exit 3
	expect_status 1
	expect_err "cannot write disk/$f.uft: No space left on device"
done
expect_equal "files" "$(ls disk | tr '\n' ' ')" "all mine.uft "
rm -f disk/*
: >disk/mine.uft
printf '\177ELF' >bad
chmod +x bad
for f in new mine; do
	run "$uft" record -q -o disk/$f.uft ./bad
	expect_status 1
done
expect_equal "files after a program that cannot be started" "$(stat -c '%n %s' disk/* | tr '\n' ' ')" "disk/mine.uft 0 "

# An export for which there is no room leaves nothing, and no name goes that is not the output's own.
run "$uft" record -q -o large.uft ./prog calls 500000
expect_status 0
rm -f disk/*
run "$uft" export -f trace.dat-v7 -o disk/x.dat large.uft
expect_status 1
expect_err "cannot write disk/x.dat: No space left on device"
[ ! -e disk/x.dat ] || fail "what is not complete stays"
: >disk/x.dat
ln -s disk/x.dat link.dat
run "$uft" export -f trace.dat-v7 -o link.dat large.uft
expect_status 1
expect_err "cannot write link.dat: No space left on device"
[ -L link.dat ] || fail "a link to the output was removed"
[ -e disk/x.dat ] && [ ! -s disk/x.dat ] || fail "through a link, what is not complete stays: $(stat -c %s disk/x.dat) bytes"
umount disk
