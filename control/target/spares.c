// SPDX-License-Identifier: MIT
/*
 * spares.c - families for the fork children of processes that may not open any
 *
 * An agent that may not open the session's files (another user's, in a chroot or another mount namespace) makes
 * a pair of sockets and says so in its slice (uft_slice.spare_fd). The session takes one end from it once, as
 * from an agent that is attached, and sends descriptors of families that are nobody's, each with its number, as
 * long as fewer than SENT of them have not been taken. What the agent does with them is its process's own
 * affair: they are for that process's children.
 */
#include "control/target/target.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int target_send_fds(int sock, const int *fd, size_t n, const void *data, size_t bytes)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(UFT_BOOT_NFDS * sizeof(int))]; } control;
	struct iovec iov = { (void *)(uintptr_t)data, bytes };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(n * sizeof(int))
	};

	memset(&control, 0, sizeof(control));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&control.head), fd, n * sizeof(int));
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes ? 0 : -errno;
}

/* Once: a descriptor that its agent names later is not looked at. */
static void take_socket(struct uft_session *s, struct target *t)
{
	uint32_t fd = SHARED_LOAD_ACQUIRE(&arena_slice(&s->arena, t->slice)->spare_fd);

	if (!fd || t->spare_sock || t->agent_fd < 0)
		return;
	t->spare_sock = (int)syscall(SYS_pidfd_getfd, t->agent_fd, (int)(fd - 1), 0);
	if (t->spare_sock <= 0)
		t->spare_sock = -1;
}

static int is_waiting(const struct uft_session *s, uint32_t sent)
{
	uint32_t slice = (sent - 1) * s->arena.map->per_file;

	return sent && s->arena.mail[sent - 1] &&
	       SHARED_LOAD_ACQUIRE(&arena_slice(&s->arena, slice)->state) == UFT_SLICE_FREE;
}

static int send_family(struct uft_session *s, struct target *t, uint32_t *sent)
{
	int64_t family = arena_make_family(&s->arena);
	uint32_t number = (uint32_t)family;
	int fd, ret;

	if (family < 0)
		return (int)family;
	fd = arena_open_family(&s->arena, number);
	ret = fd < 0 ? fd : target_send_fds(t->spare_sock, &fd, 1, &number, sizeof(number));
	if (fd >= 0)
		close(fd);
	if (ret) {
		arena_drop_family(&s->arena, number);
		return ret;
	}
	*sent = number + 1;
	futex(shared_address(&arena_slice(&s->arena, t->slice)->cmd_seq), 1 /* FUTEX_WAKE */, INT32_MAX,
	      NULL);	/* it looks */
	return 0;
}

void spares_send(struct uft_session *s)
{
	for (struct target *t = s->targets; t; t = t->next) {
		if (t->is_over || t->has_thread_agent)
			continue;
		take_socket(s, t);
		for (unsigned i = 0; t->spare_sock > 0 && i < TARGET_SPARES; i++)
			if (!is_waiting(s, t->sent[i]) && send_family(s, t, &t->sent[i]))
				break;
	}
}

int spares_has_sent(const struct uft_session *s, uint32_t family)
{
	for (const struct target *t = s->targets; t; t = t->next)
		for (unsigned i = 0; i < TARGET_SPARES; i++)
			if (t->sent[i] == family + 1 && is_waiting(s, t->sent[i]))
				return 1;
	return 0;
}
