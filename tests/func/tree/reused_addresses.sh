#!/bin/sh
# SPDX-License-Identifier: MIT
# reused_addresses.sh TARGET - libraries that use the same addresses in turn: callers and stacks have the names of their time
. "$(dirname "$0")/inside.sh"

for name in alpha other; do
	echo "volatile int sink; void $name(void (*f)(void)) { f(); sink++; }" >lib.c
	${CC:-cc} -O1 -fno-optimize-sibling-calls -fPIC -shared lib.c -o lib$name.so
done
cat >prog.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
volatile int sink;
__attribute__((noinline)) void called(void) { sink++; }
/* LIBRARY NAME ...: calls each in turn; tells where it was. */
int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		void *lib = dlopen(argv[i], RTLD_NOW);
		void (*fn)(void (*)(void)) = lib ? (void (*)(void (*)(void)))dlsym(lib, argv[i + 1]) : NULL;

		if (!fn)
			return 1;
		printf("%p\n", (void *)fn);
		fn(called);
		dlclose(lib);
	}
	return 0;
}
END
build_traced prog -ldl
libs='./libalpha.so alpha ./libother.so other ./libalpha.so alpha'

callers() { sed -n 's/.*: called <-\([a-z]*\).*/\1/p' "$1" | tr '\n' ' '; }
# The frame behind called, in each stack.
frames() { sed -n '/^ => called/ { n; s/^ => \([a-z]*\).*/\1/p }' "$1" | tr '\n' ' '; }
run "$uft" record -q -p function --func-stack -l called -o rec.uft ./prog $libs
expect_status 0
[ "$(sort -u out | wc -l)" -eq 1 ] || skip "libraries do not get the addresses of those that are gone here: $(cat out)"
run "$uft" report --no-pager rec.uft
expect_equal "callers in a file" "$(callers out)" "alpha other alpha "
if [ "$(uname -m)" = x86_64 ]; then
	expect_equal "stacks in a file" "$(frames out)" "alpha other alpha "
fi
export LIBS="$libs" DIR="$PWD"
inside 'cd $DIR; ./prog $LIBS; cd -; echo called >set_ftrace_filter; echo 1 >options/func_stack_trace; echo function >current_tracer
	cd $DIR; ./prog $LIBS; cd -; cat trace; cat trace >$TMP/trace'
expect_equal "callers in the tree" "$(callers trace)" "alpha other alpha "
if [ "$(uname -m)" = x86_64 ]; then
	expect_equal "stacks in the tree" "$(frames trace)" "alpha other alpha "
fi
