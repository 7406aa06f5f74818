// SPDX-License-Identifier: MIT
/*
 * arm_object.c - announce an object to a target's agent, arm its hooks, and remove it
 */
#include "control/arm/arm.h"
#include "control/arm/arm_stopped.h"
#include "symbol/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Warns of a hook that failed: tells the consequence, not the address. */
static void report_hook(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *h)
{
	const char *name = t->space->img->obj[object].obj->path;

	if (h->kind == UFT_HOOK_SYSCALL && h->nr == UFT_HOOK_ANY)
		session_warn_of(s, t->slice,
				"%s: syscall() could not be hooked (%s): programs started by it may not be followed",
				name,
			     strerror(-h->result));
	else if (h->kind == UFT_HOOK_SYSCALL)
		session_warn_of(s, t->slice,
				"%s: the system call %u could not be hooked (%s): children started by it may not be followed",
			     name, h->nr, strerror(-h->result));
	else if (h->kind == UFT_HOOK_UNWIND)
		session_warn_of(s, t->slice,
				"%s: an unwinder entry could not be hooked (%s): exceptions through traced functions are at risk",
			     name, strerror(-h->result));
	else if (h->result != -EILSEQ || !t->space->is_preloaded)
		session_warn_of(s, t->slice, "%s: the loader could not be hooked (%s): libraries are not traced", name,
			     strerror(-h->result));
	/* Without this hook session.c polls for libraries. A debugger's breakpoint there needs no warning. */
	if (h->kind == UFT_HOOK_RBRK)
		t->space->rbrk = 0;
}

/* Returns 1 while a thread waits in r_brk or in its hello for the session's answer. */
static int is_waiting(const struct uft_session *s, const struct target *t)
{
	struct uft_mail uft_shared *m = t->waiting ? s->arena.mail[(t->waiting - 1) / UFT_NREQUESTS] : NULL;
	const struct uft_request uft_shared *r = m ? &m->req[(t->waiting - 1) % UFT_NREQUESTS] : NULL;

	return r && SHARED_LOAD_ACQUIRE(&r->state) == UFT_REQ_POSTED;
}

/* Sends hooks in parts for which there is memory. Of an answer, only the results are used, and read once. */
static int send_hooks(struct uft_session *s, struct target *t, uint32_t object, struct uft_hook *sent, uint32_t n)
{
	const uint32_t most = (uint32_t)(command_room(s, t, n * sizeof(*sent)) / sizeof(*sent));
	int ret = 0;

	for (uint32_t at = 0, part; at < n && ret != -ESRCH && ret != -ETIMEDOUT; at += part) {
		struct uft_cmd uft_shared *c;
		struct uft_hook uft_shared *h;

		part = n - at < most ? n - at : most;
		c = command_begin(s, t, UFT_CMD_HOOK, part, object);
		h = (struct uft_hook uft_shared *)channel_payload(c);
		/* The only thread waits for the session, or is stopped before its first instruction. */
		if (t->remote || (t->space->is_preloaded && t->obj[object].is_fresh && is_waiting(s, t)))
			SHARED_STORE(&c->flags, UFT_CMD_HELD);
		shared_write(h, sent + at, part * sizeof(*sent));
		ret = command_send(s, t);
		for (uint32_t i = 0; i < part && ret != -ESRCH && ret != -ETIMEDOUT; i++)
			sent[at + i].result = SHARED_LOAD(&h[i].result);
	}
	return ret;
}

int command_hooks(struct uft_session *s, struct target *t, uint32_t object)
{
	struct space_obj *o = &t->space->obj[object];
	struct uft_hook *sent;
	uint32_t n = 0, k = 0;
	int ret;

	if (!o->nhook || t->obj[object].is_hooked)
		return 0;
	if (!target_takes_commands(t) || t->is_put_back)
		return -ESRCH;
	if (o->nhook > (s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD) / sizeof(*sent))
		return -E2BIG;
	sent = malloc(o->nhook * sizeof(*sent));
	if (!sent)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->nhook; i++)		/* leaves out hooks whose code cannot be moved */
		if (!o->hook[i].result)
			sent[n++] = o->hook[i];
	ret = send_hooks(s, t, object, sent, n);
	if (ret == -ESRCH || ret == -ETIMEDOUT)
		goto out;
	t->obj[object].is_hooked = 1;	/* some may be refused */
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
	ret = arm_stopped_hooks(s, t, object, sent, n);
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
	const struct uft_mapped *m = &t->space->img->obj[object];

	if (s->int3)
		s->int3->gone(s, m->text_start, m->text_end);
	if (!t->obj[object].is_sent && !t->obj[object].is_hooked && !t->obj[object].is_assumed &&
	    !t->obj[object].has_rows && !t->obj[object].has_events_on)
		return 0;
	return t->is_put_back ? -ESRCH : command_run_on(s, t, UFT_CMD_OBJECT_GONE, object);
}

static int send_object(struct uft_session *s, struct target *t, uint32_t object)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	const struct uft_cmd_object o = {
		.text_start = m->text_start, .text_end = m->text_end, .object = object, .nstubs = m->nstubs,
		.first_text_id = m->first_text_id, .first_stub_id = m->first_stub_id,
		.has_code = t->space->obj[object].plain != NULL,
	};

	shared_write(channel_payload(command_begin(s, t, UFT_CMD_OBJECT, 1, object)), &o, sizeof(o));
	return command_send(s, t);
}

void command_foretell(struct uft_session *s, uint32_t slice, const struct space *sp, const struct uft_object *obj,
		      uint64_t bias)
{
	size_t n = !s->spec || s->spec->tracer == UFT_TRACER_NOP ? 0 : uft_object_expects(obj);
	struct uft_cmd uft_shared *c;
	struct uft_cmd_object o;

	/* With a filter the number of sites is not known, and memory for too many would be wasted. */
	if (!n || n > s->arena.map->profile_ids / 2 || !obj->ntext || s->spec->nfilter || s->spec->nnotrace ||
	    s->spec->min_size || s->spec->beside)
		return;
	c = channel_begin(&s->arena, slice, UFT_CMD_OBJECT, 1, 0);
	o = (struct uft_cmd_object){
		.text_start = obj->text[0].addr + bias, .text_end = obj->text[obj->ntext - 1].end + bias,
		.nstubs = (uint32_t)n,
		.first_text_id = sp->next_text_id, .first_stub_id = sp->next_stub_id,
		.warm = UFT_WARM_SITES | (s->spec->tracer == UFT_TRACER_FUNCTION ? 0 : UFT_WARM_STUBS),
	};
	shared_write(channel_payload(c), &o, sizeof(o));
	channel_post(&s->arena, slice);
	/* pages that the next command will probably use */
	table_populate(shared_address(channel_payload(c)), bits_bytes(UFT_SITES_FIRST, n));
}

int command_object(struct uft_session *s, struct target *t, uint32_t object)
{
	int ret;

	if (t->obj[object].is_sent)
		return 0;
	ret = send_object(s, t, object);
	/* command_foretell() told a wrong number. The object's hooks may be armed by now. */
	if ((ret == -ENOSPC || ret == -EEXIST) && /* GUARD(guess_undone, 0) */
	    !command_run_on(s, t, UFT_CMD_OBJECT_ANEW /* GUARD(guess_anew, UFT_CMD_OBJECT_GONE) */, object))
		ret = send_object(s, t, object);
	if (!ret) {
		struct uft_cmd_object o;

		shared_read(&o, channel_payload(arena_cmd(&s->arena, t->slice)), sizeof(o));
		t->obj[object].code_base = o.code_base;
		t->obj[object].is_sent = 1;
		t->space->obj[object].stub_base = o.stub_base;
		t->space->obj[object].code_base = o.code_base;
		t->space->obj[object].tramp_base = o.tramp_base;
		t->space->obj[object].tramp_end = o.tramp_end;
	}
	return ret;
}

/* STILL: the process is in its exec stop. FRESH: no thread has run in the object, as one that waits just mapped it. */
uint32_t command_patch_flags(const struct uft_session *s, const struct target *t, uint32_t object)
{
	uint32_t still = t->remote ? UFT_PATCH_STILL : 0;

	return still |
		(t->obj[object].is_fresh && (still || is_waiting(s, t)) ? UFT_PATCH_FRESH : still ? 0 : UFT_PATCH_TRY);
}
