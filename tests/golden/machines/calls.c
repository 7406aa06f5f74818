/* SPDX-License-Identifier: MIT */
/*
 * calls.c - the program of the recordings: work() calls middle() three times, that calls leaf() twice. No C
 * library, whose names are many
 */
__attribute__((noinline)) static int leaf(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

__attribute__((noinline)) static int middle(int x)
{
	return leaf(x) + leaf(x + 1);
}

__attribute__((noinline)) int work(void)
{
	int n = 0;

	for (int i = 0; i < 3; i++)
		n += middle(i);
	return n != 15;
}

/* exit_group, which has one number on both. */
static void leave(long status)
{
#if defined(__aarch64__)
	register long nr __asm__("x8") = 94, arg __asm__("x0") = status;

	__asm__ volatile("svc 0" : : "r"(nr), "r"(arg));
#else
	register long nr __asm__("a7") = 94, arg __asm__("a0") = status;

	__asm__ volatile("ecall" : : "r"(nr), "r"(arg));
#endif
}

__attribute__((patchable_function_entry(0))) void _start(void)
{
	leave(work());
	for (;;)
		;
}
