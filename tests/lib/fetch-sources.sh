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
# The machine's own apt sources are read and copied with `deb` turned into `deb-src` into a private configuration, so
# no mirror is named here, nothing in /etc changes and root is not needed. What is there already is not fetched again.
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

# apt with a configuration of its own in $dir/.apt. "$@": what apt-get is to do.
private_apt() {
	apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/.apt/sources" \
		-o Dir::State::Lists="$dir/.apt/lists" -o Dir::Cache="$dir/.apt/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=2 -o Debug::NoLocking=true "$@"
}

# One-line files: `deb ` becomes `deb-src `; deb822 files: `Types: deb` becomes `Types: deb-src`.
make_apt_sources() {
	rm -rf "$dir/.apt/sources"
	mkdir -p "$dir/.apt/sources" "$dir/.apt/lists/partial" "$dir/.apt/cache/archives/partial"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
		[ -r "$f" ] || continue
		case $f in
		*.list) sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$f" ;;
		*.sources) sed 's/^Types:.*/Types: deb-src/' "$f" ;;
		esac >"$dir/.apt/sources/$(basename "$f")"
	done
	[ -n "$(cat "$dir/.apt/sources"/* 2>/dev/null)" ]
}

update_once() {
	[ -e "$dir/.apt/updated" ] && return 0
	command -v apt-get >/dev/null 2>&1 || { echo "fetch-sources: no apt-get on this machine" >&2; return 77; }
	make_apt_sources || { echo "fetch-sources: no apt sources on this machine" >&2; return 77; }
	# A part of the sources being out of reach does not matter if the package is in another part.
	private_apt update >"$dir/.apt/log" 2>&1 || cat "$dir/.apt/log" >&2
	touch "$dir/.apt/updated"
}

fetch() {
	update_once || return
	rm -rf "$dir/.apt/dl"
	mkdir -p "$dir/.apt/dl"
	if ! (cd "$dir/.apt/dl" && private_apt source --download-only "$1" >../log 2>&1); then
		tail -n 5 "$dir/.apt/log" >&2
		rm -f "$dir/.apt/updated"
		echo "fetch-sources: cannot fetch the source package $1" >&2
		return 77
	fi
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
	cp sqlite3.c sqlite3.h shell.c ../amalgamation/
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
