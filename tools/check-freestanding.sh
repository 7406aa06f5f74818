#!/bin/sh
# check-freestanding.sh ARCHIVE [NAME...] - no object of the runtime needs a symbol that no object of the runtime defines, but NAMEs
#
# What is loaded into a stranger's process has no libc to bind to. Also refused: thread-local storage, which is the
# host's, and constructors, which nobody would call. Exits 1 and names what is wrong.
set -eu
[ $# -ge 1 ] || { echo "usage: check-freestanding.sh ARCHIVE [NAME...]" >&2; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# A link script provides this one; ELF linkers define it themselves.
archive=$1
shift
printf '%s\n' _GLOBAL_OFFSET_TABLE_ __ehdr_start "$@" > "$dir/defined"	# the linker's, and the holder's
nm -A "$archive" > "$dir/nm"
[ -s "$dir/nm" ] || { echo "check-freestanding: $archive has no symbols" >&2; exit 1; }
nm -A "$archive" | awk '$(NF-1) != "U" && $(NF-1) != "w" { print $NF }' >> "$dir/defined"
nm -A "$archive" | awk '$(NF-1) == "U" || $(NF-1) == "w" || $(NF-1) == "v" { print $NF, $1 }' | sort -u > "$dir/undefined"
sort -u "$dir/defined" > "$dir/sorted"
bad=0
while read -r symbol object; do
	if ! grep -qxF -- "$symbol" "$dir/sorted"; then
		echo "check-freestanding: $object needs $symbol, which nothing in the runtime defines" >&2
		bad=1
	fi
done < "$dir/undefined"
if readelf -SW "$archive" 2>/dev/null | grep -E '\.(tdata|tbss|init_array|ctors|fini_array)' >&2; then
	echo "check-freestanding: sections that need a libc, see above" >&2
	bad=1
fi
exit $bad
