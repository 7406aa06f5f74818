/* SPDX-License-Identifier: MIT */
/*
 * user_events_test.c - a program that registered an event executes another one, or itself, before the session
 * switches its bit
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tree/files/user_events.c"

#define PLACE	0x200000000ull
#define BITS	0xffull
#define BIT	3
#define ANSWER_MS	60000		/* on any machine: only a child that does not come to it takes longer */

static int to_child[2], to_us[2], has_failed;
static volatile int is_companion_bound;

static void say(int fd)
{
	if (write(fd, "", 1) != 1)
		abort();
}

static int hear(int fd)
{
	char c;

	return read(fd, &c, 1) == 1;
}

/* The child's next word. It ended, or says nothing: that is the end of the test. */
static void await(const char *what, const char *word, pid_t child)
{
	struct pollfd fd = { .fd = to_us[0], .events = POLLIN };
	int n = poll(&fd, 1, ANSWER_MS), status = 0;

	if (n == 1 && hear(to_us[0]))
		return;
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	fprintf(stderr, "user events: %s: the child does not say '%s': %s (wait status %#x)\n", what, word,
		n ? "it ended" : "no answer", (unsigned)status);
	exit(1);
}

static void map_word(void)
{
	uint64_t *word = mmap((void *)(uintptr_t)PLACE, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (word == MAP_FAILED)
		abort();
	*word = BITS;
}

/* The same program in another file. */
static void copy_self(char *name)
{
	int to = mkstemp(name), from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char buf[65536];
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			abort();
	if (to < 0 || from < 0 || n < 0 || fchmod(to, 0700))
		abort();
	close(to);
	close(from);
}

static __attribute__((noreturn)) int companion(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	is_companion_bound = 1;
	for (;;)
		pause();
}

/*
 * @has_companion: another process has its memory, and keeps it when this one executes @program. It ends with this one,
 * also where that is killed before it gets a CPU: it would keep the output of the test open for ever.
 */
static void child_main(const char *program, int has_companion)
{
	static char stack[65536] __attribute__((aligned(16)));
	char fd[16];

	close(to_us[0]);
	close(to_child[1]);
	map_word();
	if (has_companion && clone(companion, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) < 0)
		abort();
	while (has_companion && !is_companion_bound)
		sched_yield();
	say(to_us[1]);
	if (!hear(to_child[0]))
		abort();
	*(uint64_t *)(uintptr_t)PLACE = BITS;
	snprintf(fd, sizeof(fd), "%d", to_us[1]);
	if (program)
		execl(program, program, fd, (char *)NULL);
	else
		say(to_us[1]);
	for (; !program;)
		pause();
	abort();			/* it could not be executed */
}

/* Its process waits for us, as in an ioctl. */
static void do_register(struct uft_handle *h, int bit, struct user_event *e)
{
	struct user_reg reg = { .enable_bit = (uint8_t)bit, .enable_size = 8, .enable_addr = PLACE };
	struct caller c;

	if (open_caller(h, &c) || add_enabler(h, &c, &reg, e))
		abort();
	if (c.mem >= 0)
		close(c.mem);
}

static void expect(const char *what, const char *who, uint64_t seen, uint64_t wanted)
{
	if (seen == wanted)
		return;
	fprintf(stderr, "user events: %s: %s: %#llx, expected %#llx\n", what, who, (unsigned long long)seen,
		(unsigned long long)wanted);
	has_failed = 1;
}

static uint64_t word_in(int mem)
{
	uint64_t word = 0;

	return read_memory(mem, PLACE, &word, sizeof(word)) ? 0 : word;
}

static uint32_t programs_of(const struct user_events *all)
{
	uint32_t n = 0;

	for (const struct program *p = all->programs; p; p = p->next)
		n++;
	return n;
}

static void scene(const char *what, const char *program, int has_companion)
{
	struct user_event event = { .refs = 1 };
	struct user_events all = { .events = &event };
	struct uft_tree *t = calloc(1, sizeof(*t));
	struct uft_handle h = { .t = t };
	int is_kept = !program || has_companion, old;
	struct caller now;

	if (!t || pipe(to_child) || pipe(to_us))
		abort();
	t->user_events = &all;
	h.pid = h.tgid = fork();
	if (!h.pid)
		child_main(program, has_companion);
	close(to_us[1]);
	close(to_child[0]);
	await(what, "ready", h.pid);
	do_register(&h, BIT, &event);
	do_register(&h, BIT + 1, &event);
	expect(what, "descriptors of one memory", programs_of(&all), 1);
	old = dup(all.programs->mem);
	say(to_child[1]);
	await(what, "executed", h.pid);
	event.is_on = 1;
	user_events_switch(t);
	if (open_caller(&h, &now))
		abort();
	expect(what, "the word of the memory that registered", word_in(old), is_kept ? BITS & ~(3ull << BIT) : 0);
	expect(what, "the word of the process", word_in(now.mem), program ? BITS : BITS & ~(3ull << BIT));
	close(now.mem);
	expect(what, "programs behind it", programs_of(&all), (uint64_t)is_kept);
	do_register(&h, BIT + 2, &event);
	expect(what, "programs when it registers again", programs_of(&all), has_companion && program ? 2 : 1);
	kill(h.pid, SIGKILL);
	waitpid(h.pid, NULL, 0);
	close(old);
	close(to_us[0]);
	close(to_child[1]);
	while (all.enablers)
		drop_enabler(&all, &all.enablers);
	expect(what, "programs at the end", programs_of(&all), 0);
	free(t);
}

/* As much as there is for one after the other. */
static uint32_t take_all(struct user_events *all, uid_t uid, enum bound b)
{
	struct share *s = share_of(all, uid);
	const long step = b == FORMAT_BYTES ? 1024 : 1;
	uint32_t n = 0;

	for (; s && !is_full(all, s, b, (size_t)step); n += (uint32_t)step)
		count(all, s, b, step);
	return n;
}

static void shares(enum bound b)
{
	struct user_events all = { 0 };
	uint32_t bound = bound_of(b);

	expect("shares", "another user", take_all(&all, geteuid() + 1, b), bound / 2);
	expect("shares", "a third one", take_all(&all, geteuid() + 2, b), (bound - bound / 2) / 2);
	expect("shares", "ours", take_all(&all, geteuid(), b), bound - bound / 2 - (bound - bound / 2) / 2);
	expect("shares", "in all", all.n[b], bound);
	while (all.shares) {
		struct share *next = all.shares->next;

		free(all.shares);
		all.shares = next;
	}
}

/* A program that has none may register a word while its user may have one more, whoever else may. */
static void words(void)
{
	struct user_events all = { 0 };
	struct uft_tree *t = calloc(1, sizeof(*t));
	struct caller c = { .pid = getpid(), .share = share_of(&all, geteuid() + 1) };

	if (!t || !c.share)
		abort();
	t->user_events = &all;
	expect("words", "the first", (uint64_t)check_room(t, &c), 0);
	take_all(&all, geteuid() + 1, WORDS);
	expect("words", "one too many", (uint64_t)check_room(t, &c), (uint64_t)-ENOMEM);
	c.share = share_of(&all, geteuid());
	expect("words", "another user's", (uint64_t)check_room(t, &c), 0);
	while (all.shares) {
		struct share *next = all.shares->next;

		free(all.shares);
		all.shares = next;
	}
	free(t);
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/uft-user-events.XXXXXX";
	int how = personality(~0u);

	if (argc > 1) {
		map_word();
		say(atoi(argv[1]));
		for (;;)
			pause();
	}
	for (int b = 0; b < NBOUNDS; b++)
		shares((enum bound)b);
	words();
	copy_self(name);
	scene("a program that stays", NULL, 0);
	scene("another one is executed", name, 0);
	scene("it executes itself", "/proc/self/exe", 0);
	scene("its former memory has another process", "/proc/self/exe", 1);
	unlink(name);
	/* Once more where a program that is executed has its random bytes in the place of the former one's. */
	if (!has_failed && how >= 0 && !(how & ADDR_NO_RANDOMIZE) && personality((unsigned)how | ADDR_NO_RANDOMIZE) >= 0 &&
	    personality(~0u) & ADDR_NO_RANDOMIZE)
		execv("/proc/self/exe", argv);
	return has_failed;
}
