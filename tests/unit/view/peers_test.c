/* SPDX-License-Identifier: MIT */
/* peers_test.c - which connection gives way to one that comes */
#include <arpa/inet.h>
#include <stdio.h>

#include "view/peers.c"

static int has_failed, listener;
static struct sockaddr_in at = {.sin_family = AF_INET};

static void expect(const char *what, long seen, long wanted)
{
	if (seen == wanted)
		return;
	fprintf(stderr, "peers: %s: %ld, expected %ld\n", what, seen, wanted);
	has_failed = 1;
}

static void begin(void)
{
	socklen_t n = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)&at, &n))
		abort();
}

/* One that @uid makes; @theirs: the other end. */
static struct peer *come(struct peers *p, uid_t uid, int *theirs)
{
	struct peer *x;
	int ours;

	*theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*theirs < 0 || connect(*theirs, (struct sockaddr *)&at, sizeof(at)))
		abort();
	ours = accept(listener, NULL, NULL);
	x = ours < 0 ? NULL : peers_add(p, ours);
	if (!x)
		abort();
	x->uid = uid;
	return x;
}

/* Its end is seen at once: shutdown() of a connection of this machine. */
static int is_over(int theirs)
{
	char c;

	return recv(theirs, &c, 1, MSG_DONTWAIT) == 0;
}

int main(void)
{
	enum { OWNER = 1000, OTHER = 1001, N = 3 * PEERS_MAX };
	int owner[4], other[N], ended = 0, late, fd;
	struct peers p;
	struct peer *mine[4], *x;

	begin();
	peers_init(&p);
	for (int i = 0; i < 4; i++)
		mine[i] = come(&p, OWNER, &owner[i]);
	peer_has_token(mine[0]);
	fd = mine[1]->fd;
	if (peers_user(&p, fd) == (uid_t)-1)
		printf("this kernel does not tell whose a connection is: that is left out\n");
	else
		expect("whose the connection is", peers_user(&p, fd), geteuid());
	for (int i = 0; i < N; i++)
		come(&p, OTHER, &other[i]);
	expect("connections that are left", p.n, PEERS_MAX);
	for (int i = 0; i < 4; i++)
		expect("the owner's are over", is_over(owner[i]), 0);
	for (int i = 0; i < N; i++) {
		expect("the older one gives way", is_over(other[i]), i < N - (int)PEERS_MAX + 4);
		ended += is_over(other[i]);
	}
	come(&p, OWNER, &late);
	expect("one that comes late is over", is_over(late), 0);
	expect("for it one of the other user's is", is_over(other[ended]), 1);
	for (x = p.first; x; x = x->next)
		peer_has_token(x);
	come(&p, OTHER, &late);
	come(&p, OTHER, &late);
	expect("who has the token gives way", is_over(other[N - 1]), 0);
	expect("the last one is over", is_over(late), 0);
	while ((x = p.first)) {
		close(x->fd);
		peers_remove(&p, x);
	}
	expect("connections at the end", p.n, 0);
	peers_free(&p);
	return has_failed;
}
