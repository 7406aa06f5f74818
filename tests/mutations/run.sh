#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh - takes the guards out, one by one: the test that holds a guard must fail then
#
#	run.sh [BUILD] [LIST ...] [--only PATTERN]	minutes; for developers (make mutations)
#	run.sh --check BUILD [LIST ...]			seconds: does each tag and test exist? (make test)
#
# A line of a LIST (default: *.txt here) is `NAME TEST ...`; # begins a comment. NAME is the tag of a guard in the sources, which may move
# to wherever it likes; mutate.py has the forms of tags, and what becomes of the guard. Every tag must be in a list.
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
name_of() { l=${1#*	}; printf '%s' "${l%% *}"; }
tests_of() { printf '%s' "${1#* }"; }
# The mutants of all tags: MUTANTS/NAME, its file NAME.path, or NAME.rot
mutants=$scratch/mutants
make_mutants() { mkdir "$mutants" && python3 "$here/mutate.py" "$1" "$mutants"; }
path_of() { cat "$mutants/$(name_of "$1").path" 2>/dev/null; }

# Splits the tests into `test` and `test:case` words.
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

# Prints the mistake in a line; nothing if there is none.
rot_of() {
	name=$(name_of "$1")
	[ ! -f "$mutants/$name.rot" ] || { cat "$mutants/$name.rot"; return; }
	[ -f "$mutants/$name" ] || { echo "no such tag"; return; }
	case ${1#*	} in *' '*) ;; *) echo "no test"; return ;; esac
	for word in $(words_of "$1"); do
		grep -q "^${word%%:*} " "$tests" || { echo "no test ${word%%:*}"; return; }
	done
}

tests=$scratch/tests
if [ $mode = check ]; then
	src=$top
	list_tests "${build:-$top/build}" >"$tests" || exit 1
	make_mutants "$src" || exit 1
	bad=0 n=0
	while IFS= read -r line; do
		n=$((n + 1))
		rot=$(rot_of "$line")
		[ -z "$rot" ] || { bad=$((bad + 1)); printf '%s: %s: %s\n' "$(list_of "$line")" "$rot" "${line#*	}"; }
	done <"$scratch/lines"
	for tag in "$mutants"/*.path; do
		tag=${tag##*/} tag=${tag%.path}
		grep -q "^$tag " "$here"/*.txt || { bad=$((bad + 1)); echo "no list names $tag"; }
	done
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
make_mutants "$src" || exit 1

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
row() { printf '%-9s %-8s %-40s %s\n' "$1" "$(list_of "$line")" "$2" "$(path_of "$line") $(name_of "$line")"; }
while IFS= read -r line; do
	file=$src/$(path_of "$line")
	rot=$(rot_of "$line")
	for word in $(words_of "$line"); do
		[ -n "$rot" ] || grep -q "^$word 0 " "$scratch/plain" || rot="$word does not pass as it is"
	done
	if [ -z "$rot" ]; then
		cp "$file" "$scratch/original"
		cp "$mutants/$(name_of "$line")" "$file"
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
