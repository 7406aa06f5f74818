/* SPDX-License-Identifier: MIT */
/*
 * sampled.cc - for unwind.sh: `sampled N`: two threads work while a timer interrupts each of them a thousand times a second. Every
 * interrupted stack is walked and must reach the thread's outermost function. Exit status 1 if one does not. (No exceptions here:
 * libgcc cannot walk out of the last instructions of its own _Unwind_RaiseException.)
 */
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <execinfo.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

static std::atomic<long> samples, broken;
static long wanted;

/* In a section of its own, whose bounds the linker knows. */
extern "C" __attribute__((noinline, section("outermost"))) void *work(void *);
extern "C" char __start_outermost[], __stop_outermost[];

static void on_tick(int)
{
	void *frames[200];
	int error = errno, n = backtrace(frames, 200), found = 0;

	for (int i = 0; i < n; i++)
		found |= frames[i] > (void *)__start_outermost && frames[i] <= (void *)__stop_outermost;
	if (!found || n == 200) {
		long k = broken++;
		if (k < 3)
			backtrace_symbols_fd(frames, n, 2);
	}
	samples++;
	errno = error;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static long round_of_work(long seed)
{
	std::vector<int> v;
	char text[64];
	long sum = 0;

	for (int i = 0; i < 200; i++)
		v.push_back(static_cast<int>((seed * 1103515245 + i * 12345) & 0xffff));
	qsort(v.data(), v.size(), sizeof(v[0]), by_value);
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "%d %s", v[static_cast<size_t>(i)], "text");
		char *copy = strdup(text);
		sum += static_cast<long>(strlen(copy));
		free(copy);
	}
	return sum;
}

static timer_t tick(void)
{
	struct sigevent ev;
	struct itimerspec every = { { 0, 1000000 }, { 0, 1000000 } };
	timer_t timer;

	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify = SIGEV_THREAD_ID;
	ev.sigev_signo = SIGPROF;
	ev._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	timer_settime(timer, 0, &every, nullptr);
	return timer;
}

void *work(void *result)
{
	timer_t timer = tick();
	long sum = 0;

	for (long i = 0; samples < wanted; i++)
		sum += round_of_work(i % 10);
	timer_delete(timer);
	*static_cast<long *>(result) = sum;
	return nullptr;
}

int main(int, char **argv)
{
	struct sigaction sa;
	long a, b;
	void *frame[1];
	pthread_t t;

	wanted = atol(argv[1]);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_tick;
	sa.sa_flags = SA_RESTART;
	backtrace(frame, 1);		/* loads libgcc */
	sigaction(SIGPROF, &sa, nullptr);
	pthread_create(&t, nullptr, work, &a);
	work(&b);
	pthread_join(t, nullptr);
	printf("%ld of %ld stacks are broken\n", broken.load(), samples.load());
	return broken != 0;
}
