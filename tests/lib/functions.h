/* SPDX-License-Identifier: MIT */
/*
 * functions.h - functions by the hundred: F512(n) defines f<n>000 to f<n>777 (octal) by the including file's F(), T512(n) lists them
 */
#ifndef TESTS_LIB_FUNCTIONS_H
#define TESTS_LIB_FUNCTIONS_H

#define F8(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
#define F64(n) F8(n##0) F8(n##1) F8(n##2) F8(n##3) F8(n##4) F8(n##5) F8(n##6) F8(n##7)
#define F512(n) F64(n##0) F64(n##1) F64(n##2) F64(n##3) F64(n##4) F64(n##5) F64(n##6) F64(n##7)
#define T(n) f##n,
#define T8(n) T(n##0) T(n##1) T(n##2) T(n##3) T(n##4) T(n##5) T(n##6) T(n##7)
#define T64(n) T8(n##0) T8(n##1) T8(n##2) T8(n##3) T8(n##4) T8(n##5) T8(n##6) T8(n##7)
#define T512(n) T64(n##0) T64(n##1) T64(n##2) T64(n##3) T64(n##4) T64(n##5) T64(n##6) T64(n##7)

#endif
