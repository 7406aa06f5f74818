#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guest.sh DIR KERNELS INIT - uft built for arm64 records programs on Debian's arm64 kernel, in a virtual machine
#
# DIR is where it is built, KERNELS where the kernel is kept, INIT the guest's first process. inside.sh has what is looked at.
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/guest/boot.sh"
. "$top/tests/func/native/build.sh"
boot_kernel "$2"
native_build "$1"

mkdir -p root/bin root/lib root/uft/runtime
cp "$3" root/init
cp "$native/uft" root/uft
cp "$native/runtime/libuft-aarch64.so" root/uft/runtime
for lib in $(native_libs "$native/uft"); do cp -L "$lib" root/lib; done
cp "$libs/bin/busybox" root/bin || exit 1
for tool in sh cat chmod cmp grep head sed sort; do ln -s busybox "root/bin/$tool"; done
cp "$top/tests/func/native/inside.sh" root
build() {
	name=$1
	shift
	aarch64-linux-gnu-gcc -Wall -Wextra -O1 -fno-toplevel-reorder -no-pie -pthread "$@" "$top/tests/func/guest/prog.c" -o "root/$name" || exit 1
}
build patchable -fpatchable-function-entry=2
build many -fpatchable-function-entry=2 -DTHREADS=14
build vforks -fpatchable-function-entry=2 -DVFORK
build late -fpatchable-function-entry=2 -DLATE
build lib/spawner.so -fPIC -shared -DSPAWNER -DVFORK
build mcount -pg
build plain
for program in "args -fpatchable-function-entry=2" args-plain; do
	# shellcheck disable=SC2086
	aarch64-linux-gnu-gcc -O2 "$top/tests/func/emulated/args.c" -o root/$program || exit 1
done
aarch64-linux-gnu-gcc -O1 -D_GNU_SOURCE -fno-optimize-sibling-calls -pthread "$top/tests/func/tracers/target.c" -o root/events || exit 1
aarch64-linux-gnu-gcc -O2 -D_GNU_SOURCE -fpatchable-function-entry=2 "-I$top/include" -pthread "$top/tests/func/trust/hostile.c" -o root/hostile || exit 1
for part in layout heirs function many vfork late graph args events filter prepared plain children refused; do
	echo "/bin/sh /inside.sh $part"
done >root/plan
boot_guest
[ "$checks_failed" -eq 0 ] || sed 's/^/  guest: /' said
