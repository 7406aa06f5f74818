#!/bin/sh
# SPDX-License-Identifier: MIT
# upgraded_files.sh - attach to a process whose program, loader, libc and library were replaced or deleted, as by an upgrade
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"

cat >prog.c <<'END'
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) int work(int n)
{
	char *volatile p = malloc((size_t)n + 10);
	int last = memset(p, n, (size_t)n + 10) != NULL;

	free(p);
	return last + n;
}
int main(int argc, char **argv)
{
	struct pollfd in = { .events = POLLIN };
	void *h = dlopen(argv[argc - 1], RTLD_NOW);
	int (*old_name)(int) = h ? (int (*)(int))dlsym(h, "old_name") : NULL;

	if (!old_name || system("true"))
		return 2;
	puts("ready");
	fflush(stdout);
	for (int i = 0; !poll(&in, 1, 1); i++)
		if (old_name(work(i % 100)) != i % 100 + 3)
			return 3;
	return system("exit 5") >> 8;
}
END
cat >lib.c <<'END'
int old_name(int x) { for (volatile int i = 0; i < 3; i++) x += i == 2; return x + 1; }
END
loader=$(ldd /bin/sh | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\) .*/\1/p')
libc=$(ldd /bin/sh | sed -n 's/.*libc.so.6 => \([^ ]*\) .*/\1/p')
[ -n "$loader" ] && [ -n "$libc" ] || skip "no loader is known"

# set_up: as it was installed first
set_up() {
	rm -rf inst
	mkdir inst
	cp "$loader" inst/ld.so
	cp "$libc" inst/libc.so.6
	${CC:-cc} -O2 -falign-functions=16 -o inst/prog prog.c -ldl -Wl,--dynamic-linker="$PWD/inst/ld.so",-rpath,"$PWD/inst" || exit 1
	${CC:-cc} -O2 -falign-functions=16 -shared -fPIC -o inst/lib.so lib.c || exit 1
}
# An upgrade writes new files and renames them into the old ones' places.
replace() {
	sed 's/old_name/new_name/' lib.c >new.c
	${CC:-cc} -O1 -shared -fPIC -o new new.c && mv new inst/lib.so
	${CC:-cc} -O0 -o new prog.c -ldl && mv new inst/prog
	for f in ld.so libc.so.6; do
		cp inst/$f new && echo upgraded >>new && printf '\125' | dd of=new bs=1 seek=500 conv=notrunc status=none && mv new inst/$f
	done
}
delete() { rm inst/*; }

# While it is recorded the file has no names of what was replaced.
all_called() { [ "$("$uft" report --profile x.uft 2>/dev/null | awk '$1 + 0 > 10' | wc -l)" -ge 3 ]; }

for what in replace delete; do
	set_up
	hold_up inst/prog "$PWD/inst/lib.so"
	$what
	for tracer in function function_graph; do
		rm -f x.uft
		attach_until all_called -p $tracer -l work -l 'malloc:mod:libc.so.6' -l 'old_name:mod:lib.so' -o x.uft $held
		expect_equal "$what, $tracer: status" $? 0
		"$uft" report --profile x.uft >profile
		for f in work malloc old_name; do
			check
			[ "$(awk -v f=$f '$NF == f { print $1 }' profile)" -gt 10 ] || { fail "$what, $tracer: calls of $f"; cat profile said; }
		done
		expect_equal "$what, $tracer: warnings" "$(grep -c warning said)" 0
		expect_left "$what, $tracer" $held
	done
	run "$uft" sites -a -l work -l 'old_name:mod:lib.so' $held
	expect_no_err
	expect_equal "$what: what uft sites lists" "$(awk '$1 ~ /^0x/ { print $NF }' out | sort | tr '\n' ' ')" "old_name work "
	if command -v setpriv >/dev/null && [ "$(id -u)" = 0 ]; then	# who may not look is told
		run setpriv --bounding-set=-sys_admin,-checkpoint_restore --inh-caps=-sys_admin,-checkpoint_restore "$uft" attach -o y.uft $held
		expect_status 1
		expect_err "was replaced since it started: as root uft reads the old one"
	fi
	let_go
	expect_equal "$what: the program's own status" $status 5
done
