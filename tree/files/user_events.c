/* SPDX-License-Identifier: MIT */
/*
 * user_events.c - user_events_data, user_events_status: events that programs describe and write themselves, as in the
 * kernel's Documentation/trace/user_events.rst
 *
 * An event lives while a file of user_events_data or an enabler refers to it, or something has it enabled; one with
 * USER_EVENT_REG_PERSIST, which dynamic_events makes too, until it is removed. The type of an event that ended stays in
 * the table: it is found again by the same name and fields, and replaced by other ones. That of a removed event leaves
 * the table. A file numbers its events in the order of its registrations: write_index. A written event is recorded at
 * once, as a marker is, in each instance that has enabled the event, and triggers look at it: no agent in the program
 * is needed. A trigger enables the event, as in the kernel.
 *
 * An enabler is a bit in a program's memory that tells whether an instance has enabled the event. The kernel changes
 * the bit atomically. Here the word is read and written, so the program must not change other bits of it at that
 * moment. An exec or exit removes a program's enablers. A fork child has none before it registers.
 *
 * An enabler is written through /proc/TID/mem of the registering task, opened while the kernel keeps the task in its
 * ioctl. The descriptor stays with that memory, whatever the process does later; once no process has the memory, a
 * write does nothing. So no check of a process decides where a bit is written. One descriptor serves all enablers of a
 * memory: share_program().
 *
 * FUSE passes the first 8 bytes of an ioctl's structure, because the ioctl's number has the size of a pointer; the rest
 * is read from the program's memory. Context: the owner.
 */
#include "control/proc/proc.h"
#include "symbol/array.h"
#include "tree/files/rows.h"
#include "tree/files/user_event_text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM		"user_events"
#define MAX_DESCRIPTION	512u		/* bytes of name and fields, the 0 byte included */
#define MAX_FORMATS	256u		/* of one name */
#define PROCESS_WORDS	4096u
#define STRUCT_MAX	4096u		/* bytes of an ioctl's structure: a page in the kernel */
#define DIAG_IOCSREG	_IOWR('*', 0, void *)
#define DIAG_IOCSDEL	_IOW('*', 1, void *)
#define DIAG_IOCSUNREG	_IOW('*', 2, void *)
enum reg_flags { REG_PERSIST = 1, REG_MULTI_FORMAT = 2 };

/* The ABI of ioctls, packed. */
struct user_reg {
	uint32_t size;
	uint8_t enable_bit, enable_size;
	uint16_t flags;
	uint64_t enable_addr, name_args;
	uint32_t write_index;
} __attribute__((packed));
struct user_unreg {
	uint32_t size;
	uint8_t disable_bit, reserved;
	uint16_t reserved2;
	uint64_t disable_addr;
} __attribute__((packed));

/* Counted for each user, and for all. */
enum bound { WORDS, PROGRAMS, TYPES, FORMAT_BYTES, REFERENCES, NBOUNDS };
struct share {
	struct share *next;
	uid_t uid;
	uint32_t n[NBOUNDS];
};

struct user_event {
	struct user_event *next;	/* the next younger one */
	const struct uft_event_type *type;
	char *name;
	struct user_event_text text;
	uint32_t refs, nenablers;	/* files that have it, bits that tell of it */
	int is_on, was_on;		/* as its enablers say, and said before */
	int is_multi;
	int is_persistent;		/* it stays without them until it is removed */
};

struct program {			/* memory in which something is registered */
	struct program *next;
	pid_t pid;
	uint64_t began;			/* its process: clock ticks since boot */
	int mem;
	uint64_t random_at;		/* where it has random bytes that no other memory has; 0: nowhere */
	uint32_t refs;			/* its enablers */
	struct share *share;
};

struct enabler {
	struct enabler *next;
	struct user_event *event;
	struct program *program;
	uint64_t addr;
	uint8_t bit, size;
};

struct user_events {
	struct user_event *events;
	struct enabler *enablers;
	struct program *programs;
	struct share *shares;
	uint32_t n[NBOUNDS];		/* of all shares */
	uint64_t refused;
};

struct registrations { struct user_event **v; uint32_t n; struct share *share; };

/* ---- Bounds ---------------------------------------------------------------------------------- */

static uint32_t bound_of(enum bound b)
{
	struct rlimit files = { .rlim_cur = 0 };

	if (b == WORDS)
		return 16384;
	if (b == TYPES)
		return 32768;		/* also types of removed events: the table keeps them */
	if (b == FORMAT_BYTES)
		return 32u << 20;
	if (b == REFERENCES)
		return 262144;
	getrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur / 2 < 4096 ? (uint32_t)files.rlim_cur / 2 : 4096;
}

/* Our user can use all remaining room, another user half of the room that the others leave. */
static int is_full(const struct user_events *all, const struct share *s, enum bound b, size_t more)
{
	uint32_t others = all->n[b] - s->n[b], bound = bound_of(b), left = bound > others ? bound - others : 0;

	return s->n[b] + more > (s->uid == geteuid() ? left : left / 2); /* GUARD(user_event_share) */
}

static void count(struct user_events *all, struct share *s, enum bound b, long by)
{
	s->n[b] += (uint32_t)by;
	all->n[b] += (uint32_t)by;
}

/* NULL: no memory is left. */
static struct share *share_of(struct user_events *all, uid_t uid)
{
	struct share *s = all->shares;

	while (s && s->uid != uid)
		s = s->next;
	if (s || !(s = calloc(1, sizeof(*s))))
		return s;
	*s = (struct share){ .next = all->shares, .uid = uid };
	all->shares = s;
	return s;
}

/* @error, as the kernel has it. */
static int refuse(struct uft_tree *t, int error, const char *what)
{
	char text[256];

	if (!t->user_events->refused++ && t->opts.warning) {
		snprintf(text, sizeof(text), "user_events: a program registers more %s than it may; user_events_status "
			 "counts what is refused", what);
		t->opts.warning(t->opts.arg, text);
	}
	return error;
}

/* ---- A program's memory ---------------------------------------------------------------------- */

static int read_memory(int mem, uint64_t addr, void *p, size_t n)
{
	return pread(mem, p, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
}

static int write_memory(int mem, uint64_t addr, const void *p, size_t n)
{
	return pwrite(mem, p, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
}

/* Reads a terminated text. A short read is no error: the memory may end right after the text. */
static int read_text(int mem, uint64_t addr, char *text, size_t size)
{
	ssize_t n = pread(mem, text, size, (off_t)addr);

	if (n <= 0)
		return -EFAULT;
	return memchr(text, 0, (size_t)n) ? 0 : (size_t)n < size ? -EFAULT : -EINVAL;
}

static int write_bit(int mem, uint64_t addr, int bit, int size, int is_on)
{
	uint64_t word = 0;
	int ret = read_memory(mem, addr, &word, (size_t)size);

	word = is_on ? word | 1ull << bit : word & ~(1ull << bit);
	return ret ? ret : write_memory(mem, addr, &word, (size_t)size);
}

/* Does a process still use the memory? A read returns 0 bytes if none does, and an error at an unmapped address. */
static int is_used(int mem)
{
	char c;

	return pread(mem, &c, 1, 0) != 0;
}

/* ---- Programs -------------------------------------------------------------------------------- */

/* A task in its ioctl: its process, its memory. */
struct caller { pid_t pid; uint64_t began; int mem; struct share *share; };

/* The address of the task's AT_RANDOM bytes; 0: it cannot be read. */
static uint64_t random_of(pid_t tid)
{
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv auxv;
	size_t bytes;

	return auxv_read(tid, raw, &bytes, &auxv) ? 0 : auxv.random;
}

static int open_caller(const struct uft_handle *h, struct caller *c)
{
	struct stat st;
	char path[32];

	/* has the task's effective user as owner, also if the task is not dumpable */
	snprintf(path, sizeof(path), "/proc/%d", h->pid);
	if (stat(path, &st))
		return -ESRCH;
	*c = (struct caller){ h->tgid, proc_start_ticks(h->tgid), proc_open_memory(h->pid),
		share_of(h->t->user_events, st.st_uid) };
	if (c->mem < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -EFAULT;
	if (c->share)
		return 0;
	close(c->mem);
	return -ENOMEM;
}

static int is_of(const struct program *p, const struct caller *c)
{
	return p->pid == c->pid && p->began == c->began && is_used(p->mem);
}

/*
 * Returns 1 if the process and its random bytes are the same: a process that executed another program has other bytes,
 * and its former memory may still exist in a process that shared it (vfork). The address is that of the first caller.
 */
static int is_same_memory(const struct program *p, const struct caller *c)
{
	uint8_t a[16], b[16];

	return is_of(p, c) && p->random_at && !read_memory(p->mem, p->random_at, a, sizeof(a)) &&
	       !read_memory(c->mem, p->random_at, b, sizeof(b)) &&
	       !memcmp(a, b, sizeof(a)) /* GUARD(user_event_memory) */;
}

static struct program *find_program(const struct user_events *all, const struct caller *c)
{
	struct program *p = all->programs;

	while (p && !is_same_memory(p, c))
		p = p->next;
	return p;
}

/* The caller's memory, with a descriptor of it. NULL: out of memory. */
static struct program *share_program(struct user_events *all, const struct uft_handle *h, struct caller *c)
{
	struct program *p = find_program(all, c);

	if (p || !(p = calloc(1, sizeof(*p))))
		return p;
	*p = (struct program){ all->programs, c->pid, c->began, c->mem, random_of(h->pid), 0, c->share };
	count(all, c->share, PROGRAMS, 1);
	c->mem = -1;
	all->programs = p;
	return p;
}

static void put_program(struct user_events *all, struct program *p)
{
	struct program **at = &all->programs;

	if (--p->refs)
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	count(all, p->share, PROGRAMS, -1);
	close(p->mem);
	free(p);
}

/* ---- Enabled or not -------------------------------------------------------------------------- */

static int is_type_wanted(const struct uft_tree *t, const struct uft_event_type *type)
{
	for (const struct instance *in = t->instances; in; in = in->next)
		if (uft_event_set_has(&in->set.events, type->index) || trigger_switches(in, type->index) ||
		    trigger_wants_event(in, type->index) /* GUARD(user_event_trigger) */)
			return 1;
	return 0;
}

static int is_wanted(const struct uft_tree *t, const struct user_event *e)
{
	return is_type_wanted(t, e->type);
}

static struct enabler **drop_enabler(struct user_events *all, struct enabler **p)
{
	struct enabler *gone = *p;

	*p = gone->next;
	gone->event->nenablers--;
	count(all, gone->program->share, WORDS, -1);
	put_program(all, gone->program);
	free(gone);
	return p;
}

static void free_event(struct user_event *e)
{
	user_event_text_free(&e->text);
	free(e->name);
	free(e);
}

static int is_referred_to(const struct uft_tree *t, const struct user_event *e)
{
	return e->refs || e->nenablers || is_type_wanted(t, e->type);
}

/* Removes the event at *p; its type stays for a program that registers it again. */
static void drop_event(struct user_event **p)
{
	struct user_event *gone = *p;

	*p = gone->next;
	free_event(gone);
}

/* Removes the events that neither a file nor a bit refers to, and that nothing has enabled. */
static void sweep(struct uft_tree *t)
{
	struct user_event **p = &t->user_events->events;

	while (*p)
		if ((*p)->is_persistent || is_referred_to(t, *p))
			p = &(*p)->next;
		else
			drop_event(p);
}

void user_events_switch(struct uft_tree *t)
{
	struct user_events *all = t->user_events;
	int has_changed = 0;

	for (struct user_event *e = all ? all->events : NULL; e; e = e->next) {
		e->was_on = e->is_on;
		e->is_on = is_wanted(t, e);
		has_changed |= e->is_on != e->was_on;
	}
	for (struct enabler **p = has_changed ? &all->enablers : NULL; p && *p;) {
		struct enabler *x = *p;
		const struct user_event *e = x->event;
		int is_lost = e->is_on != e->was_on && write_bit(x->program->mem, x->addr, x->bit, x->size, e->is_on);

		p = is_lost ? drop_enabler(all, p) : &x->next;
	}
	if (has_changed)
		sweep(t);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static struct user_events *all_of(struct uft_tree *t)
{
	if (!t->user_events)
		t->user_events = calloc(1, sizeof(*t->user_events));
	return t->user_events;
}

/* Finds the event of @name and @args. 0, with *out NULL: there is none; -EADDRINUSE: it has other fields; -ENOMEM. */
static int find_event(const struct user_events *all, const char *name, const char *args, int is_multi,
		      struct user_event **out)
{
	int is_same = 0;

	*out = NULL;
	for (struct user_event *e = all->events; e; e = e->next) {
		if (strcmp(e->name, name) || e->is_multi != is_multi)
			continue;
		is_same = user_event_is_same(e->text.fields, args);
		if (is_same || !is_multi) {
			*out = is_same > 0 ? e : NULL;
			return is_same < 0 ? is_same : is_same ? 0 : -EADDRINUSE;
		}
	}
	return 0;
}

/* Removes the type of an event that no longer exists, if nothing uses it. -EADDRINUSE: it is used, or an object's. */
static int replace_type(struct uft_tree *t, const char *system, const char *name)
{
	const struct uft_event_type *type = uft_event_table_find(tree_types(t), system, strlen(system), name,
								 strlen(name));

	if (!type || type->object || is_type_wanted(t, type))
		return -EADDRINUSE;
	for (const struct user_event *e = t->user_events->events; e; e = e->next)
		if (e->type == type)
			return -EADDRINUSE;
	event_forget(t, type->index);
	uft_event_table_remove(tree_types(t), type->index);
	return 0;
}

/* Adds a type, unless there is an equal one, which costs no room. -EEXIST: one of this name has other fields. */
static int add_type(struct uft_tree *t, struct share *s, const char *system, const char *name, const char *format,
		    const struct uft_event_type **out)
{
	struct uft_event_table *types = tree_types(t);
	uint32_t before = uft_event_table_count(types);
	struct uft_error err = { "" };
	int ret;

	if ((is_full(t->user_events, s, TYPES, 1) || is_full(t->user_events, s, FORMAT_BYTES, strlen(format))) &&
	    !uft_event_table_find(types, system, strlen(system), name, strlen(name)))
		return refuse(t, -EMFILE, "events");
	ret = uft_event_table_add(types, UFT_OWNER_OURS, system, format, out, &err);
	if (uft_event_table_count(types) > before) {
		count(t->user_events, s, TYPES, 1);
		count(t->user_events, s, FORMAT_BYTES, (long)strlen(format));
	}
	return ret;
}

static int try_type(struct uft_tree *t, struct share *s, struct user_event *e, const char *name)
{
	const char *system = e->is_multi ? SYSTEM "_multi" : SYSTEM;
	char *format = user_event_format(&e->text, name);
	int ret = format ? add_type(t, s, system, name, format, &e->type) : -ENOMEM;

	if (ret == -EEXIST && !e->is_multi) {
		ret = replace_type(t, system, name);
		ret = ret ? ret : add_type(t, s, system, name, format, &e->type);
	}
	free(format);
	return ret;
}

/* Multi-format events have a system of their own and names NAME_0xN, where the kernel has NAME.N. */
static int make_type(struct uft_tree *t, struct share *s, struct user_event *e)
{
	int ret = e->is_multi ? -EEXIST : try_type(t, s, e, e->name);

	for (uint32_t k = 0; ret == -EEXIST && e->is_multi; k++) {
		char *name;

		if (k == MAX_FORMATS)
			return refuse(t, -EMFILE, "formats of one name");
		if (asprintf(&name, "%s_0x%x", e->name, k) < 0)
			return -ENOMEM;
		ret = try_type(t, s, e, name);
		free(name);
	}
	return ret;
}

static int make_event(struct uft_tree *t, struct share *s, const char *name, const char *args, uint32_t flags,
		      struct user_event **out)
{
	struct user_event *e = calloc(1, sizeof(*e)), **last = &t->user_events->events;
	int ret = -ENOMEM;

	if (e) {
		e->is_multi = (flags & REG_MULTI_FORMAT) != 0;
		e->is_persistent = (flags & REG_PERSIST) != 0;
		e->name = strdup(name);
		ret = e->name ? user_event_parse(args, &e->text) : -ENOMEM;
		ret = ret ? ret : make_type(t, s, e);
	}
	if (ret) {
		if (e)
			free_event(e);
		return ret;
	}
	while (*last)
		last = &(*last)->next;
	*last = *out = e;
	return 0;
}

static void drop_unused(struct user_events *all)
{
	for (struct enabler **p = &all->enablers; *p;)
		p = is_used((*p)->program->mem) ? &(*p)->next : drop_enabler(all, p);
}

/* Removes what only programs that ended refer to: a file that was closed before its program ended tells nothing. */
static void look_for_ended(struct uft_tree *t)
{
	if (t->user_events) {
		drop_unused(t->user_events);
		sweep(t);
	}
}

/* @text is changed. An event that stays needs CAP_PERFMON in the kernel; here it is for the user of the session. */
static int get_event(struct uft_tree *t, struct share *s, char *text, uint32_t flags, struct user_event **out)
{
	char *args;
	int ret = user_event_split(text, &args);

	if (!ret && flags & REG_PERSIST && s->uid != geteuid())
		ret = -EPERM;
	ret = ret ? ret : find_event(t->user_events, text, args, (flags & REG_MULTI_FORMAT) != 0, out);
	if (ret == -EADDRINUSE) {	/* perhaps by a program that has ended */
		look_for_ended(t);
		ret = find_event(t->user_events, text, args, (flags & REG_MULTI_FORMAT) != 0, out);
	}
	return ret || *out ? ret : make_event(t, s, text, args, flags, out);
}

/* Removes the event at *p with its type; others may be removed, too. Returns -EBUSY if something refers to it. */
static int remove_event(struct uft_tree *t, struct user_event **p)
{
	const struct uft_event_type *type = (*p)->type;
	const int is_kept = type->object || (*p)->is_multi;	/* formats that differ in words alone share a type */

	if (!(*p)->is_persistent || is_referred_to(t, *p))
		return -EBUSY;
	drop_event(p);
	event_forget(t, type->index);
	if (!is_kept)
		uft_event_table_remove(tree_types(t), type->index);
	return 0;
}

/* ---- dynamic_events -------------------------------------------------------------------------- */

int user_events_create(struct uft_tree *t, const char *text)
{
	struct user_events *all = all_of(t);
	struct share *s = all ? share_of(all, geteuid()) : NULL;
	char *copy = s ? strdup(text) : NULL;
	struct user_event *e;
	int ret = copy ? get_event(t, s, copy, REG_PERSIST, &e) : -ENOMEM;

	free(copy);
	return ret;
}

int user_events_remove(struct uft_tree *t, const char *name, size_t n, const char *args)
{
	struct user_event **p = t->user_events ? &t->user_events->events : NULL;
	int ret = -ENOENT;

	look_for_ended(t);
	while (p && *p) {
		if (strlen((*p)->name) != n || memcmp((*p)->name, name, n) ||
		    user_event_is_same((*p)->text.fields, args) != 1) {
			p = &(*p)->next;
			continue;
		}
		ret = remove_event(t, p);
		if (ret)
			break;
		p = &t->user_events->events;
	}
	return ret;
}

int user_events_are_busy(struct uft_tree *t)
{
	look_for_ended(t);
	for (const struct user_event *e = t->user_events ? t->user_events->events : NULL; e; e = e->next)
		if (!e->is_persistent || is_referred_to(t, e))
			return 1;
	return 0;
}

void user_events_remove_all(struct uft_tree *t)
{
	while (t->user_events && t->user_events->events && !remove_event(t, &t->user_events->events))
		;
}

void user_events_show(struct uft_tree *t, struct tree_text *out)
{
	look_for_ended(t);
	for (const struct user_event *e = t->user_events ? t->user_events->events : NULL; e; e = e->next)
		text_printf(out, "u:%s%s%s\n", e->name, e->text.fields[0] ? " " : "", e->text.fields);
}

/* ---- user_events_data ------------------------------------------------------------------------ */

int open_user_events(struct uft_handle *h)
{
	h->priv = all_of(h->t) ? calloc(1, sizeof(struct registrations)) : NULL;
	return h->priv ? 0 : -ENOMEM;
}

int release_user_events(struct uft_handle *h)
{
	struct registrations *r = h->priv;

	while (r->n) {
		r->v[--r->n]->refs--;
		count(h->t->user_events, r->share, REFERENCES, -1);
	}
	look_for_ended(h->t);
	free(r->v);
	free(r);
	return 0;
}

/* The event's number in this file. A file counts for the user that was the first to register something in it. */
static int refer(struct uft_handle *h, struct share *s, struct user_event *e)
{
	struct registrations *r = h->priv;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->v[i] == e)
			return (int)i;
	r->share = r->share ? r->share : s;
	if (is_full(h->t->user_events, r->share, REFERENCES, 1))
		return refuse(h->t, -ENOMEM, "events in open files");
	if (array_resize(r->v, r->n + 1))
		return -ENOMEM;
	r->v[r->n] = e;
	e->refs++;
	count(h->t->user_events, r->share, REFERENCES, 1);
	return (int)r->n++;
}

static struct enabler **find_enabler(struct user_events *all, const struct caller *c, uint64_t addr, int bit)
{
	struct enabler **p = &all->enablers;

	while (*p && ((*p)->addr != addr || (*p)->bit != bit || !is_of((*p)->program, c)))
		p = &(*p)->next;
	return p;
}

/* Checks that the caller may have another enabler. 0, or the negative errno of a kernel without memory for it. */
static int check_room(struct uft_tree *t, const struct caller *c)
{
	for (int i = 0; i < 2; i++) {
		const struct program *p = find_program(t->user_events, c);

		if ((p ? p->refs < PROCESS_WORDS : !is_full(t->user_events, c->share, PROGRAMS, 1)) &&
		    !is_full(t->user_events, c->share, WORDS, 1) /* GUARD(user_event_words) */)
			return 0;
		if (!i)
			drop_unused(t->user_events);
	}
	return refuse(t, -ENOMEM, "words");
}

static int add_enabler(struct uft_handle *h, struct caller *c, const struct user_reg *reg, struct user_event *e)
{
	struct user_events *all = h->t->user_events;
	struct enabler *made;
	int ret = check_room(h->t, c);

	if (ret)
		return ret;
	e->is_on = is_wanted(h->t, e);
	if (write_bit(c->mem, reg->enable_addr, reg->enable_bit, reg->enable_size, e->is_on))
		return -ENOMEM;		/* as the kernel has it for an address that cannot be written */
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	*made = (struct enabler){
		all->enablers, e, share_program(all, h, c), reg->enable_addr, reg->enable_bit, reg->enable_size
	};
	if (!made->program) {
		free(made);
		return -ENOMEM;
	}
	made->program->refs++;
	e->nenablers++;
	count(all, made->program->share, WORDS, 1);
	all->enablers = made;
	return 0;
}

/* A structure of a later ABI is accepted if all that it adds is 0. */
static int read_struct(const struct caller *c, uint64_t arg, void *p, size_t known)
{
	uint8_t more[STRUCT_MAX];
	uint32_t size;
	int ret = read_memory(c->mem, arg, &size, sizeof(size));

	if (ret)
		return ret;
	if (size > sizeof(more))
		return -E2BIG;
	if (size < known)
		return -EINVAL;
	ret = read_memory(c->mem, arg, more, size);
	for (size_t i = known; !ret && i < size; i++)
		ret = more[i] ? -E2BIG : 0;
	if (!ret)
		memcpy(p, more, known);
	return ret;
}

/* Checks as the kernel does, in its order. */
static int check_reg(const struct user_reg *reg)
{
	if (reg->flags & ~(REG_PERSIST | REG_MULTI_FORMAT))
		return -EINVAL;
	if ((reg->enable_size != 4 && reg->enable_size != 8) || reg->enable_addr % reg->enable_size ||
	    reg->enable_bit >= 8 * reg->enable_size)
		return -EINVAL;
	return reg->enable_addr > INT64_MAX ? -EFAULT : 0;
}

static int ioctl_reg(struct uft_handle *h, struct caller *c, uint64_t arg)
{
	struct user_reg reg = { 0 };
	char text[MAX_DESCRIPTION];
	struct user_event *e = NULL;
	uint32_t number;
	int ret = read_struct(c, arg, &reg, sizeof(reg)), index;

	ret = ret ? ret : check_reg(&reg);
	if (ret)
		return ret;
	if (*find_enabler(h->t->user_events, c, reg.enable_addr, reg.enable_bit))
		return -EADDRINUSE;
	ret = read_text(c->mem, reg.name_args, text, sizeof(text));
	ret = ret ? ret : get_event(h->t, c->share, text, reg.flags, &e);
	if (ret)
		return ret;
	index = refer(h, c->share, e);
	ret = index < 0 ? index : add_enabler(h, c, &reg, e);
	number = (uint32_t)index;
	if (!ret)		/* by the bit's descriptor, which may have been the caller's; a failure is no error */
		write_memory(h->t->user_events->enablers->program->mem, arg + offsetof(struct user_reg, write_index),
			     &number, sizeof(number));
	if (index < 0)
		sweep(h->t);
	return ret;
}

static int ioctl_unreg(struct uft_handle *h, struct caller *c, uint64_t arg)
{
	struct user_unreg un;
	struct enabler **p;
	int ret;

	ret = read_struct(c, arg, &un, sizeof(un));
	if (ret || un.reserved || un.reserved2)
		return ret ? ret : -EINVAL;
	p = find_enabler(h->t->user_events, c, un.disable_addr, un.disable_bit);
	if (!*p)
		return -ENOENT;
	write_bit((*p)->program->mem, un.disable_addr, (*p)->bit, (*p)->size, 0);
	drop_enabler(h->t->user_events, p);
	sweep(h->t);
	return 0;
}

/* Removes all events of a name. One that is no persistent event belongs to a file or a bit, so it is busy. */
static int ioctl_del(struct uft_handle *h, struct caller *c, uint64_t arg)
{
	struct user_event **p = &h->t->user_events->events;
	char name[MAX_DESCRIPTION];
	int ret = read_text(c->mem, arg, name, sizeof(name)), is_found = 0;

	look_for_ended(h->t);
	while (!ret && *p)
		if (strcmp((*p)->name, name)) {
			p = &(*p)->next;
		} else {
			is_found = 1;
			ret = c->share->uid != geteuid() && !is_referred_to(h->t, *p) ? -EPERM : remove_event(h->t, p);
			p = &h->t->user_events->events;
		}
	return ret ? ret : is_found ? 0 : -ENOENT;
}

int ioctl_user_events(struct uft_handle *h, unsigned cmd, uint64_t arg)
{
	struct caller c;
	int ret;

	if (cmd != DIAG_IOCSREG && cmd != DIAG_IOCSDEL && cmd != DIAG_IOCSUNREG)
		return -ENOTTY;
	ret = open_caller(h, &c);
	if (ret)
		return ret;
	ret = cmd == DIAG_IOCSREG ? ioctl_reg(h, &c, arg) : cmd == DIAG_IOCSDEL ? ioctl_del(h, &c, arg) :
		ioctl_unreg(h, &c, arg);
	if (c.mem >= 0)
		close(c.mem);
	return ret;
}

/* Are dynamic fields inside the record, and texts terminated? The kernel's validators check the same. */
static int are_texts_whole(const struct user_event *e, const uint8_t *p, size_t n)
{
	for (uint32_t i = 0; i < e->type->nfields; i++) {
		const struct uft_event_field *f = &e->type->field[i];
		uint32_t at = f->offset - UFT_EVENT_COMMON, loc;
		uint64_t from;

		if (f->place == UFT_FIELD_FIXED)
			continue;
		memcpy(&loc, p + at, 4);
		from = f->place == UFT_FIELD_REL_LOC ? at + 4 +
			(loc & 0xffff) : (loc & 0xffff) - (uint64_t)UFT_EVENT_COMMON;
		if (f->place == UFT_FIELD_DATA_LOC && !loc)
			continue;	/* no text: the byte before it is that of the common fields */
		if (from > n || loc >> 16 > n - from ||
		    (f->is_string && from + (loc >> 16) && p[from + (loc >> 16) - 1]))
			return 0;
	}
	return 1;
}

/* The number of an event in this file, and its record behind the common fields. */
ssize_t store_user_events(struct uft_handle *h, const char *p, size_t n)
{
	const struct registrations *r = h->priv;
	const struct user_event *e;
	uint32_t number;

	if (n < sizeof(number))
		return -EFAULT;
	memcpy(&number, p, sizeof(number));
	e = number < r->n ? r->v[number] : NULL;
	if ((int32_t)number < 0)
		return -EINVAL;
	if (!e)
		return -ENOENT;
	if (n - 4 < e->text.bytes)
		return -EINVAL;
	if (!is_wanted(h->t, e))
		return -EBADF;
	if (!are_texts_whole(e, (const uint8_t *)p + 4, n - 4))
		return -EFAULT;
	if (n - 4 > UFT_EVENT_PAYLOAD_MAX)
		return -E2BIG;
	event_write(h, e->type, p + 4, n - 4);
	return (ssize_t)n;
}

int show_user_events_status(const struct place *at, struct tree_text *out)
{
	const struct user_events *all = at->t->user_events;
	uint32_t n = 0, busy = 0;

	look_for_ended(at->t);

	for (const struct user_event *e = all ? all->events : NULL; e; e = e->next) {
		int is_on = is_wanted(at->t, e);

		text_printf(out, "%s%s\n", e->type->name, is_on ? " # Used by ftrace" : "");
		n++;
		busy += (uint32_t)is_on;
	}
	text_printf(out, "\nActive: %u\nBusy: %u\n", n, busy);
	if (all && all->refused)
		text_printf(out, "Refused: %llu\n", (unsigned long long)all->refused);
	return 0;
}

void user_events_free(struct uft_tree *t)
{
	struct user_events *all = t->user_events;

	while (all && all->enablers)
		drop_enabler(all, &all->enablers);
	while (all && all->events) {
		struct user_event *next = all->events->next;

		free_event(all->events);
		all->events = next;
	}
	while (all && all->shares) {
		struct share *next = all->shares->next;

		free(all->shares);
		all->shares = next;
	}
	free(all);
	t->user_events = NULL;
}
