// SPDX-License-Identifier: MIT
/*
 * attach.c - start the runtime in a running process
 *
 * The session makes one of the program's threads clone a task, which enters here (entry.S), makes the agent and ends
 * (agent.c, "Parents"). Everything that may wait, fail, or be forbidden happens here, beside the running program, on
 * the agent's own stack and in its own descriptor table; the program takes no part. No task uses the state that is set
 * up here before the session arms a site. The arena comes through a socket, which the session takes from this task,
 * because paths and process numbers of a container mean nothing outside of it.
 */

#include "runtime/agent/agent.h"
#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"
#include "runtime/base/sys.h"
#include "runtime/platform/platform.h"

#define AF_UNIX_	1
#define SOCK_SEQPACKET_	5
#define SOCK_CLOEXEC_	02000000
#define SCM_RIGHTS_	1
#define MSG_CTRUNC_	8
#define POLLIN_		1
#define WAIT_MS		5000

struct message {		/* struct msghdr of the kernel */
	void *name;
	int namelen, pad;
	void *iov;
	size_t iovlen;
	void *control;
	size_t controllen;
	unsigned int flags;
};

struct rights {			/* struct cmsghdr of the kernel and its data */
	size_t len;
	int level, type;
	int fd[UFT_BOOT_NFDS];
};

int agent_receive(int sock, void *data, size_t bytes, int *fd)
{
	struct rights r = { 0 };
	struct { void *base; size_t len; } iov = { data, bytes };
	struct message m = { .iov = &iov, .iovlen = 1, .control = &r, .controllen = sizeof(r) };
	int ret = (int)sys_call3(__NR_recvmsg, sock, &m, 0x40000040 /* MSG_CMSG_CLOEXEC, MSG_DONTWAIT */);

	if (ret > 0 && m.flags & MSG_CTRUNC_)
		return -EMFILE;			/* because of the program's limit */
	if (ret <= 0 || r.type != SCM_RIGHTS_ || r.len < offsetof(struct rights, fd[1]))
		return ret < 0 ? ret : -EPROTO;
	memcpy(fd, r.fd, sizeof(r.fd));
	return (int)((r.len - offsetof(struct rights, fd)) / sizeof(int));
}

int agent_socket(int pair[2])
{
	return (int)sys_call4(__NR_socketpair, AF_UNIX_, SOCK_SEQPACKET_ | SOCK_CLOEXEC_, 0, pair);
}

/* Receives the session's descriptors: their number, or -errno. After a time-out the session counts as dead. */
static int receive(int *fd)
{
	char byte;
	int pair[2], ret = agent_socket(pair);

	if (ret)
		return ret;
	uft_boot.fd = pair[1];
	uft_store_release(&uft_boot.stage, UFT_BOOT_SOCKET);
	ret = sys_poll(pair[0], POLLIN_, WAIT_MS);
	ret = ret > 0 ? agent_receive(pair[0], &byte, 1, fd) : -ETIMEDOUT;
	sys_close(pair[0]);
	sys_close(pair[1]);
	return ret >= 0 && ret < UFT_BOOT_GUARD ? -EPROTO : ret;
}

/* Returns the number of descriptors, or -errno. */
static int attach(int *fd)
{
	int ret, n;

	if (uft_boot.version != UFT_ABI_VERSION)
		return -EPROTO;
	if (uft_boot.is_locked)
		plat_expect_locks(1);
	n = receive(fd);
	if (n < 0)
		return n;
	ret = boot_map_arena(fd[UFT_BOOT_BOARD], fd[UFT_BOOT_ARENA]);
	if (!ret)
		ret = boot_own_blob();
	if (!ret)
		ret = boot_finish();
	return ret ? ret : n;
}

static void attach_main(void)
{
	int fd[UFT_BOOT_NFDS], n;

	agent_isolate();
	n = attach(fd);
	uft_boot.result = n < 0 ? n : 0;
	if (n < 0)
		uft_store_release(&uft_boot.stage, UFT_BOOT_DONE);
	else
		agent_serve(fd, (uint32_t)n);
}

/* Called by uft_blob_attach only, in the task in between. */
void agent_attach(void);
void agent_attach(void)
{
	agent_spawn(attach_main);
}
