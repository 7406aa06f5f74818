/* SPDX-License-Identifier: MIT */
/*
 * libraries.c - what libraries do beside being called; compiled several times (libraries.sh): as the program (PROGRAM) and as
 * libraries called NAME
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NI __attribute__((noinline, used))

#ifdef NAME
#define STR2(x) #x
#define STR(x) STR2(x)
#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)

static int calls;

NI static int CAT(NAME, _hidden)(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + ++calls;
}

__attribute__((constructor)) static void CAT(NAME, _ctor)(void)
{
	CAT(NAME, _hidden)(1);
}

const char *who(void)
{
	return STR(NAME);
}

int lib_calls(int n)
{
	for (int i = 0; i < n; i++)
		CAT(NAME, _hidden)(i);
	return calls;
}

/* The loader takes who calls for the object whose RUNPATH counts, and behind which RTLD_NEXT begins. */
const char *lib_inner(void)
{
	void *h = dlopen("libinner.so", RTLD_NOW);
	const char *(*fn)(void) = h ? (const char *(*)(void))dlsym(h, "who") : NULL;

	return fn ? fn() : "none";
}

const char *lib_next(void)
{
	const char *(*fn)(void) = (const char *(*)(void))dlsym(RTLD_NEXT, "who");

	return fn ? fn() : "none";
}

unsigned la_version(unsigned v)
{
	CAT(NAME, _hidden)(2);
	return v;
}
#endif

#ifdef PROGRAM
NI int picked_impl(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

NI static void *pick_resolve(void)
{
	return (void *)picked_impl;
}
int picked(int) __attribute__((ifunc("pick_resolve")));

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NI static void allocate(int n)
{
	for (int i = 0; i < n; i++) {
		int v[4] = { 4, i, 2, 1 };
		char *volatile s = strdup("inside the library");

		free(s);
		s = malloc(10);
		free(s);
		qsort(v, 4, sizeof(v[0]), compare);
	}
}

#ifndef STATIC
static void *get(void *h, const char *name)
{
	void *p = dlsym(h, name);	/* NULL is RTLD_DEFAULT */

	if (!p) {
		printf("%s: %s\n", name, dlerror());
		exit(1);
	}
	return p;
}

static const char *text(void *h, const char *name)
{
	return ((const char *(*)(void))get(h, name))();
}

static void callers(void)
{
	void *h = dlopen("libouter.so", RTLD_NOW | RTLD_GLOBAL), *ns = dlmopen(LM_ID_NEWLM, "libouter.so", RTLD_NOW);

	printf("%s %s %s %d\n", text(h, "who"), text(h, "lib_inner"), text(h, "lib_next"),
	       ((int (*)(int))get(h, "lib_calls"))(7));
	printf("%s %s %d\n", text(ns, "who"), text(ns, "lib_inner"), ((int (*)(int))get(ns, "lib_calls"))(5));
}

/* Two libraries at once: the first goes, the second stays. */
static void stays(void)
{
	void *first = dlopen("libturna.so", RTLD_NOW), *second = dlopen("libturnb.so", RTLD_NOW);

	printf("%d\n", ((int (*)(int))get(first, "lib_calls"))(3));
	dlclose(first);
	printf("%d\n", ((int (*)(int))get(second, "lib_calls"))(5));
	fflush(stdout);
	if (getenv("WAIT"))
		getchar();
	((int (*)(int))get(second, "lib_calls"))(5);
}

/* Two libraries in turn: the second gets the place of the first. */
static void turns(void)
{
	uintptr_t base[2] = { 0, 0 };
	int sum = 0, same = 1;

	for (int i = 0; i < 20; i++) {
		void *h = dlopen(i & 1 ? "libturnb.so" : "libturna.so", RTLD_NOW | RTLD_LOCAL);
		struct link_map *m = h;

		sum += ((int (*)(int))get(h, "lib_calls"))(3 + (i & 1));
		base[i & 1] = m->l_addr;
		same = same && (!i || base[0] == base[1]);
		dlclose(h);
	}
	printf("turns %d, %s\n", sum, same ? "at one place" : "at two places");
}
#endif

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 10;

	for (int i = 0; i < 5; i++)
		if (picked(i) != i + 1)
			return 1;
	if (argc > 1 && !strcmp(argv[1], "alloc"))
		allocate(n);
#ifndef STATIC
	if (argc > 1 && !strcmp(argv[1], "callers"))
		callers();
	if (argc > 1 && !strcmp(argv[1], "turns"))
		turns();
	if (argc > 1 && !strcmp(argv[1], "stays"))
		stays();
	if (argc > 1 && !strcmp(argv[1], "next"))
		printf("%s %d\n", text(RTLD_DEFAULT, "who"), ((int (*)(int))get(RTLD_DEFAULT, "lib_calls"))(9));
#endif
	puts("done");
	return 0;
}
#endif
