/* SPDX-License-Identifier: MIT */
/* work.c - second file of the matrix program: a static function of the same name, copies of inline ones */
#include "count.h"

static TRACED int local_step(int x)
{
	COUNT(work_step);
	return x * 3;
}

TRACED int work(int x)
{
	int s = 38;

	COUNT(work);
	for (int i = 0; i < 3; i++)
		s += local_step(i) - 2 * i + x;
	s += 3 * (x > 0) - 3;
#ifdef __cplusplus
	s += twice(x) + twice(x + 1) + (int)twice((long)x) - 6 * x - 2;
	s += twice(0);
	s -= twice(0);
#endif
	return s + 3;
}
