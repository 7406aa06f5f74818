/* SPDX-License-Identifier: MIT */
/* walk.c - for unwind.sh: walks the stack with one of the libunwinds, which are linked without their headers */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#ifdef NONGNU
#define NAME(x)	"_ULx86_64_" x
#define CONTEXT	"_Ux86_64_getcontext"
#define IP	16
#else
#define NAME(x)	"unw_" x
#define CONTEXT	"unw_getcontext"
#define IP	-1
#endif
int get_context(void *) __asm__(CONTEXT);
int begin(void *, void *) __asm__(NAME("init_local"));
int step(void *) __asm__(NAME("step"));
int get_reg(void *, int, uint64_t *) __asm__(NAME("get_reg"));
int leaf(int n), middle(int n), outer(int n);

static uint64_t context[1024], cursor[1024];

__attribute__((noinline)) int leaf(int n)
{
	uint64_t ip;
	Dl_info d;
	int more;

	get_context(context);
	begin(cursor, context);
	do {
		get_reg(cursor, IP, &ip);
		if (dladdr((void *)ip, &d) && d.dli_sname)
			printf("%s ", d.dli_sname);
		more = step(cursor);
	} while (more > 0);
	puts(more < 0 ? "error" : "end");
	return n;
}

__attribute__((noinline)) int middle(int n)
{
	return leaf(n) + 1;
}

__attribute__((noinline)) int outer(int n)
{
	return middle(n) + 1;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 3; i++)
		sum += outer(i);
	return sum;
}
