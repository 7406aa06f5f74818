#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fetch-sources.sh - the real programs that demo, tests and bench trace, from Debian's source packages
#
#   fetch-sources.sh [-d DIR] lua5.4|sqlite3 ...
#
# Each package ends up unpacked in DIR/NAME (default build/sources/NAME) and its directory is printed, one a line.
# lua5.4 gets the header that the package's rules make: src/*.c but luac.c is a whole program then. sqlite3 also gets
# its one-file form: DIR/sqlite3/amalgamation/{sqlite3.c,sqlite3.h,shell.c}.
# apt.sh has how: from the machine's own apt sources, without root. What is there already is not fetched again.
# Exit: 0; 77 when the machine has no apt sources or they cannot be reached; 1 on any other failure.
set -eu

dir=build/sources
while getopts d: opt; do
	case $opt in
	d) dir=$OPTARG ;;
	*) echo "usage: fetch-sources.sh [-d DIR] lua5.4|sqlite3 ..." >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

me=fetch-sources apt_type=deb-src
. "$(dirname "$0")/apt.sh"

fetch() {
	download "the source package $1" source --download-only "$1" || return
	rm -rf "$dir/$1.new"
	dpkg-source --no-check -x "$dir"/.apt/dl/*.dsc "$dir/$1.new" >"$dir/.apt/log" 2>&1 || {
		tail -n 5 "$dir/.apt/log" >&2
		return 1
	}
}

# The amalgamation needs tclsh; the package's configure also finds the compiler's headers.
amalgamate() (
	mkdir -p "$1/bld" "$1/amalgamation"
	cd "$1/bld"
	../configure --disable-tcl --disable-shared >configure.out 2>&1 && make sqlite3.c shell.c >make.out 2>&1 || {
		tail -n 5 configure.out make.out >&2
		echo "fetch-sources: making sqlite3.c failed" >&2
		exit 1
	}
	cp sqlite3.c sqlite3.h shell.c ../amalgamation/ || exit
	rm -rf ../bld
)

# As debian/rules does it.
multiarch_header() {
	printf '#define DEB_HOST_MULTIARCH "%s"\n' "$(${CC:-cc} -print-multiarch 2>/dev/null || true)" \
		>"$1/src/lua5.4-deb-multiarch.h"
}

for name; do
	# Two tests may ask at once: one fetches, the other waits for it.
	(
		flock 9
		if [ ! -d "$dir/$name" ]; then
			fetch "$name" || exit
			case $name in
			lua5.4) multiarch_header "$dir/$name.new" ;;
			sqlite3) amalgamate "$dir/$name.new" || exit ;;
			esac
			mv "$dir/$name.new" "$dir/$name"
		fi
	) 9>"$dir/.lock"
	echo "$dir/$name"
done
