#!/bin/sh
# cross.sh PROGRAM CASES CC FAR - links the cases where the program expects them and lets it compare, section by section
set -eu
command -v "$3" >/dev/null || { echo "SKIP: $3 is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$3" -c "$2" -o "$dir/cases.o"
"${3%gcc}ld" -e 0 --no-relax --section-start=.from=0x10000000 --section-start=.near=0x10010000 --section-start=.far="$4" \
	--section-start=.bound=0x18000000 --section-start=.none=0x18010000 "$dir/cases.o" -o "$dir/cases"
for section in from near far bound none; do
	"${3%gcc}objcopy" -O binary -j ".$section" "$dir/cases" "$dir/$section"
done
"$1" "$dir"
