#!/bin/sh
# SPDX-License-Identifier: MIT
# genfuncs.sh N DIR - writes a program of N small functions to DIR/f*.c and DIR/main.c (1,000 functions a file)
#
# `prog` calls nothing and prints 0; `prog all` calls each function once and prints their sum.
n=$1 dir=$2
mkdir -p "$dir"
awk -v n="$n" -v dir="$dir" 'BEGIN {
	for (f = 0; f * 1000 < n; f++) {
		out = dir "/f" f ".c"
		printf "" >out
		for (i = f * 1000; i < n && i < (f + 1) * 1000; i++)
			printf "__attribute__((noinline)) int f%d(int x) { __asm__ volatile(\"\"); return x + %d; }\n", i, i % 7 >out
		printf "typedef int fn(int);\n__attribute__((patchable_function_entry(0))) int all%d(int s)\n{\n\tstatic fn *const t[] = {", f >out
		for (i = f * 1000; i < n && i < (f + 1) * 1000; i++)
			printf "%sf%d,", i % 16 ? " " : "\n\t\t", i >out
		print "\n\t};\n\tfor (unsigned i = 0; i < sizeof(t) / sizeof(*t); i++)\n\t\ts = t[i](s);\n\treturn s;\n}" >out
		close(out)
	}
	out = dir "/main.c"
	print "#include <stdio.h>" >out
	for (i = 0; i < f; i++)
		printf "int all%d(int);\n", i >out
	print "__attribute__((patchable_function_entry(0))) int main(int c, char **v)\n{\n\tint s = 0;\n\n\t(void)v;\n\tif (c > 1) {" >out
	for (i = 0; i < f; i++)
		printf "\t\ts = all%d(s);\n", i >out
	print "\t}\n\tprintf(\"%d\\n\", s);\n\treturn 0;\n}" >out
}'
