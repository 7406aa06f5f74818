#!/bin/bash
# SPDX-License-Identifier: MIT
# completion.sh - bash completes commands, options, choices, and the words of the traced program itself
. "$(dirname "$0")/../../lib/common.sh"

compopt() { :; }
. "$top/tools/completion/uft.bash"

# completes WORDS... : what the last of the words may become is in $words.
completes() {
	COMP_WORDS=("$uft" "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_uft
	words=" ${COMPREPLY[*]} "
}

offers() {
	check
	[[ $words == *" $1 "* ]] || fail "completing '${COMP_WORDS[*]:1}' offers${words:0:200}, not $1"
}

offers_not() {
	check
	[[ $words != *" $1 "* ]] || fail "completing '${COMP_WORDS[*]:1}' offers $1"
}

completes ""
for command in $("$uft" --list-commands) help; do
	offers "$command"
done
completes "rec"
offers record
offers recordmcount
offers_not report
completes help "st"
offers stat

for command in $("$uft" --list-commands); do
	completes "$command" "-"
	while read -r name letter rest; do
		offers "$name"
		[[ $letter == -? ]] && offers "$letter"
	done < <("$uft" --list-options "$command")
done

completes record -p ""
offers function_graph
offers profile
completes record -p func
offers function
offers_not nop
completes record --tracer = pro
offers profile
completes report --sort ""
offers total
completes report --color = ""
offers never

completes attach --name "$(ps -o comm= -p $$ | cut -c1-3)"
offers "$(ps -o comm= -p $$)"

touch some.uft
completes report so
offers some.uft
completes record -o so
offers some.uft
touch some-program
chmod +x some-program
completes record -q some-p
offers some-program
completes record -p function -- some-p
offers some-program
