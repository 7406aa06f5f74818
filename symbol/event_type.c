/* SPDX-License-Identifier: MIT */
/*
 * event_type.c - the table of event types; see event_type.h
 *
 * Types lie in chunks that never move, so that a thread may look one up while another adds. The number of places is
 * stored last.
 *
 * Programs of any user declare types, so each owner other than uft has a share of the table: of every bound at most
 * half of what the other owners have left. Names belong to no owner: a type whose name another owner's type has gets a
 * number behind it.
 */
#include "symbol/array.h"
#include "symbol/event_type.h"
#include "symbol/keyed_hash.h"
#include "symbol/print_format.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK		256u
#define NCHUNKS		((UFT_EVENT_TYPES_MAX + CHUNK - 1) / CHUNK)
#define FIRST_FREE_ID	1024u	/* the kernel's tracers and the built-in types have the ids below */
#define MAX_SYSTEMS	4096u
#define SYSTEM_SLOTS	(2 * MAX_SYSTEMS)
#define NAMES_TRIED	64u	/* for a type whose name types of other owners have */
#define FORMATS_MAX_BYTES	(256u << 20)	/* of all types; 60,000 of the kernel's length take 120 MB */
#define PRINTS_MAX_BYTES	(256u << 20)	/* compiled; a term of two bytes becomes a hundred bytes of nodes */
#define OBJECTS_MAX_BYTES	(64u << 20)	/* of the objects that declare types */

enum bound { TYPES, SYSTEMS, FORMATS, PRINTS, OBJECTS, NBOUNDS };
static const uint64_t most[NBOUNDS] = { UFT_EVENT_TYPES_MAX, MAX_SYSTEMS, FORMATS_MAX_BYTES, PRINTS_MAX_BYTES,
					OBJECTS_MAX_BYTES };

#define COMMON									\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"	\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* Events of tasks that the session records itself: names, fields and texts are the kernel's (6.12). */
static const struct { const char *system, *format; uint32_t tasks; } builtin[UFT_NBUILTINS] = {
	[UFT_BUILTIN_EXEC] = { "sched", "name: sched_process_exec\nID: 303\nformat:\n" COMMON
		"\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
		"\tfield:pid_t old_pid;\toffset:16;\tsize:4;\tsigned:1;\n"
		"\nprint fmt: \"filename=%s pid=%d old_pid=%d\", __get_str(filename), REC->pid, REC->old_pid\n",
			UFT_TASKS_EXEC },
	[UFT_BUILTIN_EXIT] = { "sched", "name: sched_process_exit\nID: 307\nformat:\n" COMMON
		"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
		"\nprint fmt: \"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio\n", UFT_TASKS_EXIT },
	[UFT_BUILTIN_FORK] = { "sched", "name: sched_process_fork\nID: 304\nformat:\n" COMMON
		"\tfield:char parent_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t parent_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:char child_comm[16];\toffset:28;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t child_pid;\toffset:44;\tsize:4;\tsigned:1;\n"
		"\nprint fmt: \"comm=%s pid=%d child_comm=%s child_pid=%d\", REC->parent_comm, REC->parent_pid, REC->child_comm, "
		"REC->child_pid\n", UFT_TASKS_FORK },
};

const char uft_event_print_format[] = "name: print\nID: 5\nformat:\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"
	"\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n";

struct share { uint32_t owner; uint64_t used[NBOUNDS]; };

struct uft_event_table {
	int refs;			/* atomic */
	pthread_mutex_t lock;		/* serializes adding */
	uint32_t count;			/* atomic, stored last */
	struct uft_event_type **chunk[NCHUNKS];
	struct uft_event_type *print;	/* UFT_EVENT_PRINT */
	uint32_t nsystems;		/* atomic, stored last */
	/* members: under the lock; room: the next power of two */
	struct system { char *name; uint32_t *member, nmembers; } system[MAX_SYSTEMS];
	uint16_t system_slot[SYSTEM_SLOTS];	/* under the lock: by the hash of the name, index + 1 */
	uint32_t *slot, nslots, nused;	/* under the lock: by the hash of system and name, index + 1 */
	uint8_t id_used[65536 / 8];
	uint32_t next_id;
	uint64_t used[NBOUNDS];		/* sums of all owners, under the lock, as are the next ones: */
	void *shares;			/* tsearch(3), by the owner: each struct share */
	struct uft_event_type **old; uint32_t nreplaced;	/* replaced types, freed at the end */
	/* under the lock: by the hash of type and name, at most half used */
	struct object_slot { const struct uft_event_type *type; const struct uft_event_object *object; } *object_slot;
	uint32_t nobject_slots, nobjects;
};

uint32_t uft_event_table_count(const struct uft_event_table *t)
{
	return __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
}

static const struct uft_event_type *place_of(const struct uft_event_table *t, uint32_t index)
{
	if (index >= uft_event_table_count(t) || !t->chunk[index / CHUNK])
		return NULL;
	return __atomic_load_n(&t->chunk[index / CHUNK][index % CHUNK], __ATOMIC_ACQUIRE);
}

const struct uft_event_type *uft_event_table_at(const struct uft_event_table *t, uint32_t index)
{
	const struct uft_event_type *type = index == UFT_EVENT_PRINT ? t->print : place_of(t, index);

	return type && !__atomic_load_n(&type->is_gone, __ATOMIC_RELAXED) ? type : NULL;
}

const struct uft_event_type *uft_event_table_by_id(const struct uft_event_table *t, uint32_t id)
{
	return id >= UFT_EVENT_FREE ? place_of(t, id - UFT_EVENT_FREE) : NULL;
}

uint32_t uft_event_table_systems(const struct uft_event_table *t)
{
	return __atomic_load_n(&t->nsystems, __ATOMIC_ACQUIRE);
}

const char *uft_event_table_system(const struct uft_event_table *t, uint32_t system)
{
	return system < uft_event_table_systems(t) ? t->system[system].name : NULL;
}

static int is_text(const char *text, const char *p, size_t n)
{
	return !strncmp(text, p, n) && !text[n];
}

const struct uft_event_field *uft_event_field(const struct uft_event_type *type, const char *name, size_t n)
{
	for (uint32_t i = 0; i < type->nfields; i++)
		if (is_text(type->field[i].name, name, n))
			return &type->field[i];
	return NULL;
}

/* ---- Shares: under the lock ------------------------------------------------------------------ */

static int compare_shares(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->owner > y->owner) - (x->owner < y->owner);
}

/* Returns the owner's share; NULL: no memory. */
static struct share *share_of(struct uft_event_table *t, uint32_t owner)
{
	const struct share key = { .owner = owner };
	void *node = tfind(&key, &t->shares, compare_shares);
	struct share *s;

	if (node)
		return *(struct share **)node;
	s = malloc(sizeof(*s));
	if (!s)
		return NULL;
	*s = key;
	if (tsearch(s, &t->shares, compare_shares))
		return s;
	free(s);
	return NULL;
}

static int has_room(const struct uft_event_table *t, const struct share *s, enum bound b, uint64_t more)
{
	const uint64_t left = most[b] - (t->used[b] - s->used[b]);
	const uint64_t its = s->owner == UFT_OWNER_OURS ? left : left / 2; /* GUARD(event_type_share, left) */

	return s->used[b] + more <= its;
}

static void take(struct uft_event_table *t, struct share *s, enum bound b, uint64_t more)
{
	s->used[b] += more;
	t->used[b] += more;
}

/* ---- Adding: under the lock ------------------------------------------------------------------ */

static uint32_t hash_of(const char *system, size_t nsystem, const char *name, size_t nname)
{
	return (uint32_t)hash_words(hash_bytes(system, nsystem), hash_bytes(name, nname));
}

/* Returns the slot of the type, or the free slot for it. Needs a table with slots. */
static uint32_t *slot_of(const struct uft_event_table *t, const char *system, size_t nsystem, const char *name,
			 size_t nname)
{
	uint32_t i = hash_of(system, nsystem, name, nname);

	for (;; i++) {
		uint32_t *s = &t->slot[i % t->nslots];
		const struct uft_event_type *type = *s ? uft_event_table_at(t, *s - 1) : NULL;

		if (!*s || (type && is_text(type->name, name, nname) && is_text(type->system, system, nsystem)))
			return s;
	}
}

static uint32_t *slot_of_type(const struct uft_event_table *t, const struct uft_event_type *type)
{
	return slot_of(t, type->system, strlen(type->system), type->name, strlen(type->name));
}

static void put_slot(struct uft_event_table *t, const struct uft_event_type *type)
{
	uint32_t *slot = slot_of_type(t, type);

	t->nused += !*slot;
	*slot = type->index + 1;
}

/* Keeps at most half of the slots used; slots of replaced types count until the table grows. */
static int grow_slots(struct uft_event_table *t)
{
	uint32_t n = 64, *old = t->slot;

	if (2 * (t->nused + 1) <= t->nslots)
		return 0;
	while (n < 4 * (uft_event_table_count(t) + 1))
		n *= 2;
	t->slot = calloc(n, sizeof(*t->slot));
	if (!t->slot) {
		t->slot = old;
		return -ENOMEM;
	}
	t->nslots = n;
	t->nused = 0;
	free(old);
	for (uint32_t i = 0; i < uft_event_table_count(t); i++) {
		const struct uft_event_type *type = uft_event_table_at(t, i);

		if (type)
			put_slot(t, type);
	}
	return 0;
}

/* Returns the slot of the system, or the free slot for it. */
static uint16_t *system_slot_of(struct uft_event_table *t, const char *name, size_t n)
{
	uint16_t *s;

	for (uint32_t i = (uint32_t)hash_bytes(name, n);; i++) {
		s = &t->system_slot[i % SYSTEM_SLOTS];
		if (!*s || is_text(t->system[*s - 1].name, name, n))
			return s;
	}
}

static int find_system(struct uft_event_table *t, struct share *s, struct uft_event_type *type)
{
	uint16_t *slot = system_slot_of(t, type->system, strlen(type->system));
	uint32_t n = uft_event_table_systems(t);

	type->system_index = *slot ? *slot - 1u : n;
	if (*slot)
		return 0;
	if (!has_room(t, s, SYSTEMS, 1))
		return -ENOSR;
	t->system[n].name = strdup(type->system);
	if (!t->system[n].name)
		return -ENOMEM;
	*slot = (uint16_t)(n + 1);
	take(t, s, SYSTEMS, 1);
	__atomic_store_n(&t->nsystems, n + 1, __ATOMIC_RELEASE);
	return 0;
}

/* Makes room for one more member. */
static int grow_system(struct system *s)
{
	return s->nmembers & (s->nmembers - 1) ? 0 : array_resize(s->member, s->nmembers ? 2 * s->nmembers : 1);
}

/* Moves the last member to the place of the removed one. */
static void leave_system(struct uft_event_table *t, const struct uft_event_type *type)
{
	struct system *s = &t->system[type->system_index];
	const uint32_t last = s->member[--s->nmembers];

	s->member[type->member_index] = last;
	t->chunk[last / CHUNK][last % CHUNK]->member_index = type->member_index;
}

static void join_system(struct uft_event_table *t, struct uft_event_type *type)
{
	struct system *s = &t->system[type->system_index];

	type->member_index = s->nmembers;
	s->member[s->nmembers++] = type->index;
}

static int is_used(const struct uft_event_table *t, uint32_t id)
{
	return t->id_used[id / 8] >> id % 8 & 1;
}

static int choose_kernel_id(struct uft_event_table *t, struct uft_event_type *type, int is_builtin)
{
	if (!type->kernel_id || is_used(t, type->kernel_id) || (type->kernel_id < FIRST_FREE_ID && !is_builtin)) {
		while (t->next_id < 65535 && is_used(t, t->next_id))
			t->next_id++;
		if (t->next_id == 65535)
			return -ENOSPC;
		type->kernel_id = t->next_id;
	}
	t->id_used[type->kernel_id / 8] |= (uint8_t)(1u << type->kernel_id % 8);
	return 0;
}

/* Makes the format's text with the id that the type has got. */
static char *make_format(const struct uft_event_type *type, const char *from)
{
	const char *fields = strstr(from, "\nformat:\n");
	char *text = NULL;

	return asprintf(&text, "name: %s\nID: %u%s", type->name, type->kernel_id, fields) < 0 ? NULL : text;
}

static int put_at(struct uft_event_table *t, uint32_t index, struct uft_event_type *type)
{
	struct uft_event_type **chunk = t->chunk[index / CHUNK];

	if (!chunk) {
		chunk = calloc(CHUNK, sizeof(struct uft_event_type *));
		if (!chunk)
			return -ENOMEM;
		t->chunk[index / CHUNK] = chunk;
	}
	type->index = index;
	type->id = UFT_EVENT_FREE + index;
	__atomic_store_n(&chunk[index % CHUNK], type, __ATOMIC_RELEASE);
	if (index >= t->count)
		__atomic_store_n(&t->count, index + 1, __ATOMIC_RELEASE);
	return 0;
}

static void free_type(struct uft_event_type *type)
{
	while (type && type->object) {
		const struct uft_event_object *next = type->object->next;

		free((void *)type->object);
		type->object = next;
	}
	if (type)
		free((char *)type->format);
	if (type)
		uft_print_free(type->text);
	free(type);
}

static int is_same(const struct uft_event_type *a, const struct uft_event_type *b)
{
	if (a->nfields != b->nfields || strcmp(a->print, b->print))
		return 0;
	for (uint32_t i = 0; i < a->nfields; i++) {
		const struct uft_event_field *f = &a->field[i], *g = &b->field[i];

		if (strcmp(f->name, g->name) || strcmp(f->type, g->type) || strcmp(f->brackets, g->brackets) ||
		    f->offset != g->offset || f->size != g->size || f->is_signed != g->is_signed)
			return 0;
	}
	return 1;
}

/*
 * Compiles the print format. Beyond the bound a type has none: its events are printed as lists of their fields. 0 or
 * -ENOMEM.
 */
static int compile_print(struct uft_event_table *t, struct share *s, struct uft_event_type *type)
{
	struct uft_print *p;
	int ret = uft_print_compile(type, &p);

	if (p && !has_room(t, s, PRINTS, uft_print_bytes(p))) { /* GUARD(event_prints_bound) */
		uft_print_free(p);
		p = NULL;
	}
	type->text = p;
	take(t, s, PRINTS, p ? uft_print_bytes(p) : 0);
	return ret;
}

/* Puts the parsed @type into the table, which owns it from now on. */
static int place(struct uft_event_table *t, uint32_t index, struct uft_event_type *type, const char *format,
		 int is_builtin)
{
	const uint64_t bytes = strlen(format);
	struct share *s = share_of(t, type->owner);
	int ret = !s ? -ENOMEM : index >= UFT_EVENT_TYPES_MAX || !has_room(t, s, TYPES, 1) ? -ENOSPC :
		!has_room(t, s, FORMATS, bytes) ? -EFBIG : grow_slots(t);

	ret = ret ? ret : find_system(t, s, type);
	ret = ret ? ret : grow_system(&t->system[type->system_index]);
	ret = ret ? ret : choose_kernel_id(t, type, is_builtin);
	type->format = ret ? NULL : make_format(type, format);
	if (!ret && !type->format)
		ret = -ENOMEM;
	if (!ret)
		ret = compile_print(t, s, type);
	ret = ret ? ret : put_at(t, index, type);
	if (ret) {
		if (type->text)
			take(t, s, PRINTS, -(uint64_t)uft_print_bytes(type->text));
		free_type(type);
		return ret;
	}
	put_slot(t, type);
	take(t, s, TYPES, 1);
	take(t, s, FORMATS, bytes);
	join_system(t, type);
	return 0;
}

/*
 * Finds the type that equals @type, by its name or by the name with a number. *there is NULL: there is none, and *name,
 * malloc'd, is free. -EEXIST: its owner has a different type of that name, or too many other owners have one.
 */
static int find_name(const struct uft_event_table *t, const struct uft_event_type *type, char **name,
		     const struct uft_event_type **there)
{
	const size_t nsystem = strlen(type->system), room = strlen(type->name) + sizeof("_0x") + 8;

	*name = malloc(room);
	if (!*name)
		return -ENOMEM;
	strcpy(*name, type->name);
	for (uint32_t k = 0;; k++) {
		const uint32_t at = *slot_of(t, type->system, nsystem, *name, strlen(*name));

		*there = at ? uft_event_table_at(t, at - 1) : NULL;
		if (!*there || is_same(*there, type))
			return 0;
		if ((*there)->owner == type->owner) /* GUARD(event_type_owner) */
			return -EEXIST;
		if (k == NAMES_TRIED)
			return -EEXIST;
		snprintf(*name, room, "%s_0x%x", type->name, k);
	}
}

/* Parses @type again, with the other name. */
static int rename_type(struct uft_event_type **type, const char *system, const char *format, const char *name,
		       struct uft_error *err)
{
	struct uft_event_type *was = *type;
	char *text;
	int ret;

	if (asprintf(&text, "name: %s%s", name, strstr(format, "\nID:")) < 0)
		return -ENOMEM;
	ret = uft_event_format_parse(system, text, type, err);
	free(text);
	if (ret) {
		*type = was;
		return ret;
	}
	(*type)->owner = was->owner;
	(*type)->declared_bytes = was->declared_bytes;
	free_type(was);
	return 0;
}

static int refuse(int ret, const struct uft_event_table *t, uint32_t owner, const char *system, struct uft_error *err)
{
	const char *share = owner == UFT_OWNER_OURS ? "" : ", or of what other users have left half";

	if (ret == -ENOSPC)
		return uft_fail(err, ret, "an event of %s: there are %u types already%s", system, t->count, share);
	if (ret == -ENOSR)
		return uft_fail(err, -ENOSPC, "an event of %s: there are %u systems already%s", system, t->nsystems,
				share);
	if (ret == -EFBIG)
		return uft_fail(err, ret, "an event of %s: the formats of all events would take more than %u MB%s",
				system,
				FORMATS_MAX_BYTES >> 20, share);
	return ret;
}

int uft_event_table_add(struct uft_event_table *t, uint32_t owner, const char *system, const char *format,
			const struct uft_event_type **out, struct uft_error *err)
{
	const struct uft_event_type *there = NULL;
	struct uft_event_type *type;
	int ret = uft_event_format_parse(system, format, &type, err);
	char *name = NULL;

	*out = NULL;
	if (ret)
		return ret;
	type->owner = owner;
	pthread_mutex_lock(&t->lock);
	ret = grow_slots(t);
	ret = ret ? ret : find_name(t, type, &name, &there);
	if (ret == -EEXIST)
		uft_fail(err, ret, "event %s:%s exists with other fields", type->system, type->name);
	if (!ret && !there && strcmp(name, type->name))
		ret = rename_type(&type, system, format, name, err);
	if (ret || there) {
		free_type(type);
		*out = ret ? NULL : there;
	} else {
		const uint32_t index = t->count;

		ret = refuse(place(t, index, type, format, 0), t, owner, system, err);
		*out = ret ? NULL : uft_event_table_at(t, index);
	}
	pthread_mutex_unlock(&t->lock);
	free(name);
	return ret;
}

/* Returns the slot of the object @name that declares @type, or the free slot for it. Needs a table with slots. */
static struct object_slot *object_slot_of(const struct uft_event_table *t, const struct uft_event_type *type,
					  const char *name)
{
	for (uint32_t i = (uint32_t)hash_words((uintptr_t)type, hash_text(name));; i++) {
		struct object_slot *o = &t->object_slot[i & (t->nobject_slots - 1)];

		if (!o->type || (o->type == type && !strcmp(o->object->name, name)))
			return o;
	}
}

static int grow_object_slots(struct uft_event_table *t)
{
	struct object_slot *old = t->object_slot;
	const uint32_t n = t->nobject_slots;

	if (2 * (t->nobjects + 1) <= n)
		return 0;
	t->object_slot = calloc(n ? 2 * (size_t)n : 64, sizeof(*old));
	if (!t->object_slot) {
		t->object_slot = old;
		return -ENOMEM;
	}
	t->nobject_slots = n ? 2 * n : 64;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].type)
			*object_slot_of(t, old[i].type, old[i].object->name) = old[i];
	free(old);
	return 0;
}

static int note_object(struct uft_event_table *t, uint32_t owner, const struct uft_event_type *type, const char *name)
{
	const size_t n = strlen(name) + 1, bytes = sizeof(struct uft_event_object) + n + 2 * sizeof(struct object_slot);
	struct uft_event_object *o;
	struct object_slot *slot;
	struct share *s;

	if (grow_object_slots(t))
		return -ENOMEM;
	slot = object_slot_of(t, type, name);
	if (slot->type)
		return 0;
	s = share_of(t, owner);
	if (!s)
		return -ENOMEM;
	if (!has_room(t, s, OBJECTS, bytes)) /* GUARD(event_objects_bound) */
		return -ENOSPC;
	o = malloc(sizeof(*o) + n);
	if (!o)
		return -ENOMEM;
	take(t, s, OBJECTS, bytes);
	o->next = type->object;
	memcpy(o->name, name, n);
	__atomic_store_n(&((struct uft_event_type *)type)->object, o, __ATOMIC_RELEASE);
	*slot = (struct object_slot){ type, o };
	t->nobjects++;
	return 0;
}

int uft_event_table_note_object(struct uft_event_table *t, uint32_t owner, const struct uft_event_type *type,
				const char *name)
{
	int ret;

	pthread_mutex_lock(&t->lock);
	ret = note_object(t, owner, type, name);
	pthread_mutex_unlock(&t->lock);
	return ret;
}

void uft_event_table_remove(struct uft_event_table *t, uint32_t index)
{
	struct uft_event_type *type = (struct uft_event_type *)place_of(t, index);

	pthread_mutex_lock(&t->lock);
	if (type && !type->is_gone) {	/* its slot counts as that of a replaced type */
		leave_system(t, type);
		__atomic_store_n(&type->is_gone, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&t->lock);
}

/* ---- Looking up under the lock --------------------------------------------------------------- */

static void lock(const struct uft_event_table *t)
{
	pthread_mutex_lock((pthread_mutex_t *)&t->lock);
}

static void unlock(const struct uft_event_table *t)
{
	pthread_mutex_unlock((pthread_mutex_t *)&t->lock);
}

const struct uft_event_type *uft_event_table_find(const struct uft_event_table *t, const char *system, size_t nsystem,
						  const char *name, size_t nname)
{
	uint32_t place;

	lock(t);
	place = t->nslots ? *slot_of(t, system, nsystem, name, nname) : 0;
	unlock(t);
	return place ? uft_event_table_at(t, place - 1) : NULL;
}

uint32_t uft_event_table_find_system(const struct uft_event_table *t, const char *name, size_t n)
{
	uint32_t place;

	lock(t);
	place = *system_slot_of((struct uft_event_table *)t, name, n);
	unlock(t);
	return place ? place - 1 : UINT32_MAX;
}

uint32_t uft_event_table_members(const struct uft_event_table *t, uint32_t system)
{
	uint32_t n;

	lock(t);
	n = system < t->nsystems ? t->system[system].nmembers : 0;
	unlock(t);
	return n;
}

uint32_t uft_event_table_member(const struct uft_event_table *t, uint32_t system, uint32_t i)
{
	uint32_t place = UFT_EVENT_TYPES_MAX;	/* no index; UINT32_MAX is UFT_EVENT_PRINT */

	lock(t);
	if (system < t->nsystems && i < t->system[system].nmembers)
		place = t->system[system].member[i];
	unlock(t);
	return place;
}

/* ---- Types of a recording -------------------------------------------------------------------- */

/* Keeps the replaced type, because readers may still use it. */
static int replace(struct uft_event_table *t, uint32_t index)
{
	struct uft_event_type *was = t->chunk[index / CHUNK] ? t->chunk[index / CHUNK][index % CHUNK] : NULL;

	if (!was)
		return 0;
	if (array_resize(t->old, t->nreplaced + 1))
		return -ENOMEM;
	t->old[t->nreplaced++] = was;
	if (!was->is_gone)		/* a removed type has left before */ /* GUARD(replace_gone, 1) */
		leave_system(t, was);
	t->id_used[was->kernel_id / 8] &= (uint8_t)~(1u << was->kernel_id % 8);
	t->chunk[index / CHUNK][index % CHUNK] = NULL;
	return 0;
}

int uft_event_table_set(struct uft_event_table *t, uint32_t id, const char *system, const char *format,
			struct uft_error *err)
{
	uint32_t index = id - UFT_EVENT_FREE;
	struct uft_event_type *type;
	int ret;

	if (id < UFT_EVENT_FREE || index >= UFT_EVENT_TYPES_MAX)
		return uft_fail(err, -EINVAL, "an event of %.64s has the number %u, which is none", system, id);
	ret = uft_event_format_parse(system, format, &type, err);
	if (ret)
		return ret;
	pthread_mutex_lock(&t->lock);
	ret = replace(t, index);
	if (ret)
		free_type(type);
	else
		ret = place(t, index, type, format, 1);
	pthread_mutex_unlock(&t->lock);
	return ret;
}

struct uft_event_table *uft_event_table_new(void)
{
	struct uft_event_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->refs = 1;
	t->next_id = FIRST_FREE_ID;
	pthread_mutex_init(&t->lock, NULL);
	if (uft_event_format_parse("ftrace", uft_event_print_format, &t->print, NULL)) {
		uft_event_table_put(t);
		return NULL;
	}
	t->print->index = t->print->system_index = UFT_EVENT_PRINT;
	for (uint32_t i = 0; i < UFT_NBUILTINS; i++) {
		struct uft_event_type *type;

		if (uft_event_format_parse(builtin[i].system, builtin[i].format, &type, NULL)) {
			uft_event_table_put(t);
			return NULL;
		}
		type->tasks = builtin[i].tasks;
		if (place(t, i, type, builtin[i].format, 1)) {
			uft_event_table_put(t);
			return NULL;
		}
	}
	return t;
}

struct uft_event_table *uft_event_table_get(struct uft_event_table *t)
{
	if (t)
		__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void uft_event_table_put(struct uft_event_table *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < NCHUNKS; i++) {
		for (uint32_t k = 0; t->chunk[i] && k < CHUNK; k++)
			free_type(t->chunk[i][k]);
		free(t->chunk[i]);
	}
	for (uint32_t i = 0; i < t->nreplaced; i++)
		free_type(t->old[i]);
	for (uint32_t i = 0; i < t->nsystems; i++) {
		free(t->system[i].name);
		free(t->system[i].member);
	}
	free_type(t->print);
	free(t->old);
	free(t->slot);
	free(t->object_slot);
	tdestroy(t->shares, free);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
