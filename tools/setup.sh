#!/bin/sh
# setup.sh - installs what building and testing need, from Debian; does nothing when all is there
set -eu
packages="gcc g++ clang lld llvm libc6-dev make meson ninja-build pkg-config scdoc git
libelf-dev libdw-dev libzydis-dev libzycore-dev libzstd-dev liblzma-dev zlib1g-dev libsqlite3-dev libiberty-dev libcmocka-dev
babeltrace2 protobuf-compiler libxml2-utils valgrind
trace-cmd libtracecmd-dev libtraceevent-dev libtracefs-dev libkshark-dev libjson-c-dev uftrace
libclang-rt-14-dev tcl clang-format bash-completion dpkg-dev binutils gdb strace libunwind8 libunwind-14
libdebuginfod1 python3 libssl3 libsqlite3-0 sqlite3 user-mode-linux ripgrep fzf redis-server nginx-light postgresql-15 apache2-utils musl-tools
openssl libfuse3-dev fuse3 perf-tools-unstable linux-perf gcc-aarch64-linux-gnu libc6-dev-arm64-cross g++-aarch64-linux-gnu
gcc-riscv64-linux-gnu g++-riscv64-linux-gnu libc6-dev-riscv64-cross qemu-user libllvm14 libmicrohttpd-dev curl"
# On other machines uft is built, and the tests are not (meson.build).
packages_elsewhere="gcc binutils libc6-dev make meson ninja-build pkg-config scdoc git libelf-dev libdw-dev libzydis-dev libzycore-dev libzstd-dev
liblzma-dev zlib1g-dev libsqlite3-dev libiberty-dev libfuse3-dev fuse3 libllvm14 libmicrohttpd-dev"
# Without these, or a network to have them from, a test or a part of bench/ is skipped by name: some boot a kernel, one builds a program with cgo, some
# trace programs of other languages, an emulator and one more server.
optional="lttng-tools liblttng-ust-dev qemu-system-arm cpio golang-go chromium fonts-dejavu-core ocaml-nox mono-mcs mono-runtime valgrind memcached"
# A test compiles a kernel's event headers as they are. Of Debian's packages with them those for real-time kernels are the smallest
# (49 MB), and their names have the kernel's version, so one is looked for by this word.
headers=kernel-headers
for dir in /usr/src/linux-headers-6.1[2-9].*-common* /usr/src/linux-source-6.1[2-9]*; do [ ! -d "$dir" ] || headers=; done
newest_headers() { apt-cache --names-only search '^linux-headers-6[.]12[.].*-common-rt$' 2>/dev/null | sort -V | sed -n '$s/ .*//p'; }
# The page of uft view is built by npm's packages (tools/npm.sh). Who has an npm from elsewhere cannot have Debian's beside it.
command -v npm >/dev/null 2>&1 || optional="$optional nodejs npm"
tried="${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/uft-setup-tried"	# today, in vain unless it is being done

# One question for all: a process a package takes seconds of each make on a busy machine. A name without a colon is of this machine's
# architecture; who is there for another one only is not there.
here=$(dpkg --print-architecture 2>/dev/null || true)
case $here in amd64 | '') ;; *) packages=$packages_elsewhere optional= headers= ;; esac
there=$(dpkg-query -W -f='${Status} ${Architecture} ${Package}\n' 2>/dev/null |
	awk -v here="$here" '/^[a-z]+ ok installed / && ($4 == here || $4 == "all") { print $5 }')
missing_of() {
	for p; do
		case "
$there
" in *"
$p
"*) ;; *) printf ' %s' "$p" ;; esac
	done
}

# shellcheck disable=SC2086
missing=$(missing_of $packages) wanted=$(missing_of $optional)${headers:+ $headers}
[ -z "$wanted" ] || [ -z "$(find "$tried" -mtime -1 2>/dev/null)" ] || wanted=
[ -z "$missing$wanted" ] && exit 0
sudo=
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null 2>&1; then sudo=sudo; else
		[ -z "$missing" ] && exit 0
		echo "setup: please install as root: apt-get install$missing" >&2
		exit 1
	fi
fi
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1	# servers that tests use are not started

update() {
	# shellcheck disable=SC2086
	$sudo apt-get update -q $apt_options </dev/null >/dev/null 2>&1 || true
}

# install PACKAGE...: 0, or what it said is in $said.
said=/tmp/uft-setup.$$
apt_options=
install() {
	# shellcheck disable=SC2086
	$sudo apt-get install -y -q --no-install-recommends $apt_options "$@" </dev/null >"$said" 2>&1 && rm -f "$said"
}

if [ -n "$missing" ]; then
	update
	# shellcheck disable=SC2086
	if ! install $missing; then
		tail -n 20 "$said" >&2; rm -f "$said"
		echo "setup: installing$missing failed" >&2
		exit 1
	fi
fi
# Nobody is asked for a password for these, or waits for a network that swallows all; who ends that does not meet it again today.
if [ -n "$wanted" ]; then
	{ mkdir -p "${tried%/*}" && touch "$tried"; } 2>/dev/null || true
	[ -z "$sudo" ] || sudo="sudo -n"
	apt_options="-oAcquire::Retries=0 -oAcquire::http::Timeout=10 -oAcquire::https::Timeout=10"
	[ -n "$missing" ] || update
	found=
	[ -z "$headers" ] || { found=$(newest_headers); wanted="${wanted% "$headers"}${found:+ $found}"; }
	# shellcheck disable=SC2086
	if [ -z "$wanted" ] || install $wanted; then
		[ "$headers" ] && [ -z "$found" ] || rm -f "$tried"
	else
		rm -f "$said"
		echo "setup: no$wanted: tests that need it are skipped" >&2
	fi
fi
