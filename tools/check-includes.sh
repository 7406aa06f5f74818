#!/bin/sh
# check-includes.sh [ROOT] - includes point one way only (CONTRIBUTING.md)
#
# Inside a target:  base <- arch <- platform <- site, patch, ring <- trace <- agent
# Outside:          symbol <- control, stream <- output <- tree, view <- cmd, tools
# control and stream do not know each other. The sides share include/uft/abi.h, runtime/arch/*/encode.h and patch.h, which are
# instructions and pure. The runtime includes no libc header: <stdint.h>, <stddef.h>, <stdarg.h> and the kernel's own only. What
# patch, ring and trace need of a host goes through platform.h: they make no system call. What lies under a folder may include what the
# folder may. Tests and bench may include everything.
#
# arch/arch.h and the headers it picks include each other only and count as base: they are the instructions that
# base is written in. runtime/runtime.h is the contract between the parts and may be included by all above base.
set -eu
cd "${1:-.}"
bad=0

fail()
{
	echo "check-includes: $1 includes $2" >&2
	bad=1
}

# What a folder of the runtime may include from the others.
runtime_may()
{
	case $1 in
	base) echo base arch ;;
	arch) echo base arch ;;
	platform) echo base arch platform ;;
	site) echo base arch platform site ;;
	patch) echo base arch platform patch ;;
	ring) echo base arch platform ring ;;
	trace) echo base arch platform site patch ring trace ;;
	agent) echo base arch platform site patch ring trace agent ;;
	*) echo "" ;;
	esac
}

outside_may()
{
	case $1 in
	symbol) echo symbol ;;
	control) echo symbol control ;;
	stream) echo symbol stream ;;
	output) echo symbol stream output ;;
	tree) echo symbol control stream output tree ;;
	view) echo symbol stream output view ;;
	cmd | tools) echo symbol control stream output tree cmd tools ;;
	esac
}

among()
{
	for w in $2; do
		[ "$w" = "$1" ] && return 0
	done
	return 1
}

includes()
{
	sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]\([^>"]*\)[>"].*/\1/p' "$1"
}

# Quoted headers without a folder belong to the includer's own folder.
check_runtime()
{
	f=$1 part=$(echo "$1" | cut -d/ -f2)
	for h in $(includes "$f"); do
		case $h in
		uft/abi.h | stdint.h | stddef.h | stdarg.h | linux/* | asm/*) ;;
		runtime/runtime.h | runtime/arch/arch.h) ;;
		runtime/base/sys.h | runtime/platform/linux/*) case $f in runtime/platform/linux/*) ;; runtime/agent/[!cr]* | runtime/agent/creds.c) ;; *)
			fail "$f" "$h: it asks the platform" ;; esac ;;
		runtime/platform/*/*) case $f in runtime/platform/bare/*) ;; *) fail "$f" "$h: it asks the platform" ;; esac ;;
		runtime/*) [ "${f##*.}" = S ] && [ "$part" = arch ] && [ "${h##*/}" = layout.h ] ||
			among "$(echo "$h" | cut -d/ -f2)" "$(runtime_may "$part")" || fail "$f" "$h" ;;
		*/*) fail "$f" "$h" ;;
		*) [ -f "$(dirname "$f")/$h" ] || fail "$f" "$h" ;;
		esac
	done
}

# Outside, what depends on the machine that uft runs on is asked of symbol/host.h; else uft is not built on another.
check_host()
{
	for f in $(grep -rlE --include='*.[ch]' '__builtin_ia32_|<(cpuid|[a-z0-9]*intrin)\.h>' symbol control stream output tree view cmd tools 2>/dev/null); do
		case $f in symbol/host.h | control/remote.c) ;; *) fail "$f" "what only one machine has: symbol/host.h" ;; esac
	done
}

check_outside()
{
	f=$1 part=$(echo "$1" | cut -d/ -f1)
	for h in $(includes "$f"); do
		case $h in
		runtime/arch/*/encode.h | runtime/arch/*/patch.h) ;;
		runtime/*) fail "$f" "$h" ;;
		symbol/* | control/* | stream/* | output/* | tree/* | view/* | cmd/* | tools/*)
			among "${h%%/*}" "$(outside_may "$part")" || fail "$f" "$h" ;;
		*) ;;
		esac
	done
}

# The leaf headers: nothing but the language. layout.h holds plain numbers, for the assembly in arch/.
for f in runtime/arch/*/encode.h runtime/arch/*/frame.h runtime/arch/*/patch.h runtime/arch/*/syscall.h runtime/arch/*/atomic.h runtime/arch/order.h runtime/arch/words.h runtime/*/layout.h include/uft/abi.h; do
	[ -f "$f" ] || continue
	for h in $(includes "$f"); do
		case $h in stdint.h | stddef.h | runtime/arch/*/encode.h | runtime/arch/order.h | runtime/arch/words.h | runtime/arch/*/syscall.h) ;; *) fail "$f" "$h" ;; esac
	done
done
n=0
for f in $(find runtime -name '*.[chS]'); do
	check_runtime "$f"
	n=$((n + 1))
done
for dir in symbol control stream output tree view cmd tools; do
	[ -d "$dir" ] || continue
	for f in $(find "$dir" -name '*.[ch]'); do
		check_outside "$f"
		n=$((n + 1))
	done
done
check_host
[ $n -gt 0 ] || { echo "check-includes: nothing to check in $(pwd)" >&2; exit 2; }
exit $bad
