// SPDX-License-Identifier: MIT
/*
 * hostile.c - a target that writes into everything that it shares with its recorder
 *
 * Usage: hostile REGION HOW [PHASE]
 *	  hostile repeat N REGION HOW PHASE
 *	repeat: N children in turn, each of which executes this program with the other arguments, under one recorder. Their parent is a
 *		target that does no harm: it calls witness() N times, and says how many of them found the recorder's memory, took longer than
 *		5 s, or left an agent that was there 5 s later, and how many changed its secret
 *	REGION	answers: it answers commands in place of its agent, "early", "late" (takes the agent's back for a moment) or "double"
 *		(another result each time); requests: it asks for anything, in all slots, of itself and of others; bell: it wakes the
 *		recorder all the time; drop: it gives up its rights when HOW says, "run", "fork", "exec" or "thread", and calls
 *		work() 100 times behind that; board (which it has to make writable first), mail, slice, command, rings, all; file: it cuts its own off; heir: a
 *		child looks for its parent's file in its memory, and has a child itself; agent: it stops its agents, and those of
 *		children, makes the file "deaf", and goes on until there is a file "left"; restore: that too, and a process that is no target
 *		answers for them that a place of their code cannot be put back; tardy: it answers all commands well, but late; orphan: it stops its agent, writes its number
 *		into the file "agent", and ends
 *		spares: it gives up its rights before it is attached to, and takes families for children that it does not have ("taken"), gives
 *		them away ("dropped"), or closes the socket that they come by ("closed")
 *	HOW	once (of heir: the child gives up its rights after its first event; chroot, filter, user: what confines it
 *		before that, so that it can open no file of the recorder's; unseen: a fork that the recorder does not hook; late: as chroot, and its child
 *		has ended, and hides its request, before the recorder looks again); always (random words as fast as it can); turns
 *		(each word wrong for a moment, then right again)
 *	PHASE	run (default), fork, exec: what the process does meanwhile; attach: it waits until it is attached to
 *
 * It finds the memory in /proc/self/maps, as an attacker would, and knows its layout from the public header. Whatever becomes of
 * the program itself is its own affair; the test looks at the recorder. All its processes hold the pipe "alive", if there is one, open for
 * writing. Exit 3: it found nothing; 4: it could make the board writable; 5: a child has its parent's file mapped, 6: it has got more than a quarter of all families; none of which must be.
 */
#include "peek.h"
#include "uft/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_AREAS	8
#define LATE_CALLS	20000	/* more than are read in a moment */
#define MOST_FAMILIES	800	/* of one user, for children that there are not: a quarter of all */

static struct area { uint32_t *lo, *hi; } areas[MAX_AREAS];
static unsigned nareas;
static char family[1024];	/* the path of the file of this process */
static volatile int is_over;
static const char *how;
static uint64_t slice_at;	/* in a family */
static struct uft_mail *its_mail;
static struct uft_slice *its_slice;
static struct uft_cmd *its_command;
static uint32_t *its_bell, its_number;	/* of the slice */

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static void add(char *lo, uint64_t offset, uint64_t bytes)
{
	if (nareas < MAX_AREAS && bytes)
		areas[nareas++] = (struct area){ (uint32_t *)(lo + offset), (uint32_t *)(lo + offset + bytes) };
}

static void add_regions(char *board, char *mail, const char *region)
{
	struct uft_arena l;
	int is_all = !strcmp(region, "all");
	char *slice;

	memcpy(&l, board, sizeof(l));
	if (l.magic != UFT_ABI_MAGIC)
		return;
	slice_at = l.slice_offset - UFT_BOARD_BYTES;
	slice = mail + slice_at;
	if (!mprotect(board, UFT_BOARD_BYTES, PROT_READ | PROT_WRITE))
		exit(4);
	if (!strcmp(region, "file") && !truncate(family, 4096))
		add(mail, 0, 4);
	if (!strcmp(region, "heir"))
		add(mail, 0, 4);
	if (!strcmp(region, "answers") || !strcmp(region, "requests") || !strcmp(region, "bell") ||
	    !strcmp(region, "spares"))
		add(mail, 0, sizeof(struct uft_mail));
	its_mail = (struct uft_mail *)mail;
	its_slice = (struct uft_slice *)slice;
	its_command = (struct uft_cmd *)(slice + l.cmd_offset);
	its_bell = &((struct uft_arena *)board)->bell;
	if (is_all || !strcmp(region, "mail") || !strcmp(region, "board"))
		add(mail, 0, sizeof(struct uft_mail));
	if (is_all || !strcmp(region, "slice") || !strcmp(region, "agent") || !strcmp(region, "restore") ||
	    !strcmp(region, "tardy") || !strcmp(region, "orphan"))
		add(slice, 0, sizeof(struct uft_slice));
	if (is_all || !strcmp(region, "command"))
		add(slice, l.cmd_offset, 64 << 10);
	for (uint32_t i = 0; (is_all || !strcmp(region, "rings")) && i < 4 && i < l.ncpus + l.nexch; i++)
		add(slice, l.ring_offset + i * l.ring_stride, sizeof(struct uft_ring));
}

/* Is it this process's, and no spare for its next child? Its slice follows the mail. */
static int is_own(const char *mail)
{
	const struct uft_slice *sl =
		(const void *)(mail + (sizeof(struct uft_mail) + UFT_PAGE - 1) / UFT_PAGE * UFT_PAGE);
	uint32_t state, pid;

	return peek(&state, &sl->state, sizeof(state)) && state == UFT_SLICE_LIVE &&
	       peek(&pid, &sl->pid, sizeof(pid)) && pid == (uint32_t)getpid();
}

static void find_areas(const char *region)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024], *board = NULL, *mail = NULL;

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long lo;

		if (!strstr(line, "/session.") || sscanf(line, "%llx-", &lo) != 1)
			continue;
		if (strstr(line, UFT_BOARD_SUFFIX "\n"))
			board = (char *)(uintptr_t)lo;
		else if (is_own((char *)(uintptr_t)lo)) {
			mail = (char *)(uintptr_t)lo;
			sscanf(strchr(line, '/'), "%1023[^\n]", family);
			its_number = (uint32_t)atoi(strrchr(family, '.') + strlen(UFT_FAMILY_SUFFIX));
		}
	}
	if (f)
		fclose(f);
	if (board && mail)
		add_regions(board, mail, region);
}

static uint64_t seed;	/* of UFT_HOSTILE_SEED */

static uint32_t next_random(void)
{
	static uint64_t x;
	static const uint32_t odd[] = { 0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x1000, 0xfffff000, 2 };

	if (!x)
		x = 0x9e3779b97f4a7c15ull * (seed + 1);
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x & 1 ? odd[x >> 8 & 7] : (uint32_t)(x >> 32);
}

static void wake(void *word)
{
	syscall(SYS_futex, word, 1, INT32_MAX, NULL, NULL, 0);
}

/* In place of the agent, or against it. */
static void give_answers(void)
{
	uint32_t seq = __atomic_load_n(&its_slice->cmd_seq, __ATOMIC_ACQUIRE),
		 *payload = (uint32_t *)((char *)its_command + UFT_CMD_PAYLOAD);

	if (!strcmp(how, "late")) {
		if (its_slice->cmd_done != seq)
			return;
		its_slice->cmd_done = seq - 1;
		usleep(1000);
		its_slice->cmd_done = seq;
	} else {
		for (int i = 0; i < 64; i++)
			payload[next_random() % 4096] = next_random();
		its_command->n = next_random();
		its_slice->cmd_result = !strcmp(how, "double") ? (int32_t)next_random() : 0;
		__atomic_store_n(&its_slice->cmd_done, seq, __ATOMIC_RELEASE);
	}
	wake(&its_slice->cmd_done);
}

/* Anything that a request may say, of this process, its parent, init and none. */
static void ask_anything(void)
{
	const uint32_t pids[] = { (uint32_t)getpid(), (uint32_t)getppid(), 1, 2, next_random() };
	static const uint64_t words[] = { 0, 1, 2, 3, 4, 5, 0xffffff9c, ~0ull };

	for (unsigned i = 0; i < UFT_NREQUESTS; i++) {
		struct uft_request r = { .state = UFT_REQ_CLAIMED, .kind = next_random() % 9,
			.no_wait = next_random() & 1 };

		r.pid = pids[next_random() % 5];
		r.tid = next_random() % 4 ? r.pid : pids[next_random() % 5];
		r.slice = next_random() % 4 ? its_number : next_random() % 8;
		for (int k = 0; k < 4; k++)
			r.arg[k] = next_random() % 4 ? words[next_random() % 8] : next_random() % 2 ? its_number :
				(uintptr_t)&words;
		its_mail->req[i] = r;
		__atomic_store_n(&its_mail->req[i].state, UFT_REQ_POSTED, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&its_mail->posted, 1, __ATOMIC_RELEASE);
	wake(its_bell);
}

/* The descriptor of a family that came by @sock, its number in *number; -1: none. */
static int receive_family(int sock, uint32_t *number)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control;
	struct iovec iov = { number, sizeof(*number) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control) };
	int fd = -1;

	memset(&control, 0, sizeof(control));
	if (recvmsg(sock, &m, MSG_DONTWAIT) == sizeof(*number) && control.head.cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

static unsigned nfamilies;		/* that it has, and which are no child's */

/* In place of its agent it asks for families for its children. */
static void want_spares(void)
{
	static int sock = -1;		/* the agent's end */
	const uint32_t fd1 = __atomic_load_n(&its_slice->spare_fd, __ATOMIC_ACQUIRE);
	uint32_t number;
	int fd;

	if (sock < 0 && fd1 > 1) {
		int agent = (int)syscall(SYS_pidfd_open, its_slice->agent_tid, 0);

		sock = (int)syscall(SYS_pidfd_getfd, agent, fd1 - 2, 0);	/* a pair has numbers in a row */
		if (!strcmp(how, "closed"))
			shutdown(sock, SHUT_RDWR);
		close(agent);
	}
	if ((strcmp(how, "taken") && strcmp(how, "dropped")) || (fd = receive_family(sock, &number)) < 0) {
		wake(its_bell);
		usleep(1000);
		return;
	}
	struct uft_mail *mail = mmap(NULL, slice_at + UFT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (mail == MAP_FAILED)
		return;
	__atomic_store_n(&((struct uft_slice *)((char *)mail + slice_at))->state, UFT_SLICE_LIVE, __ATOMIC_RELEASE);
	if (!strcmp(how, "dropped"))
		munmap(mail, slice_at + UFT_PAGE);
	else
		nfamilies++;
	wake(its_bell);
}

static void spoil(void)
{
	for (unsigned i = 0; i < nareas && !is_over; i++)
		for (volatile uint32_t *p = areas[i].lo; p < areas[i].hi && !is_over; p++) {
			uint32_t was = *p;

			*p = next_random();
			if (!strcmp(how, "turns"))
				*p = was;
		}
}

static void *spoiler(void *arg)
{
	const char *region = arg;

	while (!is_over)
		if (!strcmp(region, "answers"))
			give_answers();
		else if (!strcmp(region, "requests"))
			ask_anything();
		else if (!strcmp(region, "bell"))
			wake(its_bell);
		else if (!strcmp(region, "spares"))
			want_spares();
		else
			spoil();
	return arg;
}

static void live(const char *phase, char **argv)
{
	int n = 0;

	for (int i = 0; i < (strcmp(argv[1], "spares") ? 20 : 300); i++) {
		for (int k = 0; k < 1000; k++)
			n = work(n);
		if (!strcmp(phase, "fork")) {
			pid_t pid = fork();

			if (pid == 0)
				_exit(work(0) != 1);
			waitpid(pid, NULL, 0);
		}
		usleep(10000);
	}
	if (!strcmp(phase, "exec") && !getenv("UFT_HOSTILE_AGAIN")) {
		setenv("UFT_HOSTILE_AGAIN", "1", 1);
		execv("/proc/self/exe", argv);
	}
}

/* Has this process the file at @path mapped? */
static int maps(const char *path)
{
	FILE *f = fopen("/proc/self/maps", "r");
	size_t len = strlen(path);
	char line[1024];
	int found = 0;

	while (f && fgets(line, sizeof(line), f)) {
		char *at = strchr(line, '/');

		found |= at && !strncmp(at, path, len) && (at[len] == '\n' || at[len] == ' ');
	}
	if (f)
		fclose(f);
	return found;
}

static int proc_fd;		/* a confined child looks there */

/* What a child does to itself before its first event, as @how says; root alone may do most of it. */
static void confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (!strcmp(how, "filter") &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)))
		_exit(2);
	proc_fd = open("/proc", O_PATH | O_DIRECTORY);
	if (getuid() == 0 && (!strcmp(how, "chroot") || !strcmp(how, "late")) &&
	    (chroot("/proc/self/fdinfo") || chdir("/")))
		_exit(2);
	if (getuid() == 0 && !strcmp(how, "user") && (setgid(65534) || setuid(65534)))
		_exit(2);
}

/* A system call whose number stands nowhere: no hook sees it. */
static pid_t fork_unseen(void)
{
	static volatile long masked = ~(long)SYS_clone;
	long nr = ~masked;
#if defined(__x86_64__)
	register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;

	__asm__ volatile("syscall" : "+a"(nr) : "D"(SIGCHLD), "S"(0), "d"(0), "r"(r10), "r"(r8) : "rcx", "r11",
			 "memory");
	return (pid_t)nr;
#elif defined(__aarch64__)
	register long x0 __asm__("x0") = SIGCHLD, x1 __asm__("x1") = 0, x2 __asm__("x2") = 0, x3 __asm__("x3") = 0,
			 x4 __asm__("x4") = 0;
	register long x8 __asm__("x8") = nr;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x8) : "memory");
	return (pid_t)x0;
#elif defined(__riscv)
	register long a0 __asm__("a0") = SIGCHLD, a1 __asm__("a1") = 0, a2 __asm__("a2") = 0, a3 __asm__("a3") = 0,
			 a4 __asm__("a4") = 0;
	register long a7 __asm__("a7") = nr;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7) : "memory");
	return (pid_t)a0;
#else
	return fork();
#endif
}

/* The recorder. */
static void signal_recorder(int sig)
{
	const struct uft_arena *board = (const void *)((char *)its_bell - offsetof(struct uft_arena, bell));

	kill((pid_t)board->session_pid, sig);
}

/* What this process has asked for is found by those alone who look for it. */
static void hide_request(void)
{
	int fd = openat(proc_fd, "self/maps", O_RDONLY);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[1024];
	unsigned long long lo;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "/session.") && !strstr(line, UFT_BOARD_SUFFIX "\n") &&
		    sscanf(line, "%llx-", &lo) == 1 && is_own((char *)(uintptr_t)lo))
			((struct uft_mail *)(uintptr_t)lo)->posted = 0;
	if (f)
		fclose(f);
}

/* Exit status of the child and its child: 0, or 5 if it has what is its parent's. */
static int bear_heir(int generation)
{
	const int is_unseen = !strcmp(how, "unseen"), is_late_heir = !strcmp(how, "late") && generation;
	pid_t pid = is_unseen ? fork_unseen() : fork();
	int status;

	if (pid == 0) {
		/*
		 * Before its first event (but for machines whose fast paths read there), and after. Files that
		 * a confined child cannot open are read before.
		 */
#ifdef __x86_64__
		const int is_late = 0;
#else
		const int is_late = is_unseen;
#endif

		if (!is_late && maps(family))
			_exit(5);
		if (!generation)
			confine();
		if (is_late_heir)
			signal_recorder(SIGSTOP);
		work(0);
		if (!strcmp(how, "once") && getuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(2);
		work(1);
		if (maps(family))
			_exit(5);
		for (int i = 0; is_late_heir && i < LATE_CALLS; i++)
			work(i);
		if (is_late_heir)
			hide_request();
		_exit(generation ? 0 : bear_heir(1));
	}
	if (waitpid(pid, &status, 0) != pid)
		status = 2 << 8;
	if (is_late_heir) {
		usleep(1500000);		/* the recorder looks for families without a process once in a second */
		signal_recorder(SIGCONT);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

#define NDEAF	6	/* processes */

/* The agent that a family which this process has mapped names, one of several perhaps: spares are mapped, too. */
static pid_t agent_of(const char *line)
{
	unsigned long long lo;
	struct uft_slice *slice;

	if (!strstr(line, "/session.") || strstr(line, UFT_BOARD_SUFFIX "\n") || sscanf(line, "%llx-", &lo) != 1)
		return 0;
	slice = (struct uft_slice *)(uintptr_t)(lo + slice_at);
	return slice->pid == (uint32_t)getpid() ? (pid_t)slice->agent_tid : 0;
}

/* Stops the agent of this process; returns its number, 0: it has none. */
static pid_t deafen(void)
{
	pid_t agent = 0;

	for (int i = 0; i < 100 && !agent; i++) {
		FILE *f = fopen("/proc/self/maps", "r");
		char line[1024];

		work(i);
		while (f && !agent && fgets(line, sizeof(line), f))
			agent = agent_of(line);
		if (f)
			fclose(f);
		usleep(10000);
	}
	return agent > 0 && !kill(agent, SIGSTOP) ? agent : 0;
}

static pid_t answerer;

struct deaf { char family[1024]; uint64_t slice_at, command_at; };

#define TARDY_MS	1500	/* less than the recorder waits, by itself */

/*
 * Answers for processes that are held meanwhile, whose files come by the pipe @fd: LEAVE has one place left, each time, or,
 * if @is_tardy, each command takes its time.
 */
static void answer_for(int fd, int is_tardy)
{
	struct { struct uft_slice *slice; struct uft_cmd *command; unsigned ms; } one[NDEAF];
	struct deaf d;
	int n = 0;

	alarm(60);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		if (read(fd, &d, sizeof(d)) == sizeof(d) && n < NDEAF) {
			int file = open(d.family, O_RDWR);
			char *mail =
				mmap(NULL, d.command_at + UFT_CMD_PAYLOAD, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

			if (mail == MAP_FAILED)
				_exit(2);
			one[n].ms = 0;
			one[n].slice = (struct uft_slice *)(mail + d.slice_at);
			one[n++].command = (struct uft_cmd *)(mail + d.command_at);
		}
		for (int i = 0; i < n; i++) {
			uint32_t seq = __atomic_load_n(&one[i].slice->cmd_seq, __ATOMIC_ACQUIRE);

			if (one[i].slice->cmd_done == seq || (is_tardy && one[i].ms++ < TARDY_MS))
				continue;
			one[i].ms = 0;
			one[i].command->n = 0;
			one[i].slice->cmd_result = !is_tardy && one[i].command->op == UFT_CMD_LEAVE;
			__atomic_store_n(&one[i].slice->cmd_done, seq, __ATOMIC_RELEASE);
			wake(&one[i].slice->cmd_done);
		}
		usleep(1000);
	}
}

/* It is no target, but is told of each. Returns where. */
static int start_answers(int is_tardy)
{
	int to[2];

	if (pipe(to))
		exit(2);
	answerer = fork();
	if (!answerer) {
		close(to[1]);
		answer_for(to[0], is_tardy);
	}
	close(to[0]);
	return to[1];
}

static void have_answered(int to)
{
	struct deaf d = { .slice_at = slice_at };

	find_areas("agent");
	memcpy(d.family, family, sizeof(d.family));
	d.command_at = (uint64_t)((char *)its_command - (char *)its_mail);
	if (write(to, &d, sizeof(d)) != sizeof(d))
		exit(2);
}

/* Is its code armed? */
static int has_events(void)
{
	uint64_t used = 0;

	work(0);
	for (unsigned i = 0; i < sizeof(its_slice->used) / sizeof(its_slice->used[0]); i++)
		used |= its_slice->used[i];
	return used != 0;
}

static int be_deaf(int answers)
{
	int told[2], over[2], n = 0, is_parent;
	pid_t agent;
	char c;

	if (pipe(told) || pipe(over))
		return 2;
	while (!has_events())
		usleep(10000);
	while (n < NDEAF - 1 && fork())
		n++;
	is_parent = n == NDEAF - 1;
	if (!is_parent)
		close(over[1]);
	agent = deafen();
	if (agent && answers >= 0)
		have_answered(answers);
	if (answers >= 0)
		close(answers);
	c = (char)(agent != 0 || !is_parent);	/* a child without a traced call has none */
	if (write(told[1], &c, 1) != 1)
		return 2;
	for (n = 0; is_parent && n < NDEAF && read(told[0], &c, 1) == 1 && c; n++)
		;
	if (is_parent && n == NDEAF) {
		fclose(fopen("deaf", "w"));
		for (int i = 0; i < 5500 && access("left", F_OK); i++)
			usleep(10000);
	}
	close(over[1]);
	while (!is_parent && read(over[0], &c, 1) > 0)
		;
	if (agent)
		kill(agent, SIGKILL);
	if (is_parent && answerer)
		kill(answerer, SIGKILL);
	while (is_parent && wait(NULL) > 0)
		;
	return is_parent && n < NDEAF ? 3 : 0;
}

static int leave_orphan(void)
{
	const pid_t agent = deafen();
	FILE *f = fopen("agent", "w");

	return !agent || !f || fprintf(f, "%d\n", agent) < 0 || fclose(f) ? 3 : 0;
}

static void *drop_rights(void *arg)
{
	/* The system calls, each of which is about the calling thread alone. */
	if (getuid() == 0 && (syscall(SYS_setgid, 65534) || syscall(SYS_setuid, 65534)))
		_exit(2);
	if (arg)
		for (int i = 0; i < 100; i++)
			work(i);
	return NULL;
}

/* 100 calls behind the moment at which it has given up its rights, by the one who has. */
static int drop(const char *when, char **argv)
{
	pthread_t thread;
	pid_t pid = 0;
	int status = 0;

	if (!strcmp(when, "thread"))
		return pthread_create(&thread, NULL, drop_rights, argv) || pthread_join(thread, NULL) ? 2 : 0;
	if (getenv("UFT_HOSTILE_AGAIN")) {
		for (int i = 0; i < 100; i++)
			work(i);
		return 0;
	}
	drop_rights(NULL);
	if (!strcmp(when, "exec")) {
		setenv("UFT_HOSTILE_AGAIN", "1", 1);
		execv("/proc/self/exe", argv);
		return 2;
	}
	if (!strcmp(when, "fork") && (pid = fork()) > 0)
		return waitpid(pid, &status, 0) == pid && !status ? 0 : 2;
	for (int i = 0; i < 100; i++)
		work(i);
	return 0;
}

static uint64_t secret[1024];

__attribute__((noinline)) static int witness(int n)
{
	int is_wrong = 0;

	for (unsigned i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
		is_wrong |= secret[i] != i * 0x9e3779b97f4a7c15ull;
	return is_wrong ? n + 1 : 0;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define BOUND_S	5

/* Does the agent go on that the file "agent" tells of? A number may belong to another process by now. */
static int has_orphan(void)
{
	FILE *f = fopen("agent", "r");
	char path[64], name[32], state;
	int pid = 0, goes_on = 0;

	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = pid ? fopen(path, "r") : NULL;
	if (f && fscanf(f, "%*d (%31[^)]) %c", name, &state) == 2)
		goes_on = !strcmp(name, "uft-agent") && !strchr("ZX", state);
	if (f)
		fclose(f);
	return goes_on;
}

static int ends_late(double begin)
{
	while (seconds() - begin <= BOUND_S && has_orphan())
		usleep(10000);
	return seconds() - begin > BOUND_S;
}

static int repeat(int n, char **argv)
{
	int nfound = 0, nlate = 0, nchanged = 0, status;
	char text[24];

	seed = getenv("UFT_HOSTILE_SEED") ? strtoull(getenv("UFT_HOSTILE_SEED"), NULL, 10) : 0;
	for (unsigned i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
		secret[i] = i * 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < n; i++) {
		const double begin = seconds();
		pid_t pid;

		unlink("agent");

		snprintf(text, sizeof(text), "%llu", (unsigned long long)(seed * 1000 + (unsigned)i));
		setenv("UFT_HOSTILE_SEED", text, 1);
		pid = fork();
		if (!pid) {
			execv("/proc/self/exe", argv);
			_exit(9);
		}
		if (waitpid(pid, &status, 0) != pid)
			return 2;
		if (WIFEXITED(status) && strchr("\4\5\11", WEXITSTATUS(status)) && WEXITSTATUS(status))
			return WEXITSTATUS(status);
		nfound += !WIFEXITED(status) || WEXITSTATUS(status) != 3;
		nlate += ends_late(begin);
		nchanged += witness(i) != 0;
	}
	printf("found %d late %d changed %d\n", nfound, nlate, nchanged);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int is_once, is_attached, answers;

	if (argc < 3)
		return 2;
	is_attached = argc > 3 && !strcmp(argv[3], "attach");
	if (strcmp(argv[1], "repeat"))
		alarm(is_attached ? 60 : 10);
	open("alive", O_WRONLY);
	if (!strcmp(argv[1], "repeat"))
		return argc < 6 ? 2 : repeat(atoi(argv[2]), argv + 2);
	how = argv[2];
	seed = getenv("UFT_HOSTILE_SEED") ? strtoull(getenv("UFT_HOSTILE_SEED"), NULL, 10) : 0;
	is_once = !strcmp(how, "once");
	if (!strcmp(argv[1], "drop"))
		return drop(how, argv);
	answers = !strcmp(argv[1], "restore") || !strcmp(argv[1], "tardy") ? start_answers(argv[1][0] == 't') : -1;
	if (!strcmp(argv[1], "spares")) {
		drop_rights(NULL);
		/* as if it had executed something since: it gets at its agent's files */
		prctl(PR_SET_DUMPABLE, 1);
	}
	find_areas(argv[1]);
	while (is_attached && !nareas) {
		usleep(20000);
		find_areas(argv[1]);
	}
	if (is_attached && strcmp(argv[1], "agent") && answers < 0)
		alarm(10);
	/*
	 * Not traced, or out of its reach: nothing to spoil. What it executes is not followed if the request
	 * was spoilt.
	 */
	if (!nareas)
		return getenv("UFT_HOSTILE_AGAIN") ? 0 : 3;
	if (!strcmp(argv[1], "heir"))
		return bear_heir(0);
	if (!strcmp(argv[1], "agent") || answers >= 0)
		return be_deaf(answers);
	if (!strcmp(argv[1], "orphan"))
		return leave_orphan();
	if (is_once)
		spoil();
	else if (pthread_create(&thread, NULL, spoiler, argv[1]))
		return 2;
	live(argc > 3 ? argv[3] : "run", argv);
	is_over = 1;
	if (!is_once)
		pthread_join(thread, NULL);
	if (nfamilies)
		fprintf(stderr, "hostile: has %u families\n", nfamilies);
	return nfamilies > MOST_FAMILIES ? 6 : 0;
}
