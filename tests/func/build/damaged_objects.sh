#!/bin/sh
# SPDX-License-Identifier: MIT
# damaged_objects.sh - recordmcount on damaged objects, with sanitizers: $HOSTILE is the program damaged_objects.c
. "$(dirname "$0")/../../lib/common.sh"
need gcc g++ clang

cp "$top"/tests/func/matrix/*.[ch] .
g++ -x c++ -pg -mfentry -O1 -ffunction-sections -c main.c -o comdat.o
clang -pg -O1 -fno-asynchronous-unwind-tables -ffunction-sections -c main.c -o no_section_symbols.o
gcc -pg -O1 -mrecord-mcount -c work.c -o listed.o
gcc -fpatchable-function-entry=5 -O1 -fcf-protection -c work.c -o pads.o
run "$HOSTILE" comdat.o no_section_symbols.o listed.o pads.o
expect_status 0
expect_out "0 failures"
