/* SPDX-License-Identifier: MIT */
/*
 * rights.h - cases of hazards.c about the program's rights, limits and descriptors, and the memory that it locks
 *
 * A part of that file, as one program is built in many ways by one call of a compiler.
 */
NI static int t_userns(void)
{
	HIT();
	work();
	int r = unshare(CLONE_NEWUSER), e = errno;

	work();
	return r == 0 || e == EPERM || e == ENOSPC || e == EUSERS;
}
/* Does a child of this process, which has none of its own, run as root still? It has a second to stop it. */
NI static int helper_is_root(void)
{
	HIT();
	char path[300], text[4096];
	int root = 0;

	for (int tries = 0; tries < 20; tries++) {
		DIR *d = opendir("/proc");
		struct dirent *e;

		root = 0;
		while (d && (e = readdir(d))) {
			FILE *f;
			int ppid = 0, uid = 1;

			snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
			f = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? fopen(path, "r") : 0;
			while (f && fgets(text, sizeof(text), f)) {
				sscanf(text, "PPid: %d", &ppid);
				sscanf(text, "Uid: %*d %d", &uid);
			}
			if (f)
				fclose(f);
			root |= ppid == getpid() && uid == 0;
		}
		if (d)
			closedir(d);
		if (!root)
			break;
		usleep(50000);
	}
	return root;
}
NI static int t_setuid(void)
{
	HIT();
	if (geteuid())
		return 1;
	pid_t p = fork();
	int st;

	if (!p) {
		work();
		if (setgid(65534) || setuid(65534))
			_exit(1);
		work();
		_exit(geteuid() == 65534 && open("/etc/shadow", O_RDONLY) == -1 && !helper_is_root() ? 0 : 2);
	}
	waitpid(p, &st, 0);
	return st == 0;
}
/* The rest of the case runs in a child, so that its parent can still write the counts. */
NI static int in_child(int (*run)(void))
{
	HIT();
	pid_t p = fork();
	int st;

	if (!p)
		_exit(run() ? 6 : 7);
	waitpid(p, &st, 0);
	return WIFEXITED(st) && WEXITSTATUS(st) == 6;
}
NI static int closerange(void)
{
	HIT();
	work();
	syscall(SYS_close_range, 3, ~0u, 0);
	work();
	int fd = open("/dev/null", O_RDONLY);

	return fd == 3;
}
NI static int t_closerange(void) { HIT(); return in_child(closerange); }
NI static int t_fds(void)	/* no descriptor of ours shows */
{
	HIT();
	work();
	for (int i = 0; i < 1024; i++)
		if (fcntl(i, F_GETFD) != -1)
			printf("%d ", i);
	return 1;
}
NI static int t_pipe_eof(void)	/* nobody else holds the program's descriptors */
{
	HIT();
	int fd[2], st;
	char c;

	if (pipe(fd))
		return 0;
	work();
	pid_t p = fork();

	if (!p) {	/* what helps this one begins with a copy of all its descriptors */
		struct pollfd w = { .fd = fd[0] };

		work();
		close(fd[1]);
		_exit(poll(&w, 1, 3000) == 1 && w.revents == POLLHUP && read(fd[0], &c, 1) == 0 ? 0 : 1);
	}
	close(fd[1]);
	waitpid(p, &st, 0);
	return st == 0 && read(fd[0], &c, 1) == 0;
}
NI static void *seccomp_thread(void *arg) { HIT(); work(); return arg; }
NI static int t_seccomp(void)	/* a filter for all threads that kills for nearly everything */
{
	HIT();
	pid_t p = fork();
	int st;

	if (!p) {
		struct sock_filter f[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 8, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 7, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 6, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 5, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 4, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 3, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 2, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 1, 0),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog prog = { sizeof(f) / sizeof(*f), f };
		pthread_t t;

		work();
		pthread_create(&t, 0, seccomp_thread, 0);
		pthread_join(t, 0);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog))
			_exit(8);
		for (int i = 0; i < 100; i++)
			work();
		_exit(0);
	}
	waitpid(p, &st, 0);
	return WIFEXITED(st) && WEXITSTATUS(st) == 0;
}
NI static int t_chroot(void)
{
	HIT();
	if (geteuid())
		return 1;
	pid_t p = fork();
	int st;

	if (!p) {
		if (chroot("/proc/self/fdinfo") || chdir("/"))
			_exit(1);
		work();
		p = fork();
		if (!p) {
			work();
			_exit(4);
		}
		waitpid(p, &st, 0);
		_exit(WEXITSTATUS(st));
	}
	waitpid(p, &st, 0);
	return WIFEXITED(st) && WEXITSTATUS(st) == 4;
}
NI static int limits(void)
{
	HIT();
	struct rlimit n = { 3, 3 }, as = { 0, 0 };

	setrlimit(RLIMIT_NOFILE, &n);
	setrlimit(RLIMIT_AS, &as);
	setrlimit(RLIMIT_FSIZE, &as);
	for (int i = 0; i < 100; i++)
		work();
	return 1;
}
NI static int t_limits(void) { HIT(); return in_child(limits); }
NI static int t_dumpable(void) { HIT(); prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); work(); return 1; }
NI static long status_kb(const char *field)
{
	HIT();
	char line[128];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			kb = atol(line + strlen(field));
	if (f)
		fclose(f);
	return kb;
}
NI static int t_mlockall(void)
{
	HIT();
	struct rusage u;

	int r = mlockall(MCL_CURRENT);

	work();
	getrusage(RUSAGE_SELF, &u);
	/* not the whole arena: under 1 GiB */
	return r == 0 && u.ru_maxrss < 1 << 20 && status_kb("VmLck:") < 1 << 20;
}

/* The same past libc's function; and syscall() does with six arguments what it did. */
NI static int t_mlockraw(void)
{
	HIT();
	struct rusage u;
	char *m = (char *)syscall(SYS_mmap, NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE,
				  open("/proc/self/exe", O_RDONLY), 4096);
	char page[4096];
	int fd = open("/proc/self/exe", O_RDONLY), bad;
	int r = syscall(SYS_mlockall, MCL_CURRENT | MCL_FUTURE);

	work();
	getrusage(RUSAGE_SELF, &u);
	bad = syscall(SYS_mlockall, 0x100) != -1 || errno != EINVAL || syscall(SYS_getpid) != getpid();
	return r == 0 && !bad && u.ru_maxrss < 1 << 20 && status_kb("VmLck:") < 1 << 20 && m != MAP_FAILED &&
	       pread(fd, page, sizeof(page), 4096) == sizeof(page) && !memcmp(m, page, sizeof(page));
}

static int is_raw;
NI static int lock_below(long kb, int flags)
{
	HIT();
	struct rlimit n;
	int r;

	getrlimit(RLIMIT_MEMLOCK, &n);
	n.rlim_cur = (rlim_t)kb << 10;
	setrlimit(RLIMIT_MEMLOCK, &n);
	r = (is_raw ? (int)syscall(SYS_mlockall, flags) : mlockall(flags)) ? errno : 0;
	return r;
}
/* As a user with a limit: from what limit on is it possible? That is the same untraced, to the page. */
NI static int mlocklimit(void)
{
	HIT();
	long no = 4, most, yes, locked;
	struct rlimit now;

	getrlimit(RLIMIT_MEMLOCK, &now);
	most = yes = now.rlim_max < 64 << 20 ? now.rlim_max >> 10 : 64 << 10;

	if (!getuid() && setuid(65534))
		return 0;
	if (lock_below(0, MCL_CURRENT) != EPERM || lock_below(no, MCL_CURRENT) != ENOMEM ||
	    lock_below(yes, MCL_CURRENT))
		return 0;
	while (yes - no > 4) {
		long half = (no + yes) / 8 * 4;

		munlockall();
		if (lock_below(half, MCL_CURRENT))
			no = half;
		else
			yes = half;
	}
	if (lock_below(yes, MCL_CURRENT))
		return 0;
	locked = status_kb("VmLck:");
	printf("possible from %ld KB on\n", yes);
	fflush(stdout);
	munlockall();
	/* What comes later is locked until the other call says that it is not. */
	if (lock_below(most, MCL_FUTURE) || lock_below(most, MCL_CURRENT))
		return 0;
	no = status_kb("VmLck:");
	if (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		return 0;
	work();
	return locked > yes / 2 && locked <= yes && no <= yes + 1024 && status_kb("VmLck:") == no &&
	       !lock_below(most, MCL_CURRENT | MCL_FUTURE);
}
NI static int t_mlocklimit(void) { HIT(); return in_child(mlocklimit); }
NI static int t_mlocklimitraw(void) { HIT(); is_raw = 1; return in_child(mlocklimit); }
