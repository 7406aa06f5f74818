/* SPDX-License-Identifier: MIT */
/*
 * recorder_killed.c - notices when a register, the signal mask or a system call is not as it was: killed spin|sleep|hot
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

/* Is mostly between its first instructions, each of which counts: made twice, or not at all, it would be seen. */
uint32_t hot(uint32_t n);
__asm__(".text\n.p2align 4\n.globl hot\n.type hot, @function\nhot: .cfi_startproc\n"
	"inc %edi\npause\ninc %edi\npause\nlea 3(%rdi), %eax\nret\n.cfi_endproc\n.size hot, . - hot\n");

static int is_right_when_hot(void)
{
	uint32_t n = 0;

	while (n < 5u * 1000000 && hot(n) == n + 5)
		n += 5;
	return n == 5u * 1000000;
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
	char mode = argc > 1 ? argv[1][1] : 0;
	uint64_t want = spin(10000000);

	for (unsigned turn = 0;; turn++) {
		if (mode == 'p' ? spin(10000000) != want : mode == 'o' ? !is_right_when_hot() : !sleep_well(turn))
			return 3;
		if (!is_mask_empty())
			return 4;
		if (printf("%u\n", turn) < 0 || fflush(stdout))
			return 0;
	}
}
