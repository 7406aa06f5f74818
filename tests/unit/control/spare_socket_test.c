/* SPDX-License-Identifier: MIT */
/*
 * spare_socket_test.c - the socket that an agent names: one of its own is taken, one that leads to a service is not. To close it does not
 * wait for what the agent has sent to it, and leaves no task if the recorder is killed meanwhile.
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/target/target.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)
#define LINGER_S	600
#define BOUND_S		60	/* of the test; it takes milliseconds */

static int killed_at = -1;

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	if (fd == killed_at)
		kill(getpid(), SIGKILL);
	return __real_close(fd);
}

struct agent {
	pid_t pid;
	/* its descriptors: a pair, and a socket of TCP whose last close() waits */
	int pidfd, sock, other, linger;
};

/* With bytes that nobody reads. */
static int open_lingering(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct linger linger = { 1, LINGER_S };
	int listener = socket(AF_INET, SOCK_STREAM, 0), sock = socket(AF_INET, SOCK_STREAM, 0), small = 2048;
	static const char bytes[65536];
	socklen_t n = sizeof(at);

	CHECK(!setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	CHECK(!bind(listener, (struct sockaddr *)&at, n) && !listen(listener, 1));
	CHECK(!getsockname(listener, (struct sockaddr *)&at, &n) && !connect(sock, (struct sockaddr *)&at, n));
	CHECK(!setsockopt(sock, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(sock, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return sock;
}

static void serve(const struct agent *a, int in, int out)
{
	char c;

	CHECK(write(out, a, sizeof(*a)) == sizeof(*a));
	/* It sends the socket to the end that its recorder has, and has neither any more. */
	CHECK(read(in, &c, 1) == 1);
	CHECK(!target_send_fds(a->other, &a->linger, 1, "x", 1));
	close(a->linger);
	close(a->sock);
	CHECK(write(out, "x", 1) == 1);
	CHECK(read(in, &c, 1) == 0);
	_exit(0);
}

/* An agent whose socket is one end of a pair of its own, or leads to @service. */
static struct agent start(const struct sockaddr_un *service, int *to, int *from)
{
	struct agent a = { .pidfd = -1 };
	int in[2], out[2], pair[2];
	pid_t pid;

	CHECK(!pipe(in) && !pipe(out));
	pid = fork();
	if (!pid) {
		close(in[1]);
		CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
		a.other = pair[0];
		a.sock = pair[1];
		if (service) {
			a.sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
			CHECK(!connect(a.sock, (const struct sockaddr *)service, sizeof(*service)));
		}
		a.linger = open_lingering();
		serve(&a, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	*to = in[1];
	*from = out[0];
	CHECK(read(*from, &a, sizeof(a)) == sizeof(a));
	a.pid = pid;
	a.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK(a.pidfd >= 0);
	return a;
}

static void finish(const struct agent *a, int to, int from)
{
	close(to);
	close(from);
	close(a->pidfd);
	CHECK(waitpid(a->pid, NULL, 0) == a->pid);
}

static void test_own(void)
{
	int to, from, sock;
	struct agent a = start(NULL, &to, &from);
	char c;

	sock = target_take_socket(a.pidfd, a.sock);
	CHECK(sock >= 0);
	CHECK(target_take_socket(a.pidfd, a.linger) < 0);
	CHECK(write(to, "x", 1) == 1 && read(from, &c, 1) == 1);
	target_close_socket(sock);
	CHECK(recv(sock, &c, 1, MSG_DONTWAIT) < 0);
	finish(&a, to, from);
}

/* A service at the other end would take the recorder for the sender. */
static void test_of_a_service(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), to, from, pid = getpid();
	struct agent a;

	memcpy(at.sun_path + 1, &pid, sizeof(pid));
	CHECK(!bind(listener, (struct sockaddr *)&at, sizeof(at)) && !listen(listener, 1));
	a = start(&at, &to, &from);
	CHECK(target_take_socket(a.pidfd, a.sock) < 0);
	kill(a.pid, SIGKILL);
	finish(&a, to, from);
	close(listener);
}

/* Its orphans become children of this process. */
static void test_killed_meanwhile(void)
{
	int pair[2], status, is_alone;
	pid_t pid;

	CHECK(!prctl(PR_SET_CHILD_SUBREAPER, 1) && !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		killed_at = pair[0];
		target_close_socket(pair[0]);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	is_alone = waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD;
	kill(-pid, SIGKILL);
	CHECK(is_alone);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0)
		return 77;
	close(fd);
	alarm(BOUND_S);
	test_own();
	test_of_a_service();
	test_killed_meanwhile();
	return 0;
}
