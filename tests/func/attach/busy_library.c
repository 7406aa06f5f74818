/* SPDX-License-Identifier: MIT */
/* busy_library.c - what busy_scene.c loads */
long library_work(long n);

static __attribute__((noinline)) long part(long n)
{
	return n * 3 ^ (n >> 2);
}

long library_work(long n)
{
	long sum = 0;

	while (n--)
		sum += part(n);
	return sum;
}
