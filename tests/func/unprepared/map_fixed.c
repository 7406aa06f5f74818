// SPDX-License-Identifier: MIT
/*
 * map_fixed.c - for map_fixed.sh: maps like AddressSanitizer what it wants at a fixed address, whatever is
 * there, and goes on
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifdef LOW	/* there is no room below the code */
__asm__(".pushsection .low, \"aw\", @nobits\n"
	".fill 0x3ed000\n"
	".popsection");
#endif

long high(long add, long rounds);

/*
 * Its first byte is all that may change; a jump there leads on by 0x7fcf1005, from the program's usual place
 * to 0x800f2000 and some.
 */
__asm__(".pushsection .text\n"
	".globl high\n"
	".type high, @function\n"
	"high:\n"
	".cfi_startproc\n"
	"cld\n"
	"1: .byte 0x05, 0x10, 0xcf, 0x7f, 0\n"
	"lea 1(%rdi), %eax\n"
	"dec %sil\n"
	"jnz 1b\n"
	"ret\n"
	".cfi_endproc\n"
	".size high, . - high\n"
	".popsection");

int main(void)
{
	char *shadow = (char *)0x7fff7000ul;
	long sum = 0;

	for (int i = 0; i < 20; i++)
		sum += high(i, i + 1);
	if (mmap(shadow, 16ul << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		 -1, 0) != shadow)
		return 1;
	memset(shadow, 0, 16ul << 20);
	for (int i = 0; i < 20; i++)
		sum += high(i, i + 1);
	printf("%ld\n", sum);
	return 0;
}
