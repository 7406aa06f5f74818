/* SPDX-License-Identifier: MIT */
/*
 * peers.h - connections to the server: a silent one cannot block others
 *
 * Context: the thread that serves.
 */
#ifndef UFT_VIEW_PEERS_H
#define UFT_VIEW_PEERS_H

#include <sys/types.h>

#define PEERS_MAX 64u /* beyond, one without the token gives way to each that comes */

struct peer;
struct peers {
	struct peer *first; /* the oldest */
	unsigned n;         /* of those that have not given way */
	int diag;           /* tells whose a socket is; -1: it cannot */
};

void peers_init(struct peers *p);
void peers_free(struct peers *p);
/* @fd stays the caller's. NULL: no memory; it is not known then, and never gives way. */
struct peer *peers_add(struct peers *p, int fd);
void peer_has_token(struct peer *x);
void peers_remove(struct peers *p, struct peer *x);
/* The user of the process at the other end of a connection of this machine; (uid_t)-1: that cannot be told. */
uid_t peers_user(const struct peers *p, int fd);

#endif
