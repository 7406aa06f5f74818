/* SPDX-License-Identifier: MIT */
/*
 * jit_caller.c - makes code that calls a function of the program, which finds that call's return address on the stack
 *
 * As the collectors of virtual machines do it: the code notes its stack pointer, a function further down reads the word
 * below it. The object says by a name which kind it is. -DLIBRARY: as a library, whose made code calls a function that it exports.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t *frame;			/* the made code's stack pointer when it calls */
static uint8_t *code;
static unsigned found, calls;
#define RETURNS_TO	26		/* behind the call, in made[] */

__attribute__((noinline)) int JNI_CreateJavaVM(void)
{
	return (int)calls;
}

__attribute__((noinline)) static void collect(void)
{
	calls++;
	found += frame[-1] == (uint64_t)(code + RETURNS_TO);
	__asm__ volatile("");
}

#ifdef LIBRARY
#define main run
/* Its address is in the global offset table, by name: as of MoarVM's functions. */
__attribute__((noinline)) long entry(void)
{
	collect();
	return calls % 2 + JNI_CreateJavaVM();
}
#else
__attribute__((noinline)) static long inner(long n)
{
	collect();
	return n + JNI_CreateJavaVM();
}

/* Ends with a jump, so inner() returns to the made code, too. */
__attribute__((noinline)) static long entry(void)
{
	return inner(calls % 2);
}
#endif

int main(void)
{
	uint8_t made[] = {
		0x48, 0x83, 0xec, 0x08,				/* sub $8,%rsp */
		0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,		/* mov $&frame,%rax */
		0x48, 0x89, 0x20,				/* mov %rsp,(%rax) */
		0x48, 0x89, 0xf8,				/* mov %rdi,%rax */
		0x0f, 0x1f, 0x40, 0x00,
		0xff, 0xd0,					/* call *%rax */
		0x48, 0x83, 0xc4, 0x08,				/* add $8,%rsp */
		0xc3,
	};
	uint64_t at = (uint64_t)(uintptr_t)&frame;
	long sum = 0;

	memcpy(made + 6, &at, 8);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	memcpy(code, made, sizeof(made));
	for (int i = 0; i < 1000; i++)
		sum += ((long (*)(long (*)(void)))(uintptr_t)code)(entry);
	printf("%ld, found %u of %u\n", sum, found, calls);
	return 0;
}
