// SPDX-License-Identifier: MIT
/*
 * unanswered.c - a program that asks before each mmap(), and gets no answer while the recorder works in it
 *
 * Usage: unanswered killable|interruptible. A child sets a seccomp filter that asks its parent, by a system call that no hook is at, and
 * executes this program. The parent answers nothing for HOLD_S, has another child execute it then,
 * and answers all. Both must end well. killable: the kernel lets the child wait until it is answered or killed.
 * Exit 77: there is no such filter.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOLD_S		8
#define WAIT_KILLABLE	(1ul << 5)	/* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int ask_before_mmap(unsigned long flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };
	long ret = -1;

#ifdef __x86_64__
	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(SYS_seccomp), "D"((long)SECCOMP_SET_MODE_FILTER),
				 "S"(flags | SECCOMP_FILTER_FLAG_NEW_LISTENER),
			 "d"(&filter) : "rcx", "r11", "memory");
#endif
	return (int)ret;
}

static void stuck(int to_parent, int from_parent, unsigned long flags)
{
	char c;
	int fd;

	work(1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fd = ask_before_mmap(flags);
	if (write(to_parent, &fd, sizeof(fd)) == sizeof(fd) && read(from_parent, &c, 1) == 1)
		execl("/proc/self/exe", "unanswered", NULL);
	_exit(2);
}

/* The child waits for this one from now on. */
static struct seccomp_notif take(int fd)
{
	struct seccomp_notif n;

	do
		memset(&n, 0, sizeof(n));
	while (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0 && (errno == EINTR || errno == ENOENT));
	return n;
}

static void answer(int fd, unsigned long long id)
{
	struct seccomp_notif_resp r = { .id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int up[2], down[2], fd = -1, its = 0, status = 0;
	struct seccomp_notif first;
	double begin;
	pid_t pid, other;

	if (argc < 2)
		return work(argc) == 0;
	if (pipe(up) || pipe(down))
		return 2;
	pid = fork();
	if (!pid)
		stuck(up[1], down[0], strcmp(argv[1], "killable") ? 0 : WAIT_KILLABLE);
	if (pid < 0 || read(up[0], &its, sizeof(its)) != sizeof(its) || its < 0)
		return 77;
	fd = (int)syscall(438 /* pidfd_getfd */, (int)syscall(434 /* pidfd_open */, pid, 0), its, 0);
	if (fd < 0 || write(down[1], "x", 1) != 1)
		return 77;
	first = take(fd);
	begin = seconds();
	sleep(HOLD_S);
	other = fork();
	if (!other) {
		execl("/proc/self/exe", "unanswered", NULL);
		_exit(2);
	}
	if (waitpid(other, &status, 0) != other || status)
		return 3;
	answer(fd, first.id);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 20) == 1 && p.revents & POLLIN)
			answer(fd, take(fd).id);
		if (seconds() - begin > 60)
			return 4;
	}
	printf("the child's status is %#x\n", (unsigned)status);
	return status != 0;
}
