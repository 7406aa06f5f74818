/* SPDX-License-Identifier: MIT */
/*
 * start.c - looks at its own functions: is there a call, or a nop?
 *
 * Prints for each one `name call` or `name nop`; with PART defined it is the part that goes into a library.
 */
#include <stdio.h>
#include <string.h>

#define NAMED __attribute__((noinline))

static unsigned char *call_or_nop(void *func)
{
	unsigned char *p = func;

	for (int i = 0; i < 200; i++)
		if (p[i] == 0xe8 || (p[i] == 0xff && p[i + 1] == 0x15) || !memcmp(p + i, "\x0f\x1f\x44\0\0", 5))
			return p + i;
	return NULL;
}

static void show(const char *name, void *func)
{
	unsigned char *p = call_or_nop(func);

	printf("%s %s\n", name, !p ? "nothing" : *p == 0x0f ? "nop" : "call");
}

#ifdef PART
NAMED int part(int x)
{
	return x * 5;
}

void show_part(void);
void show_part(void)
{
	show("part", part);
	show("show_part", show_part);
}
#else
NAMED int leaf(int x)
{
	return x + 1;
}

NAMED int frame(int n)
{
	volatile char big[70000];

	big[n] = 1;
	return big[n] + leaf(n);
}

#ifdef WITH_PART
int part(int x);
void show_part(void);
#endif

static __attribute__((constructor)) void early(void)
{
	show("leaf", leaf);
	show("frame", frame);
	show("early", early);
}

int main(void)
{
	show("main", main);
	show("show", show);
#ifdef WITH_PART
	show_part();
	if (part(2) != 10)
		return 1;
#endif
	return frame(3) != 5;
}
#endif
