#!/bin/sh
# SPDX-License-Identifier: MIT
# docs.sh - every command has one description, in `uft help`, README.md and its man page, and a page that names each of its options
. "$(dirname "$0")/../../lib/common.sh"

commands=$("$uft" --list-commands)
"$uft" help >help
expect_equal "number of commands is known" "$(echo "$commands" | wc -l)" 37

for command in $commands; do
	page=$top/doc/man/uft-$command.1.scd
	check
	does=$(sed -n "s/^  $command  *//p" help)
	[ -n "$does" ] || fail "uft help does not describe $command"
	check
	grep -qixF "| \`uft $command\` | $does |" "$top/README.md" || fail "README.md's table lacks: uft $command: $does"
	check
	grep -qxF "*uft-$command*(1)" "$top/doc/man/uft.1.scd" && grep -qxF "	$does." "$top/doc/man/uft.1.scd" ||
		fail "doc/man/uft.1.scd lacks: uft-$command(1): $does"
	check
	grep -qixF "uft-$command - $does" "$page" || fail "NAME in $page is not: $does"
	expect_file "$page"
	check
	grep -q "^uft-$command(1)" "$page" || fail "$page does not begin with uft-$command(1)"
	run "$uft" help "$command"
	expect_status 0
	expect_out "usage: uft $command"
	"$uft" --list-options "$command" >options || fail "--list-options $command failed"
	check
	[ -s options ] || fail "$command has no options"
	while IFS="$(printf '\t')" read -r name rest; do
		check
		grep -qF -e "*$name*" "$page" || fail "$page does not describe $name"
	done <options
	while read -r name letter rest; do
		case $letter in
		-?) check; grep -qF -e "*$letter*" "$page" || fail "$page does not describe $letter" ;;
		esac
	done <options
done

# A line that continues an indented one is indented, too; scdoc ends the paragraph there.
check
outdented=$(awk '/^\t/ { inside = 1; next } /^$/ { inside = 0; next } inside { print FILENAME ":" FNR }' "$top"/doc/man/*.scd)
[ -z "$outdented" ] || fail "lines of man pages fall out of their paragraph: $outdented"

# A page for something that is no command would be as wrong.
for page in "$top"/doc/man/uft-*.1.scd; do
	command=$(basename "$page" .1.scd)
	check
	echo "$commands" | grep -qx "${command#uft-}" || fail "$page is about no command"
done
