// SPDX-License-Identifier: MIT
/* cxx_work.cc - a workload for libstdc++, by library_test.c: streams, strings, exceptions, locales, regex, threads, files */
#include <algorithm>
#include <chrono>
#include <codecvt>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <memory_resource>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <typeinfo>
#include <vector>

namespace {
struct Base { virtual ~Base() {} };
struct A : Base {};
struct B : virtual A { int b = 3; };

int thrower(int n)
{
	std::string held(100, 'x');

	if (n == 0)
		throw std::out_of_range("bottom");
	try {
		return thrower(n - 1) + 1;
	} catch (const std::invalid_argument &) {
		return -1;
	}
}

std::string numbers()
{
	std::ostringstream out;

	for (int i = -20; i < 20; i++)
		out << std::setw(8) << std::setfill('.') << i * 1234567 << std::hex << i << std::dec << ' ' << std::scientific
		    << i / 7.0 << ' ' << std::fixed << std::setprecision(3) << i * 1e5 << std::boolalpha << (i > 0) << '\n';
	return out.str();
}

std::string parse(const std::string &text)
{
	std::istringstream in(text);
	std::map<std::string, int> seen;
	std::string word, out;

	while (in >> word)
		seen[word]++;
	for (auto &[key, n] : seen)
		out += key + "=" + std::to_string(n) + ",";
	return out;
}

std::string exceptions()
{
	std::string out;

	for (int i = 0; i < 20; i++) {
		try {
			thrower(i);
		} catch (const std::exception &e) {
			out += e.what();
		}
	}
	try { std::vector<int>().at(7); } catch (const std::out_of_range &e) { out += e.what(); }
	try { std::stoi("abc"); } catch (const std::exception &e) { out += e.what(); }
	try { std::string("abc").substr(9); } catch (const std::exception &e) { out += e.what(); }
	try { Base *b = new A; out += dynamic_cast<B *>(b) ? "B" : "no B"; dynamic_cast<B &>(*b).b++; } catch (const std::bad_cast &e) { out += e.what(); }
	try { std::ifstream f; f.exceptions(std::ios::failbit); f.open("/nonexistent"); } catch (const std::ios::failure &) { out += "ios"; }
	try { std::rethrow_exception(std::make_exception_ptr(42)); } catch (int v) { out += std::to_string(v); }
	return out;
}

std::string others()
{
	std::ostringstream out;
	std::mt19937 random(7);
	std::vector<std::string> v;
	std::smatch m;
	std::string s = "2026-11-21 some text 1234";
	auto f = std::async(std::launch::async, [] { return std::string("thread"); });

	for (int i = 0; i < 500; i++)
		v.push_back(std::to_string(random() % 1000));
	std::sort(v.begin(), v.end());
	for (auto &x : v)
		out << x << ' ';
	if (std::regex_search(s, m, std::regex("([0-9]+)-([0-9]+).*\\s([0-9]+)$")))
		out << m[1] << m[2] << m[3];
	out << f.get() << std::filesystem::path("/a/b/../c.txt").lexically_normal() << std::filesystem::exists("/bin");
	out << std::put_time(std::gmtime(&(const std::time_t &)std::time_t(1000000000)), "%F %T");
	std::wstring_convert<std::codecvt_utf8<wchar_t>> wide;
	out << wide.from_bytes("\xc3\xa9t\xc3\xa9").size();
	std::pmr::monotonic_buffer_resource pool;
	std::pmr::vector<int> pv(&pool);
	for (int i = 0; i < 1000; i++)
		pv.push_back(i);
	out << pv.back() << typeid(B).name();
	return out.str();
}
}

extern "C" void cxx_work(void (*add)(const char *))
{
	std::string n = numbers();

	add(n.c_str());
	add(parse(n + n).c_str());
	add(exceptions().c_str());
	add(others().c_str());
}
