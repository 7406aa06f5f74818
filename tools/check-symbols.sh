#!/bin/sh
# SPDX-License-Identifier: MIT
# check-symbols.sh BUILD - no object needs a symbol that a higher folder defines, and circles of files are small
#
# Includes show only what a file may use; this looks at what the linker sees. The folders are listed below from the lowest to the highest,
# and an object may need symbols of its own and of lower folders. In a folder at most $most files may call each other
# in a circle. The runtime's parts call each other by runtime/runtime.h, both ways; held are the parts that have folders.
set -eu
build=$1 most=5
order="runtime/patch runtime/patch/bytes
symbol
control/base control/proc control/arena control/ptrace control/relocate control/state control/plan control/target control/arm control/events
control/watchdog control/start control/detach control/session control/doctor
hist
stream/wire stream/dat stream/file stream/select stream/decode stream/live output tree/core tree/triggers tree/files tree/serve view cmd"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Objects of meson are TARGET.p/FOLDER_FILE.c.o: `object folder` a line, for those of the folders above.
find "$build/runtime/libuft_core.a.p" "$build/symbol" "$build/control" "$build/hist" "$build/stream" "$build/output" "$build/tree" "$build/view" "$build/uft.p" -name '*.c.o' 2>/dev/null | LC_ALL=C sort |
	awk -v order="$order" -v build="$build/" '
		BEGIN { n = split(order, folder, /[ \n]+/); for (i = 1; i <= n; i++) is[folder[i]] = 1 }
		{
			file = $0; sub(/.*\//, "", file); top = substr($0, length(build) + 1); sub(/\/.*/, "", top)
			if (top == "uft.p") top = "cmd"
			if (top == "runtime") {
				split(file, word, "_")
				top = "runtime/" word[1] "/" word[2]
				if (!(top in is)) top = "runtime/" word[1]
				if (top in is) print $0, top
				next
			}
			part = file; sub(/_.*/, "", part)
			print $0, (top "/" part) in is ? top "/" part : top
		}' >"$dir/objects"
[ -s "$dir/objects" ] || { echo "check-symbols: no objects below $build" >&2; exit 2; }

cut -d' ' -f1 "$dir/objects" | xargs nm -g -A |
	awk '
		FNR == NR { folder[$1] = $2; next }
		{ o = $1; sub(/:.*/, "", o); name = (folder[o] ~ /^runtime/ ? "runtime:" : "") $NF }
		$(NF - 1) == "U" { print "U", name, folder[o], o; next }
		{ print "D", name, folder[o], o }
	' "$dir/objects" - >"$dir/symbols"

awk -v order="$order" '
	BEGIN { n = split(order, folder, /[ \n]+/); for (i = 1; i <= n; i++) level[folder[i]] = i }
	FNR == NR { if ($1 == "D" && !($2 in at)) at[$2] = $3; next }
	$1 == "U" && ($2 in at) && level[at[$2]] > level[$3] {
		o = $4; sub(/.*\//, "", o); sub(/\.o$/, "", o); part = substr($3, index($3, "/") + 1); gsub("/", "_", part); sub("^" part "_", "", o); print $3 "/" o " needs " $2 " of " at[$2]
	}
' "$dir/symbols" "$dir/symbols" | LC_ALL=C sort -u >"$dir/bad"

# Files of these folders have numbers here. Two files are in one circle if each reaches the other.
awk -v most=$most '
	function number(o) { if (!(o in no)) { no[o] = ++n; name[n] = o }; return no[o] }
	function reach(from, i, k, m, stack, seen, top) {
		top = 1; stack[1] = from
		while (top) {
			i = stack[top--]
			for (k = 1; k <= nneed[i]; k++) {
				m = need[i, k]
				if (!((from, m) in reached)) { reached[from, m] = 1; stack[++top] = m }
			}
		}
	}
	FNR == NR { if ($1 == "D" && !($2 in at)) at[$2] = $4; next }
	$1 == "U" && ($2 in at) && at[$2] != $4 {
		a = number($4); b = number(at[$2])
		if (!((a, b) in has)) { has[a, b] = 1; need[a, ++nneed[a]] = b }
	}
	END {
		for (i = 1; i <= n; i++) reach(i)
		for (i = 1; i <= n; i++) {
			size = 0; text = ""
			for (k = 1; k <= n; k++)
				if (((i, k) in reached) && ((k, i) in reached)) {
					if (k < i) { size = 0; break }
					o = name[k]; sub(/.*\//, "", o); sub(/\.o$/, "", o); size++; text = text " " o
				}
			if (size > most) print size " files of a circle, at most " most " may be:" text
		}
	}
' "$dir/symbols" "$dir/symbols" >>"$dir/bad"
[ -s "$dir/bad" ] || exit 0
sed 's/^/check-symbols: /' "$dir/bad" >&2
exit 1
