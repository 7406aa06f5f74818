/* SPDX-License-Identifier: MIT */
/*
 * attach.c - for how long a process stands while something attaches to it and leaves again
 *
 *	attach ROUNDS [-f FILE -s UFT] -- CMD...		PID among the words of CMD is the process
 *
 * The process has 100 threads: one runs all the time, calling generated functions (genfuncs.sh) every
 * millisecond, twenty tick, the others wait in futexes, pipes and polls. Each round: 200 ms untraced, CMD for
 * up to 1 s (with -f: until it has records and a tenth of a second more), SIGINT to it if it is still there.
 *
 * A thread that runs reads the clock all the while. Where time is missing it asks for its voluntary switches:
 * it makes none by itself, a stop by ptrace is one, a wait for a CPU is not. So a `stop` is what somebody did
 * to it (the wait for a CPU to go on included), `noise` is what the machine does to it in the untraced time
 * of the same rounds.
 *
 * Prints lines of `name p50 p99 max`, in ms: by round, the longest stop of the thread that runs, and the sum
 * of its stops; attach: before the SIGINT, detach: from then on. With -f, -s: first record (from the fork of
 * CMD on), and what CMD said of its stops.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "median.h"

#define THREADS		100
#define RUNNING		1
#define TICKING		20
#define GAP_NS		5000		/* looked at */
#define NOISE_NS	50000		/* noted, if it is no stop */
#define CALL_NS		1000000
#define MAX_GAPS	(1u << 16)
#define QUIET_MS	200
#define ATTACHED_MS	1000
#define FIRST_MS	20000		/* for the first record */
#define AFTER_MS	100
#define HEAD_BYTES	100000		/* a file with more has records */

typedef int all_fn(int);
extern all_fn *const bench_all[];	/* made by attach.sh; each calls 1,000 functions */
extern const int bench_nall;

struct gap {
	uint64_t at, ns;
	int is_stop;
};

/* Shared with the process: written by its running threads, read when they are far beyond. */
static struct shared {
	uint32_t ready;
	uint32_t ngap[RUNNING];
	struct gap gap[RUNNING][MAX_GAPS];
} *shared;

static inline __attribute__((always_inline)) uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- The process ------------------------------------------------------------------------------- */

static long switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

static void note(int me, uint64_t at, uint64_t ns, int is_stop)
{
	uint32_t n = shared->ngap[me];

	if (n < MAX_GAPS)
		shared->gap[me][n] = (struct gap){ at, ns, is_stop };
	__atomic_store_n(&shared->ngap[me], n + (n < MAX_GAPS), __ATOMIC_RELEASE);
}

static void *run(void *arg)
{
	uint64_t last = now(), called = last;
	int me = (int)(intptr_t)arg, next = 0;
	long sw = switches();

	for (;;) {
		int is_call = last - called > CALL_NS;
		uint64_t t;

		if (is_call) {
			bench_all[next](0);
			next = (next + 1) % bench_nall;
			called = last;
		}
		t = now();
		if (t - last > GAP_NS) {
			long n = switches();

			if (n != sw || (!is_call && t - last > NOISE_NS))
				note(me, last, t - last, n != sw);
			sw = n;
			t = now();
		}
		last = t;
	}
	return NULL;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *sleep_in(void *arg)
{
	int kind = (int)(intptr_t)arg % 3, fd[2];
	char c;

	while ((intptr_t)arg < RUNNING + TICKING)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	if (pipe(fd))
		return NULL;
	while (kind == 0)
		if (read(fd[0], &c, 1) < 0)
			abort();
	while (kind == 1)
		if (poll(&(struct pollfd){ .fd = fd[0], .events = POLLIN }, 1, -1) < 0)
			abort();
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

static void be_process(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (intptr_t i = 0; i < THREADS - 1; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, i < RUNNING ? run : sleep_in, (void *)i))
			abort();
	}
	__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

/* ---- The rounds -------------------------------------------------------------------------------- */

enum { NOISE, ATTACH_MAX, ATTACH_SUM, DETACH_MAX, DETACH_SUM, FIRST, SAID_MAX, SAID_SUM, NROWS };
static const char *const row_name[NROWS] = {
	"noise", "attach", "attach-sum", "detach", "detach-sum", "first", "said", "said-sum",
};
static double *row[NROWS];
static int nrow[NROWS];

static void add(int which, double ms)
{
	row[which][nrow[which]++] = ms;
}

/* Gaps in [from, to): stops, or any; the longest, and the largest sum of a thread. */
static void gaps(uint64_t from, uint64_t to, int stops_only, double *max, double *sum)
{
	*max = *sum = 0;
	for (int i = 0; i < RUNNING; i++) {
		uint32_t n = __atomic_load_n(&shared->ngap[i], __ATOMIC_ACQUIRE);
		double s = 0;

		for (uint32_t k = 0; k < n; k++) {
			const struct gap *g = &shared->gap[i][k];

			if (g->at < from || g->at >= to || (stops_only && !g->is_stop))
				continue;
			s += (double)g->ns / 1e6;
			*max = (double)g->ns / 1e6 > *max ? (double)g->ns / 1e6 : *max;
		}
		*sum = s > *sum ? s : *sum;
	}
}

static pid_t start(char **cmd, const char *said)
{
	pid_t p = fork();

	if (!p) {
		int fd = open(said, O_RDWR | O_CREAT | O_TRUNC, 0600);

		dup2(open("/dev/null", O_RDWR), 0);
		dup2(fd, 1);
		dup2(fd, 2);
		signal(SIGINT, SIG_DFL);	/* a bench in the background was started with it ignored */
		execvp(cmd[0], cmd);
		_exit(127);
	}
	return p;
}

/* Until it ends, has written records, or the time is over. */
static void await(pid_t p, const char *file)
{
	int ms = file ? FIRST_MS : ATTACHED_MS;

	for (; ms > 0; ms--) {
		siginfo_t si = { 0 };
		struct stat st;

		if (waitid(P_PID, (id_t)p, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid == p)
			return;
		if (file && stat(file, &st) == 0 && st.st_size > HEAD_BYTES)
			file = NULL, ms = AFTER_MS;
		usleep(1000);
	}
}

static void add_first(const char *uft, const char *file, uint64_t begin)
{
	char line[400];
	uint64_t first;
	FILE *f;

	snprintf(line, sizeof(line), "%s stat %s", uft, file);
	f = popen(line, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "first_ns: %lu", &first) == 1 && first > begin)
			add(FIRST, (double)(first - begin) / 1e6);
	if (f)
		pclose(f);
}

static void add_said(const char *said)
{
	FILE *f = fopen(said, "r");
	char line[1000];
	double ms;

	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "stopped for more than "), *sum = strstr(line, "in all ");

		if (at && sscanf(at + 22, "%lf", &ms) == 1)
			add(SAID_MAX, ms);
		if (at && sum && sscanf(sum + 7, "%lf", &ms) == 1)
			add(SAID_SUM, ms);
	}
	if (f)
		fclose(f);
}

static void round_of(char **cmd, const char *uft, const char *file, const char *said)
{
	uint64_t quiet = now(), begin, end;
	double max, sum;
	int status;
	pid_t p;

	for (int i = 0; i < RUNNING; i++)
		__atomic_store_n(&shared->ngap[i], 0, __ATOMIC_RELEASE);
	usleep(QUIET_MS * 1000);
	if (file)
		unlink(file);
	begin = now();
	p = start(cmd, said);
	await(p, file);
	end = now();
	kill(p, SIGINT);
	waitpid(p, &status, 0);
	usleep(20000);
	gaps(quiet, begin, 0, &max, &sum);
	add(NOISE, max);
	gaps(begin, end, 1, &max, &sum);
	add(ATTACH_MAX, max);
	add(ATTACH_SUM, sum);
	gaps(end, now(), 1, &max, &sum);
	add(DETACH_MAX, max);
	add(DETACH_SUM, sum);
	if (uft)
		add_first(uft, file, begin);
	add_said(said);
}

static void print_row(int i)
{
	int n = nrow[i];
	double middle = n ? median(row[i], (size_t)n) : 0;

	if (n)
		printf("%s %.2f %.2f %.2f %d\n", row_name[i], middle, row[i][(n * 99 + 99) / 100 - 1],
		       row[i][n - 1], n);
}

int main(int argc, char **argv)
{
	int at = 2, rounds = argc > 3 ? atoi(argv[1]) : 0;
	const char *uft = NULL, *file = NULL;
	char pid_text[20], said[64];
	pid_t p;

	for (; at + 1 < argc && argv[at][0] == '-' && argv[at][1] != '-'; at += 2)
		*(argv[at][1] == 'f' ? &file : &uft) = argv[at + 1];
	if (rounds < 1 || at + 1 >= argc || strcmp(argv[at], "--")) {
		fprintf(stderr, "usage: attach ROUNDS [-f FILE -s UFT] -- CMD...\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < NROWS; i++)
		row[i] = calloc((size_t)rounds * 4, sizeof(double));
	p = fork();
	if (!p)
		be_process();
	while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
		usleep(1000);
	snprintf(pid_text, sizeof(pid_text), "%d", p);
	snprintf(said, sizeof(said), "attach-said.%d", getpid());
	for (int i = at + 1; i < argc; i++)
		if (!strcmp(argv[i], "PID"))
			argv[i] = pid_text;
	for (int i = 0; i < rounds; i++)
		round_of(argv + at + 1, uft, file, said);
	kill(p, SIGKILL);
	waitpid(p, NULL, 0);
	unlink(said);
	for (int i = 0; i < NROWS; i++)
		print_row(i);
	return 0;
}
