#!/bin/sh
# SPDX-License-Identifier: MIT
# cxx_names.sh - words of the lists match C++ functions by their names, before and after the program has run
. "$(dirname "$0")/inside.sh"
need g++
cat >shop.cc <<'end'
namespace shop {
template <int N> struct Heap { __attribute__((noinline)) static int prep(int x) { __asm__ volatile(""); return x + N; } };
struct Flat {
	__attribute__((noinline)) int prep(int x) { __asm__ volatile(""); return x + 1; }
	__attribute__((noinline)) int send(int x) { __asm__ volatile(""); return x + 2; }
};
}
int main()
{
	shop::Flat f;

	return f.prep(1) + f.send(2) + shop::Heap<3>::prep(1) - 10;
}
end
g++ -O1 -fpatchable-function-entry=5 -o shop shop.cc || exit 1

inside 'echo function >current_tracer; for word in "shop::Flat::*:mod:shop" "shop::Flat::*:mod:shop" "shop::*" "shop::Flat::prep"; do echo $word >set_ftrace_filter; s=$?; echo >trace; $TMP/shop; echo "$s $(grep -c "<-main" trace)"; done
	echo "!shop::Flat::prep" >>set_ftrace_filter; echo "shop::Flat::*" >set_graph_function; grep -c . set_graph_function; echo "!shop::Flat::send" >>set_graph_function; cat set_graph_function; echo none::such >set_ftrace_filter; echo $?'
expect_equal "by name" "$(tr '\n' ' ' <out)" "0 2 0 2 0 3 0 1 2 _ZN4shop4Flat4prepEi 1 "
inside '$TMP/shop; echo "shop::Flat::send:traceoff:1" >set_ftrace_filter; cat set_ftrace_filter; echo function >current_tracer; $TMP/shop; cat tracing_on; grep -c "prep <-main" trace; echo "!shop::Flat::send:traceoff:0" >>set_ftrace_filter; echo >set_ftrace_filter; cat set_ftrace_filter'
expect_equal "a command" "$(tail -n 4 out | tr '\n' ' ')" "_ZN4shop4Flat4sendEi:traceoff:count=1 0 1 #### all functions enabled #### "
