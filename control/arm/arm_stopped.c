// SPDX-License-Identifier: MIT
/*
 * arm_stopped.c - change code while all tasks of a target are stopped, where it may not change while they run
 *
 * The agent first tries to change sites beside the running program; those that it leaves (UFT_ST_LIVE, -EBUSY) come
 * here. The session stops all tasks that share the memory (stop_all.c) and checks each pc, and each pc that a
 * signal frame on a stack will restore. A task that is between the instructions that change continues in their
 * copy. Sites to which a signal handler will return stay as they are for now. The session sends the others to the agent
 * (UFT_CMD_HELD), which writes them. It tries the rest again a moment later: a handler that sleeps for long delays its
 * own site, and no other.
 *
 * To stop a hundred threads takes longer than to write ten thousand sites. So lists of many objects are gathered
 * (arm_stopped_begin() to arm_stopped_commit()), and one stop serves them all, unless that takes too long: then the
 * rest waits for the next stop. Hooks come first, and sites only in a stop that finds all hooks in place and no vfork
 * child at work.
 *
 * The alternative, an int3 on each first byte (int3.c), would leave running threads alone. But it needs every trap
 * served, a mask and a disposition put back for programs that block or ignore SIGTRAP, and every fork child followed
 * meanwhile. Here no trap is ever taken, and the program loses nothing but time.
 *
 * Interrupted system calls are resumed (task_resume()). If tasks of a program cannot be stopped, those sites stay as
 * they are, counted as before (UFT_CNT_SITE_LIVE).
 */
#include "control/arm/arm_stopped.h"

#include "control/ptrace/task_stop.h"
#include "control/plan/unprepared.h"
#include "control/proc/procinfo.h"
#include "symbol/array.h"
#include "symbol/sorted.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* least number of places in a command, if so many are left and fit into the command area */
#define CHUNK_MIN	1024u
#define PLACE_NS	20		/* assumed time for one place, until it is measured */
#define STOP_NS		3500000		/* length of a stop; places that are left wait for the next one */
#define PATIENCE_NS	2000000000	/* for hooks to be armed and vfork children to end before sites are armed */
#define TRIES		10
#define NAP_NS		1000000		/* between two tries; doubled each time, up to NAP_MAX_NS */
#define NAP_MAX_NS	32000000
#define WAIT_MS		20u		/* for all tasks to stop; doubled each time, up to TASK_STOP_MS */

/* The work in one object: patches or hooks. */
struct part {
	uint32_t op, object, n, base;	/* base: number of its first place in the arrays of the hold */
	uint32_t from;			/* elements before this one are done */
	size_t size, status, nstatus;	/* bytes of an element; offset and bytes of its answer */
	uint8_t *elem;
	uint32_t *index;		/* patches: of the sites */
};

struct stopped_batch {
	struct uft_session *s;
	struct target *t;
	struct part *part;
	uint32_t nparts, n, ndone;
	uint64_t place_ns;		/* time for one place, by the last large command */
	int has_vforks, is_taken;	/* is_taken: a task has another tracer, as of the last stop */
	uint64_t patient_until_ns;	/* 0: there are not both hooks and sites */
	/* By place. */
	uint8_t *hit, *done;
	/* Ranges in which no task may be, sorted by address, and the place of each. */
	uint32_t ninside;
	struct inside { struct uft_owned own; uint32_t place; } *sorted;
	struct uft_owned *inside;
	uint8_t *inside_hit;
};

/* ---- One stop ------------------------------------------------------------------------------------ */

/* Writes the elements of @n from @from on that are neither done nor hit to the payload. Returns their number. */
static uint32_t fill(const struct stopped_batch *h, const struct part *p, uint32_t from, uint32_t n,
		     uint8_t uft_shared *payload)
{
	const uint8_t *hit = h->hit + p->base + from, *done = h->done + p->base + from;
	uint32_t k = 0;

	if (!memchr(hit, 1, n) && !memchr(done, 1, n)) {	/* the usual case; all tasks wait for this */
		shared_write(payload, p->elem + from * p->size, n * p->size);
		return n;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!done[i] && !hit[i])
			shared_write(payload + k++ * p->size, p->elem + (from + i) * p->size, p->size);
	return k;
}

/* Notes the answers to what fill() wrote. Of an element only its status is used. */
static void take(struct stopped_batch *h, const struct part *p, uint32_t from, uint32_t n,
		 const uint8_t uft_shared *payload)
{
	const uint8_t *hit = h->hit + p->base + from;
	uint8_t *done = h->done + p->base + from, *to = p->elem + from * p->size + p->status;

	payload += p->status;
	for (uint32_t i = 0; i < n; i++, to += p->size) {
		if (done[i] || hit[i])
			continue;
		if (p->nstatus == 1)
			*to = SHARED_LOAD(payload);
		else
			shared_read(to, payload, p->nstatus);
		payload += p->size;
		done[i] = 1;
		h->ndone++;
	}
}

/* Returns how many of @most places fit into a command and, by the measured time of one, into the time left. */
static uint32_t how_many(const struct stopped_batch *h, const struct part *p, uint64_t until_ns, uint32_t most)
{
	uint64_t now = now_ns(), n = until_ns > now ? (until_ns - now) / h->place_ns : 0, room;

	if (n < CHUNK_MIN)
		n = CHUNK_MIN;
	n = n < most ? n : most;
	room = command_room(h->s, h->t, n * p->size) / p->size;
	return (uint32_t)(n < room ? n : room);
}

/* Sends the next places from *@at on that are neither done nor hit. 0, -ESRCH, -ETIMEDOUT, the agent's error. */
static int send(struct stopped_batch *h, struct part *p, uint32_t *at, uint64_t until_ns, uint32_t flags)
{
	struct uft_cmd uft_shared *c = arena_cmd(&h->s->arena, h->t->slice);
	uint8_t uft_shared *payload = (uint8_t uft_shared *)channel_payload(c);
	uint32_t from = *at, n = how_many(h, p, until_ns, p->n - from), sent;
	uint64_t begin = now_ns();
	int ret;

	*at += n;
	sent = fill(h, p, from, n, payload);
	shared_write(c, &(struct uft_cmd){ .op = p->op, .n = sent, .object = p->object, .flags = flags }, sizeof(*c));
	ret = sent ? command_post(h->s, h->t) : 0;
	if (!ret && sent)
		ret = command_wait(h->s, h->t);
	if (ret == -ESRCH || ret == -ETIMEDOUT || (ret && p->op == UFT_CMD_PATCH))
		return ret;
	take(h, p, from, n, payload);
	if (from == p->from && !memchr(h->done + p->base + from, 0, n))
		p->from = *at;
	if (sent >= CHUNK_MIN)
		h->place_ns = (now_ns() - begin) / sent + 1;
	return 0;
}

/* Sites must wait while a hook is not armed, or a vfork child runs that no hook saw. */
static int must_wait(const struct stopped_batch *h)
{
	if (now_ns() > h->patient_until_ns)
		return 0;
	for (uint32_t i = 0; i < h->nparts; i++)
		if (h->part[i].op == UFT_CMD_HOOK && memchr(h->done + h->part[i].base, 0, h->part[i].n))
			return 1;
	return h->has_vforks;
}

/* Sends as much as there is time for, at least one command. 1: there is more; 0 or -errno. */
static int send_all(struct stopped_batch *h, uint64_t until_ns, uint32_t flags)
{
	uint32_t before = h->ndone;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < h->nparts; i++) {
		if (h->part[i].op == UFT_CMD_PATCH && must_wait(h))
			return 1;
		for (uint32_t at = h->part[i].from; !ret && at < h->part[i].n;) {
			if (h->ndone > before && now_ns() > until_ns)
				return 1;
			ret = send(h, &h->part[i], &at, until_ns, flags);
		}
	}
	return ret;
}

static void note_stop(struct uft_session *s, uint64_t ns)
{
	s->stop_ns += ns;
	if (ns > s->stop_ns_max)
		s->stop_ns_max = ns;
}

/* Returns where a task at @pc can continue: in the copy of moved instructions, or behind nops. 0: try again later. */
static uint64_t copy_of(void *arg, uint32_t range, uint64_t pc)
{
	const struct stopped_batch *h = arg;
	uint32_t place = h->sorted[range - 1].place, i = 0;
	const struct uft_patch *site;

	while (place - h->part[i].base >= h->part[i].n)
		i++;
	if (h->part[i].op != UFT_CMD_PATCH)
		return 0;
	site = (const struct uft_patch *)h->part[i].elem + (place - h->part[i].base);
	if ((site->kind_len & 0xf) == UFT_SITE_CODE)
		return unprepared_copy_of(h->t, h->part[i].object, site->stub, pc);
	return (site->kind_len & 0xf) == UFT_SITE_NOPS ? site->addr + (site->kind_len >> 4) : 0;
}

/* Returns when the stop has to end. If it took long to stop all tasks, the stop may last longer, to save another. */
static uint64_t end_of_stop(uint64_t since_ns)
{
	uint64_t took = now_ns() - since_ns, ns = took + took / 2;

	return since_ns + (ns > STOP_NS ? ns : STOP_NS);
}

/* Stops all tasks once. 0: all places without a task in them are done; 1: there was no time for all; -errno. */
static int one_stop(struct stopped_batch *h, pid_t agent, unsigned wait_ms)
{
	struct task_search look = { .pid = h->t->pid, .agent = agent, .own = h->inside, .nown = h->ninside,
		.is_sorted = 1,
			     .hit = h->inside_hit, .copy_of = copy_of, .arg = h,
			     .keeper = h->s->keeper, .keeper_arg = h->s };
	struct stopped_tasks *held;
	int ret;

	memset(h->hit, 0, h->n);
	memset(h->inside_hit, 0, h->ninside);
	ret = stop_all_tasks(&look, wait_ms, &held);
	if (!ret)
		stopped_find_inside(&look, held);
	h->has_vforks = held && stopped_have_vforks(held);
	if (memchr(h->inside_hit, 1, h->ninside))	/* the rare case; all tasks wait for this */
		for (uint32_t i = 0; i < h->ninside; i++)
			h->hit[h->sorted[i].place] |= h->inside_hit[i];
	if (!ret)
		ret = send_all(h, end_of_stop(stop_all_since(held)), UFT_CMD_HELD);
	note_stop(h->s, resume_all(held));
	return ret;
}

/*
 * Stops the tasks until all places are done, at most TRIES times. Places that always have a task inside stay as they
 * are: they are sent once more beside the running program, so that the agent counts them. 0 or -errno.
 */
static int run_held(struct stopped_batch *h)
{
	pid_t agent = target_agent_pid(h->t);
	unsigned ms = WAIT_MS;
	long nap = NAP_NS;

	if (h->part[0].op != h->part[h->nparts - 1].op)
		h->patient_until_ns = now_ns() + PATIENCE_NS;
	for (int i = 0; i < TRIES && h->ndone < h->n;) {
		int ret = one_stop(h, agent, ms);

		h->is_taken = ret == -EPERM;
		if (ret == -ESRCH || ret == -ETIMEDOUT)
			return ret;
		if (h->ndone < h->n)
			nanosleep(&(struct timespec){ .tv_nsec = nap }, NULL);
		i += ret != 1;
		nap = nap < NAP_MAX_NS ? 2 * nap : nap;
		ms = 2 * ms < TASK_STOP_MS ? 2 * ms : TASK_STOP_MS;
	}
	memset(h->hit, 0, h->n);
	h->patient_until_ns = 0;
	return send_all(h, ~0ull, 0);
}

/* ---- Preparing a stop ----------------------------------------------------------------------------- */

/* The bytes behind the first, rounded up to even: bit 0 of a size has another meaning, and a byte more does no harm. */
static struct uft_owned inside_of(uint64_t addr, unsigned len)
{
	return (struct uft_owned){ addr + 1, len > 1 ? len & ~1u : 0 };
}

static struct uft_owned place_of(const struct part *p, uint32_t i)
{
	const struct uft_patch *site = (const struct uft_patch *)p->elem + i;
	const struct uft_hook *hook = (const struct uft_hook *)p->elem + i;

	if (p->op == UFT_CMD_PATCH)
		return inside_of(site->addr, site->kind_len >> 4);
	return inside_of(hook->addr, hook->len);
}

static int prepare(struct stopped_batch *h)
{
	h->hit = calloc(h->n, 1);
	h->done = calloc(h->n, 1);
	h->inside_hit = calloc(h->n, 1);
	h->sorted = malloc(h->n * sizeof(*h->sorted));
	h->inside = malloc(h->n * sizeof(*h->inside));
	if (!h->hit || !h->done || !h->inside_hit || !h->sorted || !h->inside)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->nparts; i++)
		for (uint32_t k = 0; k < h->part[i].n; k++)
			h->sorted[h->ninside++] = (struct inside){ place_of(&h->part[i], k), h->part[i].base + k };
	SORT_BY(h->sorted, h->ninside, own.at);
	for (uint32_t i = 0; i < h->ninside; i++)
		h->inside[i] = h->sorted[i].own;
	return 0;
}

int arm_stopped_begin(struct uft_session *s, struct target *t)
{
	if (t->hold)
		return -EBUSY;
	t->hold = calloc(1, sizeof(*t->hold));
	if (!t->hold)
		return -ENOMEM;
	t->hold->s = s;
	t->hold->place_ns = PLACE_NS;
	t->hold->t = t;
	return 0;
}

void arm_stopped_drop(struct target *t)
{
	struct stopped_batch *h = t->hold;

	if (!h)
		return;
	for (uint32_t i = 0; i < h->nparts; i++) {
		free(h->part[i].elem);
		free(h->part[i].index);
	}
	free(h->part);
	free(h->hit);
	free(h->done);
	free(h->sorted);
	free(h->inside);
	free(h->inside_hit);
	free(h);
	t->hold = NULL;
}

/* Warns if a task has another tracer: then no place changes, and warnings of single places do not tell this reason. */
static void say_taken(const struct stopped_batch *h)
{
	char by[80];
	pid_t tid = h->is_taken ? procinfo_taken(h->t->pid, getpid(), by, sizeof(by)) : 0;

	if (tid)
		session_warn_of(h->s, h->t->slice,
				"process %d: its thread %d is being traced by %s: places that change only while all threads are "
			     "stopped stay as they are", h->t->pid, tid, by);
}

int arm_stopped_commit(struct target *t)
{
	struct stopped_batch *h = t->hold;
	int ret = 0;

	if (h && h->n)
		ret = prepare(h);
	if (h && h->n && !ret)
		ret = run_held(h);
	if (h)
		say_taken(h);
	for (uint32_t i = 0; h && !ret && i < h->nparts; i++) {
		const struct part *p = &h->part[i];

		if (p->op == UFT_CMD_PATCH)
			site_note_patched(t, p->object, (const void *)p->elem, p->index, p->n, (const void *)p->elem);
		else
			command_note_hooked(h->s, t, p->object, (const void *)p->elem, p->n);
	}
	arm_stopped_drop(t);
	return ret;
}

/* Adds a part with p.n elements, which the caller fills in. NULL: no memory. */
static struct part *add_part(struct stopped_batch *h, struct part p)
{
	if (array_resize(h->part, h->nparts + 1))
		return NULL;
	p.base = h->n;
	p.elem = calloc(p.n, p.size);
	p.index = calloc(p.n, sizeof(*p.index));
	h->part[h->nparts] = p;
	if (!p.elem || !p.index) {
		free(p.elem);
		free(p.index);
		return NULL;
	}
	h->n += p.n;
	return &h->part[h->nparts++];
}

static int add_patches(struct stopped_batch *h, uint32_t object, const struct uft_patch *told, const uint32_t *index,
		       const struct uft_patch *answer, uint32_t n, uint32_t nlive)
{
	struct part *p = add_part(h,
				  (struct part){ .op = UFT_CMD_PATCH, .object = object, .n = nlive,
				  .size = sizeof(*told),
						    .status = offsetof(struct uft_patch, status),
						    .nstatus = sizeof(told->status) });
	uint32_t k = 0;

	if (!p)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && k < nlive; i++)
		if (answer[i].status == UFT_ST_LIVE) {
			((struct uft_patch *)p->elem)[k] = told[i];
			p->index[k++] = index[i];
		}
	return 0;
}

static int add_hooks(struct stopped_batch *h, uint32_t object, const struct uft_hook *answer, uint32_t n,
		     uint32_t nbusy)
{
	struct part *p = add_part(h,
				  (struct part){ .op = UFT_CMD_HOOK, .object = object, .n = nbusy,
				  .size = sizeof(*answer),
						    .status = offsetof(struct uft_hook, result),
						    .nstatus = sizeof(answer->result) });
	struct uft_hook *to = p ? (struct uft_hook *)p->elem : NULL;
	uint32_t k = 0;

	if (!p)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && k < nbusy; i++)
		if (answer[i].result == -EBUSY) {
			to[k] = answer[i];
			to[k++].result = 0;
		}
	return 0;
}

/* In an open batch the work waits for arm_stopped_commit(); otherwise it is done at once. */
static int finish(struct target *t, int was_open, int ret)
{
	if (was_open)
		return ret;
	if (!ret)
		return arm_stopped_commit(t);
	arm_stopped_drop(t);
	return ret;
}

int arm_stopped_patches(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		 const uint32_t *index, const struct uft_patch *answer, uint32_t n)
{
	int was_open = t->hold != NULL, ret = 0;
	uint32_t nlive = 0;

	for (uint32_t i = 0; i < n; i++)
		nlive += answer[i].status == UFT_ST_LIVE;
	if (!nlive || t->space->is_preloaded)
		return 0;
	if (!was_open)
		ret = arm_stopped_begin(s, t);
	if (!ret)
		ret = add_patches(t->hold, object, told, index, answer, n, nlive);
	return finish(t, was_open, ret);
}

int arm_stopped_hooks(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *answer,
		      uint32_t n)
{
	int was_open = t->hold != NULL, ret = 0;
	uint32_t nbusy = 0;

	for (uint32_t i = 0; i < n; i++)
		nbusy += answer[i].result == -EBUSY;
	if (!nbusy || t->space->is_preloaded)
		return 0;
	if (!was_open)
		ret = arm_stopped_begin(s, t);
	if (!ret)
		ret = add_hooks(t->hold, object, answer, n, nbusy);
	return finish(t, was_open, ret);
}
