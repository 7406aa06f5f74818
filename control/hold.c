// SPDX-License-Identifier: MIT
/*
 * hold.c - text that may not change while threads run is changed while they stand
 *
 * The agent tries first beside the running program; what it leaves (UFT_ST_LIVE, -EBUSY) comes here. All tasks that share
 * the memory are stopped, each pc, and each pc that a signal frame on its stack will restore, is looked at, and if
 * none lies between the instructions that change, the agent is told so (UFT_CMD_HELD) and writes. In parts, so that no
 * stop is long. Whoever is found inside is let go for a moment, and all of it is tried again.
 *
 * Instead of the int3 on each first byte that would leave running threads alone: that needs every trap served, a mask and
 * a disposition put back for programs that block or ignore SIGTRAP, and every fork child followed meanwhile. Here
 * no trap is ever taken, and nothing but time is asked of the program.
 *
 * Interrupted system calls go on (look_go()). A program whose tasks cannot be stopped keeps those places as they are,
 * counted as before (UFT_CNT_SITE_LIVE).
 */
#include "control/hold.h"

#include "control/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK		4096		/* places written in one stop */
#define TRIES		30
#define NAP_NS		1000000

struct hold {
	struct uft_session *s;
	struct target *t;
	struct uft_owned *inside;	/* where nobody may be: by address */
	uint32_t n;
};

/* Its number here, whatever its namespace. */
static pid_t agent_pid(const struct target *t)
{
	char path[64], line[128];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", t->agent_fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Pid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid;
}

/* Posts what stands in the command area, with everybody stopped if that is to be had. */
static int run_held(struct hold *h)
{
	struct uft_cmd *c = arena_cmd(&h->s->arena, h->t->slice);
	pid_t agent = agent_pid(h->t);
	int ret = -EAGAIN;

	for (int i = 0; i < TRIES && ret; i++) {
		struct look look = { .pid = h->t->pid, .agent = agent, .own = h->inside, .nown = h->n, .is_sorted = 1 };
		uint64_t begin = session_now_ns();
		struct held *held;

		if (i)
			nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
		ret = look_hold(&look, &held);
		if (!ret && look_held(&look, held))
			ret = -EAGAIN;
		if (!ret) {
			c->flags = UFT_CMD_HELD;
			ret = command_post(h->s, h->t);
			ret = ret ? ret : command_wait(h->s, h->t);
		}
		look_release(held);
		begin = session_now_ns() - begin;
		if (begin > h->s->stop_ns_max)
			h->s->stop_ns_max = begin;
		if (ret == -ESRCH || ret == -ETIMEDOUT)
			return ret;
	}
	if (!ret)
		return 0;
	c->flags = 0;		/* not to be had: so that it is counted */
	ret = command_post(h->s, h->t);
	return ret ? ret : command_wait(h->s, h->t);
}

static void add_inside(struct hold *h, uint64_t addr, unsigned len)
{
	if (len > 1)	/* even: bit 0 means something else there, and a byte more does no harm */
		h->inside[h->n++] = (struct uft_owned){ addr + 1, (len - 1 + 1) & ~1u };
}

static int hold_begin(struct hold *h, struct uft_session *s, struct target *t, uint32_t n)
{
	*h = (struct hold){ .s = s, .t = t, .inside = malloc((n + 1) * sizeof(*h->inside)) };
	return h->inside ? 0 : -ENOMEM;
}

static int hold_chunk(struct hold *h, uint32_t object, struct uft_patch *live, uint32_t n)
{
	struct uft_cmd *c = arena_cmd(&h->s->arena, h->t->slice);
	struct uft_patch *p = (void *)((uint8_t *)c + UFT_CMD_PAYLOAD);
	int ret;

	h->n = 0;
	for (uint32_t i = 0; i < n; i++)
		add_inside(h, live[i].addr, live[i].kind_len >> 4);
	*c = (struct uft_cmd){ .op = UFT_CMD_PATCH, .n = n, .object = object };
	memcpy(p, live, n * sizeof(*p));
	ret = run_held(h);
	for (uint32_t i = 0; !ret && i < n; i++)
		live[i].status = p[i].status;
	return ret;
}

int hold_patches(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		 struct uft_patch *answer, uint32_t n)
{
	struct uft_patch *live, *copy;
	uint32_t nlive = 0, k = 0;
	struct hold h;
	int ret;

	for (uint32_t i = 0; i < n; i++)
		nlive += answer[i].status == UFT_ST_LIVE;
	if (!nlive)
		return 0;
	live = malloc(nlive * sizeof(*live));
	copy = malloc(n * sizeof(*copy));
	ret = !live || !copy ? -ENOMEM : hold_begin(&h, s, t, CHUNK);
	if (ret)
		goto out;
	memcpy(copy, answer, n * sizeof(*copy));
	for (uint32_t i = 0; i < n; i++)
		if (copy[i].status == UFT_ST_LIVE)
			live[k++] = told[i];
	for (uint32_t at = 0; !ret && at < nlive; at += CHUNK)
		ret = hold_chunk(&h, object, live + at, nlive - at < CHUNK ? nlive - at : CHUNK);
	k = 0;
	for (uint32_t i = 0; i < n; i++)
		if (copy[i].status == UFT_ST_LIVE)
			copy[i].status = ret ? UFT_ST_LIVE : live[k++].status;
	memcpy(answer, copy, n * sizeof(*copy));
	free(h.inside);
out:
	free(live);
	free(copy);
	return ret;
}

int hold_hooks(struct uft_session *s, struct target *t, uint32_t object, struct uft_hook *answer, uint32_t n)
{
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);
	struct uft_hook *copy;
	uint32_t busy = 0;
	struct hold h;
	int ret;

	for (uint32_t i = 0; i < n; i++)
		busy += answer[i].result == -EBUSY;
	if (!busy)
		return 0;
	copy = malloc(n * sizeof(*copy));
	ret = copy ? hold_begin(&h, s, t, n) : -ENOMEM;
	if (!ret) {
		memcpy(copy, answer, n * sizeof(*copy));
		for (uint32_t i = 0; i < n; i++)
			add_inside(&h, copy[i].addr, copy[i].kind == UFT_HOOK_SYSCALL ? 5 : copy[i].len);
		look_sort(h.inside, h.n);
		*c = (struct uft_cmd){ .op = UFT_CMD_HOOK, .n = n, .object = object };
		memcpy((uint8_t *)c + UFT_CMD_PAYLOAD, copy, n * sizeof(*copy));
		ret = run_held(&h);
		ret = ret == -ESRCH || ret == -ETIMEDOUT ? ret : 0;	/* each has its own result */
		free(h.inside);
	}
	free(copy);
	return ret;
}
