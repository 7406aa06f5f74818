// SPDX-License-Identifier: MIT
/*
 * preload_offer_test.c - offers that no hello takes up: they give way in time, and are the process's, not its
 * number's
 */
#include "control/start/preload_offer.c"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#define SECOND	1000000000ull

static int fails;

static void check(int is_right, const char *what)
{
	if (!is_right) {
		fprintf(stderr, "offer: %s\n", what);
		fails = 1;
	}
}

int main(void)
{
	struct uft_session *s = calloc(1, sizeof(*s));
	pid_t child[NOFFERS + 1];
	uint64_t now = 1000 * SECOND;

	if (!s)
		return 1;
	for (size_t i = 0; i <= NOFFERS; i++) {
		child[i] = fork();
		if (!child[i])
			for (;;)
				pause();
	}
	for (size_t i = 0; i < NOFFERS; i++)
		check(!note(s, child[i], now + i), "one that has room is refused");
	check(note(s, child[NOFFERS], now + SECOND) == -EAGAIN, "one takes another's place at once");
	check(!note(s, child[0], now + 2 * SECOND), "one that asks again is refused");
	check(!note(s, child[NOFFERS], now + 11 * SECOND), "processes that never execute hold all for ever");
	check(preload_is_offered(s, child[NOFFERS]), "it has no offer");
	check(!preload_is_offered(s, child[1]) && preload_is_offered(s, child[0]),
	      "it has not the place of the oldest");
	s->offered[0].start++;
	check(!preload_is_offered(s, child[0]), "a process has the offer of one that had its number");
	preload_withdraw(s, child[2]);
	check(!preload_is_offered(s, child[2]), "one that was taken up can be again");
	for (size_t i = 0; i <= NOFFERS; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	free(s);
	return fails;
}
