// SPDX-License-Identifier: MIT
/*
 * attacks.c - a target that does to itself what makes it hard to attach to, to record and to leave
 *
 * Usage: attacks MODE [FILE]
 *
 * It begins before it is attached to, and goes on until it has been left, for 200 s at most. It says "ready" when it has begun, and "sent" when its agent's socket holds one that lingers. Whatever
 * becomes of the program itself is its own affair: attacks.sh looks at the recorder. FILE is a copy of the program, in a directory "uft".
 * Exit 7: the recorder waited until the kernel took the lease of FILE away.
 */
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS		200	/* longer than its recorder may take */
#define STACK_BYTES	(256 << 10)
#define AGENTS_MAX	16
#define AREAS_MAX	64
#define FDS_MAX		64	/* of an agent */
#define LEASES_MAX	1024
#define LINGER_S	600
#define KCMP_VM_	1
#define SYSCALL_DISPATCH 59	/* PR_SET_SYSCALL_USER_DISPATCH */

static time_t end;
static const char *file;

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int is_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec < end;
}

static void *keep_working(void *arg)
{
	for (int n = 0; is_time(); usleep(1000))
		for (int i = 0; i < 1000; i++)
			n = work(n);
	return arg;
}

static void spawn(void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&thread, &attr, fn, arg))
		exit(2);
}

static void ignore(int sig)
{
	(void)sig;
}

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

/* ---- Children ----------------------------------------------------------------------------------- */

static void *fork_always(void *arg)
{
	while (is_time()) {
		pid_t pid = fork();

		if (!pid)
			_exit(work(0) != 1);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		work(1);
	}
	return arg;
}

static void forks(void)
{
	spawn(fork_always, NULL);
	fork_always(NULL);
}

static int live_once(void *arg)
{
	(void)arg;
	return work(1) != 2;
}

static __attribute__((noinline)) void vfork_once(void)
{
	if (!vfork())
		_exit(work(0) != 1);
}

/* Flags that no libc uses for a fork or a thread. */
static void clones(void)
{
	static const int flags[] = { CLONE_VM, CLONE_VM | CLONE_FILES, CLONE_VM | CLONE_FS | CLONE_FILES |
		CLONE_SIGHAND,
		CLONE_PARENT, CLONE_VM | CLONE_PARENT, CLONE_FILES, CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWPID,
		CLONE_NEWUSER | CLONE_NEWNS, CLONE_VM | CLONE_NEWUSER, CLONE_VFORK, CLONE_PTRACE, CLONE_UNTRACED,
		CLONE_VM | CLONE_UNTRACED, CLONE_VM | CLONE_VFORK, CLONE_SYSVSEM, CLONE_IO };
	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned i = 0; is_time(); i++) {
		clone(live_once, stack + STACK_BYTES - 64, flags[i % (sizeof(flags) / sizeof(flags[0]))] | SIGCHLD,
		      NULL);
		work(0);
		while (waitpid(-1, NULL, __WALL) > 0)
			;
		if (i % 7 == 0)
			vfork_once();
	}
}

static void *vfork_forever(void *arg)
{
	const pid_t parent = getpid();

	if (!vfork()) {
		while (is_time() && getppid() == parent)	/* the test ends that one */
			usleep(10000);
		_exit(0);
	}
	return arg;
}

static void vforks(void)
{
	for (int i = 0; i < 4; i++)
		spawn(vfork_forever, NULL);
	keep_working(NULL);
}

/* ---- The agent ---------------------------------------------------------------------------------- */

/* Processes that share this one's memory. */
static int find_agents(pid_t of, pid_t *agent)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && n < AGENTS_MAX && (e = readdir(d))) {
		const pid_t pid = atoi(e->d_name);

		if (pid && pid != of && pid != getpid() && !syscall(SYS_kcmp, of, pid, KCMP_VM_, 0, 0))
			agent[n++] = pid;
	}
	if (d)
		closedir(d);
	return n;
}

static void *signal_agents(void *arg)
{
	pid_t agent[AGENTS_MAX];

	for (int sig = 1; is_time(); sig = sig % 64 + 1, usleep(1000))
		for (int n = find_agents(getpid(), agent); n > 0 && sig != SIGKILL; n--) {
			kill(agent[n - 1], sig);
			kill(agent[n - 1], SIGCONT);
		}
	return arg;
}

static void signals(void)
{
	spawn(signal_agents, NULL);
	forks();
}

static void kills(void)
{
	pid_t agent[AGENTS_MAX];

	spawn(keep_working, NULL);
	for (; is_time(); usleep(20000))
		for (int n = find_agents(getpid(), agent); n > 0; n--)
			kill(agent[n - 1], SIGKILL);
}

/* A child that has the agent held, and never lets it go. */
static void seizes(void)
{
	const pid_t parent = getpid();
	pid_t agent[AGENTS_MAX];

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (!fork()) {
		for (; is_time() && getppid() == parent; usleep(2000))
			for (int n = find_agents(parent, agent); n > 0; n--)
				if (!ptrace(PTRACE_SEIZE, agent[n - 1], 0, 0))
					ptrace(PTRACE_INTERRUPT, agent[n - 1], 0, 0);
		_exit(0);
	}
	keep_working(NULL);
}

static void stops(void)
{
	const pid_t parent = getpid();

	if (!fork()) {
		for (int i = 0; is_time() && getppid() == parent; i++, usleep(500))
			kill(parent, i & 1 ? SIGCONT : SIGSTOP);
		kill(parent, SIGCONT);
		_exit(0);
	}
	forks();
}

/* ---- What the agent has open -------------------------------------------------------------------- */

/* A socket of TCP with bytes that nobody reads, whose last close() waits for them. */
static int open_lingering(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct linger linger = { 1, LINGER_S };
	int listener = socket(AF_INET, SOCK_STREAM, 0), sock = socket(AF_INET, SOCK_STREAM, 0), small = 2048;
	static const char bytes[65536];
	socklen_t n = sizeof(at);

	if (setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) ||
	    bind(listener, (struct sockaddr *)&at, n) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&at, &n) || connect(sock, (struct sockaddr *)&at, n) ||
	    setsockopt(sock, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		exit(2);
	while (send(sock, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return sock;
}

/* 1: it is queued at the other end. */
static int send_socket(int to, int sock)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control;
	struct iovec iov = { (void *)(uintptr_t)"abc", 4 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control) };

	memset(&control, 0, sizeof(control));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &sock, sizeof(int));
	return sendmsg(to, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == 4;
}

/* Files of the recorder alone: a task on its way to become an agent has the program's, too. */
static int is_recorders(pid_t agent, int number)
{
	char link[64], path[1024];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", agent, number);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	return strstr(path, "/session.") != NULL;
}

static void seal_file(int fd)
{
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 30);
	if (ftruncate(fd, 0) || ftruncate(fd, 1 << 30))
		fcntl(fd, F_SETLEASE, F_WRLCK);
	fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
	fcntl(fd, F_SETSIG, SIGKILL);
}

static void send_lingering(int fd)
{
	static int left = 100;		/* the listeners stay open */
	int sock, domain = 0;
	socklen_t n = sizeof(domain);

	if (!left || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) || domain != AF_UNIX)
		return;
	sock = open_lingering();
	left--;
	if (send_socket(fd, sock))
		say("sent");
	close(sock);
}

/*
 * In turn all that its agents have open: files of the recorder are sealed and cut off, or a Unix socket gets
 * one that lingers.
 */
static void spoil_files(int is_for_sockets)
{
	pid_t agent[AGENTS_MAX];

	for (; is_time(); usleep(50000))
		for (int n = find_agents(getpid(), agent); n > 0; n--) {
			const int pidfd = (int)syscall(SYS_pidfd_open, agent[n - 1], 0);

			for (int i = 0; i < FDS_MAX; i++) {
				const int fd = (int)syscall(SYS_pidfd_getfd, pidfd, i, 0);

				if (fd >= 0 && is_for_sockets)
					send_lingering(fd);
				else if (fd >= 0 && is_recorders(agent[n - 1], i))
					seal_file(fd);
				if (fd >= 0)
					close(fd);
			}
			close(pidfd);
		}
}

static void lingers(void)
{
	spawn(fork_always, NULL);
	spoil_files(1);
}

static void seals(void)
{
	spawn(fork_always, NULL);
	spoil_files(0);
}

/* ---- Memory ------------------------------------------------------------------------------------- */

struct area { char *at; size_t bytes; };

static int find_areas(struct area *area)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024];
	int n = 0;

	while (f && n < AREAS_MAX && fgets(line, sizeof(line), f)) {
		unsigned long long lo, hi;

		if (strstr(line, "/session.") && sscanf(line, "%llx-%llx", &lo, &hi) == 2)
			area[n++] = (struct area){ (char *)(uintptr_t)lo, (size_t)(hi - lo) };
	}
	if (f)
		fclose(f);
	return n;
}

static void spoil_area(struct area a, int how)
{
	switch (how) {
	case 0: madvise(a.at, a.bytes, MADV_REMOVE); break;
	case 1: mremap(a.at, a.bytes, a.bytes * 2, MREMAP_MAYMOVE); break;
	case 2: madvise(a.at, a.bytes, MADV_DOFORK); break;
	case 3: mprotect(a.at, a.bytes, PROT_NONE); break;
	default: munmap(a.at, a.bytes);
	}
}

static void memory(void)
{
	struct area area[AREAS_MAX];

	spawn(fork_always, NULL);
	for (int how = 0; is_time(); how++, usleep(100000))
		for (int n = find_areas(area); n > 0; n--)
			spoil_area(area[n - 1], how % 5);
}

static void *map_always(void *arg)
{
	const size_t bytes = 200 << 12;

	while (is_time()) {
		char *p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t at = 0; at < bytes; at += 2 << 12)
			mprotect(p + at, 1 << 12, PROT_READ | PROT_EXEC);
		work(1);
		munmap(p, bytes);
	}
	return arg;
}

static void maps(void)
{
	spawn(map_always, NULL);
	spawn(map_always, NULL);
	map_always(NULL);
}

/* The loader's list leads in circles, and to nowhere. */
static void links(void)
{
	struct link_map *first = _r_debug.r_map, *second = first->l_next, lie[2] = { *first, *first };

	spawn(keep_working, NULL);
	lie[0].l_next = &lie[1];
	lie[1].l_next = &lie[0];
	lie[1].l_name = (char *)1;
	for (int i = 0; is_time(); i++, usleep(3000)) {
		_r_debug.r_map = i % 4 == 3 ? (struct link_map *)8 : first;
		first->l_next = i % 4 == 0 ? first : i % 4 == 1 ? lie : second;
		work(i);
	}
}

/* Is the board of a recorder mapped? */
static int is_attached(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024];
	int found = 0;

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, "/session.") && strstr(line, ".b\n");
	if (f)
		fclose(f);
	return found;
}

static int has_lease(void)
{
	FILE *f = fopen("/proc/locks", "r");
	char line[256], pid[32];
	int found = 0;

	snprintf(pid, sizeof(pid), " %d ", getpid());
	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, "LEASE") && strstr(line, pid);
	if (f)
		fclose(f);
	return found;
}

/* It has mapped what is called as a session's file is, and whoever opens that waits for it. */
static void lease(void)
{
	int fd = open(file, O_RDONLY);

	signal(SIGIO, SIG_IGN);
	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED || fcntl(fd, F_SETLEASE, F_WRLCK) ||
	    !has_lease())
		exit(2);
	say("ready");
	while (is_time() && !is_attached()) {
		work(1);
		usleep(1000);
	}
	if (is_time() && !has_lease())
		exit(7);
	keep_working(NULL);
}

/* What a recorder reads of a process is leased until the kernel takes that away, and then again. */
static int leased[LEASES_MAX];
static unsigned nleased;
static int is_maps_only;

static void open_files(pid_t pid)
{
	static const char *const names[] = { "maps", "mem", "status", "stat", "comm", "auxv", "cmdline", "cgroup",
		"autogroup", "schedstat", "syscall", "task/%d/comm", "task/%d/stat", "task/%d/status",
		"task/%d/syscall", "task/%d/children" };
	char dir[32], path[96];

	snprintf(dir, sizeof(dir), "/proc/%d/", pid);
	for (unsigned i = 0; i < (is_maps_only ? 1 : sizeof(names) / sizeof(names[0])) && nleased < LEASES_MAX; i++) {
		snprintf(path, sizeof(path), "%s", dir);
		snprintf(path + strlen(dir), sizeof(path) - strlen(dir), names[i], pid);
		leased[nleased] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		nleased += leased[nleased] >= 0;
	}
}

/* The first file is its own list of mappings, which it can read by the lease's own descriptor alone. */
static int maps_session(void)
{
	static char text[1 << 20];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(text) - 1 && (got = pread(leased[0], text + n, sizeof(text) - 1 - n, (off_t)n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	return strstr(text, "/session.") && strstr(text, ".b\n");
}

static void keep_leases(void)
{
	pid_t agent[AGENTS_MAX], had[LEASES_MAX];
	unsigned nhad = 0;

	for (int is_said = 0; is_time(); usleep(5000)) {
		for (int n = find_agents(getpid(), agent); n > 0; n--) {
			unsigned i = 0;

			while (i < nhad && had[i] != agent[n - 1])
				i++;
			if (i < nhad || nhad == LEASES_MAX)
				continue;
			had[nhad++] = agent[n - 1];
			open_files(agent[n - 1]);
		}
		for (unsigned i = 0; i < nleased; i++)
			fcntl(leased[i], F_SETLEASE, F_WRLCK);
		if (!is_said && maps_session()) {
			say("attached");
			is_said = 1;
		}
	}
}

/* From the beginning, where without most of them no recorder tries to attach, or when it has been attached to. */
static void lease_files(int is_late)
{
	int own = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	signal(SIGIO, SIG_IGN);
	if (fcntl(own, F_SETLEASE, F_WRLCK))
		exit(2);
	close(own);
	spawn(fork_always, NULL);
	if (is_late) {
		say("ready");
		while (is_time() && !is_attached())
			usleep(1000);
	}
	open_files(getpid());
	for (unsigned i = 0; i < nleased; i++)
		fcntl(leased[i], F_SETLEASE, F_WRLCK);
	if (!is_late)
		say("ready");
	keep_leases();
}

static void leased_first(void)
{
	is_maps_only = 1;
	lease_files(0);
}

static void leased_late(void)
{
	lease_files(1);
}

/* ---- Registers and system calls ----------------------------------------------------------------- */

static void *stack_away(void *arg)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n1: pause\n jmp 1b" : : "r"(arg) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov sp, %0\n1: yield\n b 1b" : : "r"(arg) : "memory");
#endif
	return arg;
}

static void stacks(void)
{
	spawn(stack_away, (void *)16);
	spawn(stack_away, (void *)(uintptr_t)0xffffffff81000000);
	keep_working(NULL);
	syscall(SYS_exit_group, 0);
}

/* None of its system calls is made, only SIGSYS is sent. */
static volatile char selector;

static void *dispatch(void *arg)
{
	prctl(SYSCALL_DISPATCH, 1, 0, 0, &selector);
	selector = 1;
	for (unsigned i = 1;; i++) {
		work(1);
		if (i % (1u << 22))
			continue;
		selector = 0;
		if (!is_time())
			syscall(SYS_exit_group, 0);
		selector = 1;
	}
	return arg;
}

static void dispatches(void)
{
	signal(SIGSYS, ignore);
	spawn(dispatch, NULL);
	dispatch(NULL);
}

/* Its next clone() waits for an answer that nobody gives. */
static void notifies(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	spawn(keep_working, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog) < 0)
		exit(2);
	while (is_time())
		work(1);
}

static const struct { const char *name; void (*fn)(void); } modes[] = {
	{ "forks", forks }, { "clones", clones }, { "vforks", vforks }, { "signals", signals }, { "kills", kills },
	{ "seizes", seizes }, { "stops", stops }, { "lingers", lingers }, { "seals", seals }, { "memory", memory },
	{ "maps", maps }, { "links", links }, { "lease", lease }, { "leased", leased_first }, { "leases", leased_late },
	{ "stacks", stacks }, { "dispatches", dispatches }, { "notifies", notifies },
};

int main(int argc, char **argv)
{
	struct timespec now;

	if (argc < 2)
		return 2;
	/* as another user, if it may, and as if it had executed something since */
	if (getuid() == 0 && (setgid(65534) || setuid(65534)))
		return 2;
	prctl(PR_SET_DUMPABLE, 1);
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + SECONDS;
	alarm(SECONDS + 1);
	file = argc > 2 ? argv[2] : NULL;
	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name)) {
			if (modes[i].fn != lease && modes[i].fn != leased_first && modes[i].fn != leased_late)
				say("ready");
			modes[i].fn();
			return 0;
		}
	return 2;
}
