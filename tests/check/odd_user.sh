#!/bin/sh
# SPDX-License-Identifier: MIT
#
# odd_user.sh UFT TOP SCRIPT... - shell tests pass for users whose machine is another
#
# UFT and the tests are copied into a folder whose name has spaces and `uft` in it, under umask 077. There each SCRIPT (a
# name below tests) runs with each sh and each awk that is installed, in a locale that is not C, and last, if this is
# root, as a user without rights. What is not installed is skipped by its name.
set -u
uft=$1 top=$2
shift 2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 711 "$dir" || exit 1
umask 077
place="$dir/a uft of mine"
mkdir "$place" "$place/build" "$place/tmp of uft" "$place/bin" || exit 1
(cd "$top" && tar cf - tests/lib tests/func/cli) | (cd "$place" && tar xf - --no-same-permissions) || exit 1
cp "$uft" "$place/build/uft" || exit 1
passed=0 failed=0

# all_pass AS COMMAND...: the command runs each script
all_pass() {
	as=$1
	shift
	for script in $scripts; do
		status=0
		(cd "$place" && TMPDIR="$place/tmp of uft" UFT="$place/build/uft" PATH="$place/bin:$PATH" LC_ALL=$locale LANG=$locale \
			"$@" "$place/tests/$script") >"$dir/out" 2>&1 || status=$?
		case $status in
		0) passed=$((passed + 1)) ;;
		77) echo "SKIPPED: $script $as: $(tail -n 1 "$dir/out")" ;;
		*) echo "FAIL: $script $as: exit status $status"; cat "$dir/out"; failed=$((failed + 1)) ;;
		esac
	done
}

# link_as NAME PROGRAM ARG...: the program becomes NAME in the path; it runs with the arguments
link_as() {
	as=$1 path=$(command -v "$2") || { echo "SKIPPED: $1 by $2: not installed"; return 1; }
	shift 2
	ln -sf "$path" "$place/bin/$as" || exit 1
	"$place/bin/$as" "$@" </dev/null >/dev/null 2>&1 && return	# some busybox has no sh, or no awk
	echo "SKIPPED: $as by $path: it has none"
	rm "$place/bin/$as"
	return 1
}

scripts=$*
locale=C.UTF-8
for other in de_DE.UTF-8 tr_TR.UTF-8; do	# decimal commas; letters with other capitals
	locale -a 2>/dev/null | grep -qix "$(echo "$other" | sed 's/-//')" && locale=$other && continue
	echo "SKIPPED: locale $other: not installed"
done
for name in dash bash busybox mksh; do
	link_as sh "$name" -c : && all_pass "with $name as sh" "$place/bin/sh"
done
rm -f "$place/bin/sh"
for name in gawk mawk original-awk busybox; do
	link_as awk "$name" 'BEGIN { exit 0 }' && all_pass "with $name as awk" sh
done
rm -f "$place/bin/awk"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chown -R 65534:65534 "$place" || exit 1
	HOME=$place
	export HOME
	all_pass "without rights" setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all sh
else
	echo "SKIPPED: a user without rights: this is not root, or setpriv is not installed"
fi
[ $failed -eq 0 ] || exit 1
[ $passed -gt 0 ] || { echo "SKIP: no script could run"; exit 77; }
echo "$passed runs passed"
