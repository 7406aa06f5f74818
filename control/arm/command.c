// SPDX-License-Identifier: MIT
/*
 * command.c - what agents are told: one command at a time through the slice's command area
 *
 * An agent that does not answer within COMMAND_TIMEOUT_MS (stopped by SIGSTOP to all, killed), or FROZEN_MS if its control
 * group is frozen, makes its target stuck: it gets no more commands, since the area may still be read, and what became of the
 * last one is not known; the user is told once. When it answers after all it is brought up to date (stuck.c); when it is to be left
 * it is asked for that last answer again (command_is_stuck).
 * What the agent writes back is data from a target: indices into our own tables are never taken from it.
 */
#include "control/arm/arm_stopped.h"
#include "control/proc/cgroup.h"
#include "control/internal.h"
#include "control/plan/unprepared.h"
#include "symbol/table.h"
#include "symbol/tracer.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FROZEN_MS	1000	/* all others wait meanwhile */
#define AGAIN_MS	2000	/* for one that may have come to itself */

static void post(struct uft_slice *sl)
{
	__atomic_store_n(&sl->cmd_seq, __atomic_load_n(&sl->cmd_seq, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
	futex(&sl->cmd_seq, 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
}

int command_post(struct uft_session *s, struct target *t)
{
	struct uft_slice *sl = arena_slice(&s->arena, t->slice);

	if (t->is_over || t->is_stuck || !t->has_agent)
		return -ESRCH;
	post(sl);
	return 0;
}

/* 1: it was carried out; 0: not within @ms, or soon if the target is frozen; -ESRCH: nobody is there any more. */
static int await_answer(const struct uft_session *s, const struct target *t, uint32_t ms)
{
	struct uft_slice *sl = arena_slice(&s->arena, t->slice);
	uint32_t seq = __atomic_load_n(&sl->cmd_seq, __ATOMIC_RELAXED);
	uint64_t now = session_now_ns(), bearable = now + FROZEN_MS * 1000000ull, deadline = now + ms * 1000000ull;
	char group[200];

	for (;;) {
		struct timespec part = { .tv_nsec = 20000000 };
		uint32_t done = __atomic_load_n(&sl->cmd_done, __ATOMIC_ACQUIRE);

		if (done == seq)
			return 1;
		/* Asked before the first sleep: one that ended since its last command would cost all others a part of it. */
		if (target_agent_ended(t) || !target_is_running(t))
			return __atomic_load_n(&sl->cmd_done, __ATOMIC_ACQUIRE) == seq ? 1 : -ESRCH;
		now = session_now_ns();
		if (now > deadline || (now > bearable && cgroup_is_frozen(t->pid, group, sizeof(group))))
			return 0;
		futex(&sl->cmd_done, 0 /* FUTEX_WAIT */, done, &part);
	}
}

int command_wait(struct uft_session *s, struct target *t)
{
	int ret = await_answer(s, t, s->command_ms);
	char group[200];

	if (ret > 0)
		return arena_slice(&s->arena, t->slice)->cmd_result;
	if (ret < 0) {
		if (target_agent_ended(t))
			t->has_agent = 0;
		return ret;
	}
	stuck_begin(s, t);
	session_warn(s, "process %d does not answer%s: it is left as it is", t->pid,
		     cgroup_is_frozen(t->pid, group, sizeof(group)) ? ", as it is frozen; uft detach leaves it when it is thawed" : "");
	return -ETIMEDOUT;
}

int command_is_stuck(const struct uft_session *s, const struct target *t)
{
	return t->is_stuck && await_answer(s, t, AGAIN_MS) == 0;
}

static struct uft_cmd *command_begin(struct uft_session *s, struct target *t, uint32_t op, uint32_t n, uint32_t object)
{
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);

	*c = (struct uft_cmd){ .op = op, .n = n, .object = object };
	return c;
}

static void *payload(struct uft_cmd *c)
{
	return (uint8_t *)c + UFT_CMD_PAYLOAD;
}

static int command_run_on(struct uft_session *s, struct target *t, uint32_t op, uint32_t object)
{
	int ret;

	if (t->is_over || t->is_stuck || !t->has_agent)
		return -ESRCH;
	command_begin(s, t, op, 0, object);
	ret = command_post(s, t);
	return ret ? ret : command_wait(s, t);
}

int command_run(struct uft_session *s, struct target *t, uint32_t op)
{
	return command_run_on(s, t, op, 0);
}

/* What the runtime may ask the kernel for in the program's threads, of what the tracer wants: policy and priority, CPU time. */
static uint32_t may_ask(struct uft_session *s, struct target *t)
{
	uint32_t wanted = s->spec->params.has_events & UFT_EVENTS_CPU;
	const char *why;

	if (uft_tracer_kind(s->spec->events) == UFT_KIND_WAKEUP)
		wanted = UFT_EVENTS_POLICY;
	if (!wanted || !sandbox_is_possible(t, &why))
		return wanted;
	if (why && !t->is_unasked)
		session_warn(s, "process %d: has or could make a seccomp filter (%s), so its threads are not asked for their %s", t->pid,
			     why, wanted == UFT_EVENTS_CPU ? "CPU time: durations include sleep" :
			     "scheduling policy: wakeup shows ?, wakeup_rt nothing");
	t->is_unasked |= why != NULL;
	return 0;
}

/* Stacks are read by a system call that no program needs. They were asked for by name, so this is said and not refused. */
static void warn_stacks(struct uft_session *s, struct target *t)
{
	const char *why = NULL;

	if (!s->spec->params.stacks || t->is_unsafe_said || !sandbox_is_possible(t, &why) || !why)
		return;
	session_warn(s, "process %d: has or could make a seccomp filter (%s): one that kills for process_vm_readv would end it, as "
		     "stacks are read by that call", t->pid, why);
	t->is_unsafe_said = 1;
}

int command_params(struct uft_session *s, struct target *t)
{
	struct uft_tracer_params params = s->spec->params;	/* a target may write to what it is sent */
	int ret;

	if (t->is_over || t->is_stuck || !t->has_agent)
		return -ESRCH;
	params.has_events = (params.has_events & ~(uint32_t)UFT_EVENTS_CPU) | may_ask(s, t);
	params.kin_lists = kin_lists(s, t->pid);
	stacks_put_ids(s, t, &params);
	warn_stacks(s, t);
	memcpy(payload(command_begin(s, t, UFT_CMD_TRACER, 1, 0)), &params, sizeof(params));
	ret = command_post(s, t);
	return ret ? ret : command_wait(s, t);
}

/* Each kind of hook that failed is worth one sentence: what it means, not which address. */
static void report_hook(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *h)
{
	const char *name = t->space->img->obj[object].obj->path;

	if (h->kind == UFT_HOOK_SYSCALL && h->nr == UFT_HOOK_ANY)
		session_warn(s, "%s: syscall() could not be hooked (%s): programs started by it may not be followed", name,
			     strerror(-h->result));
	else if (h->kind == UFT_HOOK_SYSCALL)
		session_warn(s, "%s: the system call %u could not be hooked (%s): children started by it may not be followed",
			     name, h->nr, strerror(-h->result));
	else if (h->kind == UFT_HOOK_UNWIND)
		session_warn(s, "%s: an unwinder entry could not be hooked (%s): exceptions through traced functions are at risk",
			     name, strerror(-h->result));
	else
		session_warn(s, "%s: the loader could not be hooked (%s): libraries are not traced", name,
			     strerror(-h->result));
	if (h->kind == UFT_HOOK_RBRK)
		t->space->rbrk = 0;
}

/* A thread waits in r_brk or in its hello until it is answered. */
static int is_waiting(const struct uft_session *s, const struct target *t)
{
	return t->waiting && __atomic_load_n(&s->arena.mail->req[t->waiting - 1].state, __ATOMIC_ACQUIRE) == UFT_REQ_POSTED;
}

int command_hooks(struct uft_session *s, struct target *t, uint32_t object)
{
	struct space_obj *o = &t->space->obj[object];
	struct uft_hook *h, *sent;
	struct uft_cmd *c;
	uint32_t n = 0, k = 0;
	int ret;

	if (!o->nhook || t->obj[object].is_hooked)
		return 0;
	if (t->is_over || t->is_stuck || t->has_faulted || !t->has_agent)
		return -ESRCH;
	if (o->nhook > (s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD) / sizeof(*sent))
		return -E2BIG;
	sent = malloc(o->nhook * sizeof(*sent));
	if (!sent)
		return -ENOMEM;
	c = command_begin(s, t, UFT_CMD_HOOK, 0, object);
	if (t->is_preloaded && t->obj[object].is_fresh && is_waiting(s, t))
		c->flags = UFT_CMD_HELD;	/* its only thread waits for us */
	h = payload(c);
	for (uint32_t i = 0; i < o->nhook; i++)		/* what cannot be moved is not even tried */
		if (!o->hook[i].result)
			sent[n++] = o->hook[i];
	memcpy(h, sent, n * sizeof(*h));
	c->n = n;
	ret = n ? command_post(s, t) : 0;
	if (!ret && n)
		ret = command_wait(s, t);
	if (ret == -ESRCH || ret == -ETIMEDOUT)
		goto out;
	/* Only results are taken from the answer, each once. */
	for (uint32_t i = 0; i < n; i++)
		sent[i].result = __atomic_load_n(&h[i].result, __ATOMIC_RELAXED);
	t->obj[object].is_hooked = 1;	/* or refused, each with its result */
	for (uint32_t i = 0; i < o->nhook && !o->is_reported; i++) {
		struct uft_hook told = o->hook[i];

		if (!told.result)
			told.result = sent[k++].result;
		if (told.kind == UFT_HOOK_UNWIND && told.result)
			o->unwind_error = told.result;
		if (told.result < 0 && told.result > -4096 && told.result != -EBUSY)
			report_hook(s, t, object, &told);
	}
	o->is_reported = 1;
	ret = hold_hooks(s, t, object, sent, n);
	ret = ret == -ESRCH || ret == -ETIMEDOUT ? ret : 0;
out:
	free(sent);
	return ret;
}

void command_note_hooked(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *h, uint32_t n)
{
	struct space_obj *o = &t->space->obj[object];

	for (uint32_t i = 0; i < n && !o->is_hold_reported; i++)
		if (h[i].result < 0 && h[i].result > -4096)
			report_hook(s, t, object, &h[i]);
	o->is_hold_reported = 1;
}

int command_gone(struct uft_session *s, struct target *t, uint32_t object)
{
	struct uft_cmd *c;
	int ret;

	if (!t->obj[object].is_sent && !t->obj[object].is_hooked && !t->obj[object].is_assumed &&
	    !t->obj[object].has_rows)
		return 0;
	if (t->is_over || t->is_stuck || t->has_faulted || !t->has_agent)
		return -ESRCH;
	c = command_begin(s, t, UFT_CMD_OBJECT_GONE, 0, object);
	(void)c;
	ret = command_post(s, t);
	return ret ? ret : command_wait(s, t);
}

static int send_object(struct uft_session *s, struct target *t, uint32_t object)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	int ret;

	*(struct uft_cmd_object *)payload(command_begin(s, t, UFT_CMD_OBJECT, 1, object)) = (struct uft_cmd_object){
		.text_start = m->text_start, .text_end = m->text_end, .object = object, .nstubs = m->nstubs,
		.first_text_id = m->first_text_id, .first_stub_id = m->first_stub_id,
		.has_code = t->space->obj[object].plain != NULL,
	};
	ret = command_post(s, t);
	return ret ? ret : command_wait(s, t);
}

void command_foretell(struct uft_session *s, const struct space *sp, const struct uft_object *obj, uint64_t bias)
{
	size_t n = s->first == UFT_NO_SLICE || !s->spec || s->spec->tracer == UFT_TRACER_NOP ? 0 : uft_object_expects(obj);
	struct uft_slice *sl;
	struct uft_cmd *c;

	/* With a filter nobody knows; then what is not needed must not be made. */
	if (!n || n > s->arena.map->profile_ids / 2 || !obj->ntext || s->spec->nfilter || s->spec->nnotrace || s->spec->min_size ||
	    s->spec->beside)
		return;
	sl = arena_slice(&s->arena, s->first);
	c = arena_cmd(&s->arena, s->first);
	*c = (struct uft_cmd){ .op = UFT_CMD_OBJECT, .n = 1 };
	*(struct uft_cmd_object *)payload(c) = (struct uft_cmd_object){
		.text_start = obj->text[0].addr + bias, .text_end = obj->text[obj->ntext - 1].end + bias, .nstubs = (uint32_t)n,
		.first_text_id = sp->next_text_id, .first_stub_id = sp->next_stub_id,
		.warm = UFT_WARM_SITES | (s->spec->tracer == UFT_TRACER_FUNCTION ? 0 : UFT_WARM_STUBS),
	};
	post(sl);
	table_populate(payload(c), command_arm_bytes(n));	/* of the next command, most likely */
}

int command_object(struct uft_session *s, struct target *t, uint32_t object)
{
	int ret;

	if (t->obj[object].is_sent)
		return 0;
	ret = send_object(s, t, object);
	/* It was foretold, wrongly. Its hooks may be armed by now. */
	if ((ret == -ENOSPC || ret == -EEXIST) && !command_run_on(s, t, UFT_CMD_OBJECT_ANEW, object))
		ret = send_object(s, t, object);
	if (!ret) {
		struct uft_cmd_object o;

		memcpy(&o, payload(arena_cmd(&s->arena, t->slice)), sizeof(o));
		t->obj[object].code_base = o.code_base;
		t->obj[object].is_sent = 1;
		t->space->obj[object].stub_base = o.stub_base;
		t->space->obj[object].code_base = o.code_base;
		t->space->obj[object].tramp_base = o.tramp_base;
		t->space->obj[object].tramp_end = o.tramp_end;
	}
	return ret;
}

/*
 * Calls of libc's mcount, by what the file says, are the program's own if some object of the process has one: then
 * the dynamic linker leads them there. (It may not, if libc comes first; a call that is kept does no harm.)
 */
static uint8_t site_kind(const struct space_obj *o, const struct uft_site *site)
{
	return site->call_name & o->own_calls ? UFT_SITE_OWN_CALL : site->kind;
}

/* What an imported name stands for is known when all objects of the start are. Nobody calls it before. */
static int must_wait(const struct space *sp, const struct uft_site *site)
{
	return site->call_name && sp->is_dynamic && sp->rbrk && !sp->started;
}

/* A program's own mcount is called when the frame stands, its own __fentry__ before. */
static int is_behind_prologue(uint8_t kind, const struct uft_site *site)
{
	return kind == UFT_SITE_OWN_CALL && site->is_framed;
}

static int is_armed(uint8_t state)
{
	return state != WANT_NOT && ((state & 0xf) == UFT_FUNCTION || (state & 0xf) == UFT_GRAPH);
}

/*
 * Lists of sites go out in parts: while the agent works on one, the next is written, beside the command area, which
 * stays small so that few of its pages are ever made.
 */
#define PART_SITES	(1u << 14)
#define PART_FIRST	(1u << 12)	/* it is not waited for long */

struct part {
	struct uft_patch patch[PART_SITES];
	uint32_t index[PART_SITES];	/* of the site; what the agent writes back is not taken for it */
	uint32_t n;
};

/* Scratch of the session's only thread. */
static struct sender {
	struct part part[2];
	unsigned filling;		/* the other one may be under way */
	uint32_t most;			/* sites in it */
	int is_posted;
} *sender;

/* Held at its exec, or a thread waits with the object that it has just mapped. */
uint32_t command_patch_flags(const struct uft_session *s, const struct target *t, uint32_t object)
{
	uint32_t still = t->remote ? UFT_PATCH_STILL : 0;

	return still | (t->obj[object].is_fresh && (still || is_waiting(s, t)) ? UFT_PATCH_FRESH : still ? 0 : UFT_PATCH_TRY);
}

uint8_t command_stub_flags(uint8_t state)
{
	return (uint8_t)((state & WANT_ROOT ? UFT_SITE_ROOT : 0) | state >> WANT_KEEP_SHIFT << 2);
}

void command_note_state(struct target *t, uint32_t object, uint32_t index, uint8_t state)
{
	uint8_t *now = &t->obj[object].state[index];

	t->armed += (uint64_t)is_armed(state) - (uint64_t)is_armed(*now);
	*now = t->space->obj[object].sent[index] = state;
}

void command_note_states(struct target *t, uint32_t object, uint32_t index, uint32_t n, uint8_t state)
{
	memset(t->obj[object].state + index, state, n);
	memset(t->space->obj[object].sent + index, state, n);
	t->armed += is_armed(state) ? n : 0;
}

/* What became of patches, by the agent's copy: only statuses are taken from it. */
void command_note_patched(struct target *t, uint32_t object, const struct uft_patch *told, const uint32_t *index, uint32_t n,
			  const struct uft_patch *answer)
{
	for (uint32_t i = 0; i < n; i++) {
		uint8_t flags = told[i].flags;
		uint8_t state = (uint8_t)(told[i].state | (flags & UFT_SITE_ROOT ? WANT_ROOT : 0) |
					  (flags & UFT_SITE_KEEP) >> 2 << WANT_KEEP_SHIFT);

		if (answer[i].status != UFT_ST_OK)
			state = WANT_NOT;	/* as it was: tried again with the next change */
		command_note_state(t, object, index[i], state);
	}
}

/* What has to wait until all stand is as it was, for now. */
static int take_answer(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		       const uint32_t *index, uint32_t n)
{
	const struct uft_patch *answer = payload(arena_cmd(&s->arena, t->slice));
	struct uft_patch *copy = malloc(n * sizeof(*copy));
	int ret;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, told, n * sizeof(*copy));
	for (uint32_t i = 0; i < n; i++)	/* only statuses are taken from the answer, each once */
		copy[i].status = __atomic_load_n(&answer[i].status, __ATOMIC_RELAXED);
	command_note_patched(t, object, told, index, n, copy);
	ret = hold_patches(s, t, object, told, index, copy, n);
	free(copy);
	return ret;
}

int command_patch_list(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *p,
		       const uint32_t *index, uint32_t n)
{
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);
	int ret;

	*c = (struct uft_cmd){ .op = UFT_CMD_PATCH, .n = n, .object = object, .flags = command_patch_flags(s, t, object) };
	memcpy(payload(c), p, n * sizeof(*p));
	ret = command_post(s, t);
	if (!ret)
		ret = command_wait(s, t);
	return ret ? ret : take_answer(s, t, object, p, index, n);
}

/* Waits for the part under way, if there is one, and records what the agent says became of it. */
static int part_wait(struct uft_session *s, struct target *t, uint32_t object)
{
	const struct part *sent = &sender->part[!sender->filling];
	int ret;

	if (!sender->is_posted)
		return 0;
	sender->is_posted = 0;
	ret = command_wait(s, t);
	return ret ? ret : take_answer(s, t, object, sent->patch, sent->index, sent->n);
}

/* Sends what was filled, behind what is under way. */
static int part_post(struct uft_session *s, struct target *t, uint32_t object)
{
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);
	struct part *part = &sender->part[sender->filling];
	int ret = part_wait(s, t, object);

	if (ret)
		return ret;
	*c = (struct uft_cmd){ .op = UFT_CMD_PATCH, .n = part->n, .object = object, .flags = command_patch_flags(s, t, object) };
	table_populate(payload(c), part->n * sizeof(*part->patch));
	memcpy(payload(c), part->patch, part->n * sizeof(*part->patch));
	ret = command_post(s, t);
	sender->is_posted = !ret;
	sender->filling ^= 1;
	sender->most = PART_SITES;
	sender->part[sender->filling].n = 0;
	return ret;
}

/* Fills and sends. What is under way at the end, an error included, is not waited for. */
static int send_sites(struct uft_session *s, struct target *t, uint32_t object, int force)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	struct space_obj *so = &t->space->obj[object];
	int ret = 0;

	for (size_t i = 0; i < m->obj->nsite && so->want && !ret; i++) {
		struct part *part = &sender->part[sender->filling];
		const struct uft_site *site = &m->obj->site[i];
		uint8_t state = command_next_state(so->want[i], t->obj[object].state[i], force);
		uint8_t kind = site_kind(so, site);

		if (site->skip != UFT_SKIP_NONE || state == WANT_NOT || must_wait(t->space, site))
			continue;
		if (!t->obj[object].is_sent) {
			ret = command_object(s, t, object);
			if (ret)
				break;
		}
		part->patch[part->n] = (struct uft_patch){		/* clears status */
			.addr = site->addr + m->bias, .stub = (uint32_t)i, .kind_len = UFT_KIND_LEN(kind, site->len),
			.state = state & 0xf,
			.flags = (uint8_t)(command_stub_flags(state) |
					   (is_behind_prologue(kind, site) ? UFT_SITE_FRAME : 0)),
		};
		part->index[part->n++] = (uint32_t)i;
		if (part->n == sender->most)
			ret = part_post(s, t, object);
	}
	return ret || !sender->part[sender->filling].n ? ret : part_post(s, t, object);
}

int command_patch(struct uft_session *s, struct target *t, uint32_t object, int force)
{
	struct space_obj *so = &t->space->obj[object];
	int ret, end;

	if (t->is_over || t->is_stuck || t->has_faulted || !t->has_agent)
		return -ESRCH;
	if (target_grow(t, t->nobj))
		return -ENOMEM;
	if (!sender)
		sender = malloc(sizeof(*sender));
	if (!sender)
		return -ENOMEM;
	if (!so->has_own_calls && (!t->space->is_dynamic || !t->space->rbrk || t->space->started)) {
		so->own_calls = t->space->own_calls;
		so->has_own_calls = 1;
	}
	sender->is_posted = 0;
	sender->part[sender->filling = 0].n = 0;
	sender->most = PART_FIRST;
	ret = force ? 0 : command_sweep(s, t, object);
	if (!ret && !force)
		ret = command_arm(s, t, object);
	if (!ret)
		ret = send_sites(s, t, object, force);
	end = part_wait(s, t, object);
	ret = ret ? ret : end;
	return ret ? ret : plain_patch(s, t, object, force);
}

int target_arm(struct uft_session *s, struct target *t, int force)
{
	int ret = target_grow(t, t->space->nobj);
	int first = 0, was_open = t->hold != NULL;

	if (!ret)
		ret = command_params(s, t);
	if (!ret && !was_open)
		ret = hold_open(s, t);
	for (uint32_t i = 0; !ret && i < t->nobj; i++) {
		struct uft_error err = { "" };

		if (!t->obj[i].is_mapped || t->obj[i].is_assumed)
			continue;
		ret = space_plan(s, t->space, i, &err);
		if (ret < 0) {		/* one object without names must not spoil the others */
			session_warn(s, "%s", err.text);
			first = first ? first : ret;
			ret = 0;
			continue;
		}
		ret = command_hooks(s, t, i);
		if (!ret)
			ret = stacks_send(s, t, i);
		if (!ret)
			ret = command_patch(s, t, i, force);
	}
	if (!ret && !was_open)
		ret = hold_close(t);
	if (!was_open)
		hold_drop(t);
	if (!ret)
		t->spec_sent = s->spec->generation;
	return ret ? ret : first;
}
