#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh - takes the guards out, one by one: the test that holds a guard must fail then
#
#	run.sh [BUILD] [LIST ...] [--only PATTERN]	minutes; for developers (make mutations)
#	run.sh --check BUILD [LIST ...]			seconds: is every line still about something? (make test)
#
# A line of a LIST (default: *.txt here) is `GUARD(name)|||tests` or `path|||sed expression|||tests`; # begins a comment.
# Of a tag, one line of the sources has the comment; it may move to wherever it likes. Taken out is what stands before the comment: the condition
# of an `if` becomes 0, a `return` gives 0, another statement is empty. `GUARD(name, 1)` makes the condition, or what is returned, 1. An
# expression takes a guard out of the file that is named; it quotes what it changes. Every tag must be in a list.
# Every one of the tests must fail then: end with a status other than 0 and 77, crash or hang.
# A test is the name of a meson test, or `name:case` for its program with that case alone (further cases of the
# same program may follow). PATTERN is an extended regular expression that a line must match.
#
# The tree is copied to BUILD/mutations (default /tmp/uft-mutations), which has a build directory of its own and is kept,
# so that the next run builds less. Every test must pass there before anything is taken out. The last line is
# `N killed, N survived, N rotted`: rotted lines change nothing, do not compile, or name a test that does not exist or
# does not pass. The exit status is 0 only if all were killed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
mode=run build= only=. lists=
while [ $# -gt 0 ]; do
	case $1 in
	--check) mode=check ;;
	--only) only=${2:-.}; shift ;;
	*.txt)
		list=$1
		[ -f "$list" ] || list=$here/$1
		[ -f "$list" ] || { echo "run.sh: no list $1"; exit 1; }
		lists="$lists $list" ;;
	*) build=$1 ;;
	esac
	[ $# -eq 0 ] || shift
done
[ -n "$lists" ] || lists=$(ls "$here"/*.txt)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# One line a test: NAME TIMEOUT TARGETS... -- COMMAND..., words quoted for the shell.
list_tests() {
	python3 - "$1" <<-'PYTHON'
	import json, os, shlex, sys
	build = sys.argv[1]
	load = lambda what: json.load(open(os.path.join(build, 'meson-info', 'intro-%s.json' % what)))
	files = {t['id']: t['filename'] for t in load('targets')}
	for t in load('tests'):
	    need = [os.path.relpath(f, build) for d in t['depends'] for f in files.get(d, [])]
	    env = ['%s=%s' % e for e in t['env'].items()]
	    words = [t['name'], str(t['timeout'])] + need + ['--', 'env'] + env + t['cmd']
	    print(' '.join(shlex.quote(w) for w in words))
	PYTHON
}

# The lines to work on, numbered over all lists: NUMBER TAB LIST TAB LINE
for list in $lists; do
	grep -v -e '^#' -e '^[[:space:]]*$' "$list" | grep -E -e "$only" | sed "s|^|$(basename "$list" .txt)	|"
done >"$scratch/lines"
list_of() { printf '%s' "${1%%	*}"; }
# Each tag of the sources, with its file: FILE:/* TAG */
tagged='runtime control stream tree symbol program output cmd view hist include'
list_tags() { (cd "$1" && grep -roE --include='*.[ch]' '/[*] GUARD\([a-z0-9_]+(, 1)?\) [*]/' $tagged 2>/dev/null); }
path_of()
{
	l=${1#*	}
	case $l in
	'GUARD('*) l=$(grep -F "/* ${l%%|||*} */" "$scratch/tags" | head -n 1); printf '%s' "${l%%:*}" ;;
	*) printf '%s' "${l%%|||*}" ;;
	esac
}
sed_of() { l=${1#*	}; case $l in 'GUARD('*) ;; *) l=${l#*|||} ;; esac; printf '%s' "${l%|||*}"; }
# The expression; on the line of a tag `if (CONDITION) {` becomes `if (0) {`, `return X;` `return 0;`, a statement `;`.
expression_of()
{
	tag=$(sed_of "$1")
	case $tag in
	'GUARD('*)
		value=0 before='\([[:space:]{]*/[*] GUARD\)'
		[ "$tag" = "${tag%, 1)}" ] || value=1
		printf '%s' "\\:/[*] $tag [*]/:{s:if (.*)$before:if ($value)\\1:;t;s:return .*;$before:return $value;\\1:;t;s:[^[:space:]].*;$before:;\\1:;}" ;;
	*) printf '%s' "$tag" ;;
	esac
}
tests_of() { printf '%s' "${1##*|||}"; }

# Splits the third field into `test` and `test:case` words.
words_of() {
	prog=
	for word in $(tests_of "$1"); do
		case $word in
		*:*) prog=${word%%:*} ;;
		*) [ -z "$prog" ] || grep -q "^$word " "$tests" || word=$prog:$word ;;
		esac
		echo "$word"
	done
}

# What is wrong with a line, in words; nothing if it is as it should be. Leaves the mutant in $scratch/mutant.
rot_of() {
	case $(sed_of "$1") in
	'GUARD('*) [ "$(grep -cF "/* $(sed_of "$1") */" "$scratch/tags")" = 1 ] || { echo "the tag does not stand once in the sources"; return; } ;;
	esac
	file=$src/$(path_of "$1")
	[ -f "$file" ] || { echo "no such file"; return; }
	sed -e "$(expression_of "$1")" "$file" >"$scratch/mutant" 2>"$scratch/sed" || { head -n 1 "$scratch/sed"; return; }
	! cmp -s "$scratch/mutant" "$file" || { echo "the expression changes nothing"; return; }
	[ -n "$(tests_of "$1")" ] || { echo "no test"; return; }
	for word in $(words_of "$1"); do
		grep -q "^${word%%:*} " "$tests" || { echo "no test ${word%%:*}"; return; }
	done
}

tests=$scratch/tests
if [ $mode = check ]; then
	src=$top
	list_tests "${build:-$top/build}" >"$tests" || exit 1
	list_tags "$src" >"$scratch/tags"
	bad=0 n=0
	while IFS= read -r line; do
		n=$((n + 1))
		rot=$(rot_of "$line")
		[ -z "$rot" ] || { bad=$((bad + 1)); printf '%s: %s: %s\n' "$(list_of "$line")" "$rot" "${line#*	}"; }
	done <"$scratch/lines"
	# Is every tag still somebody's?
	while IFS= read -r tag; do
		tag=${tag#*:/?} tag=${tag%?/}
		tag=${tag# } tag=${tag% }
		grep -qF "$tag|||" "$here"/*.txt || { bad=$((bad + 1)); echo "no list names $tag"; }
	done <"$scratch/tags"
	echo "$n mutations, $bad rotted"
	[ $bad -eq 0 ] && [ $n -gt 0 ]
	exit
fi

work=${build:+$(mkdir -p "$build" && cd "$build" && pwd)/mutations}
work=${work:-${TMPDIR:-/tmp}/uft-mutations}
src=$work/src obj=$work/build
mkdir -p "$src"
exec 9>"$work/lock"
flock -n 9 || { echo "run.sh: another run works in $work"; exit 1; }
# Copies get a new time: a mutant of an interrupted run was built later than its original was written.
(cd "$top" && { git ls-files 2>/dev/null || find . -type f ! -path './.git/*' ! -path './build/*'; }) | while IFS= read -r f; do
	[ -f "$top/$f" ] || continue
	cmp -s "$top/$f" "$src/$f" || { mkdir -p "$(dirname "$src/$f")"; cp "$top/$f" "$src/$f" && chmod u+w "$src/$f"; }
done
[ -f "$obj/build.ninja" ] || meson setup "$obj" "$src" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
ninja -C "$obj" build.ninja >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log"; exit 1; }
list_tests "$obj" >"$tests" || exit 1
list_tags "$src" >"$scratch/tags"

# build_for WORD: what the test needs
build_for() {
	eval "set -- $(grep "^${1%%:*} " "$tests")"
	shift 2
	targets=
	while [ "$1" != -- ]; do
		targets="$targets $1"
		shift
	done
	# shellcheck disable=SC2086
	ninja -C "$obj" $targets >"$scratch/log" 2>&1
}

# run_word WORD SECONDS: 0 passed, 77 skipped, else failed; a test that has its own limit is told a shorter one
run_word() {
	word=$1 limit=$2
	eval "set -- $(grep "^${word%%:*} " "$tests")"
	while [ "$1" != -- ]; do
		shift
	done
	shift
	case $word in *:*) set -- "$@" "${word#*:}" ;; esac
	(cd "$obj" && HAZARD_TIMEOUT=$limit timeout -k 5 $((limit + 10)) "$@" >"$scratch/out" 2>&1 </dev/null 9>&-
		exit $?) 2>/dev/null	# what the shell says of crashes
}

# Must pass as it is; how long that takes says how long a mutant is waited for.
echo "tests as they are:"
while IFS= read -r line; do
	words_of "$line"
done <"$scratch/lines" | sort -u >"$scratch/words"
while IFS= read -r word; do
	grep -q "^${word%%:*} " "$tests" || continue
	build_for "$word" || { tail -n 20 "$scratch/log"; exit 1; }
	start=$(date +%s)
	run_word "$word" 240
	rc=$?
	took=$(($(date +%s) - start))
	echo "$word $rc $((20 + 3 * took))" >>"$scratch/plain"
	[ $rc -eq 0 ] || { printf '  %s: status %d\n' "$word" $rc; tail -n 5 "$scratch/out" | sed 's/^/    /'; }
done <"$scratch/words"
echo "  $(wc -l <"$scratch/words") run"

killed=0 survived=0 rotted=0
row() { printf '%-9s %-8s %-40s %s\n' "$1" "$(list_of "$line")" "$2" "$(path_of "$line") $(sed_of "$line")"; }
while IFS= read -r line; do
	file=$src/$(path_of "$line")
	rot=$(rot_of "$line")
	for word in $(words_of "$line"); do
		[ -n "$rot" ] || grep -q "^$word 0 " "$scratch/plain" || rot="$word does not pass as it is"
	done
	if [ -z "$rot" ]; then
		cp "$file" "$scratch/original"
		cp "$scratch/mutant" "$file"
		alive=
		for word in $(words_of "$line"); do
			build_for "$word" || { rot="does not compile"; break; }
			run_word "$word" "$(sed -n "s|^$word 0 ||p" "$scratch/plain")"
			case $? in 0 | 77) alive="$alive $word" ;; esac
		done
		cp "$scratch/original" "$file"	# with the time of now, so that it is built again
		if [ -z "$rot" ] && [ -n "$alive" ]; then
			survived=$((survived + 1))
			row SURVIVED "${alive# }"
			continue
		fi
	fi
	if [ -n "$rot" ]; then
		rotted=$((rotted + 1))
		row ROTTED "$rot"
	else
		killed=$((killed + 1))
		row killed "$(tests_of "$line")"
	fi
done <"$scratch/lines"
echo "$killed killed, $survived survived, $rotted rotted"
[ $survived -eq 0 ] && [ $rotted -eq 0 ] && [ $killed -gt 0 ]
