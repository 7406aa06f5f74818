// SPDX-License-Identifier: MIT
/*
 * libraries.c - follow the loader of a target: find and arm new libraries, and forget those that were unmapped
 *
 * The list is the target's own and may be false (plan/image_plan.c tells the checks). The whole list is read before
 * any object is armed.
 */
#include "control/arm/arm.h"
#include "control/proc/map_files.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINK_MAPS	4096
#define MAX_NAMESPACES	16
/* identifies a preloaded libuft.so: none of its code is the program's */
#define RUNTIME_SYMBOL	"uft_preload_init"

struct walk {
	struct uft_session *s;
	struct target *t;
	struct map_files files;
	uint8_t *seen;		/* by object index */
	uint8_t *todo;		/* by object index: 0, or the work of arm_object() */
	int changed, is_full;	/* is_full: no room for more objects of a process of another user */
};

enum { TODO_ARM = 1, TODO_FORCE, TODO_FRESH /* mapped just now */ };

/* Called after the whole list was read: only then is it known which object's mcount the others call. */
static int arm_object(struct walk *w, uint32_t index, int todo)
{
	struct uft_error err = { "" };
	struct target *t = w->t;
	int ret = target_grow(t, t->space->nobj);

	if (ret)
		return ret;
	t->obj[index].is_mapped = 1;
	t->obj[index].is_fresh = todo == TODO_FRESH && t->waiting;
	w->changed = 1;
	if (!w->s->spec || t->is_held_back)
		return 0;
	ret = space_plan(w->s, t->space, index, &err);
	if (ret < 0)
		session_warn_of(w->s, w->t->slice, "%s", err.text);
	ret = command_hooks(w->s, t, index);
	if (!ret)
		ret = command_tracepoints(w->s, t, index);
	if (!ret)
		ret = stacks_send(w->s, t, index);
	if (!ret)
		ret = command_patch(w->s, t, index, todo == TODO_FORCE);
	t->obj[index].is_fresh = 0;
	if (ret && ret != -ESRCH)	/* the other objects can still be armed */
		session_warn_of(w->s, t->slice, "%s could not be armed: %s", t->space->img->obj[index].obj->path,
				strerror(-ret));
	return ret == -ESRCH ? ret : 0;
}

/* Compares l_ld, too: all objects that are linked for their address have bias 0 (prelinked ones, a non-PIE program). */
static int is_entry_of(const struct link_map *l, const struct uft_mapped *m)
{
	uint64_t dynamic = (uint64_t)(uintptr_t)l->l_ld;

	return m->bias == l->l_addr &&
	       (!m->obj->dynamic || m->bias + m->obj->dynamic == dynamic) /* GUARD(library_dynamic) */;
}

/* Returns 1 if another running target of the space has the object mapped. */
static int relative_has(const struct uft_session *s, const struct target *t, uint32_t index)
{
	for (const struct target *r = s->targets; r; r = r->next)
		if (r != t && r->space == t->space && !r->is_over && index < r->nobj && r->obj[index].is_mapped)
			return 1;
	return 0;
}

/*
 * Returns 1 if a process of another user names an object at @bias whose addresses overlap those of an object of a
 * relative: the relative's addresses would get names of that object.
 */
static int overlaps_relative(const struct uft_session *s, const struct target *t, const struct uft_object *obj,
			     uint64_t bias)
{
	const struct uft_image *img = t->space->img;

	if (!obj->ntext || proc_effective_user(t->pid) == t->space->uid)
		return 0;
	for (uint32_t i = 0; i < img->nobj; i++)
		if (obj->text[0].addr + bias < img->obj[i].text_end &&
		    img->obj[i].text_start < obj->text[obj->ntext - 1].end + bias && relative_has(s, t, i))
			return 1;
	return 0;
}

/* Handles an entry of the list. Its object is mapped already, or known from a relative or from earlier, or new. */
static int walk_entry(struct walk *w, const struct link_map *l)
{
	struct space *sp = w->t->space;
	struct uft_error err = { "" };
	struct uft_object *obj;
	int index, ret;

	for (uint32_t i = 0; i < w->t->nobj; i++)
		if (w->t->obj[i].is_mapped && is_entry_of(l, &sp->img->obj[i]) && !w->seen[i]) {
			w->seen[i] = 1;
			if (!w->t->obj[i].is_assumed)
				return 0;
			w->t->obj[i].is_assumed = 0;
			w->todo[i] = TODO_FORCE;
			return 0;
		}
	if (w->is_full)
		return 0;
	ret = map_files_open_at(&w->files, (uint64_t)(uintptr_t)l->l_ld, &obj, &err);
	if (ret == -ENXIO)
		return 0;		/* vdso */
	if (ret || !map_files_are_mapped(w->t->pid, obj, l->l_addr)) {
		/* A process that was killed meanwhile has no mappings any more. */
		if (ret && !proc_is_ending(w->t->pid))
			session_warn_of(w->s, w->t->slice, "a library is not traced: %s", err.text);
		else if (!ret && !proc_is_ending(w->t->pid))
			session_warn_of(w->s, w->t->slice,
					"library %s is not traced: the file is not the one that is mapped", obj->path);
		uft_object_put(obj);
		return 0;
	}
	if (sp->is_preloaded && uft_object_exports(obj, RUNTIME_SYMBOL)) {
		uft_object_put(obj);
		return 0;
	}
	for (index = 0; index < (int)sp->nobj; index++)
		if (sp->img->obj[index].obj == obj && sp->img->obj[index].bias == l->l_addr)
			break;
	if (index == (int)sp->nobj)
		index = overlaps_relative(w->s, w->t, obj, l->l_addr) ? -EADDRINUSE :
			space_add_of(w->s, sp, w->t->pid, obj, l->l_addr);
	else
		sp->img->obj[index].to_clock = 0;
	uft_object_put(obj);
	w->is_full |= index == -EDQUOT;
	if (index < 0) {
		session_warn_of(w->s, w->t->slice, "library %s is not traced: %s",
				map_files_name_at(&w->files, (uint64_t)(uintptr_t)l->l_ld), index == -EDQUOT ?
				"processes of this program that run as another user have loaded too many" :
				index == -EADDRINUSE ?
					"another process of this program has a different library at this address" :
					strerror(-index));
		return 0;
	}
	if (index < UFT_MAX_OBJECTS) {
		w->seen[index] = 1;
		w->todo[index] = TODO_FRESH;
	}
	return 0;
}

static int walk_list(struct walk *w, uint64_t rdebug)
{
	struct r_debug_2 {
		struct r_debug base;
		uint64_t next;
	} r;
	int entries = 0;

	for (int ns = 0; rdebug && ns < MAX_NAMESPACES; ns++) {
		uint64_t at;

		r.next = 0;
		if (proc_read_memory(w->t->pid, rdebug, &r.base, sizeof(r.base)))
			return -EFAULT;
		if (r.base.r_version >= 2)
			proc_read_memory(w->t->pid, rdebug, &r, sizeof(r));
		if (r.base.r_state != RT_CONSISTENT)
			return -EAGAIN;
		at = (uint64_t)(uintptr_t)r.base.r_map;
		while (at && entries++ < MAX_LINK_MAPS) {
			struct link_map l;
			int ret;

			if (proc_read_memory(w->t->pid, at, &l, sizeof(l)))
				return -EFAULT;
			ret = walk_entry(w, &l);
			if (ret)
				return ret;
			at = (uint64_t)(uintptr_t)l.l_next;
		}
		rdebug = r.next;
	}
	return 0;
}

static int has_new(const struct walk *w)
{
	return memchr(w->todo, TODO_ARM, w->t->space->nobj) || memchr(w->todo, TODO_FORCE, w->t->space->nobj) ||
	       memchr(w->todo, TODO_FRESH, w->t->space->nobj);
}

static int arm_new(struct walk *w)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < w->t->space->nobj; i++)
		if (w->todo[i])
			ret = arm_object(w, i, w->todo[i]);
	return ret;
}

/* Returns the address that the loader left for debuggers (DT_DEBUG), or else that of the symbol. */
static uint64_t find_rdebug(struct target *t)
{
	const struct space *sp = t->space;
	Elf64_Dyn d[32];
	unsigned n = sizeof(d) / sizeof(d[0]);

	for (unsigned i = 0; sp->dynamic && i < 256; i += n) {
		/* Reads several at once, or single ones where memory ends before that. */
		if (proc_read_memory(t->pid, sp->dynamic + i * sizeof(d[0]), d, n * sizeof(d[0])) && n > 1) {
			n = 1;
			if (proc_read_memory(t->pid, sp->dynamic + i * sizeof(d[0]), d, sizeof(d[0])))
				break;
		}
		for (unsigned k = 0; k < n; k++) {
			if (d[k].d_tag == DT_NULL)
				return sp->rdebug;
			if (d[k].d_tag == DT_DEBUG && d[k].d_un.d_ptr)
				return d[k].d_un.d_ptr;
		}
	}
	return sp->rdebug;
}

/* The program contains a tracer of its own: disarms everything before that tracer runs. */
static void leave_to_tracer(struct uft_session *s, struct space *sp)
{
	session_warn(s, "%s is traced by %s, which changes the same bytes: uft records no function of it", sp->img->exe,
		     sp->other_tracer);
	for (uint32_t i = 0; i < sp->nobj; i++)
		sp->obj[i].planned = 0;
}

int space_walk(struct uft_session *s, struct target *t, uint64_t rdebug)
{
	struct walk w = { .s = s, .t = t, .seen = calloc(2, UFT_MAX_OBJECTS), .files.pid = t->pid };
	uint32_t fixed = t->space->is_dynamic ? 2 : 1;	/* program and loader stay */
	uint32_t seq = SHARED_LOAD(&arena_slice(&s->arena, t->slice)->cmd_seq), subject;
	int ret, armed, is_news = 0;

	if (!w.seen)
		return -ENOMEM;
	subject = session_begin_of(s, t->slice);
	w.todo = w.seen + UFT_MAX_OBJECTS;
	proc_status_hold(t->pid);		/* its user, of each object */
	ret = walk_list(&w, rdebug ? rdebug : find_rdebug(t));
	proc_status_release();
	if (!ret && !t->space->started) {
		t->space->started = 1;
		if (t->space->other_tracer)
			leave_to_tracer(s, t->space);
		for (uint32_t i = 0; i < fixed && i < t->nobj; i++)	/* calls that had to wait: arm_sites.c */
			if (t->obj[i].is_mapped && !w.todo[i])
				w.todo[i] = TODO_ARM;
	}
	if (!ret && t->waiting && rseq_area_note(t) > 0)	/* the agent sees the area with its next command */
		is_news = 1;
	if (has_new(&w) && s->spec &&
	    (s->spec->params.has_events & (UFT_EVENTS_SOME | UFT_EVENTS_CPU) || s->spec->params.stacks) &&
	    !t->is_held_back)
		command_params(s, t);	/* seccomp_risk.c, before a thread runs in a new object */
	if (t->space->is_preloaded && (t->is_held_back || has_new(&w)) && !hooks_are_known(t->space->img->obj[0].obj))
		preload_note_makers(s, t);	/* before a thread runs in a new object */
	armed = arm_new(&w);
	ret = armed ? armed : ret;
	for (uint32_t i = fixed; !ret && i < t->nobj; i++) {
		if (!t->obj[i].is_mapped || w.seen[i])
			continue;
		command_gone(s, t, i);
		t->obj[i].is_assumed = 0;
		t->obj[i].is_mapped = t->obj[i].is_sent = t->obj[i].is_hooked = t->obj[i].has_rows = 0;
		/* its tracepoints are off when it is mapped again; the agent keeps the rules of its events */
		t->obj[i].has_events_on = 0;
		t->obj[i].events_sent = 0; /* GUARD(library_events_again) */
		for (uint32_t k = 0; t->obj[i].state && k < t->space->img->obj[i].nstubs; k++)
			t->armed -= t->obj[i].state[k] != WANT_NOT && WANT_STATE(t->obj[i].state[k]) >= UFT_FUNCTION;
		if (t->obj[i].state)
			memset(t->obj[i].state, 0xff, t->space->img->obj[i].nstubs * sizeof(*t->obj[i].state));
		if (!relative_has(s, t, i))
			t->space->img->obj[i].to_clock = session_clock(s);
		w.changed = 1;
	}
	if (is_news && SHARED_LOAD(&arena_slice(&s->arena, t->slice)->cmd_seq) == seq)
		command_run(s, t, UFT_CMD_NOP);
	map_files_close(&w.files);
	free(w.seen);
	session_end_of(s, subject);
	return ret ? ret : w.changed;
}
