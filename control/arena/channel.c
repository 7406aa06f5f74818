// SPDX-License-Identifier: MIT
/*
 * channel.c - one command at a time to the agent of a slice, through the slice's command area
 *
 *	channel_begin() -> the payload is written -> channel_post() -> channel_await() -> cmd_result
 *
 * The agent's answer is data from a target. While a command is not answered the area may still be read, so
 * nothing is written to it.
 */
#include "control/arena/channel.h"

#include <errno.h>
#include <time.h>

#define PART_NS	20000000	/* the caller is asked whether to go on */

struct uft_cmd uft_shared *channel_begin(const struct arena *a, uint32_t slice, uint32_t op, uint32_t n,
					 uint32_t object)
{
	struct uft_cmd uft_shared *c = arena_cmd(a, slice);

	shared_write(c, &(struct uft_cmd){ .op = op, .n = n, .object = object }, sizeof(struct uft_cmd));
	return c;
}

void channel_post(const struct arena *a, uint32_t slice)
{
	struct uft_slice uft_shared *sl = arena_slice(a, slice);

	SHARED_STORE_RELEASE(&sl->cmd_seq, SHARED_LOAD(&sl->cmd_seq) + 1);
	futex(shared_address(&sl->cmd_seq), 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
}

int channel_await(const struct arena *a, uint32_t slice, uint32_t ms,
		  int (*gives_up)(const void *arg, uint64_t waited_ns), const void *arg)
{
	struct uft_slice uft_shared *sl = arena_slice(a, slice);
	uint32_t seq = SHARED_LOAD(&sl->cmd_seq);
	uint64_t begin = now_ns(), waited = 0;

	for (;;) {
		uint32_t done = SHARED_LOAD_ACQUIRE(&sl->cmd_done);
		int ret;

		if (done == seq)
			return 1;
		/*
		 * Asked before the first sleep: one that ended since its last command would cost all others a
		 * part of it.
		 */
		ret = gives_up(arg, waited);
		if (ret < 0)
			return SHARED_LOAD_ACQUIRE(&sl->cmd_done) == seq ? 1 : ret;
		waited = now_ns() - begin;
		if (ret || waited > ms * 1000000ull)
			return 0;
		futex(shared_address(&sl->cmd_done), 0 /* FUTEX_WAIT */, done,
		      &(struct timespec){ .tv_nsec = PART_NS });
	}
}

int command_result(const struct arena *a, uint32_t slice)
{
	int32_t result = SHARED_LOAD(&arena_slice(a, slice)->cmd_result);

	return result < -4095 ? -EPROTO : result;
}
