/* SPDX-License-Identifier: MIT */
/*
 * session_ends.c - calls functions that nobody prepared while they change under it: left FUNCTION
 *
 * `outer` begins by a signature where the compiler is asked for that. `odd` lies at 2 mod 4 where such
 * addresses hold code. Says `ready`; then `changed` and goes on, when FUNCTION reads otherwise, or `same`, when there is a file `go`.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __riscv
__asm__(".text\n.option push\n.option rvc\n.balign 4\nc.nop\n.globl odd\n.type odd,@function\n"
	"odd: addi a0, a0, 100\naddi a0, a0, -99\nret\n.size odd, . - odd\n.option pop\n");
int odd(int x);
#else
__attribute__((noipa)) int odd(int x)
{
	return x + 1;
}
#endif

__attribute__((noipa)) static int leaf(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

__attribute__((noipa)) static int outer(int x)
{
	return leaf(x) + odd(x) + 1;
}

__attribute__((noipa)) static long rounds(int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += outer(i) - 2 * i - 3;
	return sum;
}

static void look(uint16_t *w, const volatile uint16_t *p)
{
	for (int i = 0; i < 4; i++)
		w[i] = p[i];
}

int main(int argc, char **argv)
{
	const volatile uint16_t *p =
		(const volatile uint16_t *)(uintptr_t)(argc > 1 && !strcmp(argv[1], "odd") ? odd : outer);
	uint16_t before[4], now[4];
	long wrong = rounds(10);

	look(before, p);
	puts("ready");
	fflush(stdout);
	do {
		wrong |= rounds(10);
		usleep(1000);
		look(now, p);
	} while (!memcmp(now, before, sizeof(now)) && access("go", F_OK));
	puts(memcmp(now, before, sizeof(now)) ? "changed" : "same");
	wrong |= rounds(1000);
	puts(wrong ? "wrong" : "done");
	return 0;
}
