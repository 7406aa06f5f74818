#!/bin/sh
# setup.sh - installs what building and testing need, from Debian; does nothing when all is there
set -eu
packages="gcc g++ clang lld llvm libc6-dev make meson ninja-build pkg-config scdoc git
libelf-dev libzydis-dev libzycore-dev libzstd-dev liblzma-dev libiberty-dev libcmocka-dev
trace-cmd libtracecmd-dev libtraceevent-dev libtracefs-dev libkshark-dev libjson-c-dev uftrace
libclang-rt-14-dev tcl clang-format bash-completion dpkg-dev binutils gdb libunwind8 libunwind-14
libdebuginfod1 python3 libssl3 libsqlite3-0 sqlite3 user-mode-linux ripgrep fzf redis-server nginx-light postgresql-15 apache2-utils musl-tools
openssl libfuse3-dev fuse3 perf-tools-unstable linux-perf gcc-aarch64-linux-gnu libc6-dev-arm64-cross g++-aarch64-linux-gnu
gcc-riscv64-linux-gnu g++-riscv64-linux-gnu libc6-dev-riscv64-cross qemu-user libllvm14"
missing=
for p in $packages; do
	dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null 2>&1; then sudo=sudo; else
		echo "setup: please install as root: apt-get install$missing" >&2
		exit 1
	fi
fi
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1	# servers that tests use are not started
${sudo:-} apt-get update -q >/dev/null 2>&1 || true
# shellcheck disable=SC2086
${sudo:-} apt-get install -y -q --no-install-recommends $missing >/tmp/uft-setup.$$ 2>&1 || {
	tail -n 20 /tmp/uft-setup.$$ >&2; rm -f /tmp/uft-setup.$$
	echo "setup: installing$missing failed" >&2
	exit 1
}
rm -f /tmp/uft-setup.$$
