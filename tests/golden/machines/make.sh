#!/bin/sh
# SPDX-License-Identifier: MIT
#
# make.sh UFT [DIR] - makes the recordings beside it anew, or those of DIR: arm64.uft, arm64.dat, riscv64.uft, riscv64.dat
#
# They are checked in because whoever reads a recording of another machine has neither its compiler nor an emulator: machines.sh
# holds them against the text that they must give, on any host, and that old ones stay readable. Made by the cross compilers and qemu-user of
# tools/setup.sh from calls.c. Nothing of the maker's machine is in them: they are made in a directory of a fixed name, with another name
# of host and kernel.
set -eu
uft=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
dir=/tmp/uft-recordings to=$here
if [ -n "${2:-}" ]; then
	dir=$2/work to=$2
fi
mkdir "$dir"
trap 'rm -rf "$dir"' EXIT
cp "$uft" "$dir/uft"
mkdir "$dir/runtime"
cp "$(dirname "$uft")"/runtime/libuft-*.so "$dir/runtime"
cd "$dir"
cat >names.c <<'END'
#include <string.h>
#include <sys/utsname.h>
int uname(struct utsname *u)
{
	memset(u, 0, sizeof(*u));
	strcpy(u->sysname, "Linux");
	strcpy(u->nodename, "maker");
	strcpy(u->release, "6.1.0");
	strcpy(u->version, "#1");
	strcpy(u->machine, "x86_64");
	return 0;
}
int gethostname(char *name, size_t n) { strncpy(name, "maker", n); return 0; }
END
gcc -shared -fPIC -o names.so names.c
make_for() {
	machine=$2
	"$machine-linux-gnu-gcc" -O1 -nostdlib -nostartfiles -fPIE -pie "-fpatchable-function-entry=$3" "-Wl,--dynamic-linker=$4" \
		"$here/calls.c" -o calls
	how="qemu-$machine -L /usr/$machine-linux-gnu"
	LD_PRELOAD=$dir/names.so timeout 60 ./uft record -q -p function_graph "--emulator=$how" -o "$1.uft" ./calls
	LD_PRELOAD=$dir/names.so timeout 60 ./uft record -q -p function "--emulator=$how" -o "$1.dat" ./calls
	chmod 644 "$1.uft" "$1.dat"
	mv "$1.uft" "$1.dat" "$to"
}
make_for arm64 aarch64 2 /lib/ld-linux-aarch64.so.1
make_for riscv64 riscv64 8 /lib/ld-linux-riscv64-lp64d.so.1
