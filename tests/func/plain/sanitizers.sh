#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitizers.sh - programs with a sanitizer's runtime inside: its wrappers of setjmp() and of the unwinder are none of its callers' business
. "$(dirname "$0")/../../lib/common.sh"

cat >jump.c <<'E2'
#include <setjmp.h>
#include <stdio.h>
static jmp_buf env;
static sigjmp_buf sigenv;
__attribute__((noinline)) void away(int n)
{
	if (!n)
		longjmp(env, 1);
	away(n - 1);
}
__attribute__((noinline)) void sigaway(int n)
{
	if (!n)
		siglongjmp(sigenv, 1);
	sigaway(n - 1);
}
int main(void)
{
	volatile int n = 0;
	for (volatile int i = 0; i < 20; i++) {
		if (!setjmp(env))
			away(10);
		if (!sigsetjmp(sigenv, 1))
			sigaway(10);
		n++;
	}
	printf("jumped %d\n", n);
	return 0;
}
E2
cat >throw.cc <<'E2'
#include <cstdio>
#include <string>
static volatile int n;
__attribute__((noinline)) void deep(int d)
{
	std::string s("guard");
	if (!d)
		throw std::string("s");
	deep(d - 1);
	n += s.size();
}
int main()
{
	int c = 0;
	for (int i = 0; i < 20; i++)
		try {
			deep(10);
		} catch (std::string &) {
			c++;
		}
	printf("caught %d\n", c);
	return 0;
}
E2
tried=0
for compiler in gcc clang; do
	for sanitizer in thread address undefined; do
		has "$compiler -fsanitize=$sanitizer" "$compiler" || continue
		"$compiler" -O1 -fsanitize=$sanitizer jump.c -o jump 2>/dev/null && ./jump >/dev/null 2>&1 &&
			"$compiler" -x c++ -O1 -fsanitize=$sanitizer throw.cc -o throw -lstdc++ 2>/dev/null && ./throw >/dev/null 2>&1 ||
			{ echo "SKIPPED: $compiler -fsanitize=$sanitizer does not work here"; continue; }
		tried=$((tried + 1))
		for what in jump:jumped throw:caught; do
			run "$uft" record -p function_graph -o x.uft "./${what%:*}"
			expect_status 0
			expect_out "${what#*:} 20"
			expect_equal "warnings" "$(grep -c warning: err)" 0
		done
	done
done
[ $tried -gt 0 ] || skip "no sanitizers here"
