// SPDX-License-Identifier: MIT
/*
 * image_plan.c - the session's model of an address space: its objects, their ids, and where the loader reports changes
 *
 * A space is made when a program starts and shared by the children that fork makes of it. It is recognised by its
 * auxiliary vector: the kernel keeps it for the life of the image, fork copies it, exec replaces it, and it
 * holds addresses that differ from one exec to the next.
 *
 * Everything that is read from the process may be a lie. Lists are bounded, files are found through the
 * kernel's table of mappings rather than by the names the process holds, and a file's first page must equal
 * what is mapped. What remains is checked by the runtime, which compares bytes before it writes.
 *
 * A fork child may have given up its rights, and its list of libraries decides about the image of its relatives as
 * well. So objects of processes of another user than the first have a part of the room of their own (space_add_of()).
 *
 * Ids. Stub ids come first, below the profile's size, so that the profile can be an array; text ids start there.
 */
#include "control/state/state.h"
#include "control/proc/map_files.h"
#include "control/plan/unprepared.h"
#include "symbol/array.h"
#include "symbol/parse_bound.h"
#include "symbol/table.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* of an image, brought by processes of other users than its first */
#define FOREIGN_OBJECTS	256 /* GUARD(foreign_objects, 2048) */

/* ---- Objects ------------------------------------------------------------------------------- */

static int take_ids(struct uft_session *s, struct space *sp, struct uft_mapped *m)
{
	uint64_t ntext = ((m->text_end - (m->text_start & ~3ull)) >> 2) + 2;
	uint32_t *stub_from = &sp->next_stub_id;

	if (m->obj->nsite > UFT_REC_VALUE_MAX || ntext > UFT_REC_VALUE_MAX - sp->next_text_id)
		return -E2BIG;
	m->first_text_id = sp->next_text_id;
	m->ntext_ids = (uint32_t)ntext;
	sp->next_text_id += (uint32_t)ntext;
	if (m->obj->nsite > s->arena.map->profile_ids - sp->next_stub_id) {
		stub_from = &sp->next_text_id;		/* too many for the profile */
		if (m->obj->nsite > UFT_REC_VALUE_MAX - sp->next_text_id)
			return -E2BIG;
	}
	m->first_stub_id = *stub_from;
	m->nstubs = (uint32_t)m->obj->nsite;
	*stub_from += m->nstubs;
	return 0;
}

/* Adds one object; returns its index, or -errno. */
static int space_add(struct uft_session *s, struct space *sp, struct uft_object *obj, uint64_t bias)
{
	struct uft_error err = { "" };
	struct uft_mapped *m;
	uint32_t index = sp->nobj;
	int ret;

	if (index >= UFT_MAX_OBJECTS)
		return -E2BIG;
	if (!obj->ntext)
		return -ENOEXEC;
	ret = uft_object_sites(obj, &err);
	if (ret)
		session_warn(s, "%s", err.text[0] ? err.text : strerror(-ret));
	sp->own_calls |= obj->own_calls;
	if (index && obj->is_tracer)
		sp->other_tracer = obj->path;
	if (array_resize(sp->obj, index + 1))
		return -ENOMEM;
	sp->obj[index] = (struct space_obj){ 0 };
	m = uft_image_add(sp->img, obj, bias);
	if (!m)
		return -ENOMEM;
	m->bias = bias;
	m->text_start = obj->text[0].addr + bias;
	m->text_end = obj->text[obj->ntext - 1].end + bias;
	m->from_clock = session_clock(s);
	ret = take_ids(s, sp, m);
	if (!ret && m->nstubs)
		sp->obj[index].sent = malloc(m->nstubs * sizeof(*sp->obj[index].sent));
	m->stub_addr = ret || !m->nstubs ? NULL : table_alloc(m->nstubs * sizeof(*m->stub_addr));
	m->site_addr = ret || !m->nstubs ? NULL : table_alloc(m->nstubs * sizeof(*m->site_addr));
	if (ret || (m->nstubs && (!m->stub_addr || !m->site_addr || !sp->obj[index].sent))) {
		m->nstubs = m->ntext_ids = 0;		/* stays in the image for the names of its addresses */
		sp->nobj = index + 1;
		return ret ? ret : -ENOMEM;
	}
	if (m->nstubs)
		memset(sp->obj[index].sent, 0xff, m->nstubs * sizeof(*sp->obj[index].sent));
	for (uint32_t i = 0; i < m->nstubs; i++) {
		m->stub_addr[i] = obj->site[i].func + bias;
		m->site_addr[i] = obj->site[i].addr + obj->site[i].len + bias;
		sp->obj[index].nusable += obj->site[i].skip == UFT_SKIP_NONE;
	}
	sp->nobj = index + 1;
	ret = hooks_find(&sp->obj[index], m);
	if (ret)
		session_warn(s, "%s: not enough memory to look for its system calls: children may be missing",
			     obj->path);
	return (int)index;
}

int space_add_of(struct uft_session *s, struct space *sp, pid_t pid, struct uft_object *obj, uint64_t bias)
{
	const char *tracer = sp->other_tracer;
	const unsigned own_calls = sp->own_calls;
	const uint32_t ids = sp->next_text_id + sp->next_stub_id;
	int index;

	if (proc_effective_user(pid) == sp->uid)
		return space_add(s, sp, obj, bias);
	if (sp->nforeign >= FOREIGN_OBJECTS || !obj->ntext ||
	    sp->foreign_ids + ((obj->text[obj->ntext - 1].end - obj->text[0].addr) >> 2) > UFT_REC_VALUE_MAX / 4)
		return -EDQUOT;
	index = space_add(s, sp, obj, bias);
	sp->nforeign++;
	sp->foreign_ids += sp->next_text_id + sp->next_stub_id - ids;
	sp->other_tracer = tracer;
	sp->own_calls = own_calls;
	return index;
}

int space_plan(struct uft_session *s, struct space *sp, uint32_t index, struct uft_error *err)
{
	struct space_obj *o = &sp->obj[index];
	struct uft_mapped *m = &sp->img->obj[index];
	long n;

	if (o->planned == s->spec->generation)
		return 0;
	n = unprepared_find(s, sp, index);
	if (n < 0 || !m->nstubs)
		return (int)n;
	if (!o->want)
		o->want = malloc(m->nstubs * sizeof(*o->want));
	if (!o->want)
		return -ENOMEM;
	if (sp->other_tracer) {
		memset(o->want, 0xff, m->nstubs * sizeof(*o->want));
		o->nplain = 0;
		o->planned = s->spec->generation;
		return 0;
	}
	n = spec_select(s->spec, m->obj, o->want, err);
	if (n >= 0)
		n = unprepared_plan(s->spec, sp, index, err);
	if (n < 0) {
		memset(o->want, 0xff, m->nstubs * sizeof(*o->want));
		return (int)n;
	}
	o->planned = s->spec->generation;
	return 0;
}

/* ---- The program and its interpreter ------------------------------------------------------- */

struct program {
	char interp[4096];
	uint64_t dynamic;	/* vaddr + bias, 0 none */
};

static int read_program(pid_t pid, const struct auxv *av, uint64_t bias, struct program *p)
{
	Elf64_Phdr ph[MAX_PHDRS];
	size_t n = av->phnum < MAX_PHDRS ? av->phnum : MAX_PHDRS;

	p->interp[0] = '\0';
	p->dynamic = 0;
	if (!n || proc_read_memory(pid, av->phdr, ph, n * sizeof(ph[0])))
		return -EFAULT;
	for (size_t i = 0; i < n; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			p->dynamic = ph[i].p_vaddr + bias;
		else if (ph[i].p_type == PT_INTERP &&
			 proc_read_string(pid, ph[i].p_vaddr + bias, p->interp, sizeof(p->interp)) < 0)
			p->interp[0] = '\0';
	}
	return 0;
}

/* The loader's side: where it announces changes, its list, and libc's offset of the rseq area. */
static int add_loader_hook(struct space *sp, uint32_t index)
{
	struct space_obj *o = &sp->obj[index];
	struct uft_mapped *m = &sp->img->obj[index];
	uint64_t rbrk = uft_object_symbol(m->obj, "_dl_debug_state", NULL);
	uint64_t rdebug = uft_object_symbol(m->obj, "_r_debug", NULL);
	uint64_t rseq = uft_object_symbol(m->obj, "__rseq_offset", NULL);

	if (rseq)
		sp->rseq_symbol = rseq + m->bias;
	if (rdebug)
		sp->rdebug = rdebug + m->bias;
	if (!rbrk)
		return 0;
	sp->rbrk = rbrk + m->bias;
	return hooks_add_loader(o, m, rbrk);
}

/*
 * Under an emulator the loader's path means something else than here: what is mapped there counts. So it does
 * where another one has come into its place since the process started.
 */
static int open_loader(pid_t pid, int is_emulated, const char *path, uint64_t base, struct uft_object **out,
		       struct uft_error *err)
{
	struct map_files f = { .pid = pid };
	int ret;

	/* The path stands in memory of the process: another user's may lead to what only we can read. */
	if (!is_emulated && proc_is_of_our_user(pid) && !map_files_open(pid, path, out, err)) {
		if (map_files_are_mapped(pid, *out, base)) /* GUARD(open_loader_map_files_are_mapped, 1) */
			return 0;
		uft_object_put(*out);
	}
	ret = map_files_open_at(&f, base, out, err);
	map_files_close(&f);
	return ret == -ENOENT &&
		!is_emulated ? uft_fail(err, -ESTALE, "its loader %s was replaced since it started: as root uft "
							 "reads the old one", path) : ret;
}

/*
 * Opens the emulated program; the kernel names the emulator. It is the file that is mapped where the process says that
 * the program begins: a path that stands in its memory may lead to what only we can read.
 */
static int open_emulated(pid_t pid, uint64_t entry, char *path, size_t size, struct uft_object **out,
			 struct uft_error *err)
{
	struct map_files f = { .pid = pid };
	int ret = map_files_open_at(&f, entry, out, err);

	map_files_close(&f);
	if (!ret)
		snprintf(path, size, "%s", (*out)->path);
	return ret;
}

/* The rest of adding a program, done while another thread still searches for its sites (symbol/prefetch.c). */
static void look_ahead(struct uft_object *exe, struct uft_object *interp)
{
	uft_session_look_ahead(exe);
	if (interp) {
		uft_session_look_ahead(interp);
		uft_object_sites(interp, NULL);
	}
}

int space_create(struct uft_session *s, pid_t pid, const struct uft_hello *hello, const struct space_ahead *ahead,
		 struct space **out, struct uft_error *err)
{
	struct uft_object *exe = NULL, *interp = NULL;
	struct space *sp = calloc(1, sizeof(*sp));
	struct program p = { .interp = "" };
	char path[4096];
	struct auxv av;
	uint64_t bias;
	int ret;

	if (!sp)
		return -ENOMEM;
	ret = auxv_read(pid, sp->auxv, &sp->auxv_bytes, &av);
	if (ret) {
		uft_fail(err, ret, "cannot read the start-up data of process %d: %s", pid, strerror(-ret));
		goto fail;
	}
	if (hello) {
		auxv_parse(hello->auxv, hello->nauxv * sizeof(Elf64_auxv_t), &av);
		ret = open_emulated(pid, av.entry, path, sizeof(path), &exe, err);
	} else {
		ret = map_files_open_exe(pid, path, sizeof(path), &exe, err);
	}
	if (!ret && !hello && exec_runs_guests(pid, &av))
		ret = exec_guests_fail(path, err);
	if (ret)
		goto fail;
	sp->uid = proc_effective_user(pid);
	sp->next_stub_id = 1;
	sp->next_text_id = (uint32_t)s->arena.map->profile_ids;
	sp->img = uft_image_alloc(++s->next_image, path);
	ret = -ENOMEM;
	if (!sp->img)
		goto fail;
	bias = av.entry - exe->entry;
	read_program(pid, &av, bias, &p);
	sp->dynamic = p.dynamic;
	if (p.interp[0] && av.base) {
		sp->is_dynamic = 1;
		ret = open_loader(pid, hello != NULL, p.interp, av.base, &interp, err);
		if (ret)
			goto fail;
	}
	if (ahead)
		ahead->program(ahead->arg, sp, exe, bias);
	look_ahead(exe, interp);
	ret = space_add(s, sp, exe, bias);
	if (ret < 0)
		goto fail_text;
	if (interp) {
		ret = map_files_are_mapped(pid, interp, av.base) ? space_add(s, sp, interp, av.base) : -ESTALE;
		if (ret < 0)
			goto fail_text;
	} else {
		sp->started = 1;
	}
	ret = add_loader_hook(sp, sp->nobj - 1);
	if (ret)
		goto fail;
	uft_object_put(exe);
	uft_object_put(interp);
	sp->next = s->spaces;
	s->spaces = sp;
	s->nspaces++;
	*out = sp;
	return 0;
fail_text:
	uft_fail(err, ret, "%s cannot be traced: %s", path, ret == -ESTALE ? "its loader was replaced meanwhile" :
		 strerror(-ret));
fail:
	uft_object_put(exe);
	uft_object_put(interp);
	space_free(sp);
	return ret;
}

void space_free(struct space *sp)
{
	if (!sp)
		return;
	for (uint32_t i = 0; i < sp->nobj; i++) {
		free(sp->obj[i].want);
		free(sp->obj[i].sent);
		free(sp->obj[i].hook);
		bound_free(sp->obj[i].row);
		free(sp->obj[i].type);
		uft_found_events_free(&sp->obj[i].found);
	}
	free(sp->obj);
	if (sp->img)
		uft_image_free(sp->img);
	free(sp);
}

void space_drop(struct uft_session *s, struct space *sp)
{
	for (struct space **p = &s->spaces; *p; p = &(*p)->next)
		if (*p == sp) {
			*p = sp->next;
			s->nspaces--;
			break;
		}
	space_free(sp);
}
