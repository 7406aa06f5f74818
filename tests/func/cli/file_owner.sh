#!/bin/sh
# SPDX-License-Identifier: MIT
# file_owner.sh - files that uft makes belong to the user alone, and another user's link or file cannot redirect them
. "$(dirname "$0")/../../lib/common.sh"

mode() { stat -c %a "$1"; }

umask 0
run "$uft" record -q -o a.uft true
expect_equal "mode of a recording" "$(mode a.uft)" 600
run "$uft" export -o a.dat a.uft
expect_status 0
expect_equal "mode of an export" "$(mode a.dat)" 600
run "$uft" record -q -o b.dat true
expect_equal "mode of a recording as trace.dat" "$(mode b.dat)" 600
chmod 644 a.dat
run "$uft" export -o a.dat a.uft
expect_equal "mode of an export over an earlier one" "$(mode a.dat)" 600
umask 022

# ---- the user's own links, and what is open already ----
mkdir there
ln -s there/real.uft own.uft
run "$uft" record -q -o own.uft true
expect_status 0
expect_file there/real.uft
check
[ -L own.uft ] || fail "the link was replaced"
run "$uft" record -q -o own.uft true
expect_file there/real.uft.old
ln -s real.dat there/second.dat
ln -s there/second.dat first.dat
run "$uft" export -o first.dat a.uft
expect_file there/real.dat
"$uft" export -f trace.dat -o /dev/stdout a.uft >piped.dat
expect_equal "through /dev/stdout" "$(cmp piped.dat a.dat && echo same)" same
ln -s loop.uft loop.uft
run "$uft" record -o loop.uft true
expect_status 1
expect_err "cannot write loop.uft: Too many levels of symbolic links"

# ---- a hard link to what is elsewhere ----
: >mine
ln mine a2.uft
run "$uft" record -o a2.uft true
expect_status 1
expect_err "the file has another name, too"

# ---- those of another user ----
[ "$(id -u)" -eq 0 ] || exit 0
echo precious >precious
for output in stranger.uft stranger.dat; do
	ln -s precious $output
	chown -h 65534 $output
	run "$uft" record -o $output true
	[ $output = stranger.uft ] || run "$uft" export -o $output a.uft
	expect_status 1
	expect_err "it is a symbolic link of another user"
	expect_equal "what the link leads to" "$(cat precious)" precious
done
: >foreign.uft
chown 65534 foreign.uft
run "$uft" record -o foreign.uft true
expect_status 1
expect_err "cannot write foreign.uft: it belongs to another user"
cp a.dat foreign.dat
chown 65534 foreign.dat
run "$uft" export -o foreign.dat a.uft
expect_status 1
expect_err "it belongs to another user"
expect_equal "another user's export" "$(cmp foreign.dat a.dat && echo same)" same

# ---- a file that would be replaced: as in fs.protected_regular, but in each directory ----
mkdir sticky theirs
chmod 1777 sticky
chown 65534 theirs
echo precious >sticky/a.json
cp sticky/a.json sticky/a.uft
cp sticky/a.json theirs/a.json
chown 65534 sticky/* theirs/*
cp sticky/a.json sticky/b.uft.old
chown 65534 sticky/b.uft.old
cp a.uft sticky/b.uft
for output in sticky/a.json sticky/a.uft sticky/b.uft; do
	run "$uft" record -o $output true
	expect_status 1
	expect_err "it belongs to another user"
done
for output in a.json a.uft b.uft.old; do
	expect_equal "what another user has in sticky/$output" "$(cat sticky/$output)" precious
done
expect_equal "what is in the directory" "$(ls sticky | tr '\n' ' ')" "a.json a.json.uft a.uft b.uft b.uft.old "
run "$uft" export -f chrome -o sticky/a.json a.uft
expect_status 1
expect_err "cannot write sticky/a.json: it belongs to another user: remove it first, or give another name"
run "$uft" export -f chrome -o theirs/a.json a.uft
expect_status 0
expect_equal "owner of what took the place of the directory's owner's" "$(stat -c %u theirs/a.json)" 0

# ---- a pipe of another user, which would wait for a reader for ever: also by a link of the user's own ----
mkfifo own.pipe foreign.pipe
ln -s foreign.pipe linked.pipe
chown 65534 foreign.pipe
for output in foreign.pipe linked.pipe; do
	for format in chrome folded sqlite trace.dat; do
		run timeout -k 1 60 "$uft" export -f $format -o $output a.uft
		expect_status 1
		expect_err "it belongs to another user"
	done
done
cat own.pipe >read.json &
run "$uft" export -f chrome -o own.pipe a.uft
expect_status 0
wait
expect_file read.json
run "$uft" export -f chrome -o . a.uft
expect_status 1
expect_err "Is a directory"
