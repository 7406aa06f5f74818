/* SPDX-License-Identifier: MIT */
/*
 * killed.c - notices when a register, the signal mask or a system call is not as it was: killed spin|sleep
 *
 * A line for each turn in which all was well; ends with the first that was not.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Many values that are alive all the time, in registers of each kind. */
static __attribute__((noinline)) uint64_t spin(uint64_t n)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7;
	double x = 1;

	while (n--) {
		__asm__ volatile("" : "+r"(a));
		a += b ^ n, b += c, c ^= d + n, d += e, e ^= f, f += g, g ^= a;
		x = x * 1.0000001 + (double)(a & 3);
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ (uint64_t)x;
}

/* Of the kind that goes on after a stop, of the kind that is made again, and of the kind that answers EINTR. */
static int sleep_well(unsigned turn)
{
	static int pipes[2] = { -1, -1 };
	struct pollfd p = { .events = POLLIN };

	if (pipes[0] < 0 && pipe(pipes))
		return 0;
	p.fd = pipes[0];
	if (turn & 1)
		return poll(&p, 1, 50) == 0;
	return nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL) == 0;
}

static int is_mask_empty(void)
{
	sigset_t now, none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, NULL, &now);
	return !memcmp(&now, &none, 8);
}

int main(int argc, char **argv)
{
	int is_spin = argc > 1 && !strcmp(argv[1], "spin");
	uint64_t want = spin(10000000);

	for (unsigned turn = 0;; turn++) {
		if (is_spin ? spin(10000000) != want : !sleep_well(turn))
			return 3;
		if (!is_mask_empty())
			return 4;
		if (printf("%u\n", turn) < 0 || fflush(stdout))
			return 0;
	}
}
