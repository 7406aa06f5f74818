// SPDX-License-Identifier: MIT
/* latency.c - what the latency tracers find in streams whose times are known to the nanosecond, and their text */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_stream.h"
#include "output/output.h"

static int failures;
#define US	1000ull
#define LOCK	0x1000ull
#define UNKNOWN	(~0ull)		/* mask: the kernel did not say */

static void is_equal(const char *what, unsigned long long seen, unsigned long long expected)
{
	if (seen == expected)
		return;
	printf("FAIL: %s: %llu, expected %llu\n", what, seen, expected);
	failures++;
}

/* A call of libc with its first two arguments and its result; @state: policy | priority << 32, 0 not recorded. */
struct lib { struct uft_stream *st; const struct uft_task *task; const struct uft_sym *sym; uint64_t arg[2], result,
	mask, state; };

static void data(const struct lib *l, uint64_t at, uint32_t id, uint64_t a, uint64_t b, uint64_t c)
{
	struct uft_event *ev = fake_add(l->st, UFT_EV_DATA, 0, at, l->task, l->sym);

	ev->data = id;
	ev->word[0] = a;
	ev->word[1] = b == UNKNOWN ? 0 : b;
	ev->word[2] = c;
	ev->flags = id == UFT_EVENT_RETURN && l->mask != UNKNOWN ? UFT_EVF_MASK : 0;
}

static void call(const struct lib *l, uint64_t from, uint64_t to)
{
	fake_entry(l->st, 0, from, l->task, l->sym, 0);
	data(l, from, UFT_EVENT_CALL, l->arg[0], l->arg[1], 0);
	data(l, to, UFT_EVENT_RETURN, l->result, l->mask, l->state);
	fake_exit(l->st, 0, to, l->task, l->sym, 0, to - from);
}

static uint64_t longest(struct uft_stream *st, uint32_t tracer, uint64_t floor_ns, uint64_t from_ns)
{
	struct uft_text_opts opts = { .tracer = tracer, .floor_ns = floor_ns, .from_ns = from_ns };
	uint64_t ns = 0;

	fake_rewind(st, 1);
	is_equal("status", (unsigned)uft_latency_longest(st, &opts, &ns), 0);
	return ns;
}

/* Held from the return to the next call: 40 us, 70 us; the failed try and what came by a wait do not count. */
static void sections(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_PREEMPTOFF, 1);
	const struct uft_task *t = fake_task(st, 7, "holder", NULL);
	struct lib lock = { st, t, fake_sym(st, "pthread_mutex_lock", "libc.so.6", 1), { LOCK }, 0, 0, 0 };
	struct lib try = { st, t, fake_sym(st, "pthread_mutex_trylock@0x8d220", "libc.so.6", 2), { LOCK + 8 }, 16, 0,
		0 };
	struct lib unlock = { st, t, fake_sym(st, "__pthread_mutex_unlock", "libc.so.6", 3), { LOCK }, 0, 0, 0 };
	struct lib wait = { st, t, fake_sym(st, "pthread_cond_timedwait", "libc.so.6", 4), { LOCK + 16, LOCK }, 110, 0,
		0 };

	call(&lock, 5 * US, 10 * US);
	call(&unlock, 50 * US, 51 * US);
	call(&lock, 100 * US, 101 * US);
	call(&unlock, 171 * US, 172 * US);
	call(&try, 200 * US, 201 * US);
	call(&unlock, 900 * US, 901 * US);	/* of nothing that is held */
	call(&lock, 1000 * US, 1001 * US);
	call(&wait, 1011 * US, 2000 * US);	/* timed out: the mutex is held again */
	call(&unlock, 2060 * US, 2061 * US);
	call(&lock, 3000 * US, 3001 * US);
	fake_lost(st, 0, 4000 * US, 1);	/* its release, perhaps */
	call(&unlock, 5000 * US, 5001 * US);
	is_equal("longest", longest(st, UFT_TRACER_PREEMPTOFF, 0, 0), 70 * US);
	is_equal("above 60 us", longest(st, UFT_TRACER_PREEMPTOFF, 60 * US, 0), 70 * US);
	is_equal("above 70 us", longest(st, UFT_TRACER_PREEMPTOFF, 70 * US, 0), 0);
	is_equal("later", longest(st, UFT_TRACER_PREEMPTOFF, 0, 500 * US), 60 * US);
	is_equal("no mask is known", longest(st, UFT_TRACER_IRQSOFF, 0, 0), 0);
	is_equal("not a latency tracer", longest(st, UFT_TRACER_BLK, 0, 0), 0);
}

/* libc's own two signals alone are none; two blocked one after the other are one stretch. */
static void masks(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_IRQSOFF, 1);
	struct lib m = { st, fake_task(st, 7, "masker", NULL), fake_sym(st, "pthread_sigmask", "libc.so.6", 1), { 0 },
		0, 0, 0 };

	m.mask = 3ull << 31;
	call(&m, 1 * US, 2 * US);
	m.mask |= 1ull << 9;
	call(&m, 500 * US, 501 * US);
	m.mask |= 1ull << 11;
	call(&m, 510 * US, 511 * US);
	m.mask = UNKNOWN;
	call(&m, 550 * US, 551 * US);
	m.mask = 3ull << 31;
	call(&m, 600 * US, 601 * US);
	is_equal("blocked", longest(st, UFT_TRACER_IRQSOFF, 0, 0), 100 * US);
	is_equal("either", longest(st, UFT_TRACER_PREEMPTIRQSOFF, 0, 0), 100 * US);
}

static const struct uft_task *thread_of(struct uft_stream *st, uint32_t tid, const char *comm, uint32_t pid)
{
	struct uft_task *t = (struct uft_task *)fake_task(st, tid, comm, NULL);

	t->pid = pid;
	return t;
}

/*
 * The last wake before the return, by another thread, of its process, after the wait began; the real-time one
 * is the shorter.
 */
static struct uft_stream *wakes(uint32_t tracer, uint64_t state)
{
	struct uft_stream *st = fake_new(tracer, 1);
	const struct uft_task *w = thread_of(st, 20, "waker", 20), *o = thread_of(st, 21, "ordinary", 20),
			      *r = thread_of(st, 22, "realtime", 20), *stranger = thread_of(st, 30, "stranger", 30);
	const struct uft_sym *post = fake_sym(st, "sem_post", "libc.so.6", 1),
			     *wait = fake_sym(st, "sem_wait", "libc.so.6", 2);
	struct lib wake = { st, w, post, { LOCK }, 0, 0, 120ull << 32 }, elsewhere = wake;
	struct lib sleep = { st, o, wait, { LOCK }, 0, 0, 120ull << 32 };

	call(&wake, 1 * US, 2 * US);		/* before the wait */
	elsewhere.task = stranger;
	fake_entry(st, 0, 10 * US, o, wait, 0);
	data(&sleep, 10 * US, UFT_EVENT_CALL, LOCK, 0, 0);
	call(&wake, 50 * US, 51 * US);
	call(&wake, 100 * US, 101 * US);
	data(&sleep, 190 * US, UFT_EVENT_RETURN, 0, 0, 120ull << 32);
	fake_exit(st, 0, 190 * US, o, wait, 0, 180 * US);

	fake_lost(st, 0, 200 * US, 3);
	sleep.task = r;
	fake_entry(st, 0, 300 * US, r, wait, 0);
	data(&sleep, 300 * US, UFT_EVENT_CALL, LOCK, 0, 0);
	call(&wake, 400 * US, 401 * US);
	call(&elsewhere, 420 * US, 421 * US);
	data(&sleep, 430 * US, UFT_EVENT_RETURN, 0, 0, state);
	fake_exit(st, 0, 430 * US, r, wait, 0, 130 * US);
	return st;
}

static void text_of_wakes(uint64_t state, const char *prio, const char *rt_prio)
{
	struct uft_stream *st = wakes(UFT_TRACER_WAKEUP_RT, state);
	char *text = NULL, *lines, expected[256], task[80];
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	snprintf(expected, sizeof(expected),
		 "   waker-20        0.....    0us+:      20:120:R   + [000]      22:%s:R realtime\n"
		 "realtime-22        0.....   30us :      22:%s:R ==> [000]      22:%s:R realtime\n", prio, prio, prio);
	snprintf(task, sizeof(task), "#    | task: realtime-22 (uid:? nice:0 policy:1 rt_prio:%s)\n", rt_prio);
	is_equal("wakeup", longest(wakes(UFT_TRACER_WAKEUP, state), UFT_TRACER_WAKEUP, 0, 0), 90 * US);
	is_equal("wakeup_rt", longest(st, UFT_TRACER_WAKEUP_RT, 0, 0), 30 * US);
	fake_rewind(st, 1);
	is_equal("text", (unsigned)uft_output_text(st, f, 0, &(struct uft_text_opts){ .flags = UFT_TEXT_REPORT }), 0);
	fclose(f);
	lines = strrchr(text, '#');
	lines = lines ? strchr(lines, '\n') + 1 : text;
	if (strcmp(lines, expected) || !strstr(text, "# latency: 30 us, #2/2, CPU#0 | (M:") ||
	    !strstr(text, task)) {
		printf("FAIL: text:\n%s", text);
		failures++;
	}
	free(text);
}

static int sink(void *ctx, const char *text, size_t n)
{
	return fwrite(text, 1, n, ctx) == n ? 0 : -EIO;
}

static char *text_of(struct uft_stream *st, uint32_t tracer, uint32_t flags)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	struct uft_text_opts opts = {
		.tracer = tracer, .flags = UFT_TEXT_DEFAULT | flags, .ncpus = 1, .sink = sink, .ctx = f
	};
	struct uft_printer *t;

	fake_rewind(st, 1);
	is_equal("open", (unsigned)uft_text_open(st, &opts, &t), 0);
	while (uft_text_run(t, 64) > 0)
		;
	is_equal("collect", (unsigned)uft_text_collect(t, 1), 0);
	uft_text_close(t);
	fclose(f);
	return text;
}

/* Locks held, one hexadecimal digit: ten, fifteen, and no more than that. */
static void deep(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_PREEMPTOFF, 1);
	const struct uft_task *t = fake_task(st, 7, "holder", NULL);
	struct lib lock = { st, t, fake_sym(st, "pthread_mutex_lock", "libc.so.6", 1), { LOCK }, 0, 0, 0 };
	struct lib unlock = lock;
	char *text;

	unlock.sym = fake_sym(st, "pthread_mutex_unlock", "libc.so.6", 2);
	for (unsigned i = 0; i < 17; i++, lock.arg[0] += 8)
		call(&lock, (10 * i + 1) * US, (10 * i + 2) * US);
	for (unsigned i = 0; i < 17; i++, unlock.arg[0] += 8)
		call(&unlock, (500 + 10 * i) * US, (501 + 10 * i) * US);
	text = text_of(st, UFT_TRACER_PREEMPTOFF, 0);
	if (!strstr(text, " 0...9.") || !strstr(text, " 0...a.") || !strstr(text, " 0...f.") ||
	    strstr(text, " 0...g.")) {
		printf("FAIL: depths:\n%s", text);
		failures++;
	}
	free(text);
}

/* The latency format of tracers that look for no worst case counts the buffer. */
static void no_worst_case(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_FUNCTION, 1);
	char *text;

	fake_info(st)->events = 20;
	text = text_of(st, UFT_TRACER_FUNCTION, UFT_TEXT_LATENCY);
	if (!strstr(text, "# latency: 0 us, #20/20, CPU#0 | (M:")) {
		printf("FAIL: header:\n%s", text);
		failures++;
	}
	free(text);
}

int main(void)
{
	sections();
	masks();
	text_of_wakes(1 | 94ull << 32, " 94", "5");
	text_of_wakes(1 | 0ull << 32, "  0", "99");	/* the highest there is */
	deep();
	no_worst_case();
	return failures != 0;
}
