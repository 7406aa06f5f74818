// SPDX-License-Identifier: MIT
/*
 * hold.c - text that may not change while threads run is changed while they stand
 *
 * The agent tries first beside the running program; what it leaves (UFT_ST_LIVE, -EBUSY) comes here. All tasks that share
 * the memory are stopped, and each pc, and each pc that a signal frame on its stack will restore, is looked at. Who runs
 * between the instructions that change is led out of them, by single steps. The places where a signal handler will return
 * into stay as they are for now; about the rest the agent is told (UFT_CMD_HELD), and writes. In parts, so that no
 * stop is long. What was left is tried again a moment later: a handler that sleeps for long costs its place, no other.
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
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK		4096		/* places written in one stop */
#define TRIES		10
#define NAP_NS		1000000		/* between them, and twice that each time, up to */
#define NAP_MAX_NS	32000000

/* What is to be done: patches or hooks. */
struct hold {
	struct uft_session *s;
	struct target *t;
	uint32_t object, op, n;
	uint8_t *elem;			/* n of size bytes; the answer to each is nstatus bytes at status */
	size_t size, status, nstatus;
	int is_sorted;
	struct uft_owned *inside;	/* by element: where nobody may be */
	uint8_t *hit, *done;		/* by element */
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

/* Sends what is neither done nor hit, and takes the answers. */
static int send(struct hold *h, uint32_t flags)
{
	struct uft_cmd *c = arena_cmd(&h->s->arena, h->t->slice);
	uint8_t *payload = (uint8_t *)c + UFT_CMD_PAYLOAD, *at = payload;
	int ret;

	for (uint32_t i = 0; i < h->n; i++)
		if (!h->done[i] && !h->hit[i])
			at = (uint8_t *)memcpy(at, h->elem + i * h->size, h->size) + h->size;
	if (at == payload)
		return 0;
	*c = (struct uft_cmd){ .op = h->op, .n = (uint32_t)((size_t)(at - payload) / h->size), .object = h->object, .flags = flags };
	ret = command_post(h->s, h->t);
	if (!ret)
		ret = command_wait(h->s, h->t);
	if (ret == -ESRCH || ret == -ETIMEDOUT || (ret && h->op == UFT_CMD_PATCH))
		return ret;
	at = payload;
	for (uint32_t i = 0; i < h->n; i++) {
		if (h->done[i] || h->hit[i])
			continue;
		memcpy(h->elem + i * h->size + h->status, at + h->status, h->nstatus);
		at += h->size;
		h->done[i] = 1;
	}
	return 0;
}

static int one_stop(struct hold *h, pid_t agent)
{
	struct look look = { .pid = h->t->pid, .agent = agent, .own = h->inside, .nown = h->n, .is_sorted = h->is_sorted,
			     .hit = h->hit };
	uint64_t begin = session_now_ns();
	struct held *held;
	int ret;

	memset(h->hit, 0, h->n);
	ret = look_hold(&look, &held);
	if (!ret)
		ret = look_held(&look, held);
	if (!ret)
		ret = send(h, UFT_CMD_HELD);
	look_release(held);
	begin = session_now_ns() - begin;
	if (begin > h->s->stop_ns_max)
		h->s->stop_ns_max = begin;
	return ret;
}

/* What somebody is inside of all the while is left: sent once more beside the running program, so that it is counted. */
static int run_held(struct hold *h)
{
	pid_t agent = agent_pid(h->t);
	long nap = NAP_NS;

	for (int i = 0; i < TRIES && memchr(h->done, 0, h->n); i++) {
		int ret;

		if (i)
			nanosleep(&(struct timespec){ .tv_nsec = nap }, NULL);
		if (i && nap < NAP_MAX_NS)
			nap *= 2;
		ret = one_stop(h, agent);
		if (ret == -ESRCH || ret == -ETIMEDOUT)
			return ret;
	}
	memset(h->hit, 0, h->n);
	return send(h, 0);
}

/* Even: bit 0 means something else there, and a byte more does no harm. */
static struct uft_owned inside_of(uint64_t addr, unsigned len)
{
	return (struct uft_owned){ addr + 1, len > 1 ? len & ~1u : 0 };
}

static int hold_begin(struct hold *h, uint32_t n)
{
	h->inside = malloc((n + 1) * sizeof(*h->inside));
	h->hit = malloc(n + 1);
	h->done = malloc(n + 1);
	return h->inside && h->hit && h->done ? 0 : -ENOMEM;
}

static void hold_end(struct hold *h)
{
	free(h->inside);
	free(h->hit);
	free(h->done);
}

static int hold_chunk(struct hold *h, struct uft_patch *live, uint32_t n)
{
	h->elem = (uint8_t *)live;
	h->n = n;
	memset(h->done, 0, n);
	for (uint32_t i = 0; i < n; i++)
		h->inside[i] = inside_of(live[i].addr, live[i].kind_len >> 4);
	return run_held(h);
}

int hold_patches(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		 struct uft_patch *answer, uint32_t n)
{
	struct hold h = { .s = s, .t = t, .object = object, .op = UFT_CMD_PATCH, .size = sizeof(*told), .is_sorted = 1,
			  .status = offsetof(struct uft_patch, status), .nstatus = sizeof(told->status) };
	struct uft_patch *live, *copy;
	uint32_t nlive = 0, k = 0;
	int ret;

	for (uint32_t i = 0; i < n; i++)
		nlive += answer[i].status == UFT_ST_LIVE;
	if (!nlive)
		return 0;
	live = malloc(nlive * sizeof(*live));
	copy = malloc(n * sizeof(*copy));
	ret = hold_begin(&h, CHUNK);
	if (ret || !live || !copy) {
		ret = -ENOMEM;
		goto out;
	}
	memcpy(copy, answer, n * sizeof(*copy));
	for (uint32_t i = 0; i < n; i++)
		if (copy[i].status == UFT_ST_LIVE)
			live[k++] = told[i];
	for (uint32_t at = 0; !ret && at < nlive; at += CHUNK)
		ret = hold_chunk(&h, live + at, nlive - at < CHUNK ? nlive - at : CHUNK);
	k = 0;
	for (uint32_t i = 0; i < n; i++)
		if (copy[i].status == UFT_ST_LIVE)
			copy[i].status = ret ? UFT_ST_LIVE : live[k++].status;
	memcpy(answer, copy, n * sizeof(*copy));
out:
	hold_end(&h);
	free(live);
	free(copy);
	return ret;
}

int hold_hooks(struct uft_session *s, struct target *t, uint32_t object, struct uft_hook *answer, uint32_t n)
{
	struct hold h = { .s = s, .t = t, .object = object, .op = UFT_CMD_HOOK, .size = sizeof(*answer), .n = n,
			  .status = offsetof(struct uft_hook, result), .nstatus = sizeof(answer->result) };
	struct uft_hook *copy;
	uint32_t busy = 0;
	int ret;

	for (uint32_t i = 0; i < n; i++)
		busy += answer[i].result == -EBUSY;
	if (!busy)
		return 0;
	copy = malloc(n * sizeof(*copy));
	ret = hold_begin(&h, n);
	if (copy && !ret) {
		memcpy(copy, answer, n * sizeof(*copy));
		h.elem = (uint8_t *)copy;
		for (uint32_t i = 0; i < n; i++) {
			h.done[i] = copy[i].result != -EBUSY;
			h.inside[i] = inside_of(copy[i].addr, copy[i].kind == UFT_HOOK_SYSCALL ? 5 : copy[i].len);
			if (!h.done[i])
				copy[i].result = 0;
		}
		ret = run_held(&h);
		memcpy(answer, copy, n * sizeof(*copy));
	} else {
		ret = -ENOMEM;
	}
	hold_end(&h);
	free(copy);
	return ret;
}
