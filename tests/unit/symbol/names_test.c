/* SPDX-License-Identifier: MIT */
/* names_test.c - globs, demangling, patterns and near names */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "symbol/words.h"

static void glob_vectors(void **state)
{
	static const struct { const char *glob, *text; int match; } t[] = {
		/* the forms of set_ftrace_filter: full, front, end, middle, general */
		{ "schedule", "schedule", 1 }, { "schedule", "schedule_tail", 0 }, { "schedule", "_schedule", 0 },
		{ "sched*", "schedule", 1 }, { "sched*", "sched", 1 }, { "sched*", "_sched", 0 },
		{ "*lock", "spin_lock", 1 }, { "*lock", "lock", 1 }, { "*lock", "lock_it", 0 },
		{ "*lock*", "unlocked", 1 }, { "*lock*", "lck", 0 },
		{ "v?s_[ro]*", "vfs_read", 1 }, { "v?s_[ro]*", "vfs_open", 1 }, { "v?s_[ro]*", "vfs_write", 0 },
		{ "a*b", "ab", 1 }, { "a*b", "axxb", 1 }, { "a*b", "axbx", 0 },
		/* of lib/globtest.c's kind */
		{ "a", "a", 1 }, { "a", "b", 0 }, { "a", "aa", 0 }, { "a", "", 0 }, { "", "", 1 }, { "", "a", 0 },
		{ "[a]", "a", 1 }, { "[a]", "b", 0 }, { "[!a]", "a", 0 }, { "[!a]", "b", 1 }, { "[ab]", "b", 1 },
		{ "[ab]", "c", 0 }, { "[!ab]", "c", 1 }, { "[a-c]", "b", 1 }, { "[a-c]", "d", 0 },
		{ "[]a]", "]", 1 }, { "[]a]", "a", 1 }, { "[!]a]", "]", 0 }, { "[!]a]", "b", 1 }, { "[a-]", "-", 1 },
		{ "[", "[", 1 }, { "[a", "[a", 1 }, { "[!", "[!", 1 }, { "x[", "x", 0 },
		{ "?", "a", 1 }, { "?", "aa", 0 }, { "??", "a", 0 }, { "?x?", "axb", 1 }, { "?x?", "abx", 0 },
		{ "*", "", 1 }, { "*", "abc", 1 }, { "*a", "ba", 1 }, { "*a", "ab", 0 }, { "a*", "ba", 0 },
		{ "*a*", "bab", 1 }, { "**a", "a", 1 }, { "*bc", "abbc", 1 }, { "*bc", "bcbcb", 0 },
		{ "*ac*", "abacadaeafag", 1 }, { "*ac*ae*ag*", "abacadaeafag", 1 },
		{ "*a*b*[bc]*[ef]*g*", "abacadaeafag", 1 },
		{ "*abcd*", "abcabcabcabcdefg", 1 }, { "*ab*cd*", "abcabcabcabcefg", 0 },
		{ "\\*", "*", 1 }, { "\\*", "a", 0 }, { "a\\[b", "a[b", 1 }, { "\\?", "?", 1 }, { "\\\\", "\\", 1 },
		{ "operator\\[\\]*", "operator[](int)", 1 }, { "[\x80-\xff]", "\xc3", 1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (uft_glob_match(t[i].glob, t[i].text) != t[i].match)
			fail_msg("'%s' against '%s' must give %d", t[i].glob, t[i].text, t[i].match);
}

/* Many stars must not take exponential time. */
static void glob_is_bounded(void **state)
{
	char glob[201], text[4097];
	int i;

	(void)state;
	for (i = 0; i < 200; i += 2)
		memcpy(glob + i, "*a", 2);
	glob[199] = 'b';
	glob[200] = 0;
	memset(text, 'a', 4096);
	text[4096] = 0;
	assert_int_equal(uft_glob_match(glob, text), 0);
}

static void demangle_vectors(void **state)
{
	static const struct { const char *name, *text; } t[] = {
		{ "main", NULL }, { "", NULL }, { "_Z", NULL }, { "_R", NULL }, { "_start", NULL }, { "_ZN", NULL },
		{ "_Z3fooi", "foo(int)" }, { "_Z3food", "foo(double)" },
		{ "_ZN3foo3barEid", "foo::bar(int, double)" }, { "_ZNK3foo3barEi", "foo::bar(int) const" },
		{ "_ZdlPv", "operator delete(void*)" }, { "_ZN1AC2Ev", "A::A()" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
			"std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const" },
		{ "_Z3fooi.constprop.0", "foo(int) [clone .constprop.0]" },
		{ "_ZN1A4funcEv.cold", "A::func() [clone .cold]" },
		{ "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_RNvCs6GmmlP4bgsG_1r4main", "r::main" },
		{ "_RINvNtCs6GmmlP4bgsG_1r6shapes3genhEB4_", "r::shapes::gen::<u8>" },
		/* what a duplicate has behind its name stays */
		{ "_ZL6helperi@a.c", "helper(int)@a.c" }, { "_ZL6helperi@0x1140", "helper(int)@0x1140" },
		{ "helper@a.c", NULL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char *s = uft_demangle(t[i].name);

		if (!s != !t[i].text || (s && strcmp(s, t[i].text)))
			fail_msg("'%s' gave '%s', not '%s'", t[i].name, s ? s : "NULL", t[i].text ? t[i].text : "NULL");
		free(s);
	}
}

/* As people read them: what is cut is what is the same in most lines. */
static void short_names(void **state)
{
	static const struct { const char *full, *text; } t[] = {
		{ "foo(int)", "foo" }, { "foo::bar(int, double) const", "foo::bar" }, { "A::A()", "A::A" },
		{ "r::main", "r::main" },
		{ "std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<...>::push_back" },
		{ "shop::Flat<double>::sum(double)", "shop::Flat<double>::sum" },
		{ "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(__gnu_cxx::__normal_iterator<int*, X>, int const&)",
		  "std::vector<...>::_M_realloc_insert<int const&>" },
		{ "decltype ({parm#1}((int)0)) apply<int>(int, int)", "apply<int>" },
		{ "std::enable_if<true, unsigned long>::type f<int>(int)", "f<int>" },
		{ "bool std::operator< <char, std::char_traits<char>, std::allocator<char> >(int)",
			"std::operator< <...>" },
		{ "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)",
			"std::operator<< <...>" },
		{ "A::operator()(int) const", "A::operator()" }, { "A::operator->() const", "A::operator->" },
		{ "A::operator unsigned long() const", "A::operator unsigned long" },
		{ "operator delete(void*)", "operator delete" },
		{ "A::operator[](int)", "A::operator[]" },
		{ "std::strong_ordering A::operator<=><int>(int)", "A::operator<=><int>" },
		{ "main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()" },
		{ "f(std::vector<int, std::allocator<int> >)::{lambda()#1}::operator()() const",
			"f(...)::{lambda()#1}::operator()" },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
		{ "std::__cxx11::to_string[abi:cxx11](int)", "std::__cxx11::to_string[abi:cxx11]" },
		{ "foo(int) [clone .constprop.0]", "foo.constprop.0" },
		{ "int foo<int>(int) [clone .cold]", "foo<int>.cold" },
		{ "helper(int)@a.c", "helper@a.c" }, { "operator@", "operator@" }, { "main", "main" }, { "", "" },
		{ "virtual thunk to A::f(int)", "virtual thunk to A::f" },
		{ "non-virtual thunk to A::~A()", "non-virtual thunk to A::~A" },
		{ "<Test + 'static as foo::Bar<Test>>::bar", "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "r::shapes::gen::<u8>", "r::shapes::gen::<u8>" },
		{ "<F as core::ops::function::FnOnce<(alloc::string::String,)>>::call_once",
			"<F as core::ops::function::FnOnce<...>>::call_once" },
		/* no text of a compiler */
		{ "f<", "f<" }, { "f<<<<", "f<<<<" }, { ">>>(", ">>>(" }, { "operator", "operator" },
		{ "operator<", "operator<" }, { ") (", "(" },
		{ "a b c", "c" }, { "@", "@" }, { " [clone ", "" },
		{ "a [clone .cold]f(int)", "[clone .cold]f" },
		{ "a [clone .twenty_or_more_bytes]f()", "[clone .twenty_or_more_bytes]f" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char *s = strdup(t[i].full);

		uft_name_shorten(s);
		if (strcmp(s, t[i].text))
			fail_msg("'%s' gave '%s', not '%s'", t[i].full, s, t[i].text);
		free(s);
	}
}

static void styles(void **state)
{
	char *s;

	(void)state;
	s = uft_name_shown("_Z3fooi");
	assert_string_equal(s, "foo");
	free(s);
	uft_demangle_set(UFT_DEMANGLE_FULL);
	s = uft_name_shown("_Z3fooi");
	assert_string_equal(s, "foo(int)");
	free(s);
	uft_demangle_set(UFT_DEMANGLE_NO);
	assert_null(uft_name_shown("_Z3fooi"));
	uft_demangle_set(UFT_DEMANGLE_SHORT);
	assert_null(uft_name_shown("main"));
}

/* Names that stand for gigabytes, and deep ones: refused or short, but soon. */
static void demangle_is_bounded(void **state)
{
	char name[8200];
	size_t at = 0;
	char *s;
	int i;

	(void)state;
	/* Each parameter is a template of twice the one before it. */
	at += sprintf(name, "_Z1f1AI1BS_E");
	for (i = 0; i < 60; i++)
		at += sprintf(name + at, "1AIS%c_S%c_E", '0' + i % 10, '0' + i % 10);
	s = uft_demangle(name);
	assert_true(!s || strlen(s) < 200000);
	free(s);
	/* Of a short name, not as much as a long one may have. */
	s = uft_demangle("_ZN6B00001clI1CIiiES1_IS2_S2_ES1_IS3_S3_EEEvv");
	assert_non_null(s);
	free(s);
	assert_null(uft_demangle("_ZN6B00001clI1CIiiES1_IS2_S2_ES1_IS3_S3_ES1_IS4_S4_ES1_IS5_S5_ES1_IS6_S6_ES1_IS7_S7_ES1_IS8_S8_EEEvv"));
	memcpy(name, "_Z1f", 4);
	memset(name + 4, 'P', 8000);
	strcpy(name + 8004, "i");
	free(uft_demangle(name));
	memset(name + 2, 'N', 8000);
	name[8002] = 0;
	assert_null(uft_demangle(name));
}

/* A reference to the @k-th part of a C++ name. */
static size_t put_ref(char *to, int k)
{
	static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	assert_true(k > 0 && k <= 36 * 36);
	return k > 36 ? (size_t)sprintf(to, "S%c%c_", digit[(k - 1) / 36], digit[(k - 1) % 36]) :
		(size_t)sprintf(to, "S%c_", digit[k - 1]);
}

/* A<A<A<A<int, int>, S>, S>, S>: each level has the one below it twice. Level 0 is part 2, and A is part 1. */
static size_t put_doubling(char *to, int levels)
{
	size_t at = (size_t)sprintf(to, "1AI");

	for (int i = 1; i < levels; i++)
		at += (size_t)sprintf(to + at, "S0_I");
	at += (size_t)sprintf(to + at, "S0_IiiE");
	for (int i = 0; i < levels; i++) {
		at += put_ref(to + at, 2 + i);
		to[at++] = 'E';
	}
	to[at] = 0;
	return at;
}

/* Work that prints nothing, of C++ names: each of these would take years, or end the process. */
static void cxx_work_is_bounded(void **state)
{
	char name[4096];
	size_t at;

	(void)state;
	/* a pack expansion looks through its operand, expanded */
	at = (size_t)sprintf(name, "_Z1fIJiEEvM");
	at += put_doubling(name + at, 100);
	at += (size_t)sprintf(name + at, "Dp");
	put_ref(name + at, 102);
	assert_null(uft_demangle(name));
	/* the same beside a parameter, whose arguments are counted as well */
	strcat(name, "T_");
	assert_null(uft_demangle(name));
	/* an empty pack of the innermost scope is named twice by each one in it */
	at = (size_t)sprintf(name, "_Z1fIJEEv");
	for (int i = 0; i < 60; i++)
		at += (size_t)sprintf(name + at, "1AIXL_Z1fIJDpT_DpT_EEv");
	at += (size_t)sprintf(name + at, "DpT_");
	for (int i = 0; i < 60; i++)
		at += (size_t)sprintf(name + at, "EEE");
	assert_null(uft_demangle(name));
	/* arguments of a parameter in a conversion operator are parsed twice */
	at = (size_t)sprintf(name, "_ZN1Acv");
	for (int i = 0; i < 100; i++)
		at += (size_t)sprintf(name + at, "T_I");
	at += (size_t)sprintf(name + at, "i");
	memset(name + at, 'E', 101);
	strcpy(name + at + 101, "v");
	assert_null(uft_demangle(name));
	/* templates times references to parameters: megabytes of stack */
	at = (size_t)sprintf(name, "_Z1fIiEv");
	for (int i = 0; i < 450; i++)
		at += (size_t)sprintf(name + at, "1aIiE");
	for (int i = 0; i < 400; i++)
		at += (size_t)sprintf(name + at, "RT_");
	assert_null(uft_demangle(name));
	/* no template to look the pack up in */
	assert_null(uft_demangle("_ZN1aUlXsZT_EE_E"));
	assert_null(uft_demangle("_ZN1aMUlDTsZT_EE_E"));
	assert_null(uft_demangle("_ZZ1fIJiEEvvENKUlDTsZT_EE_clEv"));
}

/* What compilers make is below the bounds. */
static void cxx_packs(void **state)
{
	static const struct { const char *name, *text; } t[] = {
		{ "_Z1fIJidcEEvDpT_", "void f<int, double, char>(int, double, char)" },
		{ "_Z1fIJidEEvDpRKT_", "void f<int, double>(int const&, double const&)" },
		{ "_Z1fIJidEENSt9enable_ifIXeqsZT_Li2EEvE4typeEDpT_",
		  "std::enable_if<(2)==(2), void>::type f<int, double>(int, double)" },
		{ "_ZZ4mainENKUlTyT_E_clIiEEDaS_",
			"auto main::{lambda<typename $T0>($T0)#1}::operator()<int>(int) const" },
		{ "_ZN1AcvT_IiEEv", "A::operator int<int>()" },
	};
	char name[4096];
	size_t at = (size_t)sprintf(name, "_Z1fIJidEEvSt5tupleIJDpT_EE");
	char *s;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		s = uft_demangle(t[i].name);
		if (!s || strcmp(s, t[i].text))
			fail_msg("'%s' gave '%s', not '%s'", t[i].name, s ? s : "NULL", t[i].text);
		free(s);
	}
	for (int i = 0; i < 60; i++)	/* enough of them to have their tree looked at */
		at += (size_t)sprintf(name + at, "DpRT_");
	s = uft_demangle(name);
	assert_non_null(s);
	assert_memory_equal(s, "void f<int, double>(std::tuple<int, double>, int&, double&, int&", 60);
	free(s);
}

static size_t put_base62(char *to, size_t n)
{
	static const char digit[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (!n)
		return (size_t)sprintf(to, "_");
	return --n < 62 ? (size_t)sprintf(to, "%c_", digit[n]) :
		(size_t)sprintf(to, "%c%c_", digit[n / 62], digit[n % 62]);
}

/* Rust: binders of millions, skipped or not, and references back to references. */
static void rust_work_is_bounded(void **state)
{
	char name[8192], *s;
	size_t at, from;

	(void)state;
	assert_null(uft_demangle("_RNvMIC1aFGzzzzzzzzz_EuEu1f"));
	assert_null(uft_demangle("_RNvMIC1aDGzzzzzzzzz_C1bEL_Eu1f"));
	assert_null(uft_demangle("_RINvC1a1fFGzzzzzzzzz_EuE"));
	s = uft_demangle("_RINvC1a1fFG0_RL0_hRL_hEuE");
	assert_string_equal(s, "a::f::<for<'a, 'b> fn(&'b u8, &u8)>");
	free(s);
	/* Punycode that never ends, decoded again and again: nothing but brackets is printed */
	at = (size_t)sprintf(name, "_RINvC1a1fCu1000_a_");
	from = 8;
	memset(name + at, 'z', 998);
	at += 998;
	for (int i = 0; i < 3; i++) {
		size_t next = at - 2;

		name[at++] = 'T';
		for (int k = 0; k < 8; k++) {
			name[at++] = 'B';
			at += put_base62(name + at, from);
		}
		name[at++] = 'E';
		from = next;
	}
	strcpy(name + at, "E");
	assert_null(uft_demangle(name));
}

static void patterns(void **state)
{
	static const struct { const char *text, *raw, *demangled, *object; int match; } t[] = {
		{ "main", "main", NULL, "prog", 1 }, { "main", "main2", NULL, "prog", 0 },
		{ "foo::bar", "_ZN3foo3barEid", "foo::bar(int, double)", "prog", 1 },
		{ "foo::bar(int, double)", "_ZN3foo3barEid", "foo::bar(int, double)", "prog", 1 },
		{ "foo::bar(int)", "_ZN3foo3barEid", "foo::bar(int, double)", "prog", 0 },
		{ "_ZN3foo*", "_ZN3foo3barEid", "foo::bar(int, double)", "prog", 1 },
		{ "foo::*", "_ZNK3foo3barEi", "foo::bar(int) const", "prog", 1 },
		{ "foo::bar", "_ZNK3foo3barEi", "foo::bar(int) const", "prog", 1 },
		{ "foo", "_Z3fooi.cold", "foo(int) [clone .cold]", "prog", 1 },
		{ "A::operator()", "x", "A::operator()(int)", "prog", 1 },
		{ "f", "x", "f(void (*)(int))", "prog", 1 },
		{ "r::shapes::gen::<u8>", "_RI", "r::shapes::gen::<u8>", "prog", 1 },
		/* the return type is no part of the name; what is shown can be pasted */
		{ "std::*", "x", "void std::f<int>(int)", "prog", 1 },
		{ "std::f<int>", "x", "void std::f<int>(int)", "prog", 1 },
		{ "void *", "x", "void std::f<int>(int)", "prog", 1 }, { "void*", "x", "std::f(void*)", "prog", 0 },
		{ "std::vector<...>::at", "x", "int& std::vector<int, std::allocator<int> >::at(unsigned long)", "prog",
			1 },
		{ "std::vector<...>::at", "x", "int& std::vector<int, std::allocator<int> >::front()", "prog", 0 },
		{ "operator[](int)", "x", "operator[](int)", "prog", 1 },
		{ "helper", "helper@a.c", NULL, "prog", 1 }, { "helper@a.c", "helper@a.c", NULL, "prog", 1 },
		{ "helper@b.c", "helper@a.c", NULL, "prog", 0 },
		{ "helper", "_ZL6helperi@a.c", "helper(int)@a.c", "prog", 1 },
		{ "*:mod:libfoo.so.1", "f", NULL, "libfoo.so.1", 1 }, { "*:mod:libfoo", "f", NULL, "libfoo.so.1", 1 },
		{ "f:mod:lib*", "f", NULL, "libfoo.so.1", 1 }, { "g:mod:lib*", "f", NULL, "libfoo.so.1", 0 },
		{ "f:mod:libbar", "f", NULL, "libfoo.so.1", 0 }, { ":mod:libfoo", "f", NULL, "libfoo.so", 1 },
		{ "*:mod:!libfoo", "f", NULL, "libfoo.so", 0 }, { "*:mod:!libfoo", "f", NULL, "prog", 1 },
		{ "a::mod::b", "x", "a::mod::b(int)", "prog", 1 }, { "main", "main", NULL, NULL, 1 },
	};
	static const char *const bad[] = { "", "f:mod:", "f:mod:!" };
	struct uft_pattern p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(uft_pattern_parse(t[i].text, &p), 0);
		if (uft_pattern_match(&p, t[i].raw, t[i].demangled, t[i].object) != t[i].match)
			fail_msg("'%s' against %s / %s of %s must give %d", t[i].text, t[i].raw, t[i].demangled,
				 t[i].object, t[i].match);
		uft_pattern_free(&p);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(uft_pattern_parse(bad[i], &p), -EINVAL);
}

static void near_names(void **state)
{
	static const char *const names[] = { "main", "insert_row", "delete_row", "insert_rows", "parse_line",
		"Parse_Line",
					     "sqlite3_step", "x", "insert_row" };
	const char *out[4];
	size_t n = sizeof(names) / sizeof(names[0]);

	(void)state;
	assert_int_equal(uft_near("isnert_row", names, n, out, 4), 2);
	assert_string_equal(out[0], "insert_row");
	assert_string_equal(out[1], "insert_rows");
	assert_int_equal(uft_near("mian", names, n, out, 4), 1);
	assert_string_equal(out[0], "main");
	assert_int_equal(uft_near("PARSE_LINE", names, n, out, 1), 1);
	assert_string_equal(out[0], "Parse_Line");
	assert_int_equal(uft_near("step", names, n, out, 4), 1);
	assert_string_equal(out[0], "sqlite3_step");
	assert_int_equal(uft_near("*delete_rwo*", names, n, out, 4), 1);
	assert_string_equal(out[0], "delete_row");
	assert_int_equal(uft_near("something_quite_different", names, n, out, 4), 0);
	assert_int_equal(uft_near("", names, n, out, 4), 0);
	assert_int_equal(uft_near("main", names, n, out, 0), 0);
}

static void cleaning(void **state)
{
	static const struct { const char *text, *clean; } name[] = {
		{ "a\x1b[31mb\n\x7f\xc3\xa4", "a?[31mb??\xc3\xa4" },
		{ "\x9b" "1m\xc2\x9b" "2m\xc2\xa0", "?1m??2m\xc2\xa0" },
		/* longer than they have to be */
		{ "\xe0\x82\x9b" "3m\xf0\x80\x82\x9b" "4m", "\xe0??3m\xf0???4m" },
		{ "\xe2\x80\xae" "a\xe2\x81\xa6" "b\xe2\x81\xa9\xd8\x9c\xe2\x80\x8f", "???a???b????????" },
		{ "\xe2\x80\xa8" "a\xe2\x80\xa9" "b\xe2\x80\xa7\xe2\x82\xac", "???a???b\xe2\x80\xa7\xe2\x82\xac" },
	};
	char s[64];

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		snprintf(s, sizeof(s), "%s", name[i].text);
		uft_name_clean(s);
		assert_string_equal(s, name[i].clean);
	}
}

/* The definition, word by word. */
static long last_by_hand(const struct uft_pattern *p, size_t n, const char *raw, const char *demangled,
			 const char *object, int needs)
{
	long last = -1;

	for (size_t i = 0; i < n; i++)
		if ((!needs || p[i].object) && uft_pattern_match(&p[i], raw, demangled, object))
			last = (long)i;
	return last;
}

/* A list tried as one gives what its words give one by one: all names against random lists. */
static void words_as_one(void **state)
{
	static const char *const word[] = {
		"f1",	      "f2",	    "f1@a.c",	       "f*",	      "*1",
		"ns::g",      "ns::g(int)", "f1:mod:libx.so",  "*:mod:liby*", "f[12]",
		"f\\1",	      "none",	    "f2:mod:!libx.so", "ns::h<int>",  "ns::*",
		"ns::k<...>",
	};
	static const struct { const char *raw, *demangled; } name[] = {
		{ "f1", NULL }, { "f2", NULL }, { "f1@a.c", NULL }, { "f2@b.c@1", NULL }, { "_Z1g", "ns::g(int)" },
		{ "@f1", NULL }, { "x", NULL },
		{ "_Z1h", "void ns::h<int>(int)" }, { "_Z1k", "void ns::k<int, unsigned long, char>(int)" },
	};
	static const char *const object[] = { "libx.so", "liby.so.1", "prog" };
	const size_t nword = sizeof(word) / sizeof(word[0]);
	struct uft_pattern p[40];
	uint8_t is_not[40], hit[40];

	(void)state;
	srand(1);
	for (int round = 0; round < 500; round++) {
		size_t n = 1 + (size_t)rand() % 40;
		struct uft_words *w;

		for (size_t i = 0; i < n; i++) {
			assert_int_equal(uft_pattern_parse(word[(size_t)rand() % nword], &p[i]), 0);
			is_not[i] = rand() & 1;
		}
		w = uft_words_make(p, is_not, n);
		assert_non_null(w);
		for (size_t k = 0; k < sizeof(name) / sizeof(name[0]) * 6; k++) {
			const char *raw = name[k / 6].raw, *demangled = name[k / 6].demangled, *of = object[k % 3];
			int needs = k % 6 >= 3;
			size_t nhit = 0;

			assert_int_equal(uft_words_last(w, raw, demangled, of, needs),
					 last_by_hand(p, n, raw, demangled, of, needs));
			memset(hit, 0, sizeof(hit));
			nhit = uft_words_mark(w, raw, demangled, of, hit);
			for (size_t i = 0; i < n; i++) {
				assert_int_equal(hit[i], uft_pattern_match(&p[i], raw, demangled, of));
				nhit -= hit[i];
			}
			assert_int_equal(nhit, 0);
		}
		uft_words_free(w);
		for (size_t i = 0; i < n; i++)
			uft_pattern_free(&p[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(glob_vectors), cmocka_unit_test(glob_is_bounded), cmocka_unit_test(demangle_vectors),
		cmocka_unit_test(demangle_is_bounded), cmocka_unit_test(cxx_work_is_bounded),
		cmocka_unit_test(cxx_packs),
		cmocka_unit_test(rust_work_is_bounded), cmocka_unit_test(short_names), cmocka_unit_test(styles),
		cmocka_unit_test(patterns), cmocka_unit_test(near_names),
		cmocka_unit_test(cleaning), cmocka_unit_test(words_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
