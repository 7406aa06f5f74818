/* SPDX-License-Identifier: MIT */
/*
 * peers.c - see peers.h
 *
 * Any user of this machine can connect. When the server is full, it closes the oldest connection without the token, of
 * the user that has most of these. So a user who fills the server only displaces its own connections.
 */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "view/peers.h"

struct peer {
	struct peer *next;
	int fd;
	uid_t uid;
	int has_token, is_leaving;
};

void peers_init(struct peers *p)
{
	*p = (struct peers){.diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
}

void peers_free(struct peers *p)
{
	while (p->first)
		peers_remove(p, p->first);
	if (p->diag >= 0)
		close(p->diag);
	p->diag = -1;
}

uid_t peers_user(const struct peers *p, int fd)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 of;
	} ask = {
		.head = {.nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		.of = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = -1u},
	};
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	struct sockaddr_in ours, theirs;
	socklen_t nours = sizeof(ours), ntheirs = sizeof(theirs);
	const struct inet_diag_msg *found;

	if (p->diag < 0 || getsockname(fd, (struct sockaddr *)&ours, &nours) < 0 ||
	    getpeername(fd, (struct sockaddr *)&theirs, &ntheirs) < 0 || theirs.sin_family != AF_INET)
		return (uid_t)-1;
	ask.of.id = (struct inet_diag_sockid){
		.idiag_sport = theirs.sin_port, .idiag_dport = ours.sin_port, .idiag_src = {theirs.sin_addr.s_addr},
		.idiag_dst = {ours.sin_addr.s_addr}, .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
	if (send(p->diag, &ask, sizeof(ask), MSG_DONTWAIT) != (ssize_t)sizeof(ask) ||
	    recv(p->diag, &answer, sizeof(answer), MSG_DONTWAIT) < (ssize_t)NLMSG_LENGTH(sizeof(*found)) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return (uid_t)-1;
	found = NLMSG_DATA(&answer.head);
	return found->idiag_uid;
}

static unsigned silent_of(const struct peers *p, uid_t uid)
{
	unsigned n = 0;

	for (const struct peer *x = p->first; x; x = x->next)
		n += x->uid == uid && !x->has_token && !x->is_leaving;
	return n;
}

/* Ends its connection; the thread that serves it then calls peers_remove(). */
static void let_one_leave(struct peers *p)
{
	struct peer *most = NULL;
	unsigned n = 0;

	for (struct peer *x = p->first; x; x = x->next) {
		unsigned has = x->has_token || x->is_leaving ? 0 : silent_of(p, x->uid); /* GUARD(silent_of_user, 1) */

		if (has > n) {
			n = has;
			most = x;
		}
	}
	if (!most)
		return;
	most->is_leaving = 1;
	p->n--;
	shutdown(most->fd, SHUT_RDWR);
}

struct peer *peers_add(struct peers *p, int fd)
{
	struct peer *x = calloc(1, sizeof(*x)), **last = &p->first;

	if (!x)
		return NULL;
	*x = (struct peer){.fd = fd, .uid = peers_user(p, fd)};
	if (p->n >= PEERS_MAX) /* GUARD(silent_leaves) */
		let_one_leave(p);
	while (*last)
		last = &(*last)->next;
	*last = x;
	p->n++;
	return x;
}

void peer_has_token(struct peer *x)
{
	if (x)
		x->has_token = 1;
}

void peers_remove(struct peers *p, struct peer *x)
{
	struct peer **at = &p->first;

	while (*at && *at != x)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = x->next;
	p->n -= !x->is_leaving;
	free(x);
}
