#!/bin/sh
# SPDX-License-Identifier: MIT
# kinds.sh SOURCE CC... - each kind of field and each helper of the kernel's event headers: `format`, text, trace-cmd's output; custom events
. "$(dirname "$0")/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip "the golden texts are of x86_64"
source=$1
shift
here=$source/tests/func/observe/tracepoints
"$@" -O2 -Wall -Wextra -DUFT_TRACE_PROBES -I"$source/include" -I"$source/include/uft/kernel" -I"$here" -o prog "$here/kinds.c" >compiled 2>&1 || { cat compiled; fail "cannot build"; }
expect_equal "no warning" "$(cat compiled)" ""
golden() { sed '/^#/d' "$here/$1"; }
# Also the further lines of a dump.
body() { sed -n -e 's/^[^:]*: \(kinds_[a-z]*\): *\(.*\)$/\1: \2/p' -e '/^> [0-9a-f]*: /p' "$1" | sed 's/ *$//'; }

# ---- `format`: as kernels write it. A char is signed here, and not in a kernel since 6.2.
run "$uft" list -e --full ./prog
describe() { awk -v name="$1" '/^system: / { of = $2 } /^name: / { is_it = $2 == name && of == "uft_kinds" } is_it && (/^.field/ && !/common_/ || /^print/) { print name ": " $0 }' out | sed 's/\t/ /g; s/;  *$/;/'; }
for name in kinds_numbers kinds_dynamic kinds_relative kinds_names kinds_dump kinds_print; do describe $name; done >got
golden kinds.format >wanted
expect_equal "formats" "$(diff wanted got)" ""

# ---- Text
run "$uft" record -q -e 'uft_kinds:*' -e 'custom:*' -o rec.uft ./prog
expect_status 0
run "$uft" report --no-pager rec.uft
body out >got
golden kinds.text >wanted
expect_equal "text" "$(diff wanted got)" ""

# ---- The tracepoints' own events alone, then the custom ones alone
run "$uft" record -q -e uft_kinds:kinds_names -o one.uft ./prog
run "$uft" report --no-pager one.uft
expect_equal "no custom event" "$(body out | grep -c state=) $(body out | grep -c sum=)" "4 0"
run "$uft" record -q -e custom:kinds_names -o one.uft ./prog
run "$uft" report --no-pager one.uft
expect_equal "custom events alone" "$(body out | tr '\n' ' ')" "kinds_names: sum=0 kinds_names: sum=2 kinds_names: sum=4 kinds_names: sum=6 "

# ---- The same of a C++ program
for cc in g++ clang++; do
	has "C++ by $cc" "$cc" || continue
	printf '#define CREATE_TRACE_POINTS\n#include "kinds.h"\n#define CREATE_CUSTOM_TRACE_EVENTS\n#include "kinds_custom.h"\nint main() { trace_kinds_plain(3); trace_kinds_names(1, 2); }\n' >plus.cc
	"$cc" -O2 -Wall -DUFT_TRACE_PROBES -I"$source/include" -I"$source/include/uft/kernel" -I"$here" -o plus plus.cc >compiled 2>&1 || { cat compiled; fail "cannot build with $cc"; }
	run "$uft" record -q -e 'uft_kinds:*' -e 'custom:*' -o one.uft ./plus
	run "$uft" report --no-pager one.uft
	expect_equal "$cc" "$(body out | tr '\n' ' ')" "kinds_plain: many kinds_plain: n=3 kinds_names: sum=3 kinds_names: state=one flags=b "
done

# ---- As a file of trace-cmd. libtraceevent 1.7.1 writes arrays in another way, masks as lists, a signed char as an unsigned one, and does not know
# __print_dynamic_array() nor __print_hex_dump(). It crashes at the word __get_rel_dynamic_array_len(), which the kernel writes there, too
# (include/trace/stages/stage7_class_define.h lets it stand); at no other word for what is relative.
command -v trace-cmd >/dev/null 2>&1 || exit 0
run "$uft" record -q -e 'uft_kinds:*' -v -e uft_kinds:kinds_relative -e uft_kinds:kinds_dump -o some.uft ./prog
run "$uft" export -o rec.dat some.uft
expect_status 0
trace-cmd report rec.dat >out 2>/dev/null
plain() { grep -v '^> \|^kinds_dump\|^kinds_relative\|: sum=\|: many\|: few' | sed 's/list=.* hex=/hex=/; s/pair=.* secs=/secs=/; s/^kinds_numbers: [-0-9]*/kinds_numbers:/; s/cpus=[^ ]*//'; }
body out | plain >got
golden kinds.text | plain >wanted
expect_equal "trace-cmd's text" "$(diff wanted got)" ""
