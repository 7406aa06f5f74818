#!/bin/sh
# SPDX-License-Identifier: MIT
#
# setup.sh SETUP - tools/setup.sh installs what is missing and nothing else, asks for the list of packages once, and can do without some;
# these make no make ask for a password, or wait twice a day
#
# id, sudo, dpkg, dpkg-query and apt-get are ours here, so nothing is installed.
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
cat >bin/sudo <<'STUB'
# It would have to ask for a password.
[ -e uft-setup-tried ] && echo "today $*" >>sudo || echo "$*" >>sudo
[ "$1" != -n ] && exec "$@"
STUB
echo 'exit 1' >bin/npm
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
	rm -f asked installed sudo
	: >installed
	: >sudo
	PATH=$dir/bin:$PATH XDG_CACHE_HOME=${cache:-$dir} sh "$setup" >said 2>&1 || status=$?
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
# The same elsewhere: what building takes, and there is for it.
printf '#!/bin/sh\necho arm64\n' >bin/dpkg
# shellcheck disable=SC2046
installs 0 $(sed -n '/^packages_elsewhere="/,/"$/p' "$setup" | sed 's/.*="//; s/"//' | tr ' ' '\n' | sort)
grep -qx libzydis-dev installed && ! grep -q user-mode-linux installed || { echo "elsewhere other packages are wanted"; bad=1; }
printf '#!/bin/sh\necho amd64\n' >bin/dpkg
# An optional package that cannot be had is reported, is not fatal, and is not tried again on the same day.
list '/ cpio$/d'
: >no-cpio
installs 0 cpio
grep -q '^setup: no cpio' said || { echo "it does not say what there is not: $(cat said)"; bad=1; }
installs 0
# A package that is not optional is fatal.
list '/ make$/d'
: >no-make
installs 1 make
# A user who is not root: sudo may ask for a password for needed packages only.
printf '#!/bin/sh\necho 1000\n' >bin/id
rm no-make no-cpio uft-setup-tried
list '/ make$/d'
installs 0 make
by_sudo() { [ "$(grep -c -e "$1" sudo)" -eq "$2" ] || { echo "not $2 times by sudo: $1: $(cat sudo)"; bad=1; }; }
by_sudo '^apt-get update' 1
by_sudo '^apt-get install .*make' 1
list '/ cpio$/d'
installs 0
grep -q '^setup: no cpio' said || { echo "it does not say what there is not without a password: $(cat said)"; bad=1; }
by_sudo '' 2
by_sudo '^today -n apt-get .*Acquire::Retries=0 .*Acquire::http::Timeout=10' 2
installs 0
by_sudo '' 0
cache=/proc			# it cannot note there that it has tried
installs 0
by_sudo ' -n apt-get install .* cpio$' 1
exit $bad
