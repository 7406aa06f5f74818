#!/bin/sh
# SPDX-License-Identifier: MIT
#
# instructions.sh [UFT [MACHINE:PAD...  [TRACER...]]] - instructions of the program that an event takes, where only an emulator runs it (doc/design/porting.md)
#
# qemu-user logs every instruction of a run with 100 calls of a function and of one with 1100; the difference is theirs. What
# the kernel executes in system calls is not in it.
set -eu
uft=$(realpath "${1:-build/uft}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >calls.c <<'EOF'
#include <stdlib.h>
__attribute__((noinline, noipa)) void f(void) { __asm__ volatile(""); }
__attribute__((patchable_function_entry(0))) int main(int argc, char **argv)
{
	for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--)
		f();
	return 0;
}
EOF
for how in ${2:-aarch64:2 riscv64:8}; do
	machine=${how%:*}
	command -v "$machine-linux-gnu-gcc" "qemu-$machine" >/dev/null || { echo "$machine: skipped"; continue; }
	"$machine-linux-gnu-gcc" -O2 "-fpatchable-function-entry=${how#*:}" calls.c -o calls
	printf '#!/bin/sh\nexec qemu-%s -singlestep -d nochain,exec -D %s/log -L /usr/%s-linux-gnu "$@"\n' "$machine" "$dir" "$machine" >run
	chmod +x run
	for tracer in ${3:-function function_graph}; do
		for n in 100 1100; do
			"$uft" record -q "--emulator=$dir/run" -p "$tracer" -o x.uft ./calls $n
			grep -c '^Trace 0' log >count.$n
			rm log
		done
		echo "$machine $tracer: $((($(cat count.1100) - $(cat count.100)) / 1000)) instructions a call"
	done
done
