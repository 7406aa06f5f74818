#!/bin/sh
# negative.sh SOURCE_ROOT RUNTIME CC... - the architecture checks find what they are for
set -eu
root=$1 runtime=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fails()
{
	if "$@" >/dev/null 2>&1; then
		echo "not found: $what" >&2
		exit 1
	fi
}
tree()
{
	rm -rf "$dir/t"
	mkdir -p "$dir/t/runtime/patch/bytes" "$dir/t/runtime/patch/words" "$dir/t/runtime/base" "$dir/t/runtime/ring" "$dir/t/runtime/trace/thread" "$dir/t/runtime/agent" "$dir/t/control/plan" "$dir/t/stream/select" \
		"$dir/t/include/uft"
	: > "$dir/t/include/uft/abi.h"
	: > "$dir/t/control/a.c"
}
tree
sh "$root/tools/check-includes.sh" "$dir/t"
for what in 'runtime/patch/x.c runtime/trace/trace.h' 'runtime/base/x.c runtime/platform/platform.h' \
	'runtime/patch/x.c runtime/base/sys.h' 'runtime/ring/x.c runtime/base/sys.h' 'runtime/trace/x.c runtime/base/sys.h' \
	'runtime/trace/x.c runtime/platform/linux/own.h' 'runtime/base/x.c runtime/base/sys.h' \
	'runtime/agent/command.c runtime/base/sys.h' 'runtime/agent/request.c runtime/platform/linux/own.h' 'runtime/patch/x.c stdio.h' 'runtime/patch/x.c sys/mman.h' 'runtime/patch/x.c symbol/object.h' \
	'runtime/patch/x.c runtime/patch/bytes/bytes.h' 'runtime/patch/bytes/x.c runtime/patch/words/words.h' 'runtime/trace/x.c runtime/patch/bytes/bytes.h' 'runtime/trace/thread/x.c runtime/trace/shadow/shadow.h' 'runtime/agent/x.c runtime/trace/hooks/hooks.h' \
	'control/x.c cpuid.h' 'control/x.c immintrin.h' 'control/x.c stream/stream.h' 'control/plan/x.c control/arm/arm.h' 'stream/select/x.c stream/decode/decode.h' \
	'control/x.c runtime/runtime.h' 'include/uft/abi.h string.h'; do
	tree
	echo "#include <${what#* }>" > "$dir/t/${what% *}"
	fails sh "$root/tools/check-includes.sh" "$dir/t"
done
what='a counter of one machine'
tree
echo 'long f(void) { return __builtin_ia32_rdtsc(); }' >"$dir/t/control/x.c"
fails sh "$root/tools/check-includes.sh" "$dir/t"

n=0
for what in 'int printf(const char *, ...); int f(void) { return printf("x"); }' \
	'extern char **environ; char **f(void) { return environ; }' \
	'__thread int x; int *f(void) { return &x; }' \
	'__attribute__((constructor)) void f(void) { }'; do
	n=$((n + 1))
	echo "$what" > "$dir/x$n.c"
	"$@" -fPIC -O2 -c "$dir/x$n.c" -o "$dir/x$n.o"
	ar rc "$dir/x$n.a" "$dir/x$n.o"
	fails sh "$root/tools/check-freestanding.sh" "$dir/x$n.a"
done
what='nothing wrong'
echo 'int g(int); int f(int x) { return g(x); } int g(int x) { return x; }' > "$dir/ok.c"
"$@" -fPIC -O2 -c "$dir/ok.c" -o "$dir/ok.o"
ar rc "$dir/ok.a" "$dir/ok.o"
sh "$root/tools/check-freestanding.sh" "$dir/ok.a"

# Each kind of instruction, and too few of any kind.
what='system calls of the agent and its platform'
fails sh "$root/tools/check-syscalls.sh" objdump "$runtime"
echo 'int f(int x) { return x; }' > "$dir/few.c"
"$@" -c "$dir/few.c" -o "$dir/few.o"
what='no code to look at'
fails sh "$root/tools/check-syscalls.sh" objdump "$dir/few.o"
for what in syscall sysenter 'int $0x80'; do
	printf '.text\n.rept 2000\nnop\n.endr\n%s\n' "$what" > "$dir/one.S"
	"$@" -c "$dir/one.S" -o "$dir/one.o"
	fails sh "$root/tools/check-syscalls.sh" objdump "$dir/one.o"
done
