/* SPDX-License-Identifier: MIT */
/*
 * self.c - what stands in a function of this program, by its own eyes: self OFFSET [wait]
 *
 * Prints two words of twice() as they are in memory. With `wait` again when they have changed (20 s at most).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) int twice(int x)
{
	__asm__ volatile("" : "+r"(x));
	return 2 * x;
}

__attribute__((no_instrument_function)) static int look(const volatile uint16_t *p, uint32_t *w)
{
	uint32_t now[2] = { p[0] | (uint32_t)p[1] << 16, p[2] | (uint32_t)p[3] << 16 };
	int is_new = now[0] != w[0] || now[1] != w[1];

	w[0] = now[0];
	w[1] = now[1];
	return is_new;
}

int main(int argc, char **argv)
{
	const volatile uint16_t *p =
		(const volatile uint16_t *)((uintptr_t)twice + strtoul(argc > 1 ? argv[1] : "0", NULL, 0));
	uint32_t w[2] = { 0, 0 };

	look(p, w);
	printf("%08x %08x\n", w[0], w[1]);
	fflush(stdout);
	for (int i = 0; argc > 2 && i < 2000; i++) {
		usleep(10000);
		if (look(p, w)) {
			printf("%08x %08x\n", w[0], w[1]);
			break;
		}
	}
	return twice(21) != 42;
}
