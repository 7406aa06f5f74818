#!/bin/sh
# SPDX-License-Identifier: MIT
#
# instructions.sh [UFT [MACHINE[:plain|:tls|:c++]...  [TRACER...]]] - instructions of the program that an event takes, where only an emulator runs it (doc/design/porting.md)
#
# qemu-user logs every instruction of a run with 100 calls of a function and of one with 1100; the difference is theirs. What
# the kernel executes in system calls is not in it. The same without uft, of an unprepared program, is the program's own. Prepared is
# what is built with the options that `uft cflags` prints; :tls has so many variables of threads that ours lie behind what one instruction reaches,
# :c++ the library of C++.
set -eu
uft=$(realpath "${1:-build/uft}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >calls.c <<'END'
#include <stdlib.h>
#ifdef TLS
__thread char much[TLS] = { 1 };
#endif
__attribute__((noinline, noipa)) long f(long x) { return x * 1000003; }
__attribute__((patchable_function_entry(0))) int main(int argc, char **argv)
{
	for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--)
		f(i);
	return 0;
}
END

# of_a_call COMMAND...: what one more call takes
of_a_call() {
	for n in 100 1100; do
		"$@" "$n"
		grep -c '^Trace 0' log >count.$n
		rm log
	done
	echo $((($(cat count.1100) - $(cat count.100) + 500) / 1000))
}

for how in ${2:-aarch64 aarch64:plain riscv64 riscv64:plain}; do
	machine=${how%:*}
	command -v "$machine-linux-gnu-gcc" "qemu-$machine" >/dev/null || { echo "$machine: skipped"; continue; }
	tls=
	[ "$how" = "${how%:tls}" ] || tls=-DTLS=4096
	# shellcheck disable=SC2086
	"$machine-linux-gnu-gcc" -O2 $tls calls.c -o own
	cp own calls
	cxx=
	[ "$how" = "${how%:c++}" ] || cxx="-Wl,--no-as-needed -L/usr/$machine-linux-gnu/lib -l:libstdc++.so.6"
	# shellcheck disable=SC2046,SC2086
	[ "${how#*:}" = plain ] || "$machine-linux-gnu-gcc" -O2 $tls $("$uft" cflags --quiet "--cc=$machine-linux-gnu-gcc") calls.c -o calls $cxx
	printf '#!/bin/sh\nexec qemu-%s -singlestep -d nochain,exec -D %s/log -L /usr/%s-linux-gnu "$@"\n' "$machine" "$dir" "$machine" >run
	chmod +x run
	own=$(of_a_call ./run ./own)
	for tracer in ${3:-function function_graph}; do
		all=$(of_a_call "$uft" record -q "--emulator=$dir/run" -p "$tracer" -l f -o x.uft ./calls)
		echo "$how $tracer: $all instructions a call, $((all - own)) without the program's own"
	done
done
