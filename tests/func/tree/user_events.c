/* SPDX-License-Identifier: MIT */
/*
 * user_events.c COMMAND... - a program written for a kernel's user_events: each word is done in order
 *
 *	reg=NAME[ FIELDS], multi=...	registers; prints the write index, or the error
 *	again=...	the same bit of the same word once more
 *	bit		prints the bits of the word
 *	wait=N		until the word is N, and 60 s at most
 *	write=INDEX,N,TEXT	the record { u32 N; __rel_loc char[] } and its text by writev; short=INDEX: too little
 *	many=NAME	registers the bits of as many words as it may; prints how many, and the error
 *	formats=NAME	as many formats of one name as it may
 *	unreg, del=NAME
 *	stay=NAME	registers an event that stays; nowhere=NAME: with a word that is not mapped
 *	later=BYTE	a structure of a later ABI, whose last byte is that
 *	reopen		closes the file, and opens it anew
 *	map, place	a word at an address of its own; prints its bits
 *	fixed=NAME	registers that word
 *	exec		executes itself, which does what follows
 *	reused=NAME	a thread registers and ends, then a child process that gets the thread's number; none: EPERM
 *	reusedmark=	the same, and each writes a marker by one open file
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct user_reg {
	uint32_t size;
	uint8_t enable_bit, enable_size;
	uint16_t flags;
	uint64_t enable_addr, name_args;
	uint32_t write_index;
} __attribute__((packed));
struct user_unreg {
	uint32_t size;
	uint8_t disable_bit, reserved;
	uint16_t reserved2;
	uint64_t disable_addr;
} __attribute__((packed));

#define DIAG_IOCSREG	_IOWR('*', 0, struct user_reg *)
#define DIAG_IOCSDEL	_IOW('*', 1, char *)
#define DIAG_IOCSUNREG	_IOW('*', 2, struct user_unreg *)

static uint32_t enabled;
static int next_bit, fd;

static void say(const char *what, long ret)
{
	if (ret < 0)
		printf("%s %s\n", what, strerrorname_np(errno));
	else
		printf("%s %ld\n", what, ret);
}

#define PLACE ((volatile uint32_t *)(uintptr_t)0x200000000)

static void reg_word(const char *text, int flags, int bit, const volatile uint32_t *word)
{
	struct user_reg r = { sizeof(r), (uint8_t)bit, sizeof(*word), (uint16_t)flags, (uint64_t)(uintptr_t)word,
		(uint64_t)(uintptr_t)text, 99 };
	int ret = ioctl(fd, DIAG_IOCSREG, &r);

	say("reg", ret < 0 ? ret : (long)r.write_index);
}

static void reg(const char *text, int flags, int bit)
{
	reg_word(text, flags, bit, &enabled);
}

static void reg_later(const char *byte)
{
	struct { struct user_reg r; uint8_t more[8]; } __attribute__((packed)) x = {
		{ sizeof(x), (uint8_t)next_bit++, sizeof(enabled), 0, (uint64_t)(uintptr_t)&enabled,
		  (uint64_t)(uintptr_t)"later u8 a", 99 },
		{ [7] = (uint8_t)atoi(byte) }
	};
	int ret = ioctl(fd, DIAG_IOCSREG, &x);

	say("reg", ret < 0 ? ret : (long)x.r.write_index);
}

#define MANY 20000

static void many(const char *text)
{
	static uint64_t words[MANY / 64];
	struct user_reg r = { sizeof(r), 0, sizeof(words[0]), 0, 0, (uint64_t)(uintptr_t)text, 99 };
	int n = 0, ret = 0;

	for (; n < MANY && !ret; n += !ret) {
		r.enable_bit = (uint8_t)(n % 64);
		r.enable_addr = (uint64_t)(uintptr_t)&words[n / 64];
		ret = ioctl(fd, DIAG_IOCSREG, &r);
	}
	printf("many %d %s\n", n, ret ? strerrorname_np(errno) : "");
}

static void formats(const char *name)
{
	static uint64_t word;
	struct user_reg r = { sizeof(r), 0, sizeof(word), 2, (uint64_t)(uintptr_t)&word, 0, 99 };
	char text[64];
	int n = 0, ret = 0;

	r.name_args = (uint64_t)(uintptr_t)text;
	for (; n < MANY && !ret; n += !ret) {
		struct user_unreg u = { sizeof(u), 0, 0, 0, (uint64_t)(uintptr_t)&word };

		snprintf(text, sizeof(text), "%s u32 field%d", name, n);
		ret = ioctl(fd, DIAG_IOCSREG, &r);
		if (!ret)
			ioctl(fd, DIAG_IOCSUNREG, &u);
	}
	printf("formats %d %s\n", n, ret ? strerrorname_np(errno) : "");
}

static struct user_reg shared_place;	/* at one address in the parent and in its child */
static const char *reused_name;
static pid_t reused_tid;

static void reg_at_shared_place(const char *what, int bit)
{
	int ret;

	shared_place = (struct user_reg){ sizeof(shared_place), (uint8_t)bit, sizeof(enabled), 0,
		(uint64_t)(uintptr_t)&enabled, (uint64_t)(uintptr_t)reused_name, 99 };
	ret = ioctl(fd, DIAG_IOCSREG, &shared_place);
	say(what, ret < 0 ? ret : (long)shared_place.write_index);
}

static int marker = -1;

static void do_as(const char *what, int bit)
{
	if (marker < 0)
		reg_at_shared_place(what, bit);
	else if (prctl(PR_SET_NAME, what) || write(marker, what, strlen(what)) < 0)
		say(what, -1);
}

static void *do_in_thread(void *arg)
{
	reused_tid = (pid_t)syscall(SYS_gettid);
	do_as("thread", *(int *)arg);
	return NULL;
}

static void reuse(const char *name)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&reused_tid,
		.set_tid_size = 1 };
	int bit = next_bit++, ret = -1;
	pthread_t thread;

	reused_name = name;
	if (pthread_create(&thread, NULL, do_in_thread, &bit) || pthread_join(thread, NULL))
		return;
	fflush(stdout);
	for (int t = 0; t < 10000 && (ret = (int)syscall(SYS_clone3, &args, sizeof(args))) < 0 && errno == EEXIST; t++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	if (!ret) {
		do_as("child", next_bit);
		if (marker < 0)		/* the thread has it in another memory */
			do_as("same", bit);
		fflush(stdout);
		_exit(0);
	}
	if (ret < 0)
		say("clone3", ret);
	else
		waitpid(ret, NULL, 0);
	if (marker < 0)
		printf("parent %u\n", shared_place.enable_bit);
	else
		printf("%d %d\n", reused_tid, getpid());
}

static void write_record(char *text)
{
	uint32_t index = (uint32_t)strtoul(strtok(text, ","), NULL, 0),
		 n = (uint32_t)strtoul(strtok(NULL, ","), NULL, 0);
	char *string = strtok(NULL, "");
	uint32_t loc = (uint32_t)(strlen(string) + 1) << 16;
	struct iovec io[] = { { &index, 4 }, { &n, 4 }, { &loc, 4 }, { string, strlen(string) + 1 } };

	say("write", writev(fd, io, 4));
}

int main(int argc, char **argv)
{
	fd = open("/sys/kernel/tracing/user_events_data", O_RDWR);
	if (fd < 0)
		return 77;
	for (int i = 1; i < argc; i++) {
		char *arg = strchr(argv[i], '=');

		if (arg)
			*arg++ = '\0';
		if (!strcmp(argv[i], "reg"))
			reg(arg, 0, next_bit++);
		if (!strcmp(argv[i], "multi"))
			reg(arg, 2, next_bit++);
		if (!strcmp(argv[i], "again"))
			reg(arg, 0, next_bit - 1);
		if (!strcmp(argv[i], "stay"))
			reg(arg, 1, next_bit++);
		if (!strcmp(argv[i], "nowhere"))
			reg_word(arg, 0, 0, (const volatile uint32_t *)8);
		if (!strcmp(argv[i], "later"))
			reg_later(arg);
		if (!strcmp(argv[i], "reopen")) {
			close(fd);
			fd = open("/sys/kernel/tracing/user_events_data", O_RDWR);
		}
		if (!strcmp(argv[i], "badbit"))
			reg(arg, 0, 32);
		if (!strcmp(argv[i], "bit"))
			printf("bits %x\n", enabled);
		for (int t = 0;
		     !strcmp(argv[i], "wait") && t < 60000 && *(volatile uint32_t *)&enabled != strtoul(arg, NULL, 0);
		     t++)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		if (!strcmp(argv[i], "write"))
			write_record(arg);
		if (!strcmp(argv[i], "short"))
			say("short", write(fd, (uint32_t[]){ (uint32_t)atoi(arg) }, 4));
		if (!strcmp(argv[i], "unreg")) {
			struct user_unreg u = { sizeof(u), 0, 0, 0, (uint64_t)(uintptr_t)&enabled };

			say("unreg", ioctl(fd, DIAG_IOCSUNREG, &u));
		}
		if (!strcmp(argv[i], "map") &&
		    mmap((void *)(uintptr_t)PLACE, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return 1;
		if (!strcmp(argv[i], "place"))
			printf("place %x\n", *PLACE);
		if (!strcmp(argv[i], "fixed"))
			reg_word(arg, 0, 0, PLACE);
		if (!strcmp(argv[i], "exec")) {
			fflush(stdout);
			argv[i] = argv[0];
			execv("/proc/self/exe", argv + i);
		}
		if (!strcmp(argv[i], "many"))
			many(arg);
		if (!strcmp(argv[i], "formats"))
			formats(arg);
		if (!strcmp(argv[i], "reusedmark"))
			marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY);
		if (!strncmp(argv[i], "reused", 6))
			reuse(arg);
		if (!strcmp(argv[i], "del"))
			say("del", ioctl(fd, DIAG_IOCSDEL, arg));
		fflush(stdout);
	}
	return 0;
}
