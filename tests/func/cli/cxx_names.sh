#!/bin/sh
# SPDX-License-Identifier: MIT
# cxx_names.sh - C++ names in reports (short, full, as linked) and in filters
. "$(dirname "$0")/../../lib/common.sh"

command -v c++ >/dev/null || skip "no C++ compiler"
cat >shop.cc <<'END'
#include <map>
#include <string>
#include <vector>
namespace shop {
template<class T> struct Flat {
	std::vector<T> v;
	__attribute__((noinline)) T sum(T a) { for (auto &x : v) a += x; return a; }
};
struct Fn { __attribute__((noinline)) int operator()(int a) const { return a + 1; } };
template<class F> __attribute__((noinline)) auto apply(F f, int x) -> decltype(f(x)) { return f(x); }
__attribute__((noinline)) int twice(int x) { return 2 * x; }
__attribute__((noinline)) int twice(double x) { return (int)(2 * x); }
}
int main()
{
	shop::Flat<double> f;
	std::map<std::string, std::vector<int>> m;

	f.v.assign(10, 1.5);
	for (int i = 0; i < 20; i++)
		m[std::to_string(i % 7)].push_back(i);
	volatile int r = shop::apply(shop::Fn(), 3) + shop::twice(1) + shop::twice(1.5);
	return f.sum(1) > 1e9 || r == 0;
}
END
c++ -O0 -fpatchable-function-entry="${UFT_PAD:-5}" shop.cc -o shop 2>err || skip "$(cat err)"

run "$uft" record -q -o all.uft ./shop
expect_status 0
run "$uft" report all.uft
expect_out ' shop::Flat<double>::sum() {'
expect_out 'std::map<...>::operator[]() {'
expect_out 'shop::apply<shop::Fn>() {'
expect_out 'shop::Fn::operator()();'
expect_equal "lines with parameters" "$(grep -v '^#' out | grep -c '[a-z0-9>](.\+)()')" 0
expect_equal "lines with a return type" "$(grep -cE '\| +(void|int|bool|decltype) ' out)" 0
expect_equal "long lines" "$(awk 'length($0) > 200' out | wc -l)" 0
run "$uft" report --profile all.uft
expect_equal "both overloads" "$(awk '$NF == "shop::twice"' out | wc -l)" 2
run "$uft" report --demangle=full all.uft
expect_out ' shop::twice(int);'
expect_out 'shop::Fn::operator()(int) const;'
expect_equal "()()" "$(grep -c '[^r]()()' out)" 0
run "$uft" report --demangle=no --profile all.uft
expect_out '_ZN4shop5twiceEi'
run "$uft" report --demangle=brief all.uft
expect_status 2

# A name matches as it is shown, in full, as linked, and by its namespace whatever it returns.
for name in 'shop::twice' 'shop::twice(*' '_ZN4shop5twice*'; do
	run "$uft" report --profile -F "$name" all.uft
	expect_equal "-F $name" "$(grep -c 'shop::twice$' out)" 2
done
run "$uft" report --profile -F 'shop::twice(int)' all.uft
expect_equal "one of two" "$(grep -vc '^#' out)" 1
run "$uft" report --profile -F 'std::map<...>::operator[[]]' -F 'shop::apply<shop::Fn>' all.uft
expect_equal "pasted" "$(awk '!/^#/ { print $NF }' out | sort | tr '\n' ' ')" "shop::apply<shop::Fn> std::map<...>::operator[] "

run "$uft" record -q -n 'std::*' -n '__gnu_cxx::*' -n 'operator*' -o own.uft ./shop
expect_status 0
run "$uft" report --demangle=full own.uft
expect_equal "std:: that is left" "$(grep -cE '^[^|]*\| +([a-zA-Z_:]+ )?std::' out)" 0
run "$uft" record -q -l 'shop::apply*' -o apply.uft ./shop
expect_equal "behind a return type" "$("$uft" stat apply.uft | sed -n 's/^calls: //p')" 1
