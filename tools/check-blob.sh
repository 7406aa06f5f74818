#!/bin/sh
# check-blob.sh FILE - the runtime's image is what control/arena/blob.c can load: a position-independent ELF without an
# interpreter or needed libraries, only R_X86_64_RELATIVE relocations, nothing undefined, its entry symbols there.
set -eu
f=$1
fail() { echo "check-blob: $f: $*" >&2; exit 1; }
readelf -hW "$f" | grep -q 'Type: *DYN' || fail "not position independent"
readelf -lW "$f" | grep -q INTERP && fail "has an interpreter"
readelf -dW "$f" | grep -q NEEDED && fail "needs a library"
readelf -rW "$f" | awk '$3 ~ /^R_/ && $3 != "R_X86_64_RELATIVE" { print $3, $5; bad = 1 } END { exit bad }' ||
	fail "relocations of other kinds"
readelf -sW "$f" | awk '$7 == "UND" && $8 != "" { print $8; bad = 1 } END { exit bad }' || fail "undefined symbols"
for sym in uft_blob_start uft_blob_attach uft_blob_rejoin uft_boot; do
	readelf -sW "$f" | awk -v s="$sym" '$8 == s { found = 1 } END { exit !found }' || fail "no symbol $sym"
done
readelf -lW "$f" | awk '$1 == "LOAD" && /RWE/ { bad = 1 } END { exit bad }' || fail "a segment is writable and executable"
