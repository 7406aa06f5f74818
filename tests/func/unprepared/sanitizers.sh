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
			expect_equal "$compiler, $sanitizer: warnings" "$(grep -c warning: err)" "$([ $sanitizer = address ] && echo 1 || echo 0)"
		done
	done
done

# The reports of leaks: said that callers are stubs, unless the sanitizer takes the unwind tables
cat >leak.c <<'E2'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) char *inner(int n)
{
	char *p = malloc(n);

	return memset(p, 1, n);
}
__attribute__((noinline)) int outer(void)
{
	return inner(77)[0] == 2;
}
int main(void)
{
	return outer();
}
E2
for compiler in gcc clang; do
	for sanitizer in address leak; do
		"$compiler" -O0 -g -fsanitize=$sanitizer leak.c -o leak 2>/dev/null || continue
		./leak 2>&1 | grep -q ' in outer ' || { echo "SKIPPED: $compiler -fsanitize=$sanitizer finds no leaks here"; continue; }
		run "$uft" record -o x.uft ./leak
		expect_err "fast_unwind_on_malloc=0"
		run env ASAN_OPTIONS=fast_unwind_on_malloc=0 LSAN_OPTIONS=fast_unwind_on_malloc=0 "$uft" record -o x.uft ./leak
		expect_equal "$compiler, $sanitizer: callers" "$(sed -n 's/^ *#[0-9]* [^ ]* in \(inner\|outer\|main\) .*/\1/p' err | tr '\n' ' ')" "inner outer main "
		expect_equal "$compiler, $sanitizer: no warning" "$(grep -c 'warning: .*sanitizer' err)" 0
		run "$uft" record -p function -o x.uft ./leak
		expect_equal "$compiler, $sanitizer: function" "$(sed -n 's/^ *#[0-9]* [^ ]* in \(inner\|outer\|main\) .*/\1/p' err | tr '\n' ' ')" "inner outer main "
	done
done
[ $tried -gt 0 ] || skip "no sanitizers here"
