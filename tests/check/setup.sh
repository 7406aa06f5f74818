#!/bin/sh
# SPDX-License-Identifier: MIT
#
# setup.sh SETUP - tools/setup.sh installs what is missing and nothing else, asks for the list of packages once, and can do without some
#
# id, dpkg, dpkg-query and apt-get are ours here, so nothing is installed.
set -eu
setup=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir bin
echo 'echo 0' >bin/id
echo 'echo amd64' >bin/dpkg
cat >bin/dpkg-query <<'STUB'
# Without names: all lines of ./list. With names: the status of each, 1 if one is unknown.
echo asked >>asked
for last; do :; done
case $last in -*) cat list; exit ;; esac
awk -v name="$last" '$5 == name { print $1, $2, $3; n++ } END { exit !n }' list
STUB
cat >bin/apt-get <<'STUB'
[ "$1" = install ] || exit 0
shift
for p; do case $p in -*) ;; *) echo "$p" >>installed; [ ! -e "no-$p" ] || exit 100 ;; esac; done
STUB
for tool in bin/*; do sed -i '1i #!/bin/sh' "$tool"; done
chmod +x bin/*
bad=0
# list [SED SCRIPT]: all that is wanted is there, but for what the script changes. The format is of the one question.
list() {
	sed -n '/^packages="/,/"$/p; /^optional="/p' "$setup" | sed 's/.*="//; s/"//' | tr ' ' '\n' |
		sed '/^$/d; s/.*/install ok installed amd64 &/' | sed "${1:-}" >list
	[ "$(wc -l <list)" -gt 20 ] || { echo "the packages are not found in $setup"; exit 1; }
}
# installs STATUS WHAT...: that is what it installs now, and how it ends.
installs() {
	want=$1 status=0
	shift
	rm -f asked installed
	: >installed
	PATH=$dir/bin:$PATH XDG_CACHE_HOME=$dir sh "$setup" >said 2>&1 || status=$?
	[ "$status" -eq "$want" ] && [ "$(sort installed | tr '\n' ' ')" = "${*:+$* }" ] ||
		{ echo "ends with $status instead of $want, installs $(sort installed | tr '\n' ' ')instead of $*: $(cat said)"; bad=1; }
	[ "$(wc -l <asked)" -eq 1 ] || { echo "asks $(wc -l <asked) times"; bad=1; }
}
list
installs 0
# Not known, known of another time, of another architecture; one whose name others begin with.
list '/ make$/d; s/^install ok installed amd64 git$/deinstall ok config-files amd64 git/; s/amd64 gdb$/i386 gdb/; / gcc$/d'
installs 0 gcc gdb git make
list 's/ amd64 / all /'
installs 0
# A machine where nothing is.
list
awk '{ print $5 }' list | sort >all
: >list
# shellcheck disable=SC2046
installs 0 $(cat all)
# What is optional and not to be had is said, not fatal, and not tried again on the same day.
list '/ cpio$/d'
: >no-cpio
installs 0 cpio
grep -q '^setup: no cpio' said || { echo "it does not say what there is not: $(cat said)"; bad=1; }
installs 0
# What is not optional is.
list '/ make$/d'
: >no-make
installs 1 make
exit $bad
