#!/bin/sh
# SPDX-License-Identifier: MIT
#
# changed_input.sh SHIM - a recording is truncated or overwritten while a command reads it
#
# SHIM (changed_input.c) does it, at a read that is counted. A command that ends with status 0 has printed what it prints of the
# recording alone; any other one says in one line what has happened, and leaves no other export than a whole one. A change of the
# time alone, and a recorder that appends, are no such change.
shim=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
need timeout
sentence='cut off or overwritten while it was read'

"$SYNTH" whole.uft 30000 1 4 || fail "no recording is made"
touch -d 2020-01-01 whole.uft
LD_PRELOAD=$shim CHANGE_COUNT=count "$uft" stat whole.uft >/dev/null 2>&1
[ -s count ] || skip "this uft does not take the shim (a sanitizer comes first)"
bytes=$(stat -c %s whole.uft)
head -c $((bytes * 3 / 5)) whole.uft >part.uft
touch -d 2020-01-01 part.uft

# ask AT HOW: the command in $command, of a copy of $original that changes at that read
ask() {
	cp -p "$original" t.uft
	rm -rf t.uft.index x.*
	# shellcheck disable=SC2086
	run timeout 100 env LD_PRELOAD="$shim" CHANGE_FILE=t.uft CHANGE_AT="$1" CHANGE_HOW="$2" CHANGE_WHOLE=whole.uft CHANGE_COUNT=count "$uft" $command
}

# expect_whole FILE SAVED: an output that is there is the one that belongs to the recording
expect_whole() {
	check
	[ ! -e "$1" ] || cmp -s "$1" "$2" || { fail "$command: $1 is not what it is of the whole recording"; show; }
}

expect_unchanged() {
	expect_status 0
	expect_whole out out.alone
	expect_whole x.json alone.x
	expect_whole x.dat alone.x
	expect_whole x.uft alone.x
}

# changes: the recording changes at several reads of $command, whose results without a change are kept first
changes() {
	ask 0 none
	expect_status 0
	reads=$(cat count)
	cp out out.alone
	rm -f alone.x
	for made in x.*; do [ ! -e "$made" ] || cp "$made" alone.x; done
	for how in cut over empty; do
		seen=0
		for part in 2 5; do
			ask $((1 + reads * part / 8)) "$how"
			[ "$status" -eq 0 ] && { expect_unchanged; continue; }
			seen=$((seen + 1))
			expect_status 1
			check
			grep -qE "$sentence|is empty|was written to meanwhile" err || { fail "$command: $how: no word of the change"; show; }
			expect_err_lines 1
			expect_whole x.json alone.x
			expect_whole x.dat alone.x
			expect_whole x.uft alone.x
		done
		check
		[ "$seen" -gt 0 ] || fail "$command: $how: no run noticed the change"
	done
	for part in 4; do
		ask $((1 + reads * part / 8)) touch
		[ "${command%% *}$original" = packwhole.uft ] || [ "$original" = whole.dat ] || expect_unchanged
	done
}

# grows: so does a recording that its recorder continues
grows() {
	original=part.uft
	ask 0 none
	cp out out.alone
	rm -f alone.x
	for made in x.*; do [ ! -e "$made" ] || cp "$made" alone.x; done
	reads=$(cat count)
	for part in 1 5; do
		ask $((1 + reads * part / 8)) append
		expect_unchanged
	done
}

for command in 'report t.uft' 'report --tree t.uft' 'report --profile t.uft' 'stat t.uft' 'export -o x.json t.uft' 'export -o x.dat t.uft' \
	'diff t.uft t.uft' 'pack -o x.uft t.uft'; do
	original=whole.uft
	changes
done
# A trace.dat has no checksums: any change is one.
"$uft" export -o whole.dat whole.uft 2>/dev/null
touch -d 2020-01-01 whole.dat
command='report t.uft' original=whole.dat
changes
for command in 'report t.uft' 'report --tree t.uft' 'stat t.uft' 'export -o x.json t.uft'; do
	grows
done
# Its recorder continues it, and somebody overwrites what it has: a change if it was good before, and damage that is counted if not.
original=part.uft command='report t.uft'
ask 0 none
cp out out.alone
reads=$(cat count)
seen=0
for part in 1 2 3 4 5 6 7; do
	ask $((1 + reads * part / 8)) grow
	check
	if [ "$status" -ne 0 ]; then
		seen=1
		expect_err "$sentence"
		expect_err_lines 1
	elif ! cmp -s out out.alone; then
		grep -q '^# missing: .*damaged' out || { fail "$command: grow: no word of what is missing"; show; }
	fi
done
check
[ "$seen" -gt 0 ] || fail "$command: grow: no run noticed the change"

# A recording that report follows. It has printed what there is by its second look, and looks again.
cp -p part.uft t.uft
timeout 100 "$uft" report --follow t.uft >out 2>err &
follower=$!
ran='report --follow t.uft'
eventually test -s out
truncate -s $((bytes / 4)) t.uft
status=0
wait "$follower" || status=$?
expect_status 1
expect_err 'while it was read'

# In its place pack leaves what it finds.
command='pack t.uft' original=whole.uft
ask 20 cut
expect_status 1
expect_err_lines 1
expect_equal 'the bytes that stay of a recording that was cut off while it was packed' "$(stat -c %s t.uft)" $((bytes / 2))
