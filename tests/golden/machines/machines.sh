#!/bin/sh
# SPDX-License-Identifier: MIT
#
# machines.sh - recordings of arm64 and riscv64 are read on any host: the checked-in ones, and new ones where they can be made
. "$(dirname "$0")/../../lib/common.sh"
here=$top/tests/golden/machines

# What calls.c does, as each form of text has it.
cat >graph.want <<'END'
work() {
  middle() {
    leaf();
    leaf();
  }
  middle() {
    leaf();
    leaf();
  }
  middle() {
    leaf();
    leaf();
  }
}
END
printf 'work\n' >function.want
for i in 1 2 3; do printf 'middle\nleaf\nleaf\n'; done >>function.want

# same WHAT WANT: the file seen is WANT.
same() {
	check
	cmp -s "$2" seen || fail "$1: $(diff "$2" seen | head -n 12)"
}

# read_all DIR NAME
read_all() {
	for machine in arm64 riscv64; do
		what="$2 $machine"
		run "$uft" report "$1/$machine.uft"
		expect_status 0
		expect_no_err
		grep -v '^#' out | sed 's/^[^|]*|  //' >seen
		same "$what.uft" graph.want
		# Times are of this file, and in order.
		check
		grep -c ' us ' out | grep -qx 10 || fail "$what.uft: durations: $(cat out)"
		run "$uft" report --profile --sort calls "$1/$machine.uft"
		grep -v '^#' out | awk '{ print $NF, $1 }' | sort >seen
		printf 'leaf 6\nmiddle 3\nwork 1\n' >profile.want
		same "$what.uft, profile" profile.want
		run "$uft" stat "$1/$machine.uft"
		expect_out 'complete: yes'
		expect_out 'lost: 0'
		run "$uft" export -o "$machine-again.dat" "$1/$machine.uft"
		expect_status 0
		if ! command -v trace-cmd >/dev/null; then
			echo "SKIPPED: trace.dat of other machines: trace-cmd is not installed"
			continue
		fi
		trace-cmd report -i "$machine-again.dat" 2>err | sed -n 's/.*funcgraph_[a-z]*:[^|]*|  //p' >seen
		same "$what.uft, exported" graph.want
		trace-cmd report -i "$1/$machine.dat" 2>err | sed -n 's/.* function: *//p' >seen
		same "$what.dat" function.want
		trace-cmd report -O parent -i "$1/$machine.dat" 2>err | sed -n 's/.* function: *leaf <-- //p' | sort -u >seen
		printf 'middle\n' >parent.want
		same "$what.dat, parents" parent.want
	done
}

read_all "$here" checked-in
for tool in aarch64-linux-gnu-gcc riscv64-linux-gnu-gcc qemu-aarch64 qemu-riscv64; do
	command -v $tool >/dev/null || { echo "SKIPPED: new ones: $tool is not installed"; exit; }
done
mkdir new
run sh "$here/make.sh" "$uft" "$tmp/new"
expect_status 0
read_all "$tmp/new" new
