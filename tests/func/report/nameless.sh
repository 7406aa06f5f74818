#!/bin/sh
# SPDX-License-Identifier: MIT
# nameless.sh - a report of a stripped program tells how to get names for its functions
. "$(dirname "$0")/../../lib/common.sh"
need strip nm

cat >prog.c <<'END'
#define FN __attribute__((noinline, noclone))
static FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
static FN void work(void) { leaf(); __asm__ volatile("" ::: "memory"); }
int main(void)
{
	for (int i = 0; i < 10; i++)
		work();
	return 0;
}
END
build_traced prog -Wl,--build-id
run "$uft" record -q -o named.uft ./prog
expect_status 0
run "$uft" report --flat named.uft
expect_no_err
expect_equal "with names" "$(grep -c 'no names' out)" 0
nm prog >names
strip prog
without="# no names of 3 functions of prog: it was recorded without symbols. Name them by --symbols; for the next recording install"
for tracer in function function_graph profile; do
	run "$uft" record -q -p $tracer -o $tracer.uft ./prog
	expect_status 0
	run "$uft" report --flat $tracer.uft
	expect_status 0
	expect_no_err
	expect_out "$without its debug symbols, or set DEBUGINFOD_URLS"
	expect_equal "$tracer: lines about it" "$(grep -c 'no names of' out)" 1
done
# Once, whatever the form; tables for programs have it beside them.
for form in --no-pager --tree "--tree --threads 1" --profile "--flat --by task"; do
	# shellcheck disable=SC2086
	run "$uft" report $form function_graph.uft
	expect_equal "$form: lines about it" "$(grep -c 'no names of 3 functions of prog' out)" 1
done
for form in json csv; do
	run "$uft" report --tree --$form function_graph.uft
	expect_err "no names of 3 functions of prog"
	expect_equal "$form: it stands in no table" "$(grep -c 'no names' out)" 0
done
# A package of Debian, as dpkg tells it: of the path, or of that without /usr; what it says is no more than a name.
mkdir bin
cat >bin/dpkg-query <<'END'
#!/bin/sh
echo "$2" >>asked
cat answer
END
chmod +x bin/dpkg-query
echo "shop-server:amd64: $PWD/prog" >answer
PATH=$PWD/bin:$PATH run "$uft" report --flat function_graph.uft
expect_out "$without shop-server-dbgsym (or -dbg) from Debian's debug archive, or set DEBUGINFOD_URLS"
expect_equal "it asks for the file" "$(cat asked)" "$PWD/prog"
printf 'evil;\033[2J: x\n' >answer
PATH=$PWD/bin:$PATH run "$uft" report --flat function_graph.uft
expect_out "$without its debug symbols"
# Its names from elsewhere: nothing is left to say.
run "$uft" report --flat --symbols names function_graph.uft
expect_out leaf
expect_equal "with --symbols" "$(grep -c 'no names' out)" 0
