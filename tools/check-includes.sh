#!/bin/sh
# check-includes.sh [ROOT] - includes point one way only (CONTRIBUTING.md)
#
# Below all:        program
# Inside a target:  base <- arch <- platform <- site, patch, ring <- trace <- agent
# In runtime/patch: what both share <- bytes, words. In runtime/trace: what all share <- thread <- shadow <- tracers <- hooks <- trace.c
# Outside:          symbol <- control, hist, stream <- output <- tree, view <- cmd, tools
# In stream/:       wire < dat < file < select < decode < live
# In tree/:         core < triggers < files < serve
# In control/:      base < proc < arena < ptrace < relocate < state < plan < target < arm < events < watchdog < start < detach < session < doctor
# control and stream do not know each other. The sides share include/uft/abi.h, tracepoint.h, runtime/arch/*/encode.h and patch.h, which are
# instructions and pure, and program/. The runtime includes no libc header: <stdint.h>, <stddef.h>, <stdarg.h> and the kernel's own only. What
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

# $may: what a folder of the runtime may include from the others.
runtime_may()
{
	case $1 in
	base) may="base arch" ;;
	arch) may="base arch" ;;
	platform) may="base arch platform" ;;
	site) may="base arch platform site" ;;
	patch) may="base arch platform patch" ;;
	ring) may="base arch platform ring" ;;
	trace) may="base arch platform site patch ring trace" ;;
	agent) may="base arch platform site patch ring trace agent" ;;
	*) may= ;;
	esac
}

outside_may()
{
	case $1 in
	symbol) may="symbol" ;;
	hist) may="symbol hist" ;;
	control) may="symbol control" ;;
	stream) may="symbol stream" ;;
	output) may="symbol stream output" ;;
	tree) may="symbol control hist stream output tree" ;;
	view) may="symbol stream output view" ;;
	cmd | tools) may="symbol control hist stream output tree view cmd tools" ;;
	esac
}

# $below: which folders below runtime/PART/ file @1 may include. bytes and words do not know each other, and what lies at the
# top of a part knows neither.
folders_below()
{
	case $1 in
	runtime/patch/bytes/*) below=bytes ;;
	runtime/patch/words/*) below=words ;;
	runtime/trace/thread/*) below=thread ;;
	runtime/trace/shadow/*) below="thread shadow" ;;
	runtime/trace/tracers/*) below="thread shadow tracers" ;;
	runtime/trace/hooks/* | runtime/trace/trace.c) below="thread shadow tracers hooks" ;;
	*) below= ;;
	esac
}

among()
{
	for w in $2; do
		[ "$w" = "$1" ] && return 0
	done
	return 1
}

# `FILE HEADER` a line for each include of the files below the folders @1...
includes()
{
	find "$@" -name '*.[chS]' -exec grep -H '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' {} + |
		sed -n 's/^\([^:]*\):[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]\([^>"]*\)[>"].*/\1 \2/p'
}

# File @1 of the runtime includes @2. Quoted headers without a folder belong to the includer's own folder.
check_runtime()
{
	f=$1 h=$2 part=${1#runtime/}
	part=${part%%/*}
	case $h in
	uft/abi.h | uft/tracepoint.h | program/hist_row.h | program/program.h | program/quick.h | stdint.h | stddef.h | stdarg.h | linux/* | asm/*) ;;
	runtime/runtime.h | runtime/arch/arch.h) ;;
	runtime/base/sys.h | runtime/platform/linux/*) case $f in runtime/platform/linux/*) ;; runtime/agent/[!cr]* | runtime/agent/creds.c) ;; *)
		fail "$f" "$h: it asks the platform" ;; esac ;;
	runtime/platform/*/*) case $f in runtime/platform/bare/*) ;; *) fail "$f" "$h: it asks the platform" ;; esac ;;
	runtime/patch/*/* | runtime/trace/*/*)
		to=${h#runtime/*/}
		folders_below "$f"
		among "${to%%/*}" "$below" || fail "$f" "$h" ;;
	runtime/*)
		to=${h#runtime/}
		[ "${f##*.}" = S ] && [ "$part" = arch ] && [ "${h##*/}" = layout.h ] || { runtime_may "$part"; among "${to%%/*}" "$may"; } || fail "$f" "$h" ;;
	*/*) fail "$f" "$h" ;;
	*) [ -f "${f%/*}/$h" ] || fail "$f" "$h" ;;
	esac
}

# Outside, what depends on the machine that uft runs on is asked of symbol/host.h; else uft is not built on another.
check_host()
{
	for f in $(grep -rlE --include='*.[ch]' '__builtin_ia32_|<(cpuid|[a-z0-9]*intrin)\.h>' symbol control stream output tree view cmd tools 2>/dev/null); do
		case $f in symbol/host.h | control/ptrace/remote_call.c) ;; *) fail "$f" "what only one machine has: symbol/host.h" ;; esac
	done
}

# $order: the folders of @1, from the lowest to the highest; tools/check-symbols.sh has the same.
order_of()
{
	case $1 in
	control) order="base proc arena ptrace relocate state plan target arm events watchdog start detach session doctor" ;;
	stream) order="wire dat file select decode live" ;;
	tree) order="core triggers files serve" ;;
	esac
}

# File @1 of a folder includes @2 of the same top folder: its own folder's, a lower folder's, or what callers get.
check_order()
{
	from=${1#*/} to=${2#*/}
	case $to in */*) ;; *) return ;; esac
	order_of "${1%%/*}"
	for dir in $order; do
		[ "$dir" = "${to%%/*}" ] && return 0
		[ "$dir" = "${from%%/*}" ] && break
	done
	fail "$1" "$2"
}

# File @1 outside of the runtime includes @2.
check_outside()
{
	case $1:$2 in
	control/*/*:control/* | stream/*/*:stream/* | tree/*/*:tree/*) check_order "$1" "$2" ;;
	esac
	case $2 in
	runtime/arch/*/encode.h | runtime/arch/*/patch.h) ;;
	runtime/*) fail "$1" "$2" ;;
	symbol/* | control/* | hist/* | stream/* | output/* | tree/* | view/* | cmd/* | tools/*)
		outside_may "${1%%/*}"
		among "${2%%/*}" "$may" || fail "$1" "$2" ;;
	esac
}

# The leaf headers: nothing but the language. layout.h holds plain numbers, for the assembly in arch/.
check_leaf()
{
	case $2 in
	uft/records.h | uft/rings.h | stdint.h | stddef.h | runtime/arch/*/encode.h | runtime/arch/order.h | runtime/arch/words.h | runtime/arch/*/syscall.h) ;;
	*) fail "$1" "$2" ;;
	esac
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
folders=
for dir in program runtime include symbol control hist stream output tree view cmd tools; do
	[ ! -d "$dir" ] || folders="$folders $dir"
done
[ -n "$folders" ] || { echo "check-includes: nothing to check in $(pwd)" >&2; exit 2; }
# shellcheck disable=SC2086
includes $folders >"$list"
while read -r f h; do
	case $f in
	runtime/arch/*/encode.h | runtime/arch/*/frame.h | runtime/arch/*/patch.h | runtime/arch/*/syscall.h | runtime/arch/*/atomic.h | runtime/arch/order.h | \
		runtime/arch/words.h | runtime/*/layout.h | include/uft/abi.h | include/uft/records.h | include/uft/rings.h | include/uft/tracepoint.h | program/program.h) check_leaf "$f" "$h" ;;
	esac
	case $f in
	runtime/*) check_runtime "$f" "$h" ;;
	program/*.c) case $h in program/*) ;; *) false ;; esac || fail "$f" "$h" ;;
	program/* | include/*) ;;
	*.S) ;;
	*) check_outside "$f" "$h" ;;
	esac
done <"$list"
check_host
# shellcheck disable=SC2086
[ -n "$(find $folders -name '*.[chS]' | head -n 1)" ] || { echo "check-includes: nothing to check in $(pwd)" >&2; exit 2; }
exit $bad
