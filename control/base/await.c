// SPDX-License-Identifier: MIT
/* await.c - wait for a descriptor, whatever signals arrive */
#include "control/base/base.h"

#include <errno.h>
#include <poll.h>

int fd_await(int fd, unsigned ms)
{
	const uint64_t deadline = now_ns() + ms * 1000000ull;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int ready = poll(&p, 1, (int)ms);

	while (ready < 0 && errno == EINTR /* GUARD(await_again, 0) */) {
		const uint64_t now = now_ns();

		ready = poll(&p, 1, now < deadline ? (int)((deadline - now + 999999) / 1000000) : 0);
	}
	return ready > 0;
}
