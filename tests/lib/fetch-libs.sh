#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fetch-libs.sh - Debian's libraries for another machine, to build uft for it
#
#   fetch-libs.sh -d DIR arm64
#
# What uft is built with is unpacked below DIR/root; neither it nor the architecture is made known to this system's dpkg (apt.sh has how).
# The two files that Meson takes are DIR/root.ini, which is written last and says where that is, and tools/cross/MACHINE.ini; the path of the
# first is printed. What is there already is not fetched again. Exit: 0; 77 when the machine has no apt sources, or they cannot be reached
# or have none; 1 on any other failure.
set -eu

dir=
while getopts d: opt; do
	case $opt in
	d) dir=$OPTARG ;;
	*) dir= ; break ;;
	esac
done
shift $((OPTIND - 1))
[ -n "$dir" ] && [ $# -eq 1 ] || { echo "usage: fetch-libs.sh -d DIR arm64" >&2; exit 2; }
machine=$1
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
# The libraries behind what setup.sh names for this machine, and a shell for who boots it. libc is that of the cross compiler.
packages="libelf-dev libelf1 libdw-dev libdw1 zlib1g-dev zlib1g libsqlite3-dev libsqlite3-0 libzydis-dev libzydis4.0 libzycore-dev libzycore1.4 libzstd-dev libzstd1 liblzma-dev liblzma5
libiberty-dev libfuse3-dev libfuse3-3 busybox-static"

me=fetch-libs apt_type=deb
apt_options="-o APT::Architecture=$machine -o APT::Architectures=$machine -o Dir::State::Status=/dev/null -o Acquire::Languages=none"
. "$(dirname "$0")/apt.sh"

fetch() {
	# shellcheck disable=SC2086
	download "the libraries for $machine" download $packages || return
	rm -rf "$dir/root"
	for p in "$dir"/.apt/dl/*.deb; do
		dpkg-deb -x "$p" "$dir/root" || { echo "$me: cannot unpack ${p##*/}" >&2; return 1; }
	done
	rm -rf "$dir/.apt"	# 100 MB that nobody needs again
	printf '[constants]\nroot = '"'%s'"'\n' "$dir/root" >"$dir/root.ini.new"
	mv "$dir/root.ini.new" "$dir/root.ini"
}

# Two may ask at once: one fetches, the other waits for it.
(
	flock 9
	[ -e "$dir/root.ini" ] || fetch || exit
) 9>"$dir/.lock"
echo "$dir/root.ini"
