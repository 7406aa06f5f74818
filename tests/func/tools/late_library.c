/* SPDX-License-Identifier: MIT */
/* late_library.c - what late.c loads */
__attribute__((noinline)) int late_work(int x);

int late_work(int x)
{
	return x + 1;
}
