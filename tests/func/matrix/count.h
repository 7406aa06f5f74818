/* SPDX-License-Identifier: MIT */
/*
 * count.h - the functions of the matrix program, how often each is called, and how each counts itself
 *
 * One row per function: identifier of the counter, name as nm -C prints it in C and in C++, calls in a run.
 * Every instrumented function begins with COUNT(row); report.c, which is not instrumented, prints what was
 * counted. So three things must agree: this table, what the program counted, and what uft recorded.
 */
#ifndef MATRIX_COUNT_H
#define MATRIX_COUNT_H

#ifdef __cplusplus
#define EXTERN_C extern "C"
#define NAME(c, cxx) cxx
#else
#define EXTERN_C extern
#define NAME(c, cxx) c
#endif

#if defined(__clang__)
#define TRACED __attribute__((noinline))
#else
#define TRACED __attribute__((noinline, noclone, noipa))
#endif

#define ROWS_C(R)							\
	R(main, "main", "main", 1)					\
	R(before_main, "before_main", "before_main()", 1)		\
	R(leaf, "leaf", "leaf(int)", 12)				\
	R(main_step, "local_step", "local_step(int)", 4)		\
	R(work_step, "local_step", "local_step(int)", 6)		\
	R(fib, "fib", "fib(int)", 177)					\
	R(even, "even", "even(unsigned int)", 11)			\
	R(odd, "odd", "odd(unsigned int)", 10)				\
	R(sum, "sum", "sum(int, ...)", 5)				\
	R(big_struct, "big_struct", "big_struct(long)", 3)		\
	R(many_args, "many_args", "many_args(int, int, int, int, int, int, int, int, int, double)", 7)	\
	R(compare, "compare", "compare(void const*, void const*)", 5)	\
	R(work, "work", "work(int)", 2)					\
	R(lib_work, "lib_work", "lib_work(int)", 3)			\
	R(lib_static, "lib_static", "lib_static(int)", 9)		\
	R(lib_depth, "lib_depth", "lib_depth(int)", 30)

#define ROWS_CXX(R)							\
	R(twice_int, "", "int twice<int>(int)", 11)			\
	R(twice_long, "", "long twice<long>(long)", 4)			\
	R(over_int, "", "over(int)", 2)					\
	R(over_double, "", "over(double)", 3)				\
	R(thrower, "", "thrower(int)", 5)				\
	R(area, "", "square::area() const", 4)				\
	R(make, "", "shape::shape(int)", 3)				\
	R(unmake, "", "shape::~shape()", 3)

#define ID(id, c, cxx, calls) id_##id,
enum { ROWS_C(ID) NROWS_C, ROWS_CXX(ID) NROWS };
#undef ID

EXTERN_C unsigned long matrix_count[64];
#define COUNT(row) (matrix_count[id_##row]++)

int leaf(int x);
int work(int x);
int lib_work(int x);

#ifdef __cplusplus
/* In both files, so that one of the two copies is discarded. */
template <class T> struct twice_row;
template <> struct twice_row<int> { enum { id = id_twice_int }; };
template <> struct twice_row<long> { enum { id = id_twice_long }; };
template <class T> TRACED T twice(T x)
{
	matrix_count[twice_row<T>::id]++;
	return x + x;
}

struct shape {
	int side;
	TRACED shape(int s) : side(s) { COUNT(make); }
	TRACED ~shape() { COUNT(unmake); }
};

struct square : shape {
	square(int s) : shape(s) { }
	TRACED int area() const
	{
		COUNT(area);
		return side * side;
	}
};
#endif

#endif
