# SPDX-License-Identifier: MIT
# mask.awk - replaces what no two runs have in common (times, process ids, cpus, flags of the moment), and keeps every position in the line

function fill(char, n,	s)
{
	s = ""
	while (n-- > 0)
		s = s char
	return s
}

# What matches becomes as many of the character.
function cover(re, char,	done, rest)
{
	done = ""
	rest = $0
	while (match(rest, re)) {
		done = done substr(rest, 1, RSTART - 1) fill(char, RLENGTH)
		rest = substr(rest, RSTART + RLENGTH)
	}
	$0 = done rest
}

{
	cover(" *(golden|sh)-[0-9]+ *(\\[[0-9]+\\]|[0-9])?", "P")
	cover(" *[0-9]+\\.[0-9][0-9][0-9][0-9][0-9][0-9]( \\||:)", "T")
	cover("^ *[0-9]+\\)", "C")
	cover("T  *[0-9]\\)", "C")
	if (match($0, /[+!#*@$] +[0-9]+\.[0-9]+ us *\|/))
		$0 = substr($0, 1, RSTART - 1) " " substr($0, RSTART + 1)
	cover(" *[0-9]+\\.[0-9]+ us *\\|", "D")
	cover("(P|C) *[.dD][.nNp][.hHsZz][.0-9][.0-9]( *(T|\\|))?", "F")
	cover("^ [.dD][.nNp][.hHsZz][.0-9][.0-9] \\|", "F")
	cover("P\\|  [.dD][.nNp][.hHsZz][.0-9][.0-9] \\|", "F")
	sub(/ *[0-9]+us[ +!#*@$]:/, " Nus :")		# as wide as the number
	sub(/ on [^ ]*$/, " on RELEASE")
	sub(/CPU#[0-9]+ \|/, "CPU#N |")
	sub(/#P:[0-9]+/, "#P:N")
	print
}
