// SPDX-License-Identifier: MIT
// hazards_cc.cc - C++ and loader hazards: exceptions across traced frames, backtrace(), dlopen, ifunc; see hazards.c
#define COUNT_MAIN
#include "count.h"

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

static volatile long sink;
NI static int leaf(int x) { HIT(); sink += x; return x + 1; }
NI static void work() { HIT(); for (int i = 0; i < 10; i++) sink += leaf(i); }

struct guard { int *p; ~guard(); };
NI guard::~guard() { HIT(); leaf(1); ++*p; }
NI static int thrower(int n, int *d) { HIT(); guard g{ d }; if (!n) throw std::runtime_error("x"); return thrower(n - 1, d) + 1; }
NI static int catcher(int n) { HIT(); int d = 0; try { thrower(n, &d); } catch (std::exception &) { work(); return d; } return -1; }
NI static int t_exception() { HIT(); int s = 0; for (int i = 0; i < 200; i++) s += catcher(5); work(); return s == 1200; }

NI static int rethrower(int n) { HIT(); try { int d = 0; return thrower(n, &d); } catch (...) { work(); throw; } }
NI static int t_rethrow()
{
	HIT();
	int caught = 0;
	for (int i = 0; i < 200; i++)
		try { rethrower(3); } catch (std::runtime_error &) { caught++; work(); }
	return caught == 200;
}

NI static int t_except_threads()
{
	HIT();
	std::vector<std::thread> v;
	int ok[4] = {};
	for (int i = 0; i < 4; i++)
		v.emplace_back([i, &ok]() __attribute__((patchable_function_entry(0))) { ok[i] = t_exception(); });
	for (auto &t : v)
		t.join();
	return ok[0] && ok[1] && ok[2] && ok[3];
}

/* the destructors of a thread that ends in the middle are run by the unwinder, which starts below a traced frame */
static int exit_cleaned;
NI static void exit_inner() { HIT(); leaf(1); pthread_exit(0); sink++; }
NI static void exit_outer() { HIT(); guard g{ &exit_cleaned }; exit_inner(); sink++; }
NI static void *exit_thread(void *) { HIT(); exit_outer(); return nullptr; }
NI static int t_exit_unwind()
{
	HIT();
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		pthread_create(&t, nullptr, exit_thread, nullptr);
		pthread_join(t, nullptr);
	}
	return exit_cleaned == 50;
}

/* an exception inside a coroutine whose frames were entered before a switch */
static ucontext_t cm, cc;
static int co_caught;
NI static void co_throw(int k) { HIT(); swapcontext(&cc, &cm); if (k & 1) throw k; sink++; }
NI static void co_frame(int k) { HIT(); guard g{ &co_caught }; co_throw(k); sink++; }
NI static void co_body() { HIT(); for (int k = 0; k < 100; k++) { try { co_frame(k); } catch (int) { work(); } } swapcontext(&cc, &cm); }
NI static void co_resume() { HIT(); swapcontext(&cm, &cc); sink++; }
NI static int t_except_coroutine()
{
	HIT();
	static char st[131072];
	getcontext(&cc); cc.uc_stack.ss_sp = st; cc.uc_stack.ss_size = sizeof(st); cc.uc_link = 0;
	makecontext(&cc, co_body, 0);
	for (int i = 0; i < 101; i++)
		co_resume();
	return co_caught == 100;
}

NI static int bt2(void **b) { HIT(); int n = backtrace(b, 30); sink++; return n; }
NI static int bt1(void **b) { HIT(); int n = bt2(b); sink++; return n; }
NI static int t_backtrace()	/* the program must see its own callers, and the right number of them */
{
	HIT();
	void *b[30];
	int n = bt1(b), ok = 1, self = 0;
	uintptr_t lo = (uintptr_t)t_backtrace;
	for (int i = 0; i < n; i++)
		self |= (uintptr_t)b[i] >= lo && (uintptr_t)b[i] < lo + 400;
	for (int i = 0; i < 50; i++)
		ok &= bt1(b) == n;
	work();
	printf("%d ", n);
	return ok && self && n >= 4;
}

#ifdef WITH_DLOPEN
#ifndef HAZARD_LIB
#define HAZARD_LIB "libhazard.so"
#endif
NI static int t_dlopen()
{
	HIT();
	int ok = 1;
	for (int i = 0; i < 10; i++) {
		void *h = dlopen("./" HAZARD_LIB, RTLD_NOW);
		if (!h)
			return 0;
		auto f = (int (*)(int, unsigned long *))dlsym(h, "lib_run");
		auto c = (unsigned long (*)())dlsym(h, "lib_ctor_seen");
		ok &= f && c && f(5, count_shared) == 47 && c() == 1;
		work();
		dlclose(h);
	}
	return ok;
}
#endif

typedef int fn(int);
extern "C" {
NI static int pick_a(int x) { HIT(); return x + 1; }
NI fn *pick_resolve(void) { return pick_a; }	/* runs before main, in static programs before there is a thread pointer */
int picked(int) __attribute__((ifunc("pick_resolve")));
}
NI static int t_ifunc() { HIT(); work(); return picked(41) == 42; }

static thread_local std::string tls_text = "tls";
NI static int tls_use() { HIT(); tls_text += "x"; return (int)tls_text.size(); }
NI static int t_tls()
{
	HIT();
	int ok = 1;
	for (int i = 0; i < 20; i++)
		std::thread([&ok]() __attribute__((patchable_function_entry(0))) { ok &= tls_use() == 4; }).join();
	return ok;
}

static const struct { const char *name; int (*run)(); } cases[] = {
	{ "exception", t_exception }, { "rethrow", t_rethrow }, { "except_threads", t_except_threads },
	{ "exit_unwind", t_exit_unwind },
	{ "except_coroutine", t_except_coroutine }, { "backtrace", t_backtrace },
#ifdef WITH_DLOPEN
	{ "dlopen", t_dlopen },
#endif
	{ "ifunc", t_ifunc }, { "tls", t_tls },
};

OFF int main(int argc, char **argv)
{
	for (auto &c : cases) {
		if (argc > 1 && !strcmp(argv[1], "--list"))
			puts(c.name);
		else if (argc > 1 && !strcmp(argv[1], c.name)) {
			int ok = c.run();
			count_dump();
			printf("%s %s\n", c.name, ok ? "ok" : "BAD");
			return !ok;
		}
	}
	return argc > 1 && !strcmp(argv[1], "--list") ? 0 : 2;
}
