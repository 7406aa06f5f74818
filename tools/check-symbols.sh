#!/bin/sh
# SPDX-License-Identifier: MIT
# check-symbols.sh BUILD [ALLOWED] - no object needs a symbol that a higher folder defines
#
# Includes show only what a file may use; a header that all folders share hides who calls whom. This looks at what the linker sees: the
# folders are listed below from the lowest to the highest, and an object may need symbols of its own and of lower folders. ALLOWED
# (tools/symbols-allowed.txt) lists the calls that still run up, `object symbol` a line: a line that is no longer needed is an
# error, so that the list only becomes shorter.
set -eu
build=$1 allowed=${2:-$(dirname "$0")/symbols-allowed.txt}
order="symbol
control/base control/proc control/arena control/ptrace control/relocate control/state control/plan control/target control/arm control/events
control/watchdog control/start control/detach control/session control/doctor
stream output tree view cmd"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Objects of meson are TARGET.p/FOLDER_FILE.c.o: `object folder` a line, for those of the folders above.
find "$build/symbol" "$build/control" "$build/stream" "$build/output" "$build/tree" "$build/view" "$build/uft.p" -name '*.c.o' 2>/dev/null | LC_ALL=C sort |
	awk -v order="$order" -v build="$build/" '
		BEGIN { n = split(order, folder, /[ \n]+/); for (i = 1; i <= n; i++) is[folder[i]] = 1 }
		{
			file = $0; sub(/.*\//, "", file); top = substr($0, length(build) + 1); sub(/\/.*/, "", top)
			if (top == "uft.p") top = "cmd"
			part = file; sub(/_.*/, "", part)
			print $0, (top "/" part) in is ? top "/" part : top
		}' >"$dir/objects"
[ -s "$dir/objects" ] || { echo "check-symbols: no objects below $build" >&2; exit 2; }

cut -d' ' -f1 "$dir/objects" | xargs nm -g -A |
	awk '
		FNR == NR { folder[$1] = $2; next }
		{ o = $1; sub(/:.*/, "", o) }
		$(NF - 1) == "U" { print "U", $NF, folder[o], o; next }
		{ print "D", $NF, folder[o], o }
	' "$dir/objects" - >"$dir/symbols"

awk -v order="$order" '
	BEGIN { n = split(order, folder, /[ \n]+/); for (i = 1; i <= n; i++) level[folder[i]] = i }
	FNR == NR { if ($1 == "D" && !($2 in at)) at[$2] = $3; next }
	$1 == "U" && ($2 in at) && level[at[$2]] > level[$3] {
		o = $4; sub(/.*\//, "", o); sub(/\.o$/, "", o); sub("^" substr($3, index($3, "/") + 1) "_", "", o); print $3 "/" o, $2, at[$2]
	}
' "$dir/symbols" "$dir/symbols" | LC_ALL=C sort -u >"$dir/up"
grep -v '^#' "$allowed" 2>/dev/null | LC_ALL=C sort -u >"$dir/allowed" || :
awk '{ print $1, $2 }' "$dir/up" | LC_ALL=C sort -u >"$dir/seen"
bad=0
for line in $(LC_ALL=C comm -23 "$dir/seen" "$dir/allowed" | tr ' ' '='); do
	echo "check-symbols: ${line%=*} needs ${line#*=} of $(awk -v s="${line#*=}" '$2 == s { print $3; exit }' "$dir/up")" >&2
	bad=1
done
for line in $(LC_ALL=C comm -13 "$dir/seen" "$dir/allowed" | tr ' ' '='); do
	echo "check-symbols: take this line out of $allowed: ${line%=*} ${line#*=}" >&2
	bad=1
done
exit $bad
