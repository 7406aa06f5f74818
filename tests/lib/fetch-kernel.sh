#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fetch-kernel.sh - Debian's kernel for another machine, to be booted by QEMU
#
#   fetch-kernel.sh [-d DIR] arm64
#
# The image is DIR/vmlinuz-MACHINE (default build/guest), whose path is printed. It is of the package for virtual machines,
# the smallest; neither it nor the architecture is made known to this system's dpkg. apt.sh has how. What is there already is not
# fetched again; so only what was unpacked whole gets its name. Exit: 0; 77 when the machine has no apt sources, or they cannot be reached or have none; 1 on any other failure.
set -eu

dir=build/guest
while getopts d: opt; do
	case $opt in
	d) dir=$OPTARG ;;
	*) echo "usage: fetch-kernel.sh [-d DIR] arm64" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
machine=$1
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

me=fetch-kernel apt_type=deb
apt_options="-o APT::Architecture=$machine -o APT::Architectures=$machine -o Dir::State::Status=/dev/null -o Acquire::Languages=none"
. "$(dirname "$0")/apt.sh"

# unpack FILE. tar fails if dpkg did not give it all. Called as a condition, which sh -e does not end in: each step tells by itself.
unpack() {
	dpkg --fsys-tarfile "$dir"/.apt/dl/*.deb | tar -x -O --wildcards './boot/vmlinuz-*' >"$1.new" || return
	[ -s "$1.new" ] || return
	mv "$1.new" "$1"
}

fetch() {
	update_once || return
	package=$(private_apt apt-cache depends "linux-image-cloud-$machine" 2>/dev/null |
		sed -n 's/.*Depends: *\(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1)
	if [ -z "$package" ]; then
		rm -f "$dir/.apt/updated"	# another time there may be a network
		echo "$me: there is no package linux-image-cloud-$machine" >&2
		return 77
	fi
	download "$package" download "$package" || return
	if ! unpack "$dir/vmlinuz-$machine"; then
		rm -rf "$dir/.apt/dl" "$dir/vmlinuz-$machine.new"
		echo "$me: cannot unpack $package" >&2
		return 1
	fi
	rm -rf "$dir/.apt/dl" "$dir/.apt/lists" "$dir/.apt/updated"	# 100 MB that nobody needs again
}

# Two tests may ask at once: one fetches, the other waits for it.
(
	flock 9
	[ -e "$dir/vmlinuz-$machine" ] || fetch || exit
) 9>"$dir/.lock"
echo "$dir/vmlinuz-$machine"
