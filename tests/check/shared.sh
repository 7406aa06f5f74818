#!/bin/sh
# SPDX-License-Identifier: MIT
#
# shared.sh CLANG SOURCE_ROOT BUILD_ROOT - outside of runtime/ memory that a target maps is read and written by
# symbol/shared.h alone: clang sees each pointer of the kind uft_shared that is used otherwise, or loses that kind
clang=$1 root=$2 build=$3
if ! command -v "$clang" >/dev/null 2>&1; then
	echo "SKIPPED: no clang"
	exit 77
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$root" || exit 1

# look FILE...: 0 if none of them uses such a pointer itself. The rest is the compiler's that builds them.
look()
{
	"$clang" -fsyntax-only -std=gnu11 -D_GNU_SOURCE -DUFT_CHECK_SHARED -DUFT_LIBDIR='"/"' -DUFT_VERSION='"0"' -DFUSE_USE_VERSION=312 \
		-I. -Iinclude -I"$build" -I/usr/include/fuse3 -Wno-everything -Wnoderef -Werror=noderef "$@"
}

# What has to be found, and what not, each after one good line.
plant()
{
	printf '#include "symbol/shared.h"\nstruct uft_slice uft_shared *slice(void);\nint take(void *);\nint f(void)\n{\n\tstruct uft_slice own;\n\tshared_read(&own, slice(), sizeof(own));\n\t%s\n}\n' "$1" >"$dir/planted.c"
	look "$dir/planted.c" >"$dir/out" 2>&1
}
fails=0
for good in 'return own.pid + SHARED_LOAD(&slice()->pid) + SHARED_LOAD(&slice()->counter[3]);' \
	'SHARED_STORE(&slice()->cmd_seq, 1); shared_clear(slice()->used, 8); return take(shared_address(&slice()->pid));'; do
	plant "$good" || { echo "refused, but right: $good"; cat "$dir/out"; fails=1; }
done
for bad in 'return slice()->pid;' 'return slice()->counter[3];' 'slice()->pid = 1; return 0;' 'own = *slice(); return own.pid;' \
	'return take(slice());' 'struct uft_slice *p = slice(); return p->pid;' \
	'memcpy(&own, slice(), sizeof(own)); return own.pid;' 'return __builtin_memcmp(slice(), &own, 4);'; do
	! plant "$bad" || { echo "not found: $bad"; fails=1; }
done

folders='control stream output tree view cmd symbol'
# A cast that takes the kind away. The session's own ring of events is in a slice that no target maps.
cast='([^()]*struct uft_\(slice\|mail\|ring\|request\|cmd\|profile\|stack_max\) \*)'
echo 'p = (const struct uft_slice *)x;' | grep -q "$cast" || { echo "casts are not found"; fails=1; }
if grep -rn --include='*.[ch]' "= $cast\|return $cast" $folders | grep -v '^control/events/event_ring.c'; then
	echo "a cast makes a plain pointer of shared memory"
	fails=1
fi

# Only a file that names a function or a field of that kind can use one.
# shellcheck disable=SC2086
names=$(grep -rhoE --include='*.h' 'uft_shared \*+[a-z_]+[(;]' $folders | sed 's/.*\*//; s/[(;]//' | sort -u | paste -sd'|')
# shellcheck disable=SC2086
grep -rlwE --include='*.c' "$names|uft_shared" $folders | sort >"$dir/files"
[ "$(wc -l <"$dir/files")" -gt 30 ] || { echo "only $(wc -l <"$dir/files") files were looked at, by: $names"; fails=1; }
while read -r file; do
	look "$file" >"$dir/out" 2>&1 || { sed 's/^/shared: /' "$dir/out"; fails=1; }
done <"$dir/files"
exit $fails
