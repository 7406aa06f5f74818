/* SPDX-License-Identifier: MIT */
/*
 * peers.h - connections to the server: a silent one cannot block others
 *
 * Context: the thread that serves.
 */
#ifndef UFT_VIEW_PEERS_H
#define UFT_VIEW_PEERS_H

#include <sys/types.h>

#define PEERS_MAX 64u /* connections; each further one displaces one without the token */

struct peer;
struct peers {
	struct peer *first; /* the oldest */
	unsigned n;         /* connections that were not displaced */
	int diag;           /* a socket to ask the kernel for the user of a connection; -1: none */
};

void peers_init(struct peers *p);
void peers_free(struct peers *p);
/*
 * Adds a connection; @fd stays the caller's. NULL: no memory; then the connection is not listed, and never displaced.
 */
struct peer *peers_add(struct peers *p, int fd);
void peer_has_token(struct peer *x);
void peers_remove(struct peers *p, struct peer *x);
/* The user of the process at the other end of a connection of this machine; (uid_t)-1: unknown. */
uid_t peers_user(const struct peers *p, int fd);

#endif
