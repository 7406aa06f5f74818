/* SPDX-License-Identifier: MIT */
/*
 * busy_leaf.c - a static program that busy_scene.c executes: ends with status 3
 *
 * Its functions are prepared, and so many that their sites are armed by a map of bits. One of them makes a system call
 * whose number may or may not begin an instruction: that byte before it could be a prefix.
 */
#define NOINLINE	__attribute__((noinline, noclone, used))
#define ONE(n)		NOINLINE static int leaf_##n(int i) { __asm__ volatile(""); return i + 1; }
#define TEN(n)		ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n)	TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)

HUNDRED(1)
HUNDRED(2)
HUNDRED(3)

#ifdef __x86_64__
/* fork(), behind an addition of 0x40. */
NOINLINE long maybe(long n)
{
	__asm__ volatile("add $0x40, %%al\n\tmov $57, %%eax\n\tsyscall" : "+a"(n) : : "rcx", "r11", "memory");
	return n;
}
#endif

int main(void)
{
	return leaf_100(leaf_200(1));
}
