/* SPDX-License-Identifier: MIT */
/* moved.cc - for unwind.sh: faults in the first instruction of a function; the handler walks the stack, ends the thread or throws */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <execinfo.h>
#include <pthread.h>

static const char *what;
static sigjmp_buf back;
static volatile long sink;
extern "C" __attribute__((noinline)) long look_at(long *p) { long n = *p; sink += n; return n; }
struct guard { ~guard() { puts("cleaned"); } };
extern "C" __attribute__((noinline)) long outer(long *p) { guard g; long n = look_at(p); sink++; return n; }
static void on_fault(int)
{
	void *frames[50];

	if (!strcmp(what, "backtrace")) {
		int n = backtrace(frames, 50), seen = 0;
		for (int i = 0; i < n; i++)
			seen |= (char *)frames[i] > (char *)outer && (char *)frames[i] < (char *)outer + 100;
		fprintf(stderr, "%d frames, outer %d\n", n, seen);
		siglongjmp(back, 1);
	} else if (!strcmp(what, "throw"))
		throw 5;
	else
		pthread_exit(nullptr);
}
static void *thread(void *)
{
	try {
		if (!sigsetjmp(back, 1))
			outer(nullptr);
	} catch (int) { puts("caught"); }
	return nullptr;
}
int main(int, char **argv)
{
	void *one[1];
	pthread_t t;
	struct sigaction sa;
	memset(&sa, 0, sizeof(sa));
	what = argv[1];
	backtrace(one, 1);
	sa.sa_handler = on_fault;
	sa.sa_flags = SA_NODEFER;
	sigaction(SIGSEGV, &sa, nullptr);
	for (int i = 0; i < 3; i++) {
		pthread_create(&t, nullptr, thread, nullptr);
		pthread_join(t, nullptr);
	}
	puts("end");
}
