/* SPDX-License-Identifier: MIT */
/* libhazard.c - opened by dlopen: its constructor must be traced already, its functions counted by name */
#define NI __attribute__((noinline))

static unsigned long ctor_calls;
static volatile int sink;

NI static void lib_helper(void) { sink++; }
__attribute__((constructor)) NI static void lib_ctor(void) { ctor_calls++; lib_helper(); }
unsigned long lib_ctor_seen(void) { return ctor_calls; }
NI static int lib_leaf(int x) { sink += x; return x + 2; }
int lib_run(int n, unsigned long *unused) {
	int s = 0; (void)unused; for (int i = 0; i < n; i++) s += lib_leaf(i); return s + 27; }
