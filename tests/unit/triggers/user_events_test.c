/* SPDX-License-Identifier: MIT */
/* user_events_test.c - a program that registered an event executes another one while the session switches its bit */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

static int hooked_open(const char *path, int flags);
#define open hooked_open
#include "tree/files/user_events.c"
#undef open

#define PLACE	0x200000000ull
#define BITS	0xffull

static int to_child[2], to_us[2], is_armed;

static void say(int fd)
{
	if (write(fd, "", 1) != 1)
		abort();
}

static void hear(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		abort();
}

/* The child executes another program just before the session opens the child's memory. */
static int hooked_open(const char *path, int flags)
{
	if (is_armed) {
		is_armed = 0;
		say(to_child[1]);
		hear(to_us[0]);
	}
	return open(path, flags);
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

static uint64_t word_of(pid_t pid)
{
	uint64_t word = 0;

	return access_memory(pid, PLACE, &word, sizeof(word), 0) ? 0 : word;
}

static uint64_t after_switch(const char *program)
{
	struct user_event event = { .is_on = 1 };
	struct user_events all = { .events = &event, .n = 1 };
	struct uft_tree *t = calloc(1, sizeof(*t));
	struct enabler *e = calloc(1, sizeof(*e));
	uint64_t word;
	pid_t pid;

	if (!t || !e || pipe(to_child) || pipe(to_us))
		abort();
	pid = fork();
	if (!pid) {
		char fd[16];

		map_word();
		say(to_us[1]);
		hear(to_child[0]);
		snprintf(fd, sizeof(fd), "%d", to_us[1]);
		execl(program, program, fd, (char *)NULL);
		_exit(1);
	}
	hear(to_us[0]);
	*e = (struct enabler){ .event = &event, .pid = pid, .addr = PLACE, .bit = 3, .size = 8 };
	identify(pid, &e->began, &e->exe);
	all.enablers = e;
	t->user_events = &all;
	is_armed = program != NULL;
	user_events_switch(t);
	word = word_of(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (all.enablers)
		free(all.enablers);
	free(t);
	return word;
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/uft-user-events.XXXXXX";
	uint64_t same, other;

	if (argc > 1) {
		map_word();
		say(atoi(argv[1]));
		for (;;)
			pause();
	}
	copy_self(name);
	same = after_switch(NULL);
	other = after_switch(name);
	unlink(name);
	if (same != (BITS & ~8ull))
		fprintf(stderr, "user events: the bit of a program that is there was not cleared: %#llx\n",
			(unsigned long long)same);
	if (other != BITS)
		fprintf(stderr, "user events: a word of the program that was executed was changed: %#llx\n",
			(unsigned long long)other);
	return same != (BITS & ~8ull) || other != BITS;
}
